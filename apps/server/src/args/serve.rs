//! Arguments of `nearkin serve`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::value_parser;

use nearkin_kit::args::listen::{self, Listen};
use nearkin_kit::args::ttl::TtlGiven;

use super::texts::TextsGiven;

/// Serve an index over HTTP to programs and browsers, until stopped
///
/// The API uses JSON; /openapi.json describes it, docs/guide/SERVE.md has examples, and / is a page
/// for people. Prints the address it listens on. Other processes can read and write the index
/// meanwhile: further servers, other commands, programs with shared handles; their changes are seen
/// within a tenth of a second. SIGINT (Ctrl-C) or SIGTERM stop it: it finishes running requests,
/// closes the index and exits with status 0.
///
/// An address that other machines can reach needs a token, which every request must contain: as
/// `Authorization: Bearer TOKEN`, or in a browser as the password of any user. Set it with
/// --token-file or the environment variable NEARKIN_TOKEN. A second one, set with --read-token-file
/// or NEARKIN_READ_TOKEN, allows reading only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin serve my.nearkin\n  \
    nearkin serve my.nearkin --listen 8080 --requests-max 16\n  \
    nearkin serve my.nearkin --listen 0.0.0.0:7879 --token-file token.txt")]
pub struct Serve {
    /// Folder of the index; must exist
    pub index: PathBuf,

    /// Address to listen on: a port of this machine (8080), or a name or address with a port
    /// (localhost:8080, 0.0.0.0:8080); port 0 picks a free one. unix:PATH: a Unix socket that only
    /// its owner may open; systemd: the socket that a socket unit passes
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7878")]
    #[arg(value_parser = listen::listen)]
    pub listen: Listen,

    /// Path below which a proxy shows the server (/search); requests are answered with it and
    /// without it
    #[arg(long, value_name = "PATH", value_parser = listen::base_path)]
    pub(crate) base_path: Option<String>,

    /// File with the token that requests must contain, at least 16 characters
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// File with a second token, which allows reading only; writes with it get status 403
    #[arg(long, value_name = "FILE")]
    pub(crate) read_token_file: Option<PathBuf>,

    /// Let pages of this origin (https://app.example) send requests from a browser; by default none
    /// may; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = nearkin_kit::args::values::origin)]
    pub(crate) allow_origin: Vec<String>,

    /// Maximum bytes of a request body; larger ones get status 413; at most a 16th of --memory
    #[arg(long, value_name = "N", default_value_t = 8 << 20)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1024..=256 << 20))]
    pub(crate) body_bytes_max: usize,

    /// Maximum seconds per request; then it gets status 504
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,

    /// Seconds from SIGTERM until the server stops to accept requests; /health is 503 meanwhile, so
    /// that a load balancer sends requests elsewhere
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    #[arg(value_parser = value_parser!(u64).range(0..=3600))]
    pub(crate) drain: u64,

    /// Maximum concurrent requests; others get status 503
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub(crate) requests_max: usize,

    /// Serve reads only; writes get status 403. Another process may write the index meanwhile: its
    /// changes are seen after at most a second
    #[arg(long, conflicts_with = "ttl")]
    pub(crate) read_only: bool,

    /// Log requests to stderr, a line each: time, peer, method, path, status, duration, bytes and
    /// request id; or `off` [default: text unless stderr is a terminal]
    #[arg(long, value_name = "FORMAT", value_parser = log_format())]
    pub(crate) access_log: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) texts: TextsGiven,

    #[command(flatten)]
    pub(crate) ttl: TtlGiven,
}

/// Format of the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
    Off,
}

/// Parses the format of the access log.
fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(["text", "json", "off"]).map(|name| match name.as_str() {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        _ => LogFormat::Off,
    })
}

impl Serve {
    /// The format of the access log, if there is one.
    #[cfg(feature = "serve")]
    pub(crate) fn log_format(&self) -> Option<LogFormat> {
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        let by_default = || (!is_terminal).then_some(LogFormat::Text);
        self.access_log.or_else(by_default).filter(|format| *format != LogFormat::Off)
    }
}
