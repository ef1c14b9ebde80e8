//! Deduplication of rows: the decisions, and the table that reports them.

pub(crate) mod estimate;
pub(crate) mod fates;
pub(crate) mod rows;
pub(crate) mod sieve;
