//! Arguments of `nearkin tune`.

use std::path::PathBuf;

use nearkin_kit::args::lines::LinesGiven;
use nearkin_kit::args::params::Given;

/// Show the cost and recall of band settings, for a threshold or on your own documents
///
/// Creates nothing. Without documents it shows what follows from the parameters: the probability
/// that two documents are compared, by similarity (the S-curve), and bytes per document. With
/// documents it also counts how many others each document is compared with, which depends on the
/// texts. With --known it counts how many of your known duplicates are found. It recommends one
/// setting and prints the command that creates such an index.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin tune [OPTIONS] [PATH]...\n       \
    nearkin tune [OPTIONS] --jsonl <FILE> [--known <FILE>]")]
#[command(after_help = "Examples:\n  nearkin tune --threshold 0.8\n  \
    nearkin tune docs --threshold 0.6 --shingles words:2\n  \
    nearkin tune --jsonl papers.jsonl --known pairs.tsv --svg curve.svg\n  \
    nearkin tune --jsonl papers.jsonl --ignore-common 3% --out common.txt")]
pub(crate) struct Tune {
    /// Files and folders of documents like those that will be indexed
    #[arg(value_name = "PATH", conflicts_with = "jsonl")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) lines: LinesGiven,

    /// File of known duplicates: one pair of keys per line, with a tab between the two keys;
    /// further columns are ignored. Without --threshold, a threshold is chosen that most of these
    /// pairs reach
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,

    /// Maximum documents to sample, chosen at random (the same ones each time), in addition to
    /// those of --known
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=1_000_000))]
    pub(crate) sample: usize,

    /// With --ignore-common SHARE: write the list to this file, for the same option of other
    /// commands
    #[arg(long, short, value_name = "FILE", requires = "ignore_common")]
    pub(crate) out: Option<PathBuf>,

    /// Write the S-curves to this file as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) given: Given,
}
