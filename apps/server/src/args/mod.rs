//! Arguments of the commands.

pub mod audit;
pub mod mcp;
pub mod report;
pub mod serve;
pub(crate) mod texts;
