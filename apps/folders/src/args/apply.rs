//! Arguments of `nearkin apply`.

use std::path::PathBuf;

/// Carry out a plan of `nearkin dups --plan`: move the files that it names to the trash
///
/// Looks at each file again before anything happens to it: file and kept file are those of the
/// plan, unchanged, reached without links, and equal byte for byte. What is not so stays, is named
/// with the reason, and the exit status is 3. Nothing but the files of the plan is touched.
///
/// The journal, PLAN.journal, lists what was done. May be killed at any time: run it again to
/// continue.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin apply plan.txt\n  \
    nearkin apply plan.txt --undo\n  \
    nearkin apply plan.txt --delete")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub struct Apply {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,

    /// Delete the files at once, instead of moving them to the trash
    #[arg(long, group = "way")]
    pub(crate) delete: bool,

    /// Replace the files by hard links to the kept ones, instead of moving them to the trash
    #[arg(long, group = "way")]
    pub(crate) link: bool,

    /// Move the files to the trash: the default
    #[arg(long, group = "way")]
    pub(crate) trash: bool,

    /// Also make links of files of another owner, group or mode, which then get those of the kept
    /// file
    #[arg(long)]
    pub(crate) any_owner: bool,

    /// Remove folders that are empty without these files, and those above that are empty then
    #[arg(long)]
    pub(crate) remove_empty: bool,

    /// Bring back from the trash what the journal says was moved there
    #[arg(long, conflicts_with_all = ["way", "any_owner", "remove_empty"])]
    pub(crate) undo: bool,
}
