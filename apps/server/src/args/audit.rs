//! Arguments of `nearkin audit`.

use std::path::PathBuf;

use nearkin::Guard;
use nearkin_kit::args::params::Given;
use nearkin_kit::args::rows::RowsGiven;
use nearkin_kit::args::values::guard;

/// Judge what any tool removed: the most similar kept row of each removed one, by all shingles
///
/// Prints how many removed rows have no kept row of similarity 0.5, 0.6, ... 1.0, and of
/// --threshold; how many of them are similar to other removed rows only (chains); and how many
/// similar pairs differ in numbers or in rare words, as `nearkin dedup --guard` tells copies from
/// filled-in forms. Each similarity that is shown is exact; docs/guide/AUDIT.md says what the
/// search may miss.
///
/// Rows are copied to a work folder in TMPDIR, with about 600 bytes for each beside its text, so
/// any number of them can be judged. Nothing but --page and --list is written.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin audit [OPTIONS] <REMOVED>... --kept <KEPT>\n       \
    nearkin audit [OPTIONS] --all <INPUT> --kept <KEPT>")]
#[command(after_help = "Examples:\n  nearkin audit removed.jsonl --kept unique.jsonl\n  \
    nearkin audit --all papers.jsonl --kept unique.jsonl --page audit.html\n  \
    nearkin audit removed.jsonl --kept unique.jsonl --for training --list judged.jsonl --json")]
pub struct Audit {
    /// Files of the removed rows: JSON lines or tables (.csv, .tsv), plain or compressed by gzip or
    /// Zstandard, or Parquet; a folder stands for all such files in it; `-` is stdin
    #[arg(value_name = "REMOVED", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) removed: Vec<PathBuf>,

    /// File or folder of the rows that stay; may be repeated
    #[arg(long, value_name = "KEPT", required = true)]
    pub(crate) kept: Vec<PathBuf>,

    /// File or folder of what the tool read, in place of REMOVED; may be repeated. Removed are the
    /// rows that KEPT lacks, by key; by text or items if the first row of KEPT has no
    /// key
    ///
    /// A key or text that KEPT has n times stays n times: the first n rows that have it.
    #[arg(long, value_name = "INPUT")]
    pub(crate) all: Vec<PathBuf>,

    /// Write a page with the twenty worst removals, each beside the most similar kept row; an
    /// earlier page of this command is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) page: Option<PathBuf>,

    /// Write a line of JSON for each removed row
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Option<PathBuf>,

    /// What similar rows may not differ in: only `numbers`; what is `rare`, too; other numbers
    /// whatever else differs: `agree`; `none`: nothing is looked at [default: as for `nearkin
    /// dedup`]
    #[arg(long, value_name = "WHAT", value_parser = guard())]
    pub(crate) guard: Option<Guard>,

    /// Field that holds the key; may be missing [default: id]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_field: Option<String>,

    /// Field that holds the text [default: text]; may be repeated: the texts are joined
    #[arg(long, value_name = "NAME")]
    pub(crate) text_field: Vec<String>,

    /// Field that holds the items of a set, an array of strings and integers
    #[arg(long, value_name = "NAME", conflicts_with = "text_field")]
    pub(crate) items_field: Option<String>,

    /// Skip rows that cannot be read, any number of them, and end with status 0
    ///
    /// Without it, rows that cannot be read are skipped, named and not judged, and the status is 3.
    /// If more than half of the rows cannot be read, most likely a field name is wrong: this is an
    /// error. Of a damaged file, what stands before the damage is taken; the status is then 3.
    #[arg(long)]
    pub(crate) lenient: bool,

    #[command(flatten)]
    pub(crate) rows: RowsGiven,

    #[command(flatten)]
    pub(crate) given: Given,
}

impl Audit {
    /// What rows are told by if they have no keys.
    pub(crate) fn content_noun(&self) -> &'static str {
        if self.items_field.is_some() { "items" } else { "texts" }
    }
}
