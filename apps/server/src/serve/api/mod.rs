//! What clients send and get: bodies, answers and errors, and their description.

pub(crate) mod answers;
pub(crate) mod blob;
pub(crate) mod bodies;
pub(crate) mod conditions;
pub(crate) mod error_response;
pub(crate) mod malformed;
#[cfg(test)]
pub(crate) mod tests;
