//! Arguments of `nearkin admit`.

use std::path::PathBuf;

use nearkin::{Guard, Keep};

use nearkin_kit::args::conditions::SelectionGiven;
use nearkin_kit::args::lines::{FromFields, LinesGiven};
use nearkin_kit::args::params::Given;
use nearkin_kit::args::ttl::TtlGiven;
use nearkin_kit::args::values::{keep_or_all, similarity, single_guard};

/// Add documents, but reject duplicates of stored ones
///
/// Decides on each document in turn, with the previous ones already in the index, and prints a line
/// per document: `admitted` (`replaced` if its key had another document), `unchanged`, or
/// `rejected` with the stored duplicates. A document is no duplicate of the one under its own key.
/// Everything else works as in `nearkin add`. What was printed is durable, and so is what a
/// rejected document was compared with. Rejections do not change the exit status.
#[derive(Debug, clap::Args)]
#[command(mut_arg("prefix", |arg| arg.help(
    "Decide as if only documents whose keys begin with PREFIX were stored: a tenant's part of an \
     index that several share. A document with another key is an error"
)))]
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

    /// Reject a document whose similarity to a stored one is at least this, 0 to 1 or in
    /// percent [default: 0.9, with --contained 0]
    #[arg(long, value_name = "T", value_parser = similarity)]
    pub(crate) reject: Option<f64>,

    /// Reject by containment: a document is a duplicate if it contains at least this
    /// share of a shorter stored document, or if a longer stored document contains at least this
    /// share of it, 0 to 1 or in percent
    ///
    /// Half of a document has a similarity of only 0.5 to the whole; if the index is created by
    /// this command, its parameters are chosen to find such pairs. By estimates, documents that
    /// share boilerplate are mistaken for parts of each other.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub(crate) contained: Option<f64>,

    /// Decide by the estimate alone; without it, what the estimate finds is confirmed by all
    /// shingles before a document is rejected, wherever the stored text is at hand
    ///
    /// At hand are the documents of this run (from stdin, the last 64 MiB of them), stored
    /// documents whose keys are paths of files, and the lines of --from. On others, the estimate
    /// decides.
    #[arg(long, conflicts_with_all = ["exact", "guard", "from"])]
    pub(crate) estimate: bool,

    /// Miss hardly any duplicate: candidates are searched down to three standard errors below the
    /// threshold, and all are compared
    #[arg(long)]
    pub(crate) exact: bool,

    /// What a document may differ in without being rejected: in a number, whatever else differs
    /// (`agree`: the numbers of both must be the same); only in `numbers`; `none`: what is similar
    /// is rejected [default: agree, with --contained none]
    ///
    /// Similar documents are often forms filled in, such as invoices. Needs the texts: see
    /// --estimate.
    #[arg(long, value_name = "WHAT", value_parser = single_guard())]
    pub(crate) guard: Option<Guard>,

    /// Read stored documents again from this file of JSON lines (also compressed, or Parquet), by
    /// key; may be repeated [default: from files, whose keys are paths]
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Vec<PathBuf>,

    /// Where the lines of `--from` have key and content.
    #[command(flatten)]
    pub(crate) from_fields: FromFields,

    /// Minimum similarity of documents named as related to an admitted one, 0 to the value of
    /// --reject [default: none are named]; the parameters of a new index are chosen to find them,
    /// unless --threshold is given
    #[arg(long, value_name = "T", value_parser = similarity)]
    pub(crate) relate: Option<f64>,

    /// Which of a document and its duplicates to keep: the first, the newest (all duplicates are
    /// removed), the longest (the new one if it has more shingles than each duplicate), or all (it
    /// is admitted, and its duplicates are named as related)
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = keep_or_all())]
    pub(crate) keep: Keep,

    /// Maximum duplicates or related documents to name per document
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: usize,

    #[command(flatten)]
    pub(crate) selection: SelectionGiven,

    /// Include files and folders in a folder whose names begin with a dot (never .git)
    #[arg(long)]
    pub(crate) hidden: bool,

    #[command(flatten)]
    pub(crate) lines: LinesGiven,

    #[command(flatten)]
    pub(crate) ttl: TtlGiven,

    #[command(flatten)]
    pub(crate) given: Given,
}
