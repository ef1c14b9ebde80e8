//! The option `--ttl`.

use std::time::Duration;

use crate::time;

/// Lifetime of documents
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct TtlGiven {
    /// Remove documents added or last replaced longer ago than SPAN: 90d, or with s, m, h or w
    ///
    /// Applies while the command runs, and once more when it ends. The value is not stored: give it
    /// every time.
    #[arg(long, value_name = "SPAN", value_parser = time::span)]
    pub ttl: Option<Duration>,
}
