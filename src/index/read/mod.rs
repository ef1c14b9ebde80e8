//! Reading: what a reader sees, queries, pairs and clusters, and the plain data they return.
//!
//! Does not write, takes no lock but the memtable's, and knows no file.

mod answer;
mod clusters;
mod exact;
mod pairs;
pub(crate) mod query;
pub(crate) mod recent;
pub(crate) mod scratch;
pub(crate) mod search;
pub(crate) mod state;
mod sweep;

pub use answer::{
    Answer, Cluster, Collapsed, Document, Maintained, Match, Pair, Progress, Recovery, Stats,
    Verification,
};
pub use clusters::Clusters;
pub use exact::{Exact, Fetch};
pub use pairs::{CollapsedPairs, Pairs};
pub use query::{Queries, Query};
pub use state::Snapshot;
