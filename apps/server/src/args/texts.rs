//! Arguments of commands that let their clients read the texts of stored documents.

use std::path::PathBuf;

use nearkin_kit::args::lines::{ExactGiven, FromFields};

/// Where the texts of stored documents are.
#[derive(Debug, clap::Args)]
pub(crate) struct TextsGiven {
    /// Let clients read the texts of stored documents, for example to see two side by side: from
    /// files below --texts-root whose keys are their paths, or from --from. A text is returned only
    /// if it still has the stored signature
    #[arg(long)]
    pub(crate) texts: bool,

    /// Folder that these files must lie in; links, `..` and absolute paths that lead out of it find
    /// nothing. Relative keys are relative to it
    #[arg(long, value_name = "FOLDER", default_value = ".", requires = "texts")]
    #[arg(conflicts_with = "from")]
    pub(crate) texts_root: PathBuf,

    /// Read texts from this file of JSON lines, by key; scanned once at the start; may be repeated
    #[arg(long, value_name = "FILE", requires = "texts")]
    pub(crate) from: Vec<PathBuf>,

    /// Where the lines of `--from` have key and content.
    #[command(flatten)]
    pub(crate) from_fields: FromFields,
}

impl TextsGiven {
    /// Returns the `--from` options as an [`ExactGiven`], because texts are read again by the same
    /// code as for `--exact`.
    pub(crate) fn originals(&self) -> ExactGiven {
        ExactGiven::of_texts(&self.from, &self.from_fields)
    }
}
