//! Arguments of `nearkin dups`.

use std::path::PathBuf;

use super::values::similarity;

/// Find copies and near-copies of files in folders: no index to manage
///
/// Prints exact copies (of any files, also pictures and archives) and near-copies (of files with
/// text: plain, HTML, PDF, e-mail) separately, largest groups first, with the bytes freed by
/// keeping one file per group. The first file of a group is the one to keep: files are ordered by
/// folder (those of --against first, then as given), then by name. Names that begin with a dot are
/// skipped, symbolic links are not followed, empty files are ignored, and hard links count as one
/// file. Files are never removed.
///
/// Signatures of texts are kept in an index in the user's cache folder ($XDG_CACHE_HOME, or
/// ~/.cache/nearkin), so that the next run reads only changed files; --no-cache keeps nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin dups docs\n  \
    nearkin dups docs --threshold 90% --limit 5\n  \
    nearkin dups docs --exact --script remove-copies.sh\n  \
    nearkin dups docs --against man1 --json")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub(crate) struct Dups {
    /// Folders to search
    #[arg(value_name = "FOLDER", required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// Reference folder, whose files are always kept: find files of the searched folders that also
    /// exist here; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) against: Vec<PathBuf>,

    /// Minimum similarity of near-copies, 0 to 1 or in percent
    #[arg(long, short, value_name = "T", default_value = "0.8", value_parser = similarity)]
    pub(crate) threshold: f64,

    /// Find only exact copies: reads only files of equal size
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) exact: bool,

    /// Maximum groups of each kind to print [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,

    /// Write a shell script that removes the exact copies, each after comparing it again;
    /// near-copies are listed as comments. Read it, then run it yourself
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Let the script replace copies by hard links instead of removing them
    #[arg(long, requires = "script")]
    pub(crate) link: bool,

    /// Include files and folders whose names begin with a dot (never .git)
    #[arg(long)]
    pub(crate) hidden: bool,

    /// Keep no index in the cache folder
    #[arg(long)]
    pub(crate) no_cache: bool,
}
