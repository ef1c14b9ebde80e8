//! The floor that makes changes durable: syncs for all waiting writers (`commit.rs`), flush,
//! compaction, and the draft that commits their result.
//!
//! Knows the shared state and what one snapshot shows; knows nothing of batches, of maintenance, or
//! of opening and closing. The only floor that changes the catalog (`draft.rs`).

pub(super) mod commit;
pub(super) mod compaction;
pub(super) mod cover;
pub(super) mod draft;
pub(super) mod flush;
mod merging;
mod parallel_tables;
pub(super) mod parameters;
pub(super) mod policy;
pub(super) mod running;
