//! The command that answers other programs over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::value_parser;

use super::lines::ExactGiven;
use super::ttl::TtlGiven;

/// Answer programs and browsers over HTTP, until it is told to stop
///
/// JSON in and out, described by itself at /openapi.json and with examples in docs/SERVE.md; a page
/// for people at /. Prints the address it listens on. The server is the index's writer: other
/// commands may read the index meanwhile, not change it. SIGINT (Ctrl-C) and SIGTERM stop it: it
/// finishes what runs, closes the index and ends with status 0.
///
/// An address that other machines can reach needs a token, which every request then brings: as
/// `Authorization: Bearer TOKEN`, or in a browser as the password of any user. It comes from
/// --token-file or from the environment variable NEARKIN_TOKEN.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin serve my.nearkin\n  \
    nearkin serve my.nearkin --listen 8080 --requests-max 16\n  \
    nearkin serve my.nearkin --listen 0.0.0.0:7879 --token-file token.txt")]
pub(crate) struct Serve {
    /// Folder of the index; must exist
    pub(crate) index: PathBuf,

    /// Where to listen: a port of this machine (8080), a name or an address and a port
    /// (localhost:8080, 0.0.0.0:8080); port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7878")]
    #[arg(value_parser = super::values::listen)]
    pub(crate) listen: SocketAddr,

    /// File that holds the token requests must bring, 16 characters and more
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// Most bytes of one request's body; a larger one is refused with status 413
    #[arg(long, value_name = "N", default_value_t = 8 << 20)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1024..=256 << 20))]
    pub(crate) body_bytes_max: usize,

    /// Most seconds that a request may take; then it is answered with status 504
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,

    /// Most requests that are worked on at once; others are answered with status 503
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub(crate) requests_max: usize,

    /// Let clients read the texts of stored documents again, for the page to show two side by
    /// side: files whose keys are their paths, unless --from says otherwise. A text is given only
    /// if it still has the stored signature
    #[arg(long)]
    pub(crate) texts: bool,

    /// Find the texts in this file of JSON lines, by their keys; read once at the start; may be
    /// repeated
    #[arg(long, value_name = "FILE", requires = "texts")]
    pub(crate) from: Vec<PathBuf>,

    /// Field of these lines that holds the key [default: id]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) from_key_field: Option<String>,

    /// Field of these lines that holds the text or the items [default: text, items]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub(crate) from_field: Option<String>,

    #[command(flatten)]
    pub(crate) ttl: TtlGiven,
}

impl Serve {
    /// Where the documents are, as `--exact` says it.
    pub(crate) fn originals(&self) -> ExactGiven {
        ExactGiven {
            exact: true,
            from: self.from.clone(),
            from_key_field: self.from_key_field.clone(),
            from_field: self.from_field.clone(),
            at_least: None,
        }
    }
}
