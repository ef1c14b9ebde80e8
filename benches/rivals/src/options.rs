//! The command line.

use crate::results::Result;
use std::path::PathBuf;

pub const USAGE: &str = "\
Usage: rivals STAGE... [FLAGS]

Stages, in the order of `all`:
  tables     all engines on made-up signatures, side by side in one process
  ours       Nearkin alone: group commit, crashes, pairs, reading while writing, dead documents
  large      Nearkin alone at the largest size: memory, write amplification, growth
  memory     gaoya alone, at the same size if the memory is there
  text       from text: sketching, Nearkin, sketchir; datasketch, rensa and Lance by --python
  scripts    text to signature by script, beside gaoya on the same words
  report     prints the results of all stages as tables, for docs/reports/BENCHMARKS.md
  all        all of these

Flags:
  --quick            small sizes and two runs: does everything work?
  --sizes A,B,C      documents of stage `tables` (default 10k,100k,1M)
  --large N          documents of stage `large` (default 10M; 0 skips it)
  --ours N           documents of stage `ours` (default 1M)
  --texts N          documents of stage `text` (default 100k)
  --runs N           runs of each measurement (default 3)
  --slow-runs N      runs of SQLite and redb above 300k documents (default 1)
  --engines A,B      only these engines of stage `tables`
  --data FOLDER      corpora (*.jsonl or *.jsonl.zst with a field `text`); default $NEARKIN_DATA,
                     else tests/data
  --python PROGRAM   a Python with benches/rivals/python/requirements.txt installed
  --work FOLDER      scratch space, on the disk to be measured (default target/work)
  --results FOLDER   where results are kept (default results)
";

#[derive(Debug, Clone)]
pub struct Options {
    pub stages: Vec<String>,
    pub sizes: Vec<u32>,
    pub large: u32,
    pub ours: u32,
    pub texts: u32,
    pub runs: u32,
    pub slow_runs: u32,
    pub engines: Option<Vec<String>>,
    pub data: Option<PathBuf>,
    pub python: Option<PathBuf>,
    pub work: PathBuf,
    pub results: PathBuf,
    /// Number of queries of each kind per measurement.
    pub queries: usize,
    /// Number of documents that are inserted one by one, each with a sync.
    pub singles: u32,
    /// The flags as given, for child processes that run single stages.
    pub flags: Vec<String>,
}

pub const STAGES: [&str; 7] = ["tables", "ours", "large", "memory", "text", "scripts", "report"];

/// The repository in which this program was compiled.
pub fn repository() -> PathBuf {
    home().join("../..")
}

/// This crate's folder.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

impl Options {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            stages: Vec::new(),
            sizes: vec![10_000, 100_000, 1_000_000],
            large: 10_000_000,
            ours: 1_000_000,
            texts: 100_000,
            runs: 3,
            slow_runs: 1,
            engines: None,
            data: std::env::var_os("NEARKIN_DATA").map(PathBuf::from),
            python: None,
            work: home().join("target/work"),
            results: home().join("results"),
            queries: 10_000,
            singles: 300,
            flags: Vec::new(),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") {
                options.stages.push(argument);
                continue;
            }
            options.flags.push(argument.clone());
            if argument == "--quick" {
                options.quick();
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} takes a value"))?;
            options.set(&argument, &value)?;
            options.flags.push(value);
        }
        if options.stages.iter().any(|stage| stage == "all") {
            options.stages = STAGES.map(str::to_owned).to_vec();
        }
        let unknown = options.stages.iter().find(|stage| !STAGES.contains(&stage.as_str()));
        if let Some(unknown) = unknown {
            return Err(format!("there is no stage {unknown}\n\n{USAGE}").into());
        }
        Ok(options)
    }

    fn quick(&mut self) {
        self.sizes = vec![2_000, 10_000];
        (self.large, self.ours, self.texts) = (30_000, 10_000, 2_000);
        (self.runs, self.queries, self.singles) = (2, 1_000, 20);
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<()> {
        let path = || PathBuf::from(value);
        match flag {
            "--sizes" => self.sizes = value.split(',').map(count).collect::<Result<_>>()?,
            "--large" => self.large = count(value)?,
            "--ours" => self.ours = count(value)?,
            "--texts" => self.texts = count(value)?,
            "--runs" => self.runs = count(value)?,
            "--slow-runs" => self.slow_runs = count(value)?,
            "--engines" => self.engines = Some(value.split(',').map(str::to_owned).collect()),
            "--data" => self.data = Some(path()),
            "--python" => self.python = Some(path()),
            "--work" => self.work = path(),
            "--results" => self.results = path(),
            _ => return Err(format!("there is no flag {flag}\n\n{USAGE}").into()),
        }
        Ok(())
    }
}

/// A count, as in 5000, 100k or 10M.
fn count(text: &str) -> Result<u32> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let number: u32 = digits.parse().map_err(|_| format!("{text} is not a count"))?;
    number.checked_mul(factor).ok_or_else(|| format!("{text} is too large").into())
}
