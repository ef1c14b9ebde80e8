//! Options of `nearkin dedup` for questions that rows must not contain.

use std::path::PathBuf;

use nearkin_kit::args::values::similarity;

/// Rows without test questions
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Decontamination")]
pub(crate) struct WithoutGiven {
    /// Drop rows that contain a question of this file of JSON lines (also compressed, a table or
    /// Parquet; a folder of such files); may be repeated. --keep all drops nothing else
    ///
    /// Exact by words: upper case, punctuation and white space do not count. DROPPED names the
    /// question, the words that both have, and the passage. Questions of fewer than 8 words have to
    /// be in the row as a whole; those of fewer than 3 are not looked for.
    #[arg(long, value_name = "FILE")]
    pub(crate) without: Vec<PathBuf>,

    /// A row contains a question if it has this share of its words, and at least 8 of them, in a
    /// passage at most twice as long, above 0 to 1 or in percent; words count in runs of three
    /// [default: 0.6]
    #[arg(long, value_name = "SHARE", value_parser = similarity, requires = "without")]
    pub(crate) without_share: Option<f64>,

    /// A row contains a question, whatever the share, if it has N consecutive words of it, at least
    /// 3 [default: 12]
    #[arg(long, value_name = "N", requires = "without")]
    #[arg(value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) without_words: Option<u32>,

    /// Field of questions that holds the text [default: that of the rows]; may be repeated: the
    /// texts are joined
    #[arg(long, value_name = "NAME", requires = "without")]
    pub(crate) without_field: Vec<String>,

    /// Field of questions that holds the key, named in DROPPED; may be missing [default: that of
    /// the rows]
    #[arg(long, value_name = "NAME", requires = "without")]
    pub(crate) without_key_field: Option<String>,
}
