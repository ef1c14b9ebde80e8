//! The floor of writing: batches, the plan of a change, the write path, admission.
//!
//! Knows the shared state, look-ups, and the flush that makes room for a record. Knows nothing of
//! maintenance: the floor above does what a write made due.

pub(super) mod admit;
pub(super) mod batch;
pub(super) mod operation;
pub(super) mod plan;
pub(super) mod write_path;
