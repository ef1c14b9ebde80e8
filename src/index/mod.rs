//! The engine: the only module that knows the others. `write.rs`, `query.rs` and `merge.rs` are
//! its three stories.

mod answer;
mod batch;
mod compaction;
mod core;
mod draft;
mod durable;
mod flush;
#[cfg(test)]
mod group_tests;
mod handle;
mod inspect;
mod maintain;
mod merge;
#[cfg(test)]
mod model_tests;
mod open;
#[cfg(test)]
mod open_tests;
mod options;
mod pairs;
mod policy;
mod query;
mod state;
mod write;

pub use answer::{
    Answer, Cluster, Document, Maintained, Match, Pair, Progress, Recovery, Stats, Verification,
};
pub use batch::{Batch, Outcome, Written};
pub use handle::Index;
pub use options::{Durability, Maintenance, Options};
pub use pairs::{Clusters, Pairs};
pub use query::Query;
pub use state::Snapshot;
