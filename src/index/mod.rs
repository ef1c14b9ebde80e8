//! The engine: the only module that uses all others.
//!
//! Its folders are floors. A floor names floors below it, and never one above it
//! (`tests/tidy/floors.rs`):
//!
//! | floor | knows |
//! |---|---|
//! | `doors` | the public types; no logic |
//! | `files` | opening, closing, copies, shards: whole folders of an index |
//! | `maintain` | what is due, and the threads that do it |
//! | `write` | batches, their plan, admission: how a change comes in |
//! | `merge` | how changes become durable: syncs, and how segments are born |
//! | `read` | queries, pairs and clusters over one snapshot |
//! | `state` | the data that all calls share, and its locks |
//!
//! Start reading with `write/write_path.rs`, `read/query.rs` and `merge/merging.rs`.

mod doors;
mod files;
mod maintain;
mod merge;
mod read;
mod state;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(all(fuzzing, not(test)))]
pub(crate) mod tests;
mod write;

pub use doors::handle::Index;
pub use doors::reader::Reader;
pub use files::adopt::Adopt;
pub use files::copy::{Imported, Salvaged};
pub use files::follow::Freshness;
pub use files::seal::{Sealed, Ticket, seal};
pub(crate) use files::sharded::shard_of;
pub use files::sharded::{Manifest, ManifestFile, Shards};
pub(crate) use read::conditions::setters;
pub(crate) use read::forest::Forest;
pub use read::{
    Alike, Answer, Cluster, Clusters, Collapsed, CollapsedPairs, Comparisons, ConditionSetting,
    Conditions, Document, DocumentView, Documents, Exact, Fetch, Guard, Keys, Link, Maintained,
    Margin, Match, Pair, Pairs, Progress, Queries, Query, Recovery, SettingValue, Snapshot, Stats,
    Verification,
};
pub use state::event::Event;
pub use state::key::Key;
pub use state::options::{Durability, Maintenance, Options};

pub use write::admit::{Admission, Admit, Decision, Keep, Newcomer, VerifiedAdmit};
pub use write::batch::{Batch, Edit, Outcome, Written};
