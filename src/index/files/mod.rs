//! The floor of whole folders: opening, following, closing, copies, sealed segments, shards.
//!
//! Knows everything below; makes and ends a `Core`. The only floor that opens, sweeps or copies
//! files of an index.

pub(super) mod adopt;
pub(super) mod copy;
pub(super) mod folder;
pub(super) mod follow;
pub(super) mod inspect;
pub(super) mod life;
pub(super) mod open;
pub(super) mod seal;
pub(super) mod sharded;
pub(super) mod turns;
