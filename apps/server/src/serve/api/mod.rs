//! What clients send and get: bodies, answers and errors, and their description.

pub(crate) mod answers;
pub(crate) mod blob;
pub(crate) mod bodies;
pub(crate) mod conditions;
#[cfg(test)]
pub(crate) mod description;
pub(crate) mod error_response;
