//! Tests that need to look inside: the model, group commit, what opening reads.

mod copies;
mod group;
mod model;
mod open;
mod salvage;
