//! Reading: snapshots, queries, pairs and clusters, and the plain data they return.
//!
//! Knows the shared state only. Code here does not write, takes no lock except the memtable's, and
//! opens no file.

mod alike;
mod answer;
pub(crate) mod candidate;
mod clusters;
mod comparisons;
pub(crate) mod conditions;
mod connect;
mod crowd;
mod exact;
pub(crate) mod forest;
mod guard;
mod listing;
pub(crate) mod locate;
mod margin;
mod narrow;
mod ordered;
mod pairs;
mod queries;
pub(crate) mod query;
mod rank;
pub(crate) mod scratch;
pub(crate) mod search;
mod search_memtable;
pub(crate) mod selection;
pub(crate) mod stop;
mod sweep;

pub use super::state::versions::Snapshot;
pub use crate::index::state::recovery::Recovery;
pub use alike::Alike;
pub(crate) use answer::ProgressReport;
pub use answer::{
    Answer, Cluster, Collapsed, Document, Maintained, Match, Pair, Progress, Stats, Verification,
};
pub use clusters::{Clusters, Link};
pub use comparisons::Comparisons;
pub use conditions::{ConditionSetting, Conditions, SettingValue};
pub use exact::{Exact, Fetch};
pub use guard::Guard;
pub use listing::{Documents, Keys};
pub use margin::Margin;
pub use pairs::{CollapsedPairs, Pairs};
pub use queries::Queries;
pub use query::Query;
pub use selection::DocumentView;
