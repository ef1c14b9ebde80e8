//! The command that adds what is not there yet.

use std::path::PathBuf;

use nearkin::Keep;

use super::lines::LinesGiven;
use super::ttl::TtlGiven;
use super::values::{keep, similarity};
use crate::given::Given;

/// Add documents, but turn away those that are too much like a stored one
///
/// Decides on one document after the other, in the order given, each with those before it in the
/// index, and prints a line for each: `admitted` (`replaced` if its key had another document),
/// `unchanged`, or `rejected` with the stored documents that it is a duplicate of. A document is
/// no duplicate of the one of its own key. All else is as with `nearkin add`; what was printed is
/// safe on disk, and so is what a rejected document was compared with. Exit status 0 also if
/// documents were rejected.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin admit [OPTIONS] <INDEX> <PATH>...\n       \
    nearkin admit [OPTIONS] <INDEX> --jsonl <FILE>")]
#[command(after_help = "Examples:\n  nearkin admit clean.nearkin docs\n  \
    nearkin admit unique.nearkin --jsonl papers.jsonl --reject 0.9 --relate 0.5\n  \
    nearkin admit whole.nearkin --jsonl papers.jsonl --contained 0.8 --keep longest\n  \
    nearkin admit latest.nearkin --jsonl papers.jsonl --reject 0.8 --keep newest --json")]
pub(crate) struct Admit {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Files and folders to admit
    #[arg(value_name = "PATH", required_unless_present = "jsonl", conflicts_with = "jsonl")]
    pub(crate) paths: Vec<PathBuf>,

    /// Least similarity to a stored document that makes a document a duplicate, 0 to 1 [default:
    /// 0.9, with --contained 0]
    #[arg(long, value_name = "T", value_parser = similarity)]
    pub(crate) reject: Option<f64>,

    /// Duplicates are documents of which the larger one contains at least so much of the smaller
    /// one, 0 to 1 or in percent, as far as signatures tell
    ///
    /// Half of a document is similar to the whole to 0.5 only: a new index is built to find that.
    /// Documents that share boilerplate are mistaken for parts of each other: nothing here reads
    /// the stored documents again.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub(crate) contained: Option<f64>,

    /// Least similarity of the documents named beside an admitted one as related to it, 0 to the
    /// value of --reject [default: none are]; a new index is built for it unless --threshold is
    /// given
    #[arg(long, value_name = "T", value_parser = similarity)]
    pub(crate) relate: Option<f64>,

    /// What stays of a document and its duplicates: the first, the newest (all duplicates are
    /// removed), or the longest (the new one if it has more shingles than each of them)
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = keep())]
    pub(crate) keep: Keep,

    /// Most duplicates or related documents to name for each
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) lines: LinesGiven,

    #[command(flatten)]
    pub(crate) ttl: TtlGiven,

    #[command(flatten)]
    pub(crate) given: Given,
}
