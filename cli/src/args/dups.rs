//! The command that finds copies in folders, without an index to manage.

use std::path::PathBuf;

use super::values::similarity;

/// Find copies and near-copies of files in folders: no index to manage
///
/// Exact copies (of any files, also pictures and archives) and near-copies (of files with a text:
/// plain, HTML, PDF, e-mail) are told apart, the groups that take most space first, each with the
/// bytes that could be freed if one of its files stayed. Of a group the first file is the one to
/// stay: folders count in the order given, then names. Names that begin with a dot are left out,
/// symbolic links are not followed, empty files are no copies, and hard links to one file are one
/// file. Nothing is ever removed.
///
/// Texts are kept as signatures in an index in the cache folder of the user ($XDG_CACHE_HOME, or
/// ~/.cache/nearkin), so that the next run reads only what changed; --no-cache keeps nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin dups docs\n  \
    nearkin dups docs --threshold 90% --limit 5\n  \
    nearkin dups docs --exact --script remove-copies.sh\n  \
    nearkin dups docs --against man1 --json")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub(crate) struct Dups {
    /// Folders to look at
    #[arg(value_name = "FOLDER", required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// Find what is in FOLDER and also in this folder, whose files always stay; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) against: Vec<PathBuf>,

    /// Least similarity of near-copies, 0 to 1 or in percent
    #[arg(long, short, value_name = "T", default_value = "0.8", value_parser = similarity)]
    pub(crate) threshold: f64,

    /// Find exact copies only: reads nothing but files of the same size
    #[arg(long, conflicts_with = "threshold")]
    pub(crate) exact: bool,

    /// Most groups of each kind to print [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,

    /// Write a shell script that would remove the exact copies, each after comparing it once more;
    /// near-copies stand in it as comments. Read it, then run it yourself
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,

    /// Let the script replace copies by hard links instead of removing them
    #[arg(long, requires = "script")]
    pub(crate) link: bool,

    /// Take files and folders whose names begin with a dot, too (never .git)
    #[arg(long)]
    pub(crate) hidden: bool,

    /// Keep no index in the cache folder
    #[arg(long)]
    pub(crate) no_cache: bool,
}
