//! Deduplication of rows: the decisions, and the table that reports them.

pub(crate) mod audit;
pub(crate) mod differences;
pub(crate) mod estimate;
pub(crate) mod fates;
pub(crate) mod how;
pub(crate) mod judge;
pub(crate) mod questions;
pub(crate) mod rows;
pub(crate) mod sieve;
