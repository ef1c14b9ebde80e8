//! Fault injection at system calls, with strace: the process is killed at its n-th call of a given
//! kind, or that call fails.
//!
//! A first run without faults lists the system calls on the index. Each is identified by its name,
//! and by its number among the calls of this name in its thread. A case consists of one of these
//! calls and a fault. `NEARKIN_SYSCALLS` is the number of cases to run, spread evenly, or `all`.
//! The tests of the command-line tool use this file, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Default number of cases per test.
const CASES: usize = 24;

/// The system calls to list and to inject faults into. Some exist only on some architectures.
const CALLS: &str = "open openat mkdir mkdirat getdents64 flock statx newfstatat fstat lseek \
    pread64 preadv2 pwrite64 read write fsync fdatasync sync_file_range ftruncate fallocate rename \
    renameat renameat2 unlink unlinkat link linkat mmap madvise fadvise64";

/// A fault in strace's syntax, and the calls that it applies to.
const FAULTS: [(&str, &str); 7] = [
    ("signal=KILL", CALLS),
    (
        "error=EIO",
        "open openat mkdir mkdirat getdents64 statx newfstatat fstat pread64 preadv2 pwrite64 \
         read write fsync fdatasync sync_file_range ftruncate fallocate rename renameat renameat2 \
         unlink unlinkat link linkat",
    ),
    (
        "error=ENOSPC",
        "open openat mkdir mkdirat pwrite64 write fsync fdatasync sync_file_range ftruncate \
         fallocate rename renameat renameat2",
    ),
    ("error=EINTR", "open openat pread64 pwrite64 read write fsync fdatasync ftruncate fallocate"),
    ("error=ENOMEM", "mmap madvise fadvise64"),
    ("error=ENOLCK", "flock"),
    // The call returns a count of zero: nothing is read or written.
    ("retval=0", "pread64 preadv2 pwrite64"),
];

/// Whether a list of calls has this one.
fn lists(calls: &str, call: &str) -> bool {
    calls.split(' ').any(|name| name == call)
}

/// A case: a call in the run, and a fault.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    call: String,
    /// Index of the call among the calls with this name in its thread, counted from 1.
    count: u32,
    pub(crate) fault: &'static str,
}

/// Wraps a command in strace.
fn traced(options: &[&str], command: &Command) -> Command {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq"]).args(options).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        traced.current_dir(dir);
    }
    traced
}

/// The reason why strace cannot be used here, if any.
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
pub(crate) fn skipped(test: &str) -> bool {
    let Some(why) = refused() else { return false };
    println!("SKIPPED: {test}: {}", why.trim());
    true
}

fn trace_option() -> String {
    let calls: Vec<_> = CALLS.split(' ').map(|call| format!("?{call}")).collect();
    format!("trace={}", calls.join(","))
}

/// Runs the command without faults. Finds the calls on the directory or a file in it, and returns a
/// case for each call and each fault that applies to the call.
pub(crate) fn cases(command: &Command, dir: &Path, log: &Path) -> Vec<Case> {
    let (log_name, trace) = (log.to_str().unwrap(), trace_option());
    let output = traced(&["-y", "-o", log_name, "-e", &trace], command).output().unwrap();
    assert!(output.status.success(), "without faults: {output:?}");
    // Only the last component is compared, because strace resolves links in the path.
    let name = dir.file_name().unwrap().to_str().unwrap();
    let mut made: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let (mut hits, mut strays) = (BTreeSet::new(), BTreeSet::new());
    let text = fs::read_to_string(log).unwrap();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(char::is_whitespace) else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        if !lists(CALLS, call) {
            continue;
        }
        let count = made.entry((thread, call)).or_default();
        *count += 1;
        // strace injects the fault into the n-th call of every thread. If one of these is not a
        // call on the index (but of the loader, for example), the case would be meaningless.
        let of_index = arguments.contains(name);
        if of_index { &mut hits } else { &mut strays }.insert((call, *count));
    }
    let case = |fault, call: &str, count| Case { call: call.to_owned(), count, fault };
    FAULTS
        .iter()
        .flat_map(|(fault, calls)| {
            let hits = hits.difference(&strays).filter(|(call, _)| lists(calls, call));
            hits.map(|(call, count)| case(*fault, call, *count))
        })
        .collect()
}

/// Chooses the requested number of cases, spread evenly.
fn chosen(cases: &[Case]) -> Vec<Case> {
    let wanted = match std::env::var("NEARKIN_SYSCALLS") {
        Ok(all) if all == "all" => cases.len(),
        Ok(number) => number.parse().unwrap(),
        Err(_) => CASES,
    };
    let wanted = wanted.min(cases.len());
    (0..wanted).map(|at| cases[at * cases.len() / wanted].clone()).collect()
}

pub(crate) fn run_case(case: &Case, command: &Command) -> Output {
    let Case { call, count, fault } = case;
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:{fault}:when={count}");
    traced(&["-o", "/dev/null", "-e", &trace, "-e", &inject], command).output().unwrap()
}

/// Runs the chosen cases. Several run in parallel, because each mostly waits for the disk. `run`
/// runs one case and returns how it ended.
pub(crate) fn run_all(what: &str, all: &[Case], run: impl Fn(&Case) -> &'static str + Sync) {
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

/// The number of runs per fault and per way of ending.
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
