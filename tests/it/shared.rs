//! Several processes write to one index by turns; some of them are killed.

use crate::support::{Random, Scratch, again, assert_whole, params, run};
use nearkin::{Admit, Batch, Index, Options, Reader};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Environment variable of a writing process: "<task> <number> <documents> <directory>".
const VARIABLE: &str = "NEARKIN_TEST_SHARED_WRITER";

fn options() -> Options {
    Options::default().shared(true).memtable_bytes_max(64 << 10).tier_segments_max(2)
}

fn key(writer: u32, at: u32) -> String {
    format!("w{writer}-{at}")
}

#[test]
fn the_shared_writer() {
    let Ok(task) = std::env::var(VARIABLE) else { return };
    let mut words = task.splitn(4, ' ');
    let kind = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<u32>().unwrap();
    let (writer, documents) = (number(), number());
    let index = Index::open_or_create(words.next().unwrap(), &params(), options()).unwrap();
    println!("\nopened");
    let say = |line: String| writeln!(std::io::stdout().lock(), "{line}").unwrap();
    for at in 0..documents {
        if kind == "admit" {
            // Every process brings the same documents, under its own keys.
            let signature = run(at * 100, 20);
            let admission = index.admit(key(writer, at), &signature, &Admit::at(0.9)).unwrap();
            say(format!("ok {at} {}", u32::from(admission.is_admitted())));
        } else {
            let batch = Batch::new().insert(key(writer, at), &run(writer * 7_919 + at, 20));
            say(format!("ok {at} {}", index.write(batch).unwrap().change));
        }
    }
    index.close().unwrap();
    println!("done");
}

/// A writing process, and its lines.
struct Writer {
    child: Child,
    number: u32,
}

fn spawn(
    task: &str,
    number: u32,
    documents: u32,
    dir: &Path,
    lines: &mpsc::Sender<(u32, String)>,
) -> Writer {
    let task = format!("{task} {number} {documents} {}", dir.display());
    let mut command = again("shared::the_shared_writer", VARIABLE, Path::new(&task));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (out, lines) = (child.stdout.take().unwrap(), lines.clone());
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            lines.send((number, line.unwrap())).unwrap();
        }
    });
    Writer { child, number }
}

/// The two numbers of an acknowledgement.
fn acknowledged(line: &str) -> Option<(u32, u64)> {
    let (at, value) = line.strip_prefix("ok ")?.split_once(' ')?;
    Some((at.parse().unwrap(), value.parse().unwrap()))
}

#[test]
fn processes_that_are_killed_during_their_turns_lose_nothing_acknowledged() {
    let rounds = std::env::var("NEARKIN_SHARED_KILLS").map_or(8, |n| n.parse().unwrap());
    let seed = std::env::var("NEARKIN_SHARED_SEED").map_or(1, |n| n.parse().unwrap());
    println!("seed {seed}, {rounds} kills");
    let (scratch, mut random) = (Scratch::new(), Random(seed));
    let dir = scratch.dir();
    let (sender, lines) = mpsc::channel();
    let (mut writers, mut next) = (Vec::new(), 0);
    let mut changes: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    let note = |changes: &mut BTreeMap<u64, (u32, u32)>, (number, line): (u32, String)| {
        assert!(!line.contains("panicked"), "{number}: {line}");
        if let Some((at, change)) = acknowledged(&line) {
            let earlier = changes.insert(change, (number, at));
            assert_eq!(earlier, None, "one change has one number");
        }
    };
    for _ in 0..rounds {
        while writers.len() < 4 {
            writers.push(spawn("write", next, 100_000, &dir, &sender));
            next += 1;
        }
        for _ in 0..=random.below(120) {
            note(&mut changes, lines.recv_timeout(Duration::from_secs(60)).expect("progress"));
        }
        let which = random.below(4) as usize;
        let mut killed: Writer = writers.swap_remove(which);
        killed.child.kill().unwrap();
        killed.child.wait().unwrap();
    }
    for mut writer in writers {
        writer.child.kill().unwrap();
        writer.child.wait().unwrap();
        assert!(writer.number < next);
    }
    drop(sender);
    for line in &lines {
        note(&mut changes, line);
    }
    let reader = Reader::open(&dir, Options::default()).unwrap();
    let by_reader: BTreeSet<_> = reader.iter().map(|document| document.unwrap().key).collect();
    let index = Index::open(&dir, Options::default()).unwrap();
    assert_whole(&index);
    let found: BTreeSet<_> = index.iter().map(|document| document.unwrap().key).collect();
    assert_eq!(by_reader, found, "a reader sees what an opening recovers");
    let mut wanted = BTreeSet::new();
    for (writer, at) in changes.values() {
        let key = key(*writer, *at);
        assert!(found.contains(key.as_bytes()), "{key} was acknowledged");
        wanted.insert(key.into_bytes());
    }
    // A killed process may have written one document more than it has told of.
    assert!(found.len() - wanted.len() <= next as usize, "{} of {}", found.len(), wanted.len());
    assert!(changes.last_key_value().unwrap().0 <= &index.snapshot().change());
}

#[test]
fn of_equal_documents_in_several_processes_one_is_admitted() {
    let scratch = Scratch::new();
    let (sender, lines) = mpsc::channel();
    let dir = scratch.dir();
    let writers: Vec<_> = (0..4).map(|at| spawn("admit", at, 150, &dir, &sender)).collect();
    drop(sender);
    let mut admitted: BTreeMap<u32, u64> = BTreeMap::new();
    for (number, line) in &lines {
        assert!(!line.contains("panicked"), "{number}: {line}");
        if let Some((at, is_admitted)) = acknowledged(&line) {
            *admitted.entry(at).or_default() += is_admitted;
        }
    }
    for mut writer in writers {
        assert!(writer.child.wait().unwrap().success());
    }
    assert_eq!(admitted.len(), 150);
    assert!(admitted.values().all(|count| *count == 1), "{admitted:?}");
    let index = Index::open(dir, Options::default()).unwrap();
    assert_eq!(index.len(), 150);
    assert_whole(&index);
}
