//! Arguments of `nearkin export`, `import` and `rebuild`.

use std::path::PathBuf;

use nearkin_kit::args::params::Given;

/// Write all documents of an index to a file: JSON lines, or Parquet
///
/// The ending of FILE selects the format: .jsonl or .parquet; `-` is JSON lines to stdout. An
/// export holds keys, payloads, times, shingle counts and signatures, unchanged, and the parameters
/// with the seed, so that `nearkin import` can make an equal index. docs/guide/COOKBOOK.md lists
/// the columns.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin export my.nearkin --out my.jsonl")]
pub(crate) struct Export {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// File to write; an earlier one of this command is replaced once the new one is complete
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// Add the documents of other indexes, or of files that `export` wrote, unchanged
///
/// Creates the index with the parameters of the first SOURCE if there is none. Otherwise the
/// signatures must have the same parameters; bands and threshold may differ. A document replaces
/// the stored document of the same key. After an interruption run the same command again.
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

/// Make a new index from the signatures of another one, for another threshold
///
/// Signatures are kept and cut into other bands, so only --threshold, --recall, --bands with
/// --rows-per-band, and --lane-bits 8 can change. Everything else needs the texts: add them to a
/// new index.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin rebuild my.nearkin low.nearkin --threshold 0.5")]
pub(crate) struct Rebuild {
    /// Folder of the index; it is not changed
    pub(crate) index: PathBuf,

    /// Folder of the new index; must be new or empty
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) given: Given,
}
