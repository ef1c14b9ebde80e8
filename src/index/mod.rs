//! The engine: the only module that uses all others. Start reading with `write.rs`, `read/query.rs`
//! and `merge/mod.rs`.

mod admit;
mod adopt;
mod background;
mod batch;
mod commit;
mod copy;
mod core;
mod event;
mod expiry;
mod expiry_queue;
mod follow;
mod group;
mod handle;
mod inspect;
mod key;
mod life;
mod maintain;
mod merge;
mod open;
mod options;
mod parameters;
mod plan;
#[cfg(not(all(shuttle, test)))]
mod pool;
mod prefix;
mod quiet;
mod read;
mod reader;
mod seal;
mod sharded;
mod state;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(all(fuzzing, not(test)))]
pub(crate) mod tests;
mod unwind;
mod view;
mod wakeup;
mod warm_up;
mod write;

pub use admit::{Admission, Admit, Decision, Keep, Newcomer, VerifiedAdmit};
pub use adopt::Adopt;
pub use batch::{Batch, Edit, Outcome, Written};
pub use copy::{Imported, Salvaged};
pub use event::Event;
pub use handle::Index;
pub use key::Key;
pub use options::{Durability, Maintenance, Options};
pub(crate) use read::query::check_threshold;
pub use read::{
    Alike, Answer, Cluster, Clusters, Collapsed, CollapsedPairs, Comparisons, Document, Documents,
    Exact, Fetch, Keys, Link, Maintained, Match, Pair, Pairs, Progress, Queries, Query, Recovery,
    Snapshot, Stats, Verification,
};
pub use reader::Reader;
pub use seal::{Sealed, Ticket, seal};
pub(crate) use sharded::shard_of;
pub use sharded::{Manifest, ManifestFile, Shards};
