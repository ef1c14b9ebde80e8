//! The engine.

mod answer;
mod batch;
mod options;

pub use answer::{Answer, Cluster, Document, Maintained, Match, Pair, Progress, Recovery, Stats, Verification};
pub use batch::{Batch, Outcome, Written};
pub use options::{Durability, Maintenance, Options};
