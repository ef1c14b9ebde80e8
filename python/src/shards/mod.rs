//! `nearkin.shards`: the steps of a job on a cluster, and sharded indexes.

pub(crate) mod compared;
pub(crate) mod condition;
pub(crate) mod graph;
pub(crate) mod judged;
pub(crate) mod manifest;
pub(crate) mod sealing;
pub(crate) mod steps;
