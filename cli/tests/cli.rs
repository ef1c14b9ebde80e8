//! Tests of the real `nearkin` binary: output, streams and exit status.
//!
//! The tests use the command line only. If no command can create the input of a test, the library
//! does (`sharded.rs`).

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that panics has failed, and its scratch files are no index"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A number as a word without digits, as texts have them: a word with a digit is a number.
fn spelled(number: u64) -> String {
    let letter = |digit: char| char::from(b'a' + u8::try_from(digit).unwrap() - b'0');
    number.to_string().chars().map(letter).collect()
}

#[path = "cli/add.rs"]
mod add;
#[path = "cli/admit.rs"]
mod admit;
#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/audit.rs"]
mod audit;
#[path = "cli/collections.rs"]
mod collections;
#[path = "cli/common.rs"]
mod common;
#[path = "cli/conditions.rs"]
mod conditions;
#[path = "cli/contained.rs"]
mod contained;
#[path = "cli/cookbook.rs"]
mod cookbook;
#[path = "cli/damaged.rs"]
mod damaged;
#[path = "cli/dedup.rs"]
mod dedup;
#[path = "cli/dups.rs"]
mod dups;
#[path = "cli/encodings.rs"]
mod encodings;
#[path = "cli/equality.rs"]
mod equality;
#[path = "cli/exact.rs"]
mod exact;
#[path = "cli/exchange.rs"]
mod exchange;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/list.rs"]
mod list;
#[cfg(feature = "mail")]
#[path = "cli/mail.rs"]
mod mail;
#[path = "cli/manners.rs"]
mod manners;
#[cfg(feature = "serve")]
#[path = "cli/mcp.rs"]
mod mcp;
#[path = "cli/mirror.rs"]
mod mirror;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/packed.rs"]
mod packed;
#[path = "cli/passages.rs"]
mod passages;
#[path = "cli/query.rs"]
mod query;
#[path = "cli/repetitive.rs"]
mod repetitive;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/report_passages.rs"]
mod report_passages;
#[cfg(feature = "serve")]
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/shapes.rs"]
mod shapes;
#[path = "cli/sharded.rs"]
mod sharded;
#[path = "cli/state.rs"]
mod state;
#[cfg(target_os = "linux")] // needs strace
#[path = "cli/syscalls.rs"]
mod syscalls;
#[cfg(target_os = "linux")] // elsewhere, a thread may start with a smaller stack instead
#[path = "cli/threads.rs"]
mod threads;
#[path = "cli/transactions.rs"]
mod transactions;
#[path = "cli/truth.rs"]
mod truth;
#[path = "cli/tune.rs"]
mod tune;
#[path = "cli/turns.rs"]
mod turns;
#[path = "cli/wrong_input.rs"]
mod wrong_input;

/// Runs a program of `tests/oracle` on this `nearkin`. `None`: there is no Python.
#[cfg(unix)]
fn oracle(script: &str, arguments: &[&str]) -> Option<Ran> {
    let python = std::env::var("NEARKIN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle").join(script);
    let mut command = Command::new(python);
    let output = command.arg(script).arg(env!("CARGO_BIN_EXE_nearkin")).args(arguments).output();
    output.ok().map(Ran::new)
}

/// A scratch folder in which commands run; deleted at the end of the test.
struct Scratch {
    dir: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A scratch folder with an index `i` of a few licence texts.
    fn with_licences() -> Self {
        let scratch = Self::new();
        for name in ["MIT", "JSON", "Xnet", "ISC", "Zlib"] {
            scratch.write(&format!("docs/{name}.txt"), licence(name));
        }
        scratch.ok("add i docs");
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearkin"));
        command.args(arguments).current_dir(self.dir.path());
        command.env("XDG_CACHE_HOME", self.dir.path().join(".cache"));
        // Variables of the developer's environment must not change the results.
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
            command.env_remove(name);
        }
        command.env_remove("NEARKIN_TOKEN").env_remove("NEARKIN_READ_TOKEN");
        command
    }

    /// Runs `nearkin`; arguments are split at blanks.
    fn run(&self, arguments: &str) -> Ran {
        self.run_split(&arguments.split(' ').collect::<Vec<_>>())
    }

    /// Runs `nearkin`, which must succeed.
    #[track_caller]
    fn ok(&self, arguments: &str) -> Ran {
        self.run(arguments).ends_with(0)
    }

    /// Runs `nearkin`, which must end with status 2 and say each of these words.
    #[track_caller]
    fn fails(&self, arguments: &str, words: &[&str]) -> Ran {
        self.run(arguments).ends_with(2).says(words)
    }

    fn run_split(&self, arguments: &[&str]) -> Ran {
        Ran::new(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Starts `nearkin` with pipes for its three streams.
    fn start(&self, arguments: &str) -> Child {
        let mut command = self.command(&arguments.split(' ').collect::<Vec<_>>());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    fn run_with_stdin(&self, arguments: &str, stdin: &[u8]) -> Ran {
        let mut child = self.start(arguments);
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Ran::new(child.wait_with_output().unwrap())
    }
}

/// The result of a run.
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn ends_with(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Checks that stderr contains each of these strings. Paths in them are written with `/`.
    #[track_caller]
    fn says(self, words: &[&str]) -> Self {
        let said = slashes(&self.stderr);
        for words in words {
            assert!(said.contains(&slashes(words)), "no {words:?} in: {}", self.stderr);
        }
        self
    }

    /// Checks that stderr does not contain this.
    #[track_caller]
    fn says_not(self, words: &str) -> Self {
        assert!(!self.stderr.contains(words), "{words:?} in: {}", self.stderr);
        self
    }

    /// Checks that stdout contains this.
    #[track_caller]
    fn prints(self, words: &str) -> Self {
        assert!(self.stdout.contains(words), "no {words:?} in: {}", self.stdout);
        self
    }

    /// Checks the whole of stdout.
    #[track_caller]
    fn prints_just(self, all: &str) -> Self {
        assert_eq!(self.stdout, all);
        self
    }

    /// Checks a field of the first JSON object.
    #[track_caller]
    fn has(self, field: &str, value: impl Into<Value>) -> Self {
        assert_eq!(self.objects()[0][field], value.into(), "{field}");
        self
    }

    /// Parses stdout as one JSON object per line.
    #[track_caller]
    fn objects(&self) -> Vec<Value> {
        objects(&self.stdout)
    }

    /// The field names of the first JSON object, in order.
    #[track_caller]
    fn fields(&self) -> Vec<String> {
        self.objects()[0].as_object().unwrap().keys().cloned().collect()
    }
}

/// What the tool shows, with `/` in paths: on Windows it shows them with `\`.
fn slashes(shown: &str) -> String {
    if cfg!(windows) { shown.replace('\\', "/") } else { shown.to_owned() }
}

/// Sends a signal with the shell's `kill`, because not every system has a program for it.
#[cfg(unix)]
fn signal(process: u32, name: &str) {
    let command = format!("kill {name} {process}");
    assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
}

/// Whether child processes react to signals. Where a signal is ignored (nohup, background jobs of a
/// script), commands install no handler, and some would never end.
#[cfg(unix)]
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn signals_are_heard() -> bool {
    const HANGUP_AND_INTERRUPT: u64 = 0b11;
    // Systems without this file ignore no signals.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
    if ignored & HANGUP_AND_INTERRUPT == 0 {
        return true;
    }
    println!("SKIPPED: signals are ignored here; run the tests in the foreground");
    false
}

/// A file of the committed corpora.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name)
}

/// The bytes that a file takes on the disk.
fn on_disk(path: &Path) -> u64 {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::blocks(&fs::metadata(path).unwrap()) * 512;
    #[cfg(not(unix))]
    return fs::metadata(path).unwrap().len();
}

/// Parses a text as one JSON object per line.
#[track_caller]
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The words `from` to `to` as a text; overlapping ranges make similar texts.
fn words(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ")
}

/// Documents with equal texts and the keys 0, 1, 2, ...
fn equal_lines(count: usize) -> String {
    let line = |id| format!("{{\"id\":{id},\"text\":\"all of the same\"}}\n");
    (0..count).map(line).collect::<Vec<_>>().concat()
}

/// The text of a licence.
fn licence(name: &str) -> String {
    let lines = fs::read_to_string(data("spdx.jsonl")).unwrap();
    let documents = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found = documents.filter(|document| document["id"] == name);
    found.next().unwrap()["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_usage_error_is_status_2_and_help_0() {
    let scratch = Scratch::new();
    for arguments in ["", "frobnicate", "add", "add i", "query i", "pairs i --threshold 2"] {
        let ran = scratch.run(arguments).ends_with(2);
        assert_eq!(ran.stdout, "", "{arguments}");
    }
    assert!(scratch.ok("--help").stdout.contains("nearkin add"));
    assert!(scratch.ok("--version").stdout.starts_with("nearkin "));
}

#[test]
fn a_missing_index_is_status_2_with_advice() {
    let scratch = Scratch::new();
    for arguments in [
        "query i --text a",
        "query i --key a",
        "remove i a",
        "pairs i",
        "clusters i",
        "stats i",
        "verify i",
        "compact i",
    ] {
        let ran = scratch.fails(arguments, &["nearkin create", "nearkin add"]);
        assert_eq!(ran.stdout, "", "{arguments}");
        assert!(!scratch.path("i").exists(), "{arguments} made a folder");
    }
}

#[test]
fn a_forgotten_index_is_an_error_and_changes_nothing() {
    let scratch = Scratch::with_licences();
    let before = fs::read_dir(scratch.path("docs")).unwrap().count();
    scratch.fails("add docs docs/MIT.txt", &["docs", "INDEX", "give the index as first argument"]);
    scratch.fails("add docs/MIT.txt docs/ISC.txt", &["docs/MIT.txt", "INDEX"]);
    scratch.fails("create docs", &["docs"]);
    scratch.fails("query docs docs/MIT.txt", &["docs"]);
    assert_eq!(fs::read_dir(scratch.path("docs")).unwrap().count(), before);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_success() {
    use std::io::Read as _;
    let scratch = Scratch::new();
    // The results for 600 equal texts do not fit into the buffer of a pipe, so the command still
    // writes when the pipe is closed.
    scratch.run_with_stdin("add i --jsonl -", equal_lines(600).as_bytes()).ends_with(0);
    for arguments in ["pairs i", "clusters i", "pairs --json i"] {
        let mut child = scratch.start(arguments);
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("error") && !stderr.contains("panicked"), "{stderr}");
    }
}

/// A command that changes something has not done its work when nobody reads its output any more.
#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_success_of_a_command_that_writes() {
    use std::io::Read as _;
    let scratch = Scratch::new();
    scratch.write("rows.jsonl", equal_lines(20_000));
    let mut child = scratch.start("admit i --jsonl rows.jsonl --json");
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(2);
    ran.says(&["cannot print the results", "run it again"]);
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_printed_are_an_error() {
    let scratch = Scratch::with_licences();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = scratch.command(&["pairs", "i"]);
    let ran = Ran::new(command.stdout(full).stderr(Stdio::piped()).output().unwrap());
    ran.ends_with(2).says(&["cannot print the results"]);
}
