//! What clients send and get: bodies, answers and errors, and their description.

pub(crate) mod answers;
pub(crate) mod bodies;
#[cfg(test)]
pub(crate) mod description;
pub(crate) mod error_response;
