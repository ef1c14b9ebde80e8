//! How long documents live.

use std::time::Duration;

use crate::time;

/// How long documents live
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct TtlGiven {
    /// Remove what was added, or last replaced, longer ago than SPAN: 90d, or with s, m, h or w
    ///
    /// While the command runs, and once more when it ends. It is not stored: give it every time.
    #[arg(long, value_name = "SPAN", value_parser = time::span)]
    pub(crate) ttl: Option<Duration>,
}
