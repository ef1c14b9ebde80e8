//! What each route does with the index.

pub(crate) mod admit;
pub(crate) mod documents;
pub(crate) mod lines;
pub(crate) mod search;
pub(crate) mod state;
