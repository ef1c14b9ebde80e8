//! The command line.

use clap::Parser;
use std::path::PathBuf;

pub const STAGES: [&str; 8] =
    ["tables", "ours", "large", "memory", "shared", "text", "scripts", "report"];

/// Measures Nearkin and its rivals.
///
/// Stages, in the order of `all`:
///   tables     all engines on made-up signatures, side by side in one process
///   ours       Nearkin alone: group commit, crashes, pairs, reading while writing, dead documents
///   large      Nearkin alone at the largest size: memory, write amplification, growth
///   memory     gaoya alone, at the same size if the memory is there
///   shared     eight processes that write to one index, beside SQLite
///   text       from text: sketching, Nearkin, sketchir; datasketch, rensa and Lance by --python
///   scripts    text to signature by script, beside gaoya on the same words
///   report     prints the results of all stages as tables, for docs/reports/BENCHMARKS.md
///   all        all of these
#[derive(Debug, Clone, Parser)]
#[command(
    verbatim_doc_comment,
    arg_required_else_help = true,
    override_usage = "rivals STAGE... [FLAGS]"
)]
pub struct Options {
    /// What to measure: --help lists the stages
    #[arg(required = true, value_name = "STAGE")]
    #[arg(value_parser = STAGES.into_iter().chain(["all"]).collect::<Vec<_>>())]
    pub stages: Vec<String>,
    /// Small sizes and two runs: does everything work?
    #[arg(long)]
    quick: bool,
    /// Documents of stage `tables`
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', value_parser = count)]
    #[arg(default_value = "10k,100k,1M", default_value_if("quick", "true", "2k,10k"))]
    pub sizes: Vec<u32>,
    /// Documents of stage `large`; 0 skips it
    #[arg(long, value_name = "N", value_parser = count)]
    #[arg(default_value = "10M", default_value_if("quick", "true", "30k"))]
    pub large: u32,
    /// Documents of stage `ours`
    #[arg(long, value_name = "N", value_parser = count)]
    #[arg(default_value = "1M", default_value_if("quick", "true", "10k"))]
    pub ours: u32,
    /// Inserts of each process of stage `shared`
    #[arg(long, value_name = "N", default_value = "1000", default_value_if("quick", "true", "50"))]
    pub shared: u32,
    /// Documents of stage `text`
    #[arg(long, value_name = "N", value_parser = count)]
    #[arg(default_value = "100k", default_value_if("quick", "true", "2k"))]
    pub texts: u32,
    /// Runs of each measurement
    #[arg(long, value_name = "N", default_value = "3", default_value_if("quick", "true", "2"))]
    pub runs: u32,
    /// Runs of SQLite and redb above 300k documents
    #[arg(long, value_name = "N", default_value = "1")]
    pub slow_runs: u32,
    /// Only these engines of stage `tables`
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub engines: Option<Vec<String>>,
    /// Corpora (*.jsonl or *.jsonl.zst with a field `text`); without, tests/data
    #[arg(long, value_name = "FOLDER", env = "NEARKIN_DATA")]
    pub data: Option<PathBuf>,
    /// A Python with benches/rivals/python/requirements.txt installed
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<PathBuf>,
    /// Scratch space, on the disk to be measured
    #[arg(long, value_name = "FOLDER", default_value_os_t = home().join("target/work"))]
    pub work: PathBuf,
    /// Where results are kept
    #[arg(long, value_name = "FOLDER", default_value_os_t = home().join("results"))]
    pub results: PathBuf,
    /// Queries of each kind per measurement
    #[arg(
        long,
        value_name = "N",
        default_value = "10000",
        default_value_if("quick", "true", "1000")
    )]
    pub queries: usize,
    /// Documents that are inserted one by one, each with a sync
    #[arg(long, value_name = "N", default_value = "300", default_value_if("quick", "true", "20"))]
    pub singles: u32,
}

/// The repository in which this program was compiled.
pub fn repository() -> PathBuf {
    home().join("../..")
}

/// This crate's folder.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

impl Options {
    pub fn read() -> Self {
        let mut options = Self::parse();
        if options.stages.iter().any(|stage| stage == "all") {
            options.stages = STAGES.map(str::to_owned).to_vec();
        }
        options
    }

    /// The flags as given, for child processes that run single stages.
    pub fn flags() -> impl Iterator<Item = String> {
        let is_stage = |argument: &str| argument == "all" || STAGES.contains(&argument);
        std::env::args().skip(1).filter(move |argument| !is_stage(argument))
    }
}

/// A count, as in 5000, 100k or 10M.
fn count(text: &str) -> Result<u32, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let number: u32 = digits.parse().map_err(|_| format!("{text} is not a count"))?;
    number.checked_mul(factor).ok_or_else(|| format!("{text} is too large"))
}
