//! Arguments of `nearkin report`.

use std::path::PathBuf;

use nearkin_kit::args::lines::{ExactGiven, FromFields};

/// Write an HTML page about the near-duplicates of an index
///
/// The page is a single file without external links. It shows how much is redundant, the clusters
/// (largest first, searchable), any two documents of a cluster side by side with their differences
/// marked, the distribution of similarities, how likely the index is to find a pair of a given
/// similarity, and how the index has grown. Its size is bounded: it has the largest clusters, up to
/// 30 documents of each, and about 12 MiB of texts, and says what it omits.
///
/// For an index of fingerprints (`--for quotes`), the page shows which texts share passages: the
/// pairs with the longest runs first, those that stand out marked, and both texts of a pair side by
/// side with the passages numbered and coloured, ready to print.
///
/// Texts are read again from files, whose keys are their paths, or from `--from`. A text is shown
/// only if it still has the stored signature; others are marked as changed. A page that lies in the
/// current folder, or below it, links to the files.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin report my.nearkin --out report.html\n  \
    nearkin report papers.nearkin --from papers.jsonl --out papers.html\n  \
    nearkin report essays.nearkin --out passages.html\n  \
    nearkin report my.nearkin --threshold 0.9 --clusters 50 --no-texts --out short.html")]
pub struct Report {
    /// Folder of the index
    pub index: PathBuf,

    /// File to write; an earlier one of this command is replaced once the new one is complete
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,

    /// Minimum similarity that connects two documents, 0 to 1 or in percent [default: the
    /// index's own]
    #[arg(long, short, value_name = "T", value_parser = nearkin_kit::args::values::similarity)]
    pub threshold: Option<f64>,

    /// Maximum clusters to show, 1 to 10,000, largest first; with more than 1,000, fewer documents
    /// are shown of each. Of fingerprints, the maximum pairs
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub clusters: usize,

    /// Read texts from this file of JSON lines, by key [default: from files, whose keys are paths];
    /// may be repeated
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,

    /// Where the lines of `--from` have key and content.
    #[command(flatten)]
    pub from_fields: FromFields,

    /// Omit the texts, for a page to share; sizes stay, and `--from` gives only these
    #[arg(long)]
    pub(crate) no_texts: bool,

    /// Title of the page [default: name of the folder]
    #[arg(long)]
    pub title: Option<String>,
}

impl Report {
    /// Returns the `--from` options as an [`ExactGiven`], because texts are read again by the same
    /// code as for `--exact`.
    pub fn originals(&self) -> ExactGiven {
        ExactGiven::of_texts(&self.from, &self.from_fields)
    }
}
