//! The commands `dups` and `mirror` of the tool `nearkin`: copies in folders, and an index that
//! follows a folder.

pub mod args;
pub mod dups;
mod follow;
pub mod mirror;
