//! Arguments of the commands.

pub mod mcp;
pub mod report;
pub mod serve;
pub(crate) mod texts;
