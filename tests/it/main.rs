//! Tests of the public API on real files, in one binary.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests may fail, and look at files that the library wrote"
)]

mod admit;
mod common;
mod concurrency;
mod corrupting;
#[cfg(target_os = "linux")]
mod descriptors;
mod fingerprints;
mod fixtures;
mod follow;
#[cfg(unix)]
mod fork;
mod handle;
mod kill;
mod kill_texts;
mod locks;
mod moved;
mod opening;
mod passages;
mod payloads;
mod printing;
mod queries;
mod quotations;
mod real;
mod refusals;
mod reopen;
mod scale;
#[cfg(feature = "serde")]
mod serde;
mod shared;
mod sketching;
#[cfg(target_os = "linux")]
mod strace;
mod support;
#[cfg(target_os = "linux")]
mod syscalls;
mod tmpfs;
mod writes;
