//! Fails one system call at a time: the tool must report the failure, and everything it
//! acknowledged must be stored.

use super::*;
use std::fmt::Write as _;
use strace::{Case, cases, run_all, run_case, skipped};

#[path = "../../../tests/it/strace.rs"]
mod strace;

const LINES: u32 = 60;

fn lines(begin: u32) -> String {
    (begin..begin + LINES).fold(String::new(), |mut text, id| {
        writeln!(text, "{{\"id\":{id},\"text\":\"some words {id} and {}\"}}", id / 2).unwrap();
        text
    })
}

fn command(scratch: &Scratch, arguments: &str) -> Command {
    scratch.command(&arguments.split(' ').collect::<Vec<_>>())
}

/// An index with one batch added, and the input file of a second batch.
fn prepared() -> Scratch {
    let scratch = Scratch::new();
    for (name, begin) in [("one", 0), ("two", LINES)] {
        scratch.write(name, lines(begin));
    }
    scratch.ok("add i.nearkin --jsonl one");
    scratch
}

fn documents(scratch: &Scratch) -> u32 {
    scratch.ok("verify i.nearkin");
    let stats = &scratch.ok("stats i.nearkin --json").objects()[0];
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
fn a_failing_system_call_is_reported_without_loss() {
    if skipped("a_failing_system_call_is_reported_without_loss") {
        return;
    }
    for (arguments, added) in [("add i.nearkin --jsonl two", LINES), ("compact i.nearkin", 0)] {
        let prepared = || {
            let scratch = prepared();
            if added == 0 {
                scratch.ok("add i.nearkin --jsonl two");
                scratch.ok("remove i.nearkin 1 2 3 4 5 6 7 8 9");
            }
            scratch
        };
        let scratch = prepared();
        let before = documents(&scratch);
        let traced = command(&scratch, arguments);
        // The path of the index is relative to the working directory.
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
            scratch.ok(arguments);
            assert_eq!(documents(&scratch), before + added, "{case:?}");
            end
        });
    }
}
