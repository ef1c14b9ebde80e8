//! Kills the writer process at random moments. Acknowledged changes must survive, and no change may
//! be partial.
//!
//! The killed process runs two writers. Their operations follow from the round, so the number of
//! acknowledgements that the parent has read determines the expected documents: those of the
//! acknowledged operations, and of at most one more operation per writer.

use crate::support::{Model, Random, Scratch, again, assert_whole, params, run};
use nearkin::{Batch, Durability, Index, Maintenance, Options, Signature};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Environment variable for the writer to be killed: "<round> <directory>".
const VARIABLE: &str = "NEARKIN_TEST_KILLED_WRITER";
/// Environment variable for the process that is killed while it opens the index: the directory.
const OPENER: &str = "NEARKIN_TEST_KILLED_OPENER";
const WRITERS: u32 = 2;
/// Number of operations per writer if the process is not killed: more than the parent waits for.
const OPERATIONS: u32 = 400;

/// A key, and the document that is stored under it; `None` removes it.
type Change = (String, Option<(Signature, String)>);

/// Operation `at` of a writer in a round: the changes of a batch, or a single insert or remove,
/// under the writer's own keys.
fn changes(round: u32, writer: u32, at: u32) -> Vec<Change> {
    let mut random = Random(u64::from(round) << 40 | u64::from(writer) << 32 | u64::from(at));
    let size = if random.below(3) == 0 { 2 + random.below(30) } else { 1 };
    let mut change = || {
        let key = format!("w{writer}-{}", random.below(300));
        let is_insert = random.below(4) != 0;
        let mut signature = || run(random.below(1_000), 20 + random.below(20));
        (key, is_insert.then(|| (signature(), format!("{round}.{at}"))))
    };
    (0..size).map(|_| change()).collect()
}

pub(crate) fn operation(round: u32, writer: u32, at: u32) -> Batch {
    changes(round, writer, at).into_iter().fold(Batch::new(), |batch, (key, stored)| match stored {
        Some((signature, payload)) => batch.insert_with_payload(key, &signature, payload),
        None => batch.remove(key),
    })
}

/// Applies to the model the batch that `operation` returns for the same arguments.
pub(crate) fn apply(model: &mut Model, round: u32, writer: u32, at: u32) {
    for (key, stored) in changes(round, writer, at) {
        match stored {
            Some((signature, payload)) => model.insert(key, &signature, payload.as_bytes()),
            None => model.remove(key),
        }
    }
}

/// With these options, the index flushes about every hundred documents and compacts continuously.
fn options(round: u32) -> Options {
    let durability = match round % 4 {
        0 | 1 => Durability::Sync,
        2 => Durability::OsBuffer,
        _ => Durability::Interval(Duration::from_millis(2)),
    };
    let maintenance =
        if round.is_multiple_of(3) { Maintenance::Inline } else { Maintenance::Background };
    Options::default()
        .durability(durability)
        .maintenance(maintenance)
        .memtable_bytes_max(64 << 10)
        .tier_segments_max(2)
}

#[test]
fn the_killed_writer() {
    let Ok(task) = std::env::var(VARIABLE) else { return };
    let (round, dir) = task.split_once(' ').unwrap();
    let round: u32 = round.parse().unwrap();
    let index = Index::open(dir, options(round)).unwrap();
    println!("\nopened");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let index = &index;
            scope.spawn(move || {
                for at in 0..OPERATIONS {
                    index.write(operation(round, writer, at)).unwrap();
                    // A write of a short line to a pipe is atomic.
                    let mut line = std::io::stdout().lock();
                    writeln!(line, "ok {writer} {at}").unwrap();
                }
            });
        }
    });
    println!("done");
}

/// Starts the writers, kills the process after `acknowledgements` lines were read, and returns the
/// number of acknowledged operations per writer.
fn kill_after(dir: &Path, round: u32, acknowledgements: u32, spins: u32) -> Vec<u32> {
    let task = format!("{round} {}", dir.display());
    let mut command = again("kill::the_killed_writer", VARIABLE, Path::new(&task));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = vec![0; WRITERS as usize];
    let mut note = |line: &str| {
        let Some(rest) = line.strip_prefix("ok ") else { return false };
        let (writer, at) = rest.split_once(' ').unwrap();
        let (writer, at): (usize, u32) = (writer.parse().unwrap(), at.parse().unwrap());
        assert_eq!(acknowledged[writer], at, "acknowledgements come in order");
        acknowledged[writer] += 1;
        true
    };
    let opened = lines.by_ref().map(Result::unwrap).any(|line| line == "opened");
    assert!(opened, "round {round}: the writer could not open the index");
    let mut read = 0;
    while read < acknowledgements {
        let line = lines.next().expect("the writer lives").unwrap();
        assert!(!line.contains("panicked") && line != "done", "round {round}: {line}");
        read += u32::from(note(&line));
    }
    for _ in 0..spins {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    // Lines written between the last read and the kill count as well.
    for line in lines {
        note(&line.unwrap());
    }
    child.wait().unwrap();
    acknowledged
}

/// Starts a process that only opens the index, and kills it after a while, which may interrupt the
/// recovery.
fn kill_while_opening(dir: &Path, microseconds: u32) {
    let mut command = again("kill::the_killed_opener", OPENER, dir);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(u64::from(microseconds)) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_killed_opener() {
    let Some(dir) = std::env::var_os(OPENER) else { return };
    drop(Index::open(dir, options(0)).unwrap());
}

/// The documents of one writer, as a model.
fn of_writer(model: &Model, writer: u32) -> Model {
    let prefix = format!("w{writer}-").into_bytes();
    let own = model.documents.iter().filter(|(key, _)| key.starts_with(&prefix));
    Model { documents: own.map(|(key, version)| (key.clone(), version.clone())).collect() }
}

fn check_round(index: &Index, round: u32, models: &mut [Model], acknowledged: &[u32]) {
    let found = Model::read(index);
    for (writer, model) in (0..WRITERS).zip(models.iter_mut()) {
        let done = acknowledged[writer as usize];
        for at in 0..done {
            apply(model, round, writer, at);
        }
        let found = of_writer(&found, writer);
        if found != *model {
            // The operation in progress may have been applied, but only as a whole.
            apply(model, round, writer, done);
        }
        assert!(found == *model, "round {round}: writer {writer} after {done} operations");
    }
    assert_whole(index);
    let signature = run(500, 30);
    let answer = index.query(&signature).threshold(0.3).run().unwrap();
    let expected = found.query(&params(), &signature, 0.3, usize::MAX);
    assert_eq!(crate::support::keys(&answer), expected, "round {round}");
}

#[test]
fn a_killed_writer_loses_nothing_and_leaves_nothing_half() {
    let rounds = std::env::var("NEARKIN_KILL_ROUNDS").map_or(20, |n| n.parse().unwrap());
    let mut random = Random(std::env::var("NEARKIN_SEED").map_or(9, |n| n.parse().unwrap()));
    let scratch = Scratch::new();
    scratch.create().close().unwrap();
    let mut models = vec![Model::default(); WRITERS as usize];
    let mut replayed = 0;
    for round in 0..rounds {
        let acknowledgements = random.below(100);
        let spins = random.below(200_000);
        let acknowledged = kill_after(&scratch.dir(), round, acknowledgements, spins);
        for _ in 0..random.below(3) {
            kill_while_opening(&scratch.dir(), random.below(80_000));
        }
        let index = scratch.open();
        replayed += index.stats().unwrap().recovery.changes_replayed;
        check_round(&index, round, &mut models, &acknowledged);
        // The recovered index is sometimes dropped, sometimes closed.
        if round % 2 == 0 {
            index.close().unwrap();
        }
    }
    assert!(replayed > 0, "the kills came in time to leave something to replay");
}
