//! Arguments of `nearkin mcp`.

use std::path::PathBuf;

use super::texts::TextsGiven;

/// Offer an index to a program that speaks the Model Context Protocol, over standard input and
/// output
///
/// An assistant starts this command itself, and then finds documents that are like a text, admits
/// new ones unless they are too similar to a stored one, and gets stored ones by key. Other
/// processes can read and write the index meanwhile. It ends with the standard input.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin mcp my.nearkin\n\n\
    In the configuration of an assistant:\n  \
    {\"mcpServers\": {\"papers\": {\"command\": \"nearkin\", \
    \"args\": [\"mcp\", \"/data/papers.nearkin\"]}}}")]
pub struct Mcp {
    /// Folder of the index; must exist
    pub(crate) index: PathBuf,

    /// Offer reads only
    #[arg(long)]
    pub(crate) read_only: bool,

    #[command(flatten)]
    pub(crate) texts: TextsGiven,
}
