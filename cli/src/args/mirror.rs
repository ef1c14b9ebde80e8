//! The index that follows a folder.

use std::path::PathBuf;

use crate::params_args::Given;

/// Make an index follow a folder: add what is new, replace what changed, remove what is gone
///
/// Creates the index if there is none. Prints a line for each file that made a difference, and
/// what it is a near-duplicate of at the index's threshold: documents that were there, and files
/// before it. A file that has not changed (size and times) is not read. Left out are names that
/// begin with a dot, and what .gitignore, .ignore and .nearkinignore exclude. Only documents that
/// this command put there, from this folder, are ever removed.
///
/// May be killed at any time: run it again, and it goes on. docs/MIRROR.md says which formats are
/// read, what counts as changed, and how to run it every night.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin mirror all.nearkin docs\n  \
    nearkin mirror all.nearkin docs --dry-run\n  \
    nearkin mirror all.nearkin docs --json --limit 1")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub(crate) struct Mirror {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// The folder to follow; keys are paths as given, so give it the same way every time
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Print what would be done, and change nothing
    #[arg(long, conflicts_with = "watch")]
    pub(crate) dry_run: bool,

    /// Go on with what the file system reports, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Take files and folders whose names begin with a dot, too (never .git)
    #[arg(long)]
    pub(crate) hidden: bool,

    /// Take what .gitignore, .ignore and .nearkinignore exclude, too
    #[arg(long)]
    pub(crate) no_ignore: bool,

    /// Do what is refused for safety: remove all documents of a folder that is empty or not
    /// there, or take another folder of the same name for the one that was mirrored before
    #[arg(long)]
    pub(crate) force: bool,

    /// Most near-duplicates to name for each document; 0 looks for none
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) given: Given,
}
