//! Queries: their conditions, and their answers.

pub(crate) mod answers;
pub(crate) mod conditions;
pub(crate) mod queries;
pub(crate) mod quotations;
