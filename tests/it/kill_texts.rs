//! Kills a process that writes texts into an index of fingerprints, at random moments. A text is
//! several documents of the engine: it must be there as it was acknowledged, or as the interrupted
//! write would have it, and never in parts. Words decide, not fingerprints.

use crate::support::{Random, Scratch, again, assert_whole};
use nearkin::passages::{PassageIndex, PassageView};
use nearkin::{Durability, Maintenance, Options, Params, Preset, Reader};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Environment variable for the writer to be killed: "<round> <directory>".
const VARIABLE: &str = "NEARKIN_TEST_KILLED_TEXT_WRITER";
/// More operations than the parent waits for.
const OPERATIONS: u32 = 400;

type Texts = BTreeMap<String, String>;

/// Operation `at` of a round: the texts of a batch; `None` removes one.
fn operation(round: u32, at: u32) -> Vec<(String, Option<String>)> {
    let mut random = Random(u64::from(round) << 32 | u64::from(at));
    let count = 1 + random.below(3);
    let mut one = |number: u32| {
        let key = format!("k{}", random.below(40));
        if count == 1 && random.below(4) == 0 {
            return (key, None);
        }
        // No other text has the first word; the others are of all.
        let length = [6, 60, 400, 2_000][random.below(4) as usize] + random.below(50);
        let words = (0..length).map(|_| format!("w{}", random.below(5_000)));
        let all: Vec<String> =
            std::iter::once(format!("v{round}x{at}x{number}")).chain(words).collect();
        (key, Some(all.join(" ")))
    };
    (0..count).map(&mut one).collect()
}

fn apply(texts: &mut Texts, round: u32, at: u32) {
    for (key, text) in operation(round, at) {
        match text {
            Some(text) => texts.insert(key, text),
            None => texts.remove(&key),
        };
    }
}

fn options(round: u32) -> Options {
    let interval = Durability::Interval(Duration::from_millis(2));
    let durability = [Durability::Sync, Durability::Sync, Durability::OsBuffer, interval];
    let maintenance =
        if round.is_multiple_of(3) { Maintenance::Inline } else { Maintenance::Background };
    Options::default()
        .durability(durability[round as usize % 4])
        .maintenance(maintenance)
        .memtable_bytes_max(64 << 10)
        .tier_segments_max(2)
}

#[test]
fn the_killed_text_writer() {
    let Ok(task) = std::env::var(VARIABLE) else { return };
    let (round, dir) = task.split_once(' ').unwrap();
    let round: u32 = round.parse().unwrap();
    let index = PassageIndex::open(dir, options(round)).unwrap();
    println!("\nopened");
    for at in 0..OPERATIONS {
        let changes = operation(round, at);
        match &changes[..] {
            [(key, None)] => {
                index.remove(key).unwrap();
            }
            texts => {
                let prepare = |(key, text): &(String, Option<String>)| {
                    index.cutter().prepare(key, text.as_ref().unwrap(), None).unwrap()
                };
                index.write(&texts.iter().map(prepare).collect::<Vec<_>>()).unwrap();
            }
        }
        writeln!(std::io::stdout().lock(), "ok {at}").unwrap();
    }
    println!("done");
}

/// Starts the writer, kills it after so many acknowledgements, and returns how many there were.
fn kill_after(dir: &Path, round: u32, acknowledgements: u32, spins: u32) -> u32 {
    let task = format!("{round} {}", dir.display());
    let mut command = again("kill_texts::the_killed_text_writer", VARIABLE, Path::new(&task));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "opened"), "round {round}: the writer cannot open the index");
    let mut acknowledged = 0;
    while acknowledged < acknowledgements {
        let line = lines.next().expect("the writer lives");
        assert!(!line.contains("panicked") && line != "done", "round {round}: {line}");
        acknowledged += u32::from(line.starts_with("ok "));
    }
    for _ in 0..spins {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    acknowledged += u32::try_from(lines.filter(|line| line.starts_with("ok ")).count()).unwrap();
    child.wait().unwrap();
    acknowledged
}

/// Whether exactly these texts are there, each whole: asked by its own words, all of a text are in
/// one run that begins with the word that no other text has.
fn holds(view: &PassageView, texts: &Texts) -> bool {
    let is_whole = |(key, text): (&String, &String)| {
        let answer = view.query(text).run().unwrap();
        let count = u64::try_from(text.split(' ').count()).unwrap();
        let own = answer.texts.iter().find(|one| one.key == key.as_bytes());
        own.is_some_and(|own| {
            let longest = own.passages.iter().filter_map(|one| one.longest).max();
            (own.share, own.stored_share, longest) == (1.0, Some(1.0), Some(count))
        })
    };
    view.count_texts().unwrap() == u64::try_from(texts.len()).unwrap() && texts.iter().all(is_whole)
}

#[test]
fn a_killed_writer_of_texts_leaves_whole_texts() {
    let rounds = std::env::var("NEARKIN_KILL_ROUNDS").map_or(8, |n| n.parse().unwrap());
    let mut random = Random(std::env::var("NEARKIN_SEED").map_or(9, |n| n.parse().unwrap()));
    let scratch = Scratch::new();
    let params = Params::preset(Preset::Quotes).build().unwrap();
    PassageIndex::create(scratch.dir(), &params, Options::default()).unwrap().close().unwrap();
    let (mut texts, mut replayed, mut begun) = (Texts::new(), 0, 0);
    for round in 0..rounds {
        let (count, spins) = (random.below(40), random.below(400_000));
        let acknowledged = kill_after(&scratch.dir(), round, count, spins);
        (0..acknowledged).for_each(|at| apply(&mut texts, round, at));
        // A reader sees what the process left; the next writer, too.
        let reader = Reader::open(scratch.dir(), Options::default()).unwrap();
        let seen = PassageView::new(&reader.snapshot()).unwrap();
        let index = PassageIndex::open(scratch.dir(), options(round)).unwrap();
        replayed += index.index().stats().unwrap().recovery.changes_replayed;
        if !holds(&index.view(), &texts) {
            apply(&mut texts, round, acknowledged);
            begun += 1;
        }
        assert!(holds(&index.view(), &texts), "round {round} after {acknowledged} operations");
        assert!(holds(&seen, &texts), "round {round}: a reader");
        assert_whole(index.index());
        if round % 2 == 0 {
            index.close().unwrap();
        }
    }
    assert!(replayed > 0, "the kills came in time to leave something to replay");
    eprintln!("{rounds} kills, {replayed} changes replayed, {begun} of unacknowledged writes");
}
