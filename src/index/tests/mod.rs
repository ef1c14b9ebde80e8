//! Tests that need to look inside: the model, group commit, what opening reads.

mod group;
mod model;
mod open;
pub(crate) mod planted;
