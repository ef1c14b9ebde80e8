//! Arguments of the commands.

pub mod report;
pub mod serve;
