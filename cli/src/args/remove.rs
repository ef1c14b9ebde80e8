//! Arguments of `nearkin remove`.

use std::ffi::OsString;
use std::path::PathBuf;

use nearkin_kit::time;

/// Remove documents by key, by key prefix, or by age
///
/// Missing keys give exit status 1, and so does a document that --if-similar keeps; the other
/// documents are removed all the same.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin remove [OPTIONS] <INDEX> <KEY>... [--from <FILE>]\n       \
    nearkin remove [OPTIONS] <INDEX> --prefix <PREFIX>\n       \
    nearkin remove [OPTIONS] <INDEX> --before <TIME>")]
#[command(after_help = "Examples:\n  nearkin remove my.nearkin docs/mit.txt docs/isc.txt\n  \
    nearkin remove papers.nearkin --from keys.txt\n  \
    nearkin remove papers.nearkin --from removals.txt --if-similar 0.9\n  \
    nearkin remove papers.nearkin --prefix drafts/\n  \
    nearkin remove papers.nearkin --before 2024-12-31")]
pub(crate) struct Remove {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Keys to remove, exactly as stored
    #[arg(value_name = "KEY", required_unless_present_any = ["from", "prefix", "before"])]
    pub(crate) keys: Vec<OsString>,

    /// Read more keys from FILE, one per line; `-` is stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,

    /// Remove a document only if another one of similarity T or more stays, 0 to 1 or in percent;
    /// one that is named itself does not count. For a list made earlier, such as that of `report`
    ///
    /// Until it ends, other processes that write to the index wait, and give up after 10 seconds.
    #[arg(long, value_name = "T", value_parser = nearkin_kit::args::values::similarity)]
    #[arg(conflicts_with_all = ["prefix", "before"])]
    pub(crate) if_similar: Option<f64>,

    /// Remove every document whose key starts with PREFIX
    #[arg(long, value_name = "PREFIX", conflicts_with_all = ["keys", "from"])]
    pub(crate) prefix: Option<OsString>,

    /// Remove documents added or last replaced before TIME: a day (2024-12-31) or a second
    /// (2024-12-31T23:59:59Z) in UTC, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    #[arg(conflicts_with_all = ["keys", "from", "prefix"])]
    pub(crate) before: Option<u64>,
}
