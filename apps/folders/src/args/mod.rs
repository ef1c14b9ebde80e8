//! Arguments of the commands.

pub mod apply;
pub mod dups;
pub mod mirror;
