//! The real disk, one system call at a time, with strace: the process is killed where it makes
//! its n-th call of a kind, or that call fails.
//!
//! A run without faults comes first: it lists the calls that touch the index, by name and by how
//! many of that name the thread had made. One of them, and what happens to it in a later run, is
//! a case. `NEARKIN_SYSCALLS` is how many cases are run, spread evenly, or `all`.

use crate::kill::{apply, operation};
use crate::support::{Model, Scratch, again, assert_whole, inline, params};
use nearkin::{Error, ErrorKind, Index, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Set in the process that is traced: the directory.
const VARIABLE: &str = "NEARKIN_TEST_TRACED_WRITER";
/// Writes of the traced process.
const OPERATIONS: u32 = 12;
/// Cases of each test, unless told otherwise.
const CASES: usize = 24;

/// What is listed and can be hit, on any architecture that has it.
const CALLS: &[&str] = &[
    "open",
    "openat",
    "mkdir",
    "mkdirat",
    "getdents64",
    "flock",
    "statx",
    "newfstatat",
    "fstat",
    "lseek",
    "pread64",
    "preadv2",
    "pwrite64",
    "read",
    "write",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "ftruncate",
    "fallocate",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "link",
    "linkat",
    "mmap",
    "madvise",
    "fadvise64",
];

/// What happens to a call, in strace's words, and to which calls.
const FAULTS: &[(&str, &[&str])] = &[
    ("signal=KILL", CALLS),
    (
        "error=EIO",
        &[
            "open",
            "openat",
            "mkdir",
            "mkdirat",
            "getdents64",
            "statx",
            "newfstatat",
            "fstat",
            "pread64",
            "preadv2",
            "pwrite64",
            "read",
            "write",
            "fsync",
            "fdatasync",
            "sync_file_range",
            "ftruncate",
            "fallocate",
            "rename",
            "renameat",
            "renameat2",
            "unlink",
            "unlinkat",
            "link",
            "linkat",
        ],
    ),
    (
        "error=ENOSPC",
        &[
            "open",
            "openat",
            "mkdir",
            "mkdirat",
            "pwrite64",
            "write",
            "fsync",
            "fdatasync",
            "sync_file_range",
            "ftruncate",
            "fallocate",
            "rename",
            "renameat",
            "renameat2",
        ],
    ),
    (
        "error=EINTR",
        &[
            "open",
            "openat",
            "pread64",
            "pwrite64",
            "read",
            "write",
            "fsync",
            "fdatasync",
            "ftruncate",
            "fallocate",
        ],
    ),
    ("error=ENOMEM", &["mmap", "madvise", "fadvise64"]),
    ("error=ENOLCK", &["flock"]),
    // Nothing was read, nothing was written: the shortest of short counts.
    ("retval=0", &["pread64", "preadv2", "pwrite64"]),
];

/// One call of a run, and what happens to it.
#[derive(Debug, Clone)]
struct Case {
    call: String,
    /// Which of the thread's calls of this name, from 1.
    count: u32,
    fault: &'static str,
}

/// The same command under strace.
fn traced(options: &[&str], command: &Command) -> Command {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq"]).args(options).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        traced.env(name, value.unwrap());
    }
    if let Some(dir) = command.get_current_dir() {
        traced.current_dir(dir);
    }
    traced
}

/// Why strace cannot be used here, if it cannot.
fn refused() -> Option<String> {
    match traced(
        &["-o", "/dev/null", "-e", "inject=close:error=EIO:when=1000"],
        &Command::new("true"),
    )
    .output()
    {
        Err(error) => Some(format!("strace cannot be started: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn skipped(test: &str) -> bool {
    let Some(why) = refused() else { return false };
    println!("SKIPPED: {test}: {}", why.trim());
    true
}

fn trace_option() -> String {
    let calls: Vec<_> = CALLS.iter().map(|call| format!("?{call}")).collect();
    format!("trace={}", calls.join(","))
}

/// Runs the command without faults, and makes a case of each call that names the directory or a
/// file in it and each fault that can happen to it.
fn cases(command: &Command, dir: &Path, log: &Path) -> Vec<Case> {
    let (log_name, trace) = (log.to_str().unwrap(), trace_option());
    let output = traced(&["-y", "-o", log_name, "-e", &trace], command).output().unwrap();
    assert!(output.status.success(), "without faults: {output:?}");
    // Its name alone: strace follows links to the folder it lies in.
    let name = dir.file_name().unwrap().to_str().unwrap();
    let mut made: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let (mut hits, mut strays) = (BTreeSet::new(), BTreeSet::new());
    let text = fs::read_to_string(log).unwrap();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(char::is_whitespace) else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        let Some(call) = CALLS.iter().find(|name| **name == call) else { continue };
        let count = made.entry((thread, call)).or_default();
        *count += 1;
        // Every thread's n-th call is hit: if one of them has nothing to do with the index (the
        // loader's, say), what comes of it says nothing.
        let of_index = arguments.contains(name);
        if of_index { &mut hits } else { &mut strays }.insert((*call, *count));
    }
    let case = |fault, call: &str, count| Case { call: call.to_owned(), count, fault };
    FAULTS
        .iter()
        .flat_map(|(fault, calls)| {
            let hits = hits.difference(&strays).filter(|(call, _)| calls.contains(call));
            hits.map(|(call, count)| case(*fault, call, *count))
        })
        .collect()
}

/// Those to run: as many as are asked for, spread evenly.
fn chosen(cases: &[Case]) -> Vec<Case> {
    let wanted = match std::env::var("NEARKIN_SYSCALLS") {
        Ok(all) if all == "all" => cases.len(),
        Ok(number) => number.parse().unwrap(),
        Err(_) => CASES,
    };
    let wanted = wanted.min(cases.len());
    (0..wanted).map(|at| cases[at * cases.len() / wanted].clone()).collect()
}

fn run_case(case: &Case, command: &Command) -> Output {
    let Case { call, count, fault } = case;
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:{fault}:when={count}");
    traced(&["-o", "/dev/null", "-e", &trace, "-e", &inject], command).output().unwrap()
}

/// Runs the chosen cases, some at a time: each mostly waits for the disk. `run` does one and says
/// how it ended.
fn run_all(what: &str, all: &[Case], run: impl Fn(&Case) -> &'static str + Sync) {
    let chosen = chosen(all);
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let end = run(case);
                    tally.lock().unwrap().count(case, end);
                }
            });
        }
    });
    tally.into_inner().unwrap().print(what, all.len());
}

/// How the runs of a campaign ended.
#[derive(Debug, Default)]
struct Tally {
    ends: BTreeMap<(&'static str, &'static str), u32>,
}

impl Tally {
    fn count(&mut self, case: &Case, end: &'static str) {
        *self.ends.entry((case.fault, end)).or_default() += 1;
    }

    #[expect(clippy::print_stdout, reason = "figures are for people")]
    fn print(&self, what: &str, all: usize) {
        let run: u32 = self.ends.values().sum();
        println!("{what}: {run} of {all} cases");
        for ((fault, end), count) in &self.ends {
            println!("  {fault}: {count} {end}");
        }
    }
}

/// Memtables of some dozens of documents, merges of two segments: a short run has everything.
fn options() -> Options {
    inline().memtable_bytes_max(64 << 10).tier_segments_max(2)
}

/// Creates, writes, flushes, compacts, is closed and opened, and once dropped, so that the next
/// opening recovers. Says which writes were acknowledged.
#[expect(clippy::print_stdout, reason = "acknowledgements go through the pipe")]
fn script(dir: &str) -> nearkin::Result<()> {
    let mut index = Index::create(dir, &params(), options())?;
    for at in 0..OPERATIONS {
        index.write(operation(0, 0, at))?;
        println!("ok {at}");
        match at {
            3 => index.flush()?,
            5 => {
                drop(index);
                index = Index::open(dir, options())?;
            }
            8 => index.compact()?,
            9 => {
                index.close()?;
                index = Index::open(dir, options())?;
            }
            _ => {}
        }
    }
    index.maintain()?;
    index.close()
}

fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[test]
fn the_traced_writer() {
    let Ok(dir) = std::env::var(VARIABLE) else { return };
    println!("\nbegun");
    if let Err(error) = script(&dir) {
        println!("failed {:?}: {}", error.kind(), with_causes(&error));
        std::process::exit(2);
    }
}

/// Judges what a run of the writer left behind; returns how the run ended.
fn judge(case: &Case, dir: &Path, output: &Output) -> &'static str {
    let said = String::from_utf8_lossy(&output.stdout);
    let what = format!("{case:?}: {output:?}");
    assert!(!what.contains("panicked"), "{what}");
    let acknowledged = said.lines().filter(|line| line.starts_with("ok ")).count();
    let acknowledged = u32::try_from(acknowledged).unwrap();
    let failed = said.lines().find_map(|line| line.strip_prefix("failed "));
    let end = match (case.fault, failed, output.status.code()) {
        ("signal=KILL", None, None) => "killed",
        // Two runs do not make exactly the same calls.
        ("signal=KILL", None, Some(0)) => "had ended before",
        (fault, None, Some(0)) if fault != "signal=KILL" => "got over it",
        (fault, Some(message), Some(2)) if fault != "signal=KILL" => {
            assert!(message.contains(dir.file_name().unwrap().to_str().unwrap()), "{what}");
            "failed with a message"
        }
        _ => panic!("{what}"),
    };
    let index = Index::open_or_create(dir, &params(), options())
        .unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let mut model = Model::default();
    for at in 0..acknowledged {
        apply(&mut model, 0, 0, at);
    }
    let found = Model::of(&index);
    if found != model {
        // The write under way may have got through, unless it was said not to have.
        let kept =
            failed.is_none_or(|message| !message.starts_with(&format!("{:?}", ErrorKind::Io)));
        assert!(kept && acknowledged < OPERATIONS, "{what}");
        apply(&mut model, 0, 0, acknowledged);
        assert!(found == model, "{what}");
    }
    assert_whole(&index);
    index.write(operation(1, 0, 0)).unwrap();
    apply(&mut model, 1, 0, 0);
    index.close().unwrap();
    let index = Index::open(dir, options()).unwrap();
    assert!(Model::of(&index) == model, "{what}: after one more write");
    end
}

#[test]
fn a_fault_at_any_system_call_loses_nothing_acknowledged() {
    if skipped("a_fault_at_any_system_call_loses_nothing_acknowledged") {
        return;
    }
    let writer = |dir: &Path| again("syscalls::the_traced_writer", VARIABLE, dir);
    let scratch = Scratch::new();
    let all = cases(&writer(&scratch.dir()), &scratch.dir(), &scratch.path("log"));
    assert!(all.len() > 500, "only {} cases: the calls were not recognised", all.len());
    run_all("library", &all, |case| {
        let scratch = Scratch::new();
        let output = run_case(case, &writer(&scratch.dir()));
        judge(case, &scratch.dir(), &output)
    });
}

/// The command line: what it adds and compacts is there, and what fails is said.
#[cfg(feature = "cli")]
mod tool {
    use super::*;
    use std::fmt::Write as _;

    const LINES: u32 = 60;

    fn lines(begin: u32) -> String {
        (begin..begin + LINES).fold(String::new(), |mut text, id| {
            writeln!(text, "{{\"id\":{id},\"text\":\"some words {id} and {}\"}}", id / 2).unwrap();
            text
        })
    }

    fn command(scratch: &Scratch, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearkin"));
        command.args(arguments.split(' ')).current_dir(scratch.path(""));
        command
    }

    fn run(scratch: &Scratch, arguments: &str) -> String {
        let output = command(scratch, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// An index of one batch, and the lines of another.
    fn prepared() -> Scratch {
        let scratch = Scratch::new();
        for (name, begin) in [("one", 0), ("two", LINES)] {
            fs::write(scratch.path(name), lines(begin)).unwrap();
        }
        run(&scratch, "add i.nearkin --jsonl one");
        scratch
    }

    fn documents(scratch: &Scratch) -> u32 {
        run(scratch, "verify i.nearkin");
        let stats = run(scratch, "stats i.nearkin --json");
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        u32::try_from(stats["documents"].as_u64().unwrap()).unwrap()
    }

    fn judge(case: &Case, output: &Output) -> &'static str {
        let what = format!("{case:?}: {output:?}");
        assert!(!what.contains("panicked"), "{what}");
        match (case.fault, output.status.code()) {
            ("signal=KILL", None) => "killed",
            ("signal=KILL", Some(0)) => "had ended before",
            (fault, Some(0)) if fault != "signal=KILL" => "got over it",
            (fault, Some(2)) if fault != "signal=KILL" => {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(said.contains("nearkin: error: ") && said.contains("i.nearkin"), "{what}");
                "failed with a message"
            }
            _ => panic!("{what}"),
        }
    }

    #[test]
    fn a_fault_at_any_system_call_of_the_tool_is_said_and_loses_nothing() {
        if skipped("a_fault_at_any_system_call_of_the_tool_is_said_and_loses_nothing") {
            return;
        }
        for (arguments, added) in [("add i.nearkin --jsonl two", LINES), ("compact i.nearkin", 0)] {
            let prepared = || {
                let scratch = prepared();
                if added == 0 {
                    run(&scratch, "add i.nearkin --jsonl two");
                    run(&scratch, "remove i.nearkin 1 2 3 4 5 6 7 8 9");
                }
                scratch
            };
            let scratch = prepared();
            let before = documents(&scratch);
            let traced = command(&scratch, arguments);
            // It names the index by a path from where it is run.
            let log = scratch.path("log");
            let all = cases(&traced, Path::new("i.nearkin"), &log);
            assert!(all.len() > 50, "only {} cases: the calls were not recognised", all.len());
            run_all(arguments, &all, |case| {
                let scratch = prepared();
                let output = run_case(case, &command(&scratch, arguments));
                let end = judge(case, &output);
                let found = documents(&scratch);
                let whole = if output.status.success() { added } else { found - before };
                assert!(whole == 0 || whole == added, "{case:?}: {found}: {output:?}");
                assert_eq!(found, before + whole, "{case:?}: {output:?}");
                run(&scratch, arguments);
                assert_eq!(documents(&scratch), before + added, "{case:?}");
                end
            });
        }
    }
}
