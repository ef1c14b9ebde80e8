//! Tests of the pages in a real browser: content, keyboard, and no requests to other hosts.
//!
//! Without Chromium the tests are skipped, with a message.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that panics has failed, and its scratch files are no index"
)]

mod checks;
mod devtools;
mod pages;
mod passages;
mod phone;
mod removals;
mod report;
#[cfg(feature = "serve")]
mod serve;
