//! Pages in a real browser: what a person sees, presses and reads, and that nothing else happens.
//!
//! Skipped, loudly, where there is no Chromium.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that panics has failed, and its scratch files are no index"
)]

mod checks;
mod devtools;
mod pages;
mod report;
#[cfg(feature = "serve")]
mod serve;
