//! Results as columns: in memory, or computed while they are read.

pub(crate) mod streams;
pub(crate) mod table;
