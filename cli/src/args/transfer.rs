//! The commands that carry documents from one index to another, or to a file and back.

use std::path::PathBuf;

use crate::given::Given;

/// Write all documents of an index to a file: JSON lines, or Parquet
///
/// The ending of FILE says which: .jsonl or .parquet; `-` is JSON lines to stdout. What is
/// written is keys, payloads, times, shingle counts and signatures, as they are, and the
/// parameters, seed included: `nearkin import` makes the same index of it. docs/COOKBOOK.md has
/// the columns.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin export my.nearkin --out my.jsonl")]
pub(crate) struct Export {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// File to write; one of that name is replaced once all is written
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Add the documents of other indexes, or of files that `export` wrote, as they are
///
/// Creates the index with the parameters of the first SOURCE if there is none; else signatures
/// must be of the same parameters, whatever the bands and the threshold. A document replaces one
/// with its key. After an interruption run the same command again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin import copy.nearkin my.jsonl\n  \
    nearkin import all.nearkin my.nearkin copy.nearkin")]
pub(crate) struct Import {
    /// Folder of the index to add to
    pub(crate) index: PathBuf,

    /// Folder of an index, or a .jsonl or .parquet file; `-` is JSON lines from stdin
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,
}

/// Make a new index of the signatures of another, for another threshold
///
/// Only --threshold, --recall, --bands with --rows-per-band, and --lane-bits 8 change something:
/// signatures are kept and cut into other bands. Everything else needs the texts; add them to a new
/// index.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin rebuild my.nearkin low.nearkin --threshold 0.5")]
pub(crate) struct Rebuild {
    /// Folder of the index; it stays as it is
    pub(crate) index: PathBuf,

    /// Folder of the new index; must not exist, or be empty
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) given: Given,
}
