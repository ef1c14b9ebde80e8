//! Arguments of `nearkin dups`.

use std::path::PathBuf;

use nearkin::Guard;
use nearkin_kit::args::values::{Stays, bytes, guard, similarity, stays};

const EXAMPLES: &str = "Examples:\n  nearkin dups docs\n  \
    nearkin dups docs --threshold 90% --limit 5\n  \
    nearkin dups docs --exact --plan plan.txt\n  \
    nearkin dups docs --exclude '*.bak' --min-size 10K --keep oldest\n  \
    nearkin dups docs --against man1 --json\n  \
    nearkin dups docs --unique --against man1";

/// Find copies and near-copies of files in folders: no index to manage
///
/// Prints exact copies (of any files, also pictures and archives) and near-copies (of files with
/// text: plain, HTML, PDF, e-mail) separately, largest groups first, with date and size of each
/// file and the bytes freed by keeping one file per group. The first file of a group is the one to
/// keep; --keep chooses it. A near-copy is as similar to the kept file as --threshold says. Names
/// that begin with a dot are skipped, symbolic links are not followed, empty files are ignored.
/// Several paths to one file (hard links, two mounts) are one file. Files are never removed: --plan
/// writes what could be done, `nearkin apply` does it.
///
/// Signatures of texts are kept in an index in the user's cache folder ($XDG_CACHE_HOME, or
/// ~/.cache/nearkin), so that the next run reads only changed files; --no-cache keeps nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub struct Dups {
    /// Folders to search
    #[arg(value_name = "FOLDER", required_unless_present = "files_from")]
    pub folders: Vec<PathBuf>,

    /// Look at the files of a list, too: paths with a NUL byte after each, as `find -print0` writes
    /// them; `-` reads stdin. With --exact only; the exit status is 3 if a file is not there
    #[arg(long, value_name = "FILE", requires = "exact")]
    pub(crate) files_from: Option<PathBuf>,

    /// Reference folder, whose files are always kept: find files of the searched folders that also
    /// exist here; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub against: Vec<PathBuf>,

    /// Name the files without a copy, instead of copies: with --against, those that are not in the
    /// reference folders. With --exact also those that have only a near-copy
    ///
    /// One path a line, files with hidden names too; a file that cannot be read counts as unique.
    /// The exit status is 3 if a folder cannot be listed.
    #[arg(long, conflicts_with_all = ["keep", "programs", "plan"])]
    pub(crate) unique: bool,

    /// Minimum similarity of near-copies, 0 to 1 or in percent
    #[arg(long, short, value_name = "T", default_value = "0.8", value_parser = similarity)]
    pub threshold: f64,

    /// What a near-copy may not differ in from the file that stays: `numbers` alone; what is
    /// `rare`, too (words that few files have); all numbers must `agree`; `none`: similar is enough
    ///
    /// Similar texts are often forms filled in: invoices, letters, files under one licence. They
    /// are no near-copies if they and the file that stays differ in nothing but numbers, or if both
    /// have rare words for themselves alone.
    #[arg(long, value_name = "WHAT", default_value = "rare", value_parser = guard())]
    pub(crate) guard: Guard,

    /// Find near-copies by the estimate alone; without it, the files of a group are read again, and
    /// all their shingles are compared
    #[arg(long)]
    pub(crate) estimate: bool,

    /// Find only exact copies: reads only files of equal size
    #[arg(long, conflicts_with = "threshold")]
    pub exact: bool,

    /// Which file of a group stays: the oldest or newest by time of modification, the one with the
    /// shortest name, or the first by folder and path [default: of the first FOLDER given, there
    /// the newest of near-copies; of exact ones one whose name does not say that it is a copy
    /// (`backup`, `Kopie`, `old`), then the oldest, the least deep, the one whose folder has most
    /// files without a copy]
    #[arg(long, value_name = "RULE", value_parser = stays())]
    pub keep: Option<Stays>,

    /// Also count and remove copies that programs need at their place: in node_modules,
    /// site-packages, work trees of git, packages and folders of the system, and targets of
    /// symbolic links. Without it they are named, and left
    #[arg(long)]
    pub(crate) programs: bool,

    /// Leave out files and folders that match, in the syntax of .gitignore: '*.bak',
    /// node_modules, /tmp; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Leave out smaller files: bytes, or with K, M, G or T
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = bytes)]
    pub(crate) min_size: u64,

    /// Leave out folders on another file system than the FOLDER that they are in
    #[arg(long)]
    pub(crate) one_file_system: bool,

    /// Maximum groups of each kind to print, and to write to the plan [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub limit: Option<usize>,

    /// Write a plan: a line for each file of a group, with what happens to it. Exact copies go,
    /// near-copies are switched off. Read and edit it; `nearkin apply FILE` carries it out
    #[arg(long, value_name = "FILE")]
    pub plan: Option<PathBuf>,

    /// Never list again the groups in this file: groups of a plan that a person has looked at and
    /// copied there. Files are recognised by their content, wherever they are
    #[arg(long, value_name = "FILE", conflicts_with = "unique")]
    pub(crate) not_duplicates: Option<PathBuf>,

    /// Let the plan replace copies by hard links instead of removing them; only files of one file
    /// system, with the same owner and mode
    #[arg(long, requires = "plan")]
    pub link: bool,

    /// With --link: also link files of another owner, group or mode, which then get those of the
    /// kept file
    #[arg(long, requires = "link")]
    pub(crate) any_owner: bool,

    /// Include files and folders whose names begin with a dot (never .git)
    #[arg(long)]
    pub hidden: bool,

    /// Keep no index in the cache folder
    #[arg(long)]
    pub(crate) no_cache: bool,
}
