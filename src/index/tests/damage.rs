//! Damage to every file of a small index: each flipped bit and each truncation must cause an error,
//! or leave the answers exact. Damage to the WAL at or beyond the last surviving horizon must leave
//! the exact answers of the changes before the damage, and a recovery report that says so.
//!
//! One bit of every byte is flipped, or all eight with `NEARKIN_DAMAGE=all`. In the catalog, the
//! spare and the zeros of the WAL, only a sample of the bytes is flipped by default.

use crate::format::bytes::wide;
use crate::format::wal::{RECORDS_BEGIN, RecordHeader};
use crate::storage::Storage;
use crate::storage::names::{Ending, Names};
use crate::testing::campaign;
use crate::testing::sim::Sim;
use crate::{
    Batch, Document, Durability, Error, ErrorKind, Index, Maintenance, Options, Params, ReadMode,
    Result, Signature, catalog,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "/x.nearkin";

/// All answers of an index before the damage.
#[derive(Debug, Clone, PartialEq)]
struct Answers {
    change: u64,
    docs: BTreeMap<Vec<u8>, Document>,
    matches: Vec<Vec<(Vec<u8>, u32)>>,
    pairs: Vec<DamagedPair>,
}

/// The two keys of a pair, and their number of equal rows.
type DamagedPair = (Vec<u8>, Vec<u8>, u32);

/// A disk with an index that no process has open, and its answers.
struct Subject {
    disk: Sim,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// The answers at the floor, then the answers after each change that is only in the WAL.
    states: Vec<Answers>,
    salt: u64,
}

fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).lane_bits(8).build().expect("sound")
}

fn options(mode: ReadMode) -> Options {
    Options {
        durability: Durability::OsBuffer,
        maintenance: Maintenance::Inline,
        read_mode: mode,
        wal_bytes_min: 8 << 10,
        wal_bytes_max: 8 << 10,
        clock: Arc::new(|| 1_700_000_000_000),
        random: Arc::new(|| 0x1234_5678_9ABC_DEF0),
        ..Options::default()
    }
}

/// The signature of a member of one of three crowds, so that queries find something.
fn signature(number: u8) -> Signature {
    let lane = |row: u8| number % 3 * 40 + u8::from(row > number % 16);
    let bytes: Vec<u8> = (0..16).map(lane).collect();
    nearkin_sketch::engine::signature_from_parts(&params(), u32::from(number), bytes.into())
}

fn insert(batch: Batch, number: u8) -> Batch {
    let payload = vec![number; usize::from(number % 7)];
    batch.insert_with_payload(format!("key {number}"), &signature(number), &payload)
}

impl Answers {
    fn read(index: &Index) -> Result<Self> {
        let snapshot = index.snapshot();
        let docs: Result<Vec<_>> = snapshot.iter().collect();
        let matches = (0..6).map(|number| matches_of(index, number)).collect::<Result<_>>()?;
        Ok(Self {
            change: snapshot.change(),
            docs: docs?.into_iter().map(|document| (document.key.clone(), document)).collect(),
            matches,
            pairs: pairs_of(index)?,
        })
    }

    /// Compares every answer of an index with these answers, and returns the errors. Panics at a
    /// wrong answer.
    fn check(&self, index: &Index) -> Vec<Error> {
        let mut errors = Vec::new();
        let snapshot = index.snapshot();
        assert_eq!((snapshot.change(), snapshot.len()), (self.change, wide(self.docs.len())));
        let mut seen = 0;
        let before = errors.len();
        for document in snapshot.iter() {
            match document {
                Ok(document) => assert_eq!(self.docs.get(&document.key), Some(&document)),
                Err(error) => errors.push(error),
            }
            seen += 1;
        }
        assert!(errors.len() > before || seen == self.docs.len(), "each document once");
        for number in 0..60_u8 {
            let key = format!("key {number}").into_bytes();
            match index.get(&key) {
                Ok(found) => assert_eq!(found.as_ref(), self.docs.get(&key)),
                Err(error) => errors.push(error),
            }
        }
        for (number, expected) in (0..).zip(&self.matches) {
            match matches_of(index, number) {
                Ok(matches) => assert_eq!(&matches, expected),
                Err(error) => errors.push(error),
            }
        }
        match pairs_of(index) {
            Ok(pairs) => assert_eq!(pairs, self.pairs),
            Err(error) => errors.push(error),
        }
        errors
    }
}

fn matches_of(index: &Index, number: u8) -> Result<Vec<(Vec<u8>, u32)>> {
    let answer = index.query(&signature(number)).threshold(0.1).run()?;
    Ok(answer.matches.into_iter().map(|found| (found.key, found.equal_rows)).collect())
}

fn pairs_of(index: &Index) -> Result<Vec<DamagedPair>> {
    let pairs = index.pairs(0.3)?.map(|pair| pair.map(|pair| (pair.a, pair.b, pair.equal_rows)));
    let mut pairs = pairs.collect::<Result<Vec<_>>>()?;
    pairs.sort();
    Ok(pairs)
}

impl Subject {
    /// Makes two segments and a dead file. Then the index is closed, or (with `unsynced`) killed
    /// with changes in the WAL: three synced ones, an idle record that confirms them, and
    /// `unsynced` more.
    fn make(unsynced: Option<u8>) -> Self {
        let sim = Sim::new();
        let storage: Arc<dyn Storage> = Arc::new(sim.clone());
        let options = options(ReadMode::Mmap);
        let index = Index::create_on(storage, Path::new(DIR), &params(), options).expect("made");
        index.write((0..20).fold(Batch::new(), insert)).expect("written");
        index.flush().expect("flushed");
        index.write((20..26).fold(Batch::new(), insert)).expect("written");
        index.flush().expect("flushed");
        index.write(Batch::new().remove("key 3").remove("key 11")).expect("written");
        index.flush().expect("flushed");
        let mut states = vec![Answers::read(&index).expect("sound")];
        let Some(unsynced) = unsynced else {
            index.close().expect("closed");
            return Self::left(&sim, states);
        };
        for number in 0..3 + unsynced {
            let batch = insert(insert(Batch::new(), 30 + number), 40 + number);
            index.write(batch.remove(format!("key {}", 20 + number))).expect("written");
            states.push(Answers::read(&index).expect("sound"));
            if number == 2 {
                index.sync().expect("synced");
            }
        }
        Self::left(&sim, states)
    }

    fn left(sim: &Sim, states: Vec<Answers>) -> Self {
        let disk = sim.kill();
        let names = Names::new(Path::new(DIR));
        let row = catalog::load(&disk, &names.catalog()).expect("sound");
        assert_eq!((row.segments.len(), row.segments[0].dead), (2, 2));
        disk.overwrite(&names.numbered(row.file_next - 1, Ending::Free), &[7; 100]);
        let files = disk.snapshot_of_files();
        Self { disk, files, states, salt: row.wal.map_or(0, |wal| wal.salt) }
    }

    fn files(&self, ending: &str) -> impl Iterator<Item = &Path> {
        let named = move |path: &&Path| path.to_str().is_some_and(|path| path.ends_with(ending));
        self.files.keys().map(PathBuf::as_path).filter(named)
    }

    /// Opens the index with one file replaced by these bytes.
    fn open_with(&self, path: &Path, bytes: &[u8], mode: ReadMode) -> Result<Index> {
        let disk = self.disk.kill();
        disk.overwrite(path, bytes);
        Index::open_on(Arc::new(disk), Path::new(DIR), options(mode))
    }

    /// Expects an intact index: exact answers, and no problem found by `verify`.
    fn expect_whole(&self, path: &Path, bytes: &[u8], mode: ReadMode) {
        let index = self.open_with(path, bytes, mode).expect("nothing that matters is damaged");
        let errors = self.states.last().expect("one").check(&index);
        assert!(errors.is_empty(), "{errors:?}");
        let problems = index.verify().expect("done").problems;
        assert!(problems.is_empty(), "{problems:?}");
    }

    /// Expects an error that names the file, or exact answers and a `verify` that names the file.
    fn expect_found(&self, path: &Path, bytes: &[u8], mode: ReadMode) {
        let index = match self.open_with(path, bytes, mode) {
            Ok(index) => index,
            Err(error) => return assert_names(&error, path),
        };
        let errors = self.states.last().expect("one").check(&index);
        assert_all_name(&errors, path);
        let problems = index.verify().expect("done").problems;
        assert!(!problems.is_empty(), "the damage was not found");
        assert_all_name(&problems, path);
    }
}

fn assert_names(error: &Error, path: &Path) {
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(error.to_string().contains(name), "{error:?} does not name {name}");
}

fn assert_all_name(errors: &[Error], path: &Path) {
    for error in errors {
        assert_names(error, path);
    }
}

fn all() -> bool {
    std::env::var("NEARKIN_DAMAGE").is_ok_and(|which| which == "all")
}

/// The bytes to damage: every one, or in a short campaign every seventh.
fn places(bytes: &[u8]) -> impl Iterator<Item = usize> + use<> {
    (0..bytes.len()).step_by(if all() { 1 } else { campaign::step(7) })
}

/// Flips bits of the bytes at `places`, one at a time: one bit per byte, chosen by its position, or
/// all eight.
fn flips(bytes: &[u8], places: impl Iterator<Item = usize>, mut judge: impl FnMut(usize, &[u8])) {
    let mut damaged = bytes.to_vec();
    for at in places {
        let bits = if all() { 0..8 } else { at % 8..at % 8 + 1 };
        for bit in bits {
            damaged[at] ^= 1 << bit;
            judge(at, &damaged);
            damaged[at] = bytes[at];
        }
    }
}

/// Every eighth case reads without a map.
fn mode(case: usize) -> ReadMode {
    if case % 8 == 5 { ReadMode::Pread } else { ReadMode::Mmap }
}

/// Counts the cases. If a case panics, prints which one.
#[derive(Default)]
struct DamageTally {
    files: usize,
    cases: usize,
    now: String,
}

impl DamageTally {
    fn case(&mut self, path: &Path, what: &str, at: usize) -> ReadMode {
        use std::fmt::Write;
        self.cases += 1;
        self.now.clear();
        write!(self.now, "{} {what} {at}", path.display()).expect("to memory");
        mode(self.cases)
    }

    fn say(mut self, what: &str) {
        println!("{what}: {} files, {} cases", self.files, self.cases);
        self.now.clear();
    }
}

impl Drop for DamageTally {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {}", self.now);
        }
    }
}

#[test]
fn every_flipped_bit_of_segments_and_dead_files_is_found() {
    let subject = Subject::make(None);
    let mut tally = DamageTally::default();
    for path in subject.files(".seg").chain(subject.files(".dead")) {
        tally.files += 1;
        flips(&subject.files[path], places(&subject.files[path]), |at, bytes| {
            let mode = tally.case(path, "flipped at", at);
            subject.expect_found(path, bytes, mode);
        });
    }
    assert_eq!(tally.files, 3);
    tally.say("flips of segments and dead files");
}

#[test]
fn damage_beside_a_log_is_an_error_or_changes_no_answer() {
    let subject = Subject::make(Some(2));
    let mut tally = DamageTally::default();
    for path in subject.files(".seg").chain(subject.files(".dead")) {
        tally.files += 1;
        let places = (0..subject.files[path].len()).step_by(if all() { 1 } else { 23 });
        flips(&subject.files[path], places, |at, bytes| {
            let mode = tally.case(path, "flipped at", at);
            match subject.open_with(path, bytes, mode) {
                Err(error) => assert_names(&error, path),
                Ok(index) => {
                    let errors = subject.states.last().expect("one").check(&index);
                    assert_all_name(&errors, path);
                    // Opening may have replaced the dead file; then there is no damage left.
                    let problems = index.verify().expect("done").problems;
                    assert_all_name(&problems, path);
                }
            }
        });
    }
    tally.say("flips of segments and dead files beside a WAL");
}

/// For each record of a log: its begin, its end, its header, and the number of changes up to and
/// including this record.
fn records(subject: &Subject, bytes: &[u8]) -> Vec<(usize, usize, RecordHeader, usize)> {
    let mut records = Vec::new();
    let (mut at, mut changes) = (usize::try_from(RECORDS_BEGIN).expect("small"), 0);
    while let Ok(Some(header)) = RecordHeader::decode(&bytes[at..], subject.salt, wide(at)) {
        changes += usize::from(header.body_bytes > 0);
        let end = at + RecordHeader::BYTES + usize::try_from(header.body_bytes).expect("small");
        records.push((at, end, header, changes));
        at = end.next_multiple_of(8);
    }
    records
}

/// Judges a log whose record at `at` is damaged. Opening must return the state of the changes
/// before that record, or an error if a surviving record says that the record was synced.
fn judge_log(subject: &Subject, path: &Path, at: usize, bytes: &[u8], mode: ReadMode) {
    let records = records(subject, &subject.files[path]);
    let hit = records.iter().position(|(begin, end, ..)| (*begin..*end).contains(&at));
    let Some(hit) = hit else {
        return if at < 96 {
            let error = subject.open_with(path, bytes, mode).expect_err("the header is damaged");
            assert_names(&error, path);
        } else {
            subject.expect_whole(path, bytes, mode);
        };
    };
    let survivors = records.iter().enumerate().filter(|(number, _)| *number != hit);
    let horizon = survivors.map(|(_, (_, _, header, _))| header.horizon).max().unwrap_or(0);
    let opened = subject.open_with(path, bytes, mode);
    if wide(records[hit].0) < horizon {
        return assert_names(&opened.expect_err("it was synced"), path);
    }
    let before = records[..hit].last().map_or(0, |(.., changes)| *changes);
    let index = opened.expect("a torn tail");
    assert!(subject.states[before].check(&index).is_empty());
    let recovery = index.stats().expect("sound").recovery;
    assert_eq!(recovery.changes_replayed, wide(before));
    assert!(recovery.bytes_cut > 0, "the report says that something was cut");
    assert!(index.verify().expect("done").problems.is_empty());
}

#[test]
fn a_flipped_bit_of_a_log_is_an_error_or_leaves_a_prefix() {
    let mut tally = DamageTally::default();
    // The idle record is the last record, or two changes follow it that need not be durable.
    for unsynced in [0, 2] {
        let subject = Subject::make(Some(unsynced));
        let path = subject.files(".wal").next().expect("killed");
        let bytes = &subject.files[path];
        let (_, end, ..) = *records(&subject, bytes).last().expect("records");
        let step = if all() { 1 } else { 41 };
        let begin = usize::try_from(RECORDS_BEGIN).expect("small");
        let zeros = (96..begin).step_by(step).chain((end..bytes.len()).step_by(step));
        tally.files += 1;
        flips(bytes, (0..96).chain(begin..end).chain(zeros), |at, damaged| {
            let mode = tally.case(path, "flipped at", at);
            judge_log(&subject, path, at, damaged, mode);
        });
    }
    tally.say("flips of WALs");
}

#[test]
fn flipped_bits_of_the_catalog_are_errors_or_change_nothing() {
    let subject = Subject::make(None);
    let path = subject.files("catalog.redb").next().expect("listed");
    let bytes = &subject.files[path];
    let mut tally = DamageTally::default();
    tally.files = 1;
    let mut refused = 0;
    let mut judge = |at: usize, damaged: &[u8]| {
        let mode = tally.case(path, "flipped at", at);
        match subject.open_with(path, damaged, mode) {
            Ok(index) => assert!(subject.states[0].check(&index).is_empty()),
            Err(error) => {
                assert_names(&error, path);
                refused += 1;
            }
        }
    };
    // All bits of redb's header, which points to everything else.
    for bit in 0..8 {
        for at in 0..320 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            judge(at, &damaged);
        }
    }
    flips(bytes, (320..bytes.len()).step_by(if all() { 1 } else { 13 }), &mut judge);
    println!("{refused} flips of the catalog are refused");
    tally.say("flips of the catalog");
}

#[test]
fn only_verify_reports_damage_to_the_copy_of_the_parameters() {
    let subject = Subject::make(None);
    let path = subject.files("parameters").next().expect("there");
    let bytes = &subject.files[path];
    let judge = |damaged: &[u8]| {
        let index = subject.open_with(path, damaged, ReadMode::Mmap).expect("opens");
        assert!(subject.states[0].check(&index).is_empty());
        let problems = index.verify().expect("done").problems;
        // Exactly one problem, also if the version is damaged and looks like a future one.
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert!(problem.to_string().contains("parameters"), "{problem}");
    };
    flips(bytes, 0..bytes.len(), |_, damaged| judge(damaged));
    (0..bytes.len()).for_each(|end| judge(&bytes[..end]));
    // Valid files of two other indexes: one with other parameters, one with the same.
    let other = Params::builder().hashes(16).bands(2, 8).build().expect("sound");
    let same = Options { random: Arc::new(|| 5), ..options(ReadMode::Mmap) };
    for (params, options) in [(other, options(ReadMode::Mmap)), (params(), same)] {
        let sim = Sim::new();
        let made = Index::create_on(Arc::new(sim.clone()), Path::new(DIR), &params, options);
        made.expect("made").close().expect("closed");
        judge(&sim.kill().snapshot_of_files()[path]);
    }
    // The file is missing, as in an index older than this feature, or damaged: a compaction
    // rewrites it.
    for damaged in [None, Some(&bytes[1..]), Some(b"")] {
        let disk = subject.disk.kill();
        disk.remove(path).expect("removed");
        if let Some(damaged) = damaged {
            disk.overwrite(path, damaged);
        }
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let index = Index::open_on(storage, Path::new(DIR), options(ReadMode::Mmap));
        let index = index.expect("opens");
        let count = |index: &Index| index.verify().expect("done").problems.len();
        assert_eq!(count(&index), damaged.iter().count());
        index.compact().expect("compacted");
        assert_eq!(&disk.snapshot_of_files()[path], bytes);
        assert_eq!(count(&index), 0);
    }
}

#[test]
fn every_cut_of_every_file_is_refused() {
    let mut tally = DamageTally::default();
    let subjects = [Subject::make(None), Subject::make(Some(2))];
    let closed = ["catalog.redb", ".seg", ".dead"].into_iter();
    let cut = closed.map(|ending| (&subjects[0], ending)).chain([(&subjects[1], ".wal")]);
    for (subject, ending) in cut {
        for path in subject.files(ending) {
            tally.files += 1;
            let bytes = &subject.files[path];
            let sampled = if ending == "catalog.redb" { 29 } else { campaign::step(7) };
            let step = if all() { 1 } else { sampled };
            for length in (0..bytes.len()).step_by(step) {
                let mode = tally.case(path, "cut to", length);
                let opened = subject.open_with(path, &bytes[..length], mode);
                assert_names(&opened.expect_err("it was cut"), path);
            }
        }
    }
    tally.say("cuts");
}

#[test]
fn an_index_with_damaged_lock_or_spare_files_is_intact() {
    let mut tally = DamageTally::default();
    for subject in [Subject::make(None), Subject::make(Some(2))] {
        for path in subject.files("lock").chain(subject.files(".free")) {
            tally.files += 1;
            for (number, bytes) in [&[][..], &[0], &[255; 64], &[7; 9_000]].iter().enumerate() {
                let mode = tally.case(path, "replaced by number", number);
                subject.expect_whole(path, bytes, mode);
            }
            let bytes = &subject.files[path];
            let places = (0..bytes.len()).step_by(if all() { 1 } else { 16 });
            flips(bytes, places, |at, damaged| {
                let mode = tally.case(path, "flipped at", at);
                subject.expect_whole(path, damaged, mode);
            });
        }
    }
    tally.say("locks and spares");
}
