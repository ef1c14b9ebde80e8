//! The real disk, one system call at a time: for each call, the writer is killed at the call, or
//! the call fails.

use crate::kill::{apply, operation};
use crate::strace::{Case, cases, run_all, run_case, skipped};
use crate::support::{Model, Scratch, again, assert_whole, inline, params};
use nearkin::{Error, ErrorKind, Index, Options};
use std::error::Error as _;
use std::path::Path;
use std::process::Output;

/// Environment variable for the traced process: the directory.
const VARIABLE: &str = "NEARKIN_TEST_TRACED_WRITER";
/// Number of writes in the traced process.
const OPERATIONS: u32 = 12;

/// Small memtables and merges of two segments, so that a short run reaches all code.
fn options() -> Options {
    inline().memtable_bytes_max(64 << 10).tier_segments_max(2)
}

/// Creates, writes, flushes, compacts, closes and reopens. Once, the index is dropped instead of
/// closed, so that the next open recovers. Prints the acknowledged writes.
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
    println!("\nstarted");
    if let Err(error) = script(&dir) {
        println!("failed {:?}: {}", error.kind(), with_causes(&error));
        std::process::exit(2);
    }
}

/// Checks the files that a run left behind. Returns how the run ended.
fn judge(case: &Case, dir: &Path, output: &Output) -> &'static str {
    let said = String::from_utf8_lossy(&output.stdout);
    let what = format!("{case:?}: {output:?}");
    assert!(!what.contains("panicked"), "{what}");
    let acknowledged = said.lines().filter(|line| line.starts_with("ok ")).count();
    let acknowledged = u32::try_from(acknowledged).unwrap();
    let failed = said.lines().find_map(|line| line.strip_prefix("failed "));
    let end = match (case.fault, failed, output.status.code()) {
        ("signal=KILL", None, None) => "killed",
        // Two runs may differ in their system calls: this one ended before the chosen call.
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
    let found = Model::read(&index);
    if found != model {
        // The write in progress may have been applied, unless it returned an error.
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
    assert!(Model::read(&index) == model, "{what}: after one more write");
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
