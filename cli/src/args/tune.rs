//! `nearkin tune`.

use std::path::PathBuf;

use super::lines::LinesGiven;
use crate::given::Given;

/// Show what bands cost and find, for a threshold or on documents of your own
///
/// Creates nothing. Without documents it says what follows from the numbers alone: the chance that
/// two documents are compared, for each similarity (the S-curve), and bytes a document. With
/// documents it also counts how many others each is compared with, which depends on nothing but
/// the texts; and with --known, how many of the pairs that you consider duplicates are found. It
/// recommends one choice and prints the command that creates such an index.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin tune [OPTIONS] [PATH]...\n       \
    nearkin tune [OPTIONS] --jsonl <FILE> [--known <FILE>]")]
#[command(after_help = "Examples:\n  nearkin tune --threshold 0.8\n  \
    nearkin tune docs --threshold 0.6 --shingles words:2\n  \
    nearkin tune --jsonl papers.jsonl --known pairs.tsv --svg curve.svg")]
pub(crate) struct Tune {
    /// Files and folders of documents like those that will be indexed
    #[arg(value_name = "PATH", conflicts_with = "jsonl")]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) lines: LinesGiven,

    /// Pairs of keys that you consider duplicates, two on a line with a tab between; further
    /// columns are ignored. Without --threshold it is chosen so that most of them reach it
    #[arg(long, value_name = "FILE")]
    pub(crate) known: Option<PathBuf>,

    /// Most documents to look at, chosen at random (the same ones each time), beside those of
    /// --known
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(2..=1_000_000))]
    pub(crate) sample: usize,

    /// Write the S-curves to this file, as a picture
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) given: Given,
}
