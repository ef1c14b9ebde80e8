//! The floor of shared state: the data of an open index, and its locks.
//!
//! Knows the log, the memtable, segments and the catalog; knows no call of a user. It opens no
//! file: the files it holds were opened above.

pub(super) mod core;
pub(super) mod event;
pub(super) mod expiry_queue;
pub(super) mod follower;
pub(super) mod group;
pub(super) mod key;
pub(super) mod options;
pub(super) mod recovery;
pub(super) mod running;
pub(crate) mod settings;
pub(super) mod turns;
pub(super) mod versions;
pub(super) mod view;
pub(super) mod wakeup;
