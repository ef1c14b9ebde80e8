//! Documents as lines of JSON: those that come in, and those that are read again.

use std::path::PathBuf;

/// Verifying by the documents themselves
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Exact similarity")]
pub(crate) struct ExactGiven {
    /// Read the documents that are found again, and say how similar they are exactly; `stale` if
    /// one has changed since it was added, `missing` if it cannot be read
    #[arg(long, group = "read_again")]
    pub(crate) exact: bool,

    /// Find them in this file of JSON lines (packed or Parquet, too), by their keys; may be
    /// repeated [default: files, whose keys are paths]
    #[arg(long, value_name = "FILE", requires = "read_again")]
    pub(crate) from: Vec<PathBuf>,

    /// Field of these lines that holds the key [default: id]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) from_key_field: Option<String>,

    /// Field of these lines that holds the text or the items [default: text, items]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) from_field: Option<String>,

    /// Least exact similarity to print, 0 to 1; looks from three standard errors below it unless
    /// --threshold says from where. What is stale or missing is printed all the same
    #[arg(long, value_name = "T", value_parser = super::values::similarity, requires = "exact")]
    pub(crate) at_least: Option<f64>,
}

/// Documents as lines of JSON
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Documents as lines")]
pub(crate) struct LinesGiven {
    /// Read documents from the JSON objects in FILE, one a line; `-` is stdin; may be repeated
    ///
    /// FILE may be packed by gzip or Zstandard, or be a Parquet file, whose rows are then the
    /// lines and whose columns the fields: told by its first bytes. A line that cannot be used is
    /// skipped, counted and named.
    #[arg(long, value_name = "FILE", visible_alias = "parquet")]
    pub(crate) jsonl: Vec<PathBuf>,

    /// Field that holds a document's key, a string or an integer [default: id]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    pub(crate) key_field: Option<String>,

    /// Field that holds its text [default: text]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    pub(crate) text_field: Option<String>,

    /// Field that holds its items instead, an array of strings and integers; a new index then
    /// has `--shingles items`, and `items` is the default for such an index
    #[arg(long, value_name = "NAME", requires = "jsonl", conflicts_with = "text_field")]
    pub(crate) items_field: Option<String>,

    /// Field that holds the rows of a signature made elsewhere, an array of integers from 0 to
    /// 2^64 - 1, for an index with `--scheme external:NAME` [default for such an index: rows]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    #[arg(conflicts_with_all = ["text_field", "items_field"])]
    pub(crate) rows_field: Option<String>,

    /// Stop with an error at the first line or file that would be skipped; what came before it is
    /// done
    #[arg(long)]
    pub(crate) strict: bool,

    /// Accept that more than half of the lines cannot be used: without it that is an error, since
    /// then a field was named wrongly, most likely
    #[arg(long, conflicts_with = "strict")]
    pub(crate) lenient: bool,

    /// Take a file that holds JSON lines, a table or Parquet for one text all the same
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) as_text: bool,
}
