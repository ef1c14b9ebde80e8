//! The command that writes lines without near-duplicates.

use std::path::PathBuf;

use nearkin::Keep;

use super::values::{keep, similarity};
use crate::params_args::Given;

/// Copy lines of JSON, or rows, without near-duplicates of each other, or of what an index holds
///
/// Goes through the documents in order of preference (--keep) and drops each that is like one it
/// has kept, or like one of --index, which is not changed. Kept lines are written byte for byte
/// and in the order of the input. DROPPED says of every dropped line of which other it is a
/// near-duplicate, and why a line could not be compared: such lines are not written to OUT.
///
/// OUT and DROPPED appear when they are whole. After an interruption run the same command again:
/// it goes on where it was, unless the input comes from stdin or has changed. docs/DEDUP.md says
/// exactly what is dropped, and what it costs.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin dedup [OPTIONS] <FILE>... --out <OUT>")]
#[command(after_help = "Examples:\n  nearkin dedup papers.jsonl --out unique.jsonl\n  \
    nearkin dedup papers.jsonl --out new.jsonl.zst --index papers.nearkin --threshold 0.8\n  \
    nearkin dedup papers.jsonl --out unique.jsonl --exact --contained 0.8\n  \
    nearkin dedup papers.jsonl --out longest.jsonl.gz --keep longest --dropped why.jsonl --json")]
pub(crate) struct Dedup {
    /// Files of JSON lines or tables (.csv, .tsv), plain or packed by gzip or Zstandard, or
    /// Parquet; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// File to write: lines of JSON, a table (.csv) or Parquet (.parquet), by its name; packed if
    /// that ends in .gz or .zst; replaced once all is written. `-` is stdout
    #[arg(long, short)]
    pub(crate) out: PathBuf,

    /// File that says what was dropped and why, packed likewise [default: OUT.dropped.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) dropped: Option<PathBuf>,

    /// Drop what is like a document of this index, too; its parameters are then the default
    #[arg(long, value_name = "INDEX")]
    pub(crate) index: Option<PathBuf>,

    /// What stays of documents like each other: the first, the newest (the last line), or the
    /// longest (with the most shingles)
    #[arg(long, value_name = "WHICH", default_value = "first", value_parser = keep())]
    pub(crate) keep: Keep,

    /// Drop what contains, or is contained in, a kept document: the larger of the two has at least
    /// so much of the smaller one, 0 to 1 or in percent; then --threshold is 0 unless it is given
    ///
    /// Half of a document is similar to the whole to 0.5 only. By estimates this takes documents
    /// that share boilerplate for parts of each other: give --exact with it.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub(crate) contained: Option<f64>,

    /// Decide by the documents themselves, not by the estimate: nothing is dropped that is not like
    /// a kept one by its shingles
    ///
    /// Looks from three standard errors below the threshold, so that hardly anything is missed,
    /// either. Takes 8 bytes of disk for each shingle while it works.
    #[arg(long)]
    pub(crate) exact: bool,

    /// Field that holds a document's key, named in DROPPED; need not be there [default: id]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_field: Option<String>,

    /// Field that holds its text [default: text]
    #[arg(long, value_name = "NAME")]
    pub(crate) text_field: Option<String>,

    /// Field that holds its items instead, an array of strings and integers
    #[arg(long, value_name = "NAME", conflicts_with = "text_field")]
    pub(crate) items_field: Option<String>,

    /// Stop with an error at the first line that cannot be compared
    #[arg(long)]
    pub(crate) strict: bool,

    /// Accept that more than half of the lines cannot be compared: without it that is an error,
    /// since then a field was named wrongly, most likely
    #[arg(long, conflicts_with = "strict")]
    pub(crate) lenient: bool,

    #[command(flatten)]
    pub(crate) given: Given,
}
