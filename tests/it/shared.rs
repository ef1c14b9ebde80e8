//! Several processes write to one index by turns; some of them are killed.

use crate::support::{Random, Scratch, again, assert_whole, params, run};
use nearkin::{Admit, Batch, ErrorKind, Index, Options, Reader};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

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
    let begun = Instant::now();
    let say = |line: String| writeln!(std::io::stdout().lock(), "{line}").unwrap();
    let is_paced = kind == "paced";
    for at in 0..if is_paced { u32::MAX } else { documents } {
        if is_paced {
            // `documents` a second, in a hundred batches, until the process is killed.
            let part = documents / 100;
            let keys = (0..part).map(|number| at * part + number);
            let batch = keys.fold(Batch::new(), |batch, number| {
                batch.insert(key(writer, number), &run(writer * 40_000_007 + number * 3, 20))
            });
            let written = index.write(batch).unwrap();
            say(format!("ok {at} {}", written.change));
            let due = Duration::from_millis(10) * (at + 1);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        } else if kind == "admit" {
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
    let number = |name, least| std::env::var(name).map_or(least, |n| n.parse().unwrap());
    let processes = number("NEARKIN_SHARED_PROCESSES", 4);
    let documents = number("NEARKIN_SHARED_DOCUMENTS", 150);
    let scratch = Scratch::new();
    let (sender, lines) = mpsc::channel();
    let dir = scratch.dir();
    let start = |at| spawn("admit", at, documents, &dir, &sender);
    let writers: Vec<_> = (0..processes).map(start).collect();
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
    println!("{processes} processes, {documents} documents each");
    assert_eq!(admitted.len(), documents as usize);
    assert!(admitted.values().all(|count| *count == 1), "{admitted:?}");
    let index = Index::open(dir, Options::default()).unwrap();
    assert_eq!(index.len(), u64::from(documents));
    assert_whole(&index);
}

/// A process that is stopped during its turn blocks writers, not readers, and loses nothing.
#[cfg(unix)]
#[test]
fn a_process_that_is_stopped_in_its_turn_blocks_writers_and_is_named() {
    let scratch = Scratch::new();
    let (sender, lines) = mpsc::channel();
    let dir = scratch.dir();
    let mut writer = spawn("write", 1, 100_000, &dir, &sender);
    let signal = |name: &str| {
        let kill = format!("kill {name} {}", writer.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    };
    while !lines.recv_timeout(Duration::from_secs(60)).unwrap().1.starts_with("ok") {}
    let patient = options().lock_wait(Duration::from_millis(200));
    let shared = Index::open(&dir, patient).unwrap();
    // It may be stopped between two turns: then it is stopped once more.
    let refused = loop {
        signal("-STOP");
        match shared.insert("beside", &run(1_000_000, 20)) {
            Ok(_) => signal("-CONT"),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), ErrorKind::Locked, "{refused}");
    if cfg!(target_os = "linux") {
        let name = format!("process {}", writer.child.id());
        assert!(refused.to_string().contains(&name), "{refused}");
    }
    shared.refresh().unwrap();
    assert!(!Reader::open(&dir, Options::default()).unwrap().is_empty());
    signal("-CONT");
    let key = "after";
    while shared.insert(key, &run(2_000_000, 20)).is_err() {}
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    drop(sender);
    shared.insert("last", &run(3_000_000, 20)).unwrap();
    for (_, line) in &lines {
        let Some((at, _)) = acknowledged(&line) else { continue };
        let key = self::key(1, at);
        assert!(shared.contains(&*key).unwrap(), "{key} was acknowledged");
    }
    assert!(shared.contains(key).unwrap());
    assert_whole(&shared);
}

/// A handle: its name, a refresh, and a snapshot.
type Handle<'a> = (&'a str, &'a dyn Fn() -> bool, &'a dyn Fn() -> nearkin::Snapshot);

/// What queries cost while two processes write: `NEARKIN_SHARED_QUERIES` says for how many seconds.
#[test]
fn queries_beside_writers() {
    let Ok(seconds) = std::env::var("NEARKIN_SHARED_QUERIES") else { return };
    let limit = Duration::from_secs(seconds.parse().unwrap());
    for rate in [1_000, 10_000] {
        let scratch = Scratch::new();
        let (sender, lines) = mpsc::channel();
        let dir = scratch.dir();
        let index =
            Index::open_or_create(&dir, &params(), Options::default().shared(true)).unwrap();
        for at in 0..20 {
            let keys = (0..1_000).map(|number| at * 1_000 + number);
            let fill = |batch: Batch, at| batch.insert(key(9, at), &run(at * 3, 20));
            index.write(keys.fold(Batch::new(), fill)).unwrap();
        }
        let reader = Reader::open(&dir, Options::default()).unwrap();
        let mut writers: Vec<_> =
            (0..2).map(|at| spawn("paced", at, rate / 2, &dir, &sender)).collect();
        while lines.recv_timeout(Duration::from_secs(60)).unwrap().1 != "opened" {}
        let handles: [Handle<'_>; 2] = [
            ("shared", &|| index.refresh().unwrap(), &|| index.snapshot()),
            ("reader", &|| reader.refresh().unwrap(), &|| reader.snapshot()),
        ];
        for (name, refresh, snapshot) in handles.into_iter().chain(handles) {
            let (begun, mut refreshed) = (Instant::now(), Instant::now());
            let (mut queries, mut looks) = (Vec::new(), Vec::new());
            let mut random = Random(1);
            refresh();
            let before = snapshot().change();
            while begun.elapsed() < limit {
                if refreshed.elapsed() > Duration::from_millis(20) {
                    let at = Instant::now();
                    refresh();
                    looks.push(at.elapsed());
                    refreshed = Instant::now();
                }
                let signature = run(random.below(60_000), 20);
                let at = Instant::now();
                snapshot().query(&signature).threshold(0.5).limit(10).run().unwrap();
                queries.push(at.elapsed());
            }
            queries.sort();
            looks.sort();
            let of = |times: &[Duration], share: usize| times[(times.len() - 1) * share / 1_000];
            println!(
                "{rate}/s, {name}: {} queries, p50 {:?}, p99 {:?}, longest {:?}; refresh p50 {:?}, \
                 p99 {:?}; {} changes",
                queries.len(),
                of(&queries, 500),
                of(&queries, 990),
                of(&queries, 1_000),
                of(&looks, 500),
                of(&looks, 990),
                snapshot().change() - before
            );
        }
        for writer in &mut writers {
            writer.child.kill().unwrap();
            writer.child.wait().unwrap();
        }
    }
}
