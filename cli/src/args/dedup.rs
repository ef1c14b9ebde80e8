//! Arguments of `nearkin dedup`.

use std::path::PathBuf;

use nearkin::{Guard, Keep};

use super::without::WithoutGiven;
use nearkin_kit::args::lines::{ExactGiven, FromFields};
use nearkin_kit::args::params::Given;
use nearkin_kit::args::rows::RowsGiven;
use nearkin_kit::args::values::{guard, keep_or_all, similarity};

/// Copy JSON lines or table rows, without near-duplicates of each other or of documents in an index
///
/// Visits the documents in order of preference (--keep) and drops each one that is similar to a
/// kept document, or to one in --index, which is not changed. Kept lines are written byte for byte,
/// in input order. DROPPED has an entry per dropped line, with the document it duplicates, and per
/// line that could not be compared; such lines are not written to OUT.
///
/// OUT and DROPPED appear when they are complete. After an interruption run the same command again:
/// it continues, unless the input is stdin or has changed. docs/guide/DEDUP.md defines what is
/// dropped, and the cost.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(override_usage = "nearkin dedup [OPTIONS] <FILE>... --out <OUT>")]
#[command(after_help = "Examples:\n  nearkin dedup papers.jsonl --out unique.jsonl\n  \
    nearkin dedup papers.jsonl --out new.jsonl.zst --index papers.nearkin --threshold 0.8\n  \
    nearkin dedup papers.jsonl --out unique.jsonl --exact --contained 0.8\n  \
    nearkin dedup papers.jsonl --out clean.jsonl --without questions.jsonl\n  \
    nearkin dedup papers.jsonl --out once.jsonl --cut-passages 50\n  \
    nearkin dedup papers.jsonl --out longest.jsonl.gz --keep longest --dropped why.jsonl --json")]
pub(crate) struct Dedup {
    /// Files of JSON lines or tables (.csv, .tsv), plain or compressed by gzip or Zstandard, or
    /// Parquet; a folder stands for all such files in it, in order of names; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// File to write; its name selects JSON lines, a table (.csv) or Parquet (.parquet), compressed
    /// if it ends in .gz or .zst; a file of an earlier run is replaced at the end. `-` is stdout
    #[arg(long, short)]
    pub(crate) out: PathBuf,

    /// File for the dropped lines and the reasons, compressed if its name ends in .gz or .zst
    /// [default: OUT.dropped.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) dropped: Option<PathBuf>,

    /// Replace OUT, and a DROPPED named by --dropped, even if no run of this command made them
    #[arg(long)]
    pub(crate) force: bool,

    /// Also drop lines similar to a document of this index; its parameters become the default
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<PathBuf>,

    /// Which of similar documents to keep: the first, the newest (the last line), or the longest
    /// (with the most shingles); with --without or --index also all: nothing else is dropped
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = keep_or_all())]
    pub(crate) keep: Keep,

    /// Keep the line with the greatest value of this field: the newest date, the highest score; of
    /// equal ones the first
    ///
    /// Numbers are compared as numbers, other strings byte by byte, as dates such as 2024-05-31 are
    /// ordered. Lines without the field come last. Sorted in blocks of 128 MiB, with temporary
    /// files.
    #[arg(long, value_name = "FIELD", conflicts_with = "keep")]
    pub(crate) keep_by: Option<String>,

    /// With --keep-by: keep the line with the least value
    #[arg(long, requires = "keep_by")]
    pub(crate) least: bool,

    /// Add two fields (columns) to each line of OUT: NAME, the number of its cluster, and
    /// NAME_size, the number of lines that it stands for; lines of DROPPED have `cluster` and
    /// `cluster_size`
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_field: Option<String>,

    /// Drop documents that contain, or are contained in, a kept document: the larger of the two
    /// contains at least this share of the smaller, 0 to 1 or in percent; --threshold is then 0
    /// unless given
    ///
    /// Half of a document has a similarity of only 0.5 to the whole. By estimates, documents that
    /// share boilerplate are mistaken for parts of each other: add --exact.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub(crate) contained: Option<f64>,

    /// Decide by the estimate alone; without it, what the estimate finds is confirmed by all
    /// shingles before it is dropped
    #[arg(long, conflicts_with = "exact")]
    pub(crate) estimate: bool,

    /// What a line may differ in without being dropped: only `numbers`; what is `rare`, too (words
    /// that few lines have); other numbers whatever else differs: `agree`; `none`: what is similar
    /// is dropped [default: rare; with shingles of up to four characters, as --for short
    /// and --for records have, agree]
    ///
    /// Similar lines are often forms filled in: invoices, letters, files under one licence. A line
    /// is kept if it and its duplicate differ in nothing but numbers, or if both have rare words
    /// for themselves alone. Beside documents of --index only numbers count, and only with --exact.
    #[arg(long, value_name = "WHAT", value_parser = guard())]
    pub(crate) guard: Option<Guard>,

    /// File for the lines that --guard kept beside another line, with what sets each apart from the
    /// line it is similar to
    #[arg(long, value_name = "FILE")]
    pub(crate) apart: Option<PathBuf>,

    /// Miss hardly any duplicate: candidates are searched down to three standard errors below the
    /// threshold
    ///
    /// All shingles decide, as without it. Texts with the same shingles are
    /// equal: words:N does not see punctuation (C++ and C#, -5 and 5), but tokens:N, chars:N and
    /// --for code do.
    #[arg(long)]
    pub(crate) exact: bool,

    /// With --exact and --index: read the documents of the index again from this file of JSON lines
    /// (also compressed, or Parquet), by key; may be repeated [default: from files, whose keys are
    /// paths]
    #[arg(long, value_name = "FILE", requires = "exact", requires = "index")]
    pub(crate) from: Vec<PathBuf>,

    /// Where the lines of `--from` have key and content.
    #[command(flatten)]
    pub(crate) from_fields: FromFields,

    /// Instead of comparing whole rows: cut out of the texts every run of N words and more that
    /// stood before, in this row or an earlier one; rows of nothing else are dropped
    ///
    /// Upper case, punctuation and white space do not count. The rest of each row is copied byte
    /// for byte. DROPPED has what was cut out. Reads the input twice; an interrupted run starts
    /// over.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    #[arg(conflicts_with_all = ["index", "keep", "keep_by", "cluster_field", "contained", "guard"])]
    #[arg(conflicts_with_all = ["estimate", "exact", "apart", "items_field", "without"])]
    #[arg(conflicts_with_all = ["drop_blank"])]
    pub(crate) cut_passages: Option<u32>,

    /// Questions that rows must not contain.
    #[command(flatten)]
    pub(crate) without: WithoutGiven,

    /// Drop lines with nothing to compare, too (a blank or null text); without it they are kept
    #[arg(long)]
    pub(crate) drop_blank: bool,

    /// Field that holds the key, named in DROPPED; may be missing [default: id]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_field: Option<String>,

    /// Field that holds the text [default: text]; may be repeated: the texts are joined
    ///
    /// A name with dots is a path: `data.text` is the field `text` of the object `data`. A path may
    /// lead through a list, and a list of strings is a text: `messages.content` joins the `content`
    /// of all `messages`.
    #[arg(long, value_name = "NAME")]
    pub(crate) text_field: Vec<String>,

    /// Field that holds the items of a set, an array of strings and integers
    #[arg(long, value_name = "NAME", conflicts_with = "text_field")]
    pub(crate) items_field: Option<String>,

    /// Stop with an error at the first line that cannot be compared
    #[arg(long)]
    pub(crate) strict: bool,

    /// Skip rows of tables and lines that cannot be read, any number of them, and end with status 0
    ///
    /// Without it, a row of a table that does not fit the header, and a line that is not UTF-8, are
    /// errors; other lines that cannot be read are skipped, and the status is 3. If more than half
    /// of the lines cannot be read, most likely a field name is wrong: this is an error.
    ///
    /// A damaged file (cut off, overwritten) is an error, too. With --lenient, what stands before
    /// the damage is taken, the file is named, and the next one is read. The status is then 3.
    #[arg(long, conflicts_with = "strict")]
    pub(crate) lenient: bool,

    #[command(flatten)]
    pub(crate) rows: RowsGiven,

    #[command(flatten)]
    pub(crate) given: Given,
}

impl Dedup {
    /// Returns the `--from` options as an [`ExactGiven`], because documents are read again by the
    /// same code as for other commands.
    pub(crate) fn originals(&self) -> ExactGiven {
        ExactGiven::of_texts(&self.from, &self.from_fields)
    }
}
