//! Arguments of `nearkin list` and `nearkin get`.

use std::ffi::OsString;
use std::path::PathBuf;

/// Print the keys of an index, sorted
///
/// One key per line, as `nearkin remove --from -` reads them; a key that has a line break is whole
/// only with --json.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin list my.nearkin\n  \
    nearkin list papers.nearkin --prefix 3.11/ --limit 20 --json")]
pub(crate) struct List {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Only keys that begin with PREFIX
    #[arg(long, value_name = "PREFIX")]
    pub(crate) prefix: Option<OsString>,

    /// Only keys behind this one, such as the last key of the run before
    #[arg(long, value_name = "KEY")]
    pub(crate) after: Option<OsString>,

    /// Maximum keys to print [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,
}

/// Print what is stored with a key: time, number of shingles, payload
///
/// An index stores signatures and payloads, no texts. Missing keys give exit status 1; the others
/// are printed all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin get my.nearkin docs/mit.txt\n  \
    nearkin get papers.nearkin 3.11/about.rst --json\n  \
    nearkin get papers.nearkin 3.11/about.rst --payload")]
pub(crate) struct Get {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Keys, exactly as stored
    #[arg(value_name = "KEY", required = true)]
    pub(crate) keys: Vec<OsString>,

    /// Print only the payload, byte for byte
    #[arg(long, conflicts_with = "json")]
    pub(crate) payload: bool,
}
