//! The commands `serve`, `report` and `audit` of the tool `nearkin`: an index over HTTP, a page of
//! its duplicates, and a judgement of what another tool removed.

#![expect(
    clippy::missing_errors_doc,
    reason = "a failure is what a person reads: its message says why, its advice what to do"
)]
#![expect(rustdoc::bare_urls, reason = "help texts are documentation, too, but print no markup")]

pub mod args;
pub mod audit;
pub mod report;
mod report_page;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(not(feature = "serve"))]
#[path = "serve/no_serve.rs"]
pub mod serve;
mod web;
