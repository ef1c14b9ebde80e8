//! The floor of maintenance: what is due, and the threads that do it.
//!
//! Knows merges and the write path: expiry and removal write removes. `steps.rs` runs one
//! due step; `background.rs` and `pool.rs` decide which thread runs it.

pub(super) mod background;
pub(super) mod expiry;
pub(super) mod pool;
pub(super) mod quiet;
pub(super) mod removal;
pub(super) mod steps;
pub(super) mod warm_up;
