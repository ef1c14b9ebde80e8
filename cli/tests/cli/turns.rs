//! Several commands write to one index at the same time, or wait for a program that keeps it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr};
use std::time::{Duration, Instant};

use nearkin::{Index, Options};

use super::*;

fn lines(name: &str, count: u64) -> String {
    let line = |at| {
        let text = format!("{name} {} says what no other document says", spelled(at * 7_919));
        format!("{}\n", serde_json::json!({"id": format!("{name}{at}"), "text": text}))
    };
    (0..count).map(line).collect()
}

fn documents(scratch: &Scratch) -> u64 {
    scratch.ok("verify i");
    scratch.ok("stats i --json").objects()[0]["documents"].as_u64().unwrap()
}

#[test]
fn six_commands_that_add_to_one_new_index_all_succeed() {
    let scratch = Scratch::new();
    let name = |at: u64| spelled(at + 10);
    for at in 0..6 {
        scratch.write(&format!("{}.jsonl", name(at)), lines(&name(at), 300));
    }
    let start = |at| scratch.start(&format!("add i --jsonl {}.jsonl", name(at)));
    let started: Vec<_> = (0..6).map(start).collect();
    for child in started {
        Ran::new(child.wait_with_output().unwrap()).ends_with(0).says_not("error");
    }
    assert_eq!(documents(&scratch), 1_800);
    // Nothing is left that the next opening would have to replay.
    scratch.ok("stats i --json").has("memtable_documents", 0);
}

/// Reads what a command says until it says that it waits. Returns the rest.
fn until_it_waits(command: &mut Child) -> BufReader<ChildStderr> {
    let mut said = BufReader::new(command.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting for it, 10 s at most") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended");
        assert!(!line.contains("error"), "{line}");
    }
    said
}

#[test]
fn a_command_waits_for_a_program_that_keeps_the_index_and_says_so() {
    let scratch = Scratch::with_licences();
    scratch.write("more.jsonl", lines("more", 3));
    let keeps = Index::open(scratch.path("i"), Options::default()).unwrap();
    let refused = scratch.fails("add i --jsonl more.jsonl --no-wait", &["another program"]);
    if cfg!(target_os = "linux") {
        refused.says(&[&format!("process {}", std::process::id())]);
    }
    let mut waits = scratch.start("add i --jsonl more.jsonl");
    let _open = until_it_waits(&mut waits);
    keeps.close().unwrap();
    Ran::new(waits.wait_with_output().unwrap()).ends_with(0);
    assert_eq!(documents(&scratch), 8);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::with_licences();
    scratch.write("more.jsonl", lines("more", 3));
    let keeps = Index::open(scratch.path("i"), Options::default()).unwrap();
    let mut waits = scratch.start("add i --jsonl more.jsonl");
    let _open = until_it_waits(&mut waits);
    let begun = Instant::now();
    signal(waits.id(), "-INT");
    Ran::new(waits.wait_with_output().unwrap()).ends_with(130);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    keeps.close().unwrap();
    assert_eq!(documents(&scratch), 5);
}

/// A job adds documents while a service with a shared handle writes: neither fails.
#[test]
fn a_job_adds_beside_a_service_that_shares_the_index() {
    let scratch = Scratch::with_licences();
    scratch.write("more.jsonl", lines("more", 2_000));
    let service = Index::open(scratch.path("i"), Options::default().shared(true)).unwrap();
    let sketcher = service.sketcher();
    let mut job = scratch.start("add i --jsonl more.jsonl");
    let mut written = 0;
    while job.try_wait().unwrap().is_none() || written == 0 {
        let text = sketcher.text(&format!("request {}", spelled(written))).unwrap();
        service.insert(format!("request{written}"), &text).unwrap();
        written += 1;
    }
    Ran::new(job.wait_with_output().unwrap()).ends_with(0);
    service.refresh().unwrap();
    assert_eq!(service.len(), 2_005 + written);
    service.close().unwrap();
    assert_eq!(documents(&scratch), 2_005 + written);
}
