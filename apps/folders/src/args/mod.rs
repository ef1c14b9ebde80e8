//! Arguments of the commands.

pub mod dups;
pub mod mirror;
