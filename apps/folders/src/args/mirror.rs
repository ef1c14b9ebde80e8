//! Arguments of `nearkin mirror`.

use std::path::PathBuf;
use std::time::Duration;

use nearkin_kit::args::params::Given;
use nearkin_kit::time;

/// Make an index follow a folder: add new files, replace changed ones, remove deleted ones
///
/// Creates the index if there is none. Prints a line per changed file, and its near-duplicates (at
/// the index's threshold) among the stored documents and the files printed before. Does not read
/// unchanged files (same size and times). Skips names that begin with a dot, and whatever
/// .gitignore, .ignore and .nearkinignore exclude. Only documents that this command added from this
/// folder are ever removed.
///
/// May be killed at any time: run it again to continue. docs/guide/MIRROR.md says which formats are
/// read, what counts as changed, and how to run it every night.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin mirror all.nearkin docs\n  \
    nearkin mirror all.nearkin docs --dry-run\n  \
    nearkin mirror all.nearkin docs --json --limit 1")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub struct Mirror {
    /// Folder of the index
    pub index: PathBuf,

    /// Folder to follow; keys are paths as given, so give it the same way every time
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Print what would change, and change nothing
    #[arg(long, conflicts_with = "watch")]
    pub(crate) dry_run: bool,

    /// Keep following file system events, until Ctrl-C
    #[arg(long)]
    pub watch: bool,

    /// Include files and folders whose names begin with a dot (never .git)
    #[arg(long)]
    pub hidden: bool,

    /// Include what .gitignore, .ignore and .nearkinignore exclude
    #[arg(long)]
    pub(crate) no_ignore: bool,

    /// Remove the documents of a folder that is missing or has no files, or of a file system that
    /// is not mounted any more
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// Follow another folder under a name used before
    #[arg(long)]
    pub force: bool,

    /// With --watch: look at the whole folder this often, in case the system reports no events, as
    /// for network drives: 10m, or with s, h, d or w [default: 10m, more rarely if it takes long]
    #[arg(long, value_name = "SPAN", value_parser = time::span, requires = "watch")]
    pub(crate) rescan: Option<Duration>,

    /// Maximum near-duplicates to name per document; 0 searches for none
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub limit: usize,

    #[command(flatten)]
    pub(crate) given: Given,
}
