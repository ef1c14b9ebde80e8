//! The commands `dups`, `apply` and `mirror` of the tool `nearkin`: copies in folders, and an index
//! that follows a folder.

#![expect(
    clippy::missing_errors_doc,
    reason = "a failure is what a person reads: its message says why, its advice what to do"
)]

pub mod apply;
pub mod args;
mod blocks;
pub mod dups;
mod follow;
mod held;
pub mod mirror;
mod mount;
mod plan;
