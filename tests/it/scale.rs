//! 20,000 documents in batches of 5,000, some with payloads of the maximum length. Every state of
//! the index is compared with brute force. The sizes exceed all batching constants of reads, writes
//! and look-ups.

use crate::support::{Random, Scratch, inline, params};
use nearkin::{Batch, Index, Options, Outcome, ReadMode, Signature, Snapshot};

const DOCUMENTS: usize = 20_000;
const BATCH: usize = 5_000;
/// Number of documents per kind. The signatures of a kind share most of their rows.
const KIND: usize = 50;
const ROWS: usize = 64;

type Rows = [u8; ROWS];

/// The live documents.
struct RowsModel {
    versions: Vec<Option<(Rows, Vec<u8>)>>,
    random: Random,
}

fn key(number: usize) -> String {
    format!("document {number:05}")
}

fn number_of(key: &[u8]) -> usize {
    std::str::from_utf8(key).unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

impl RowsModel {
    fn new() -> Self {
        Self { versions: vec![None; DOCUMENTS], random: Random(25) }
    }

    /// A batch that writes a new version of each of these documents.
    fn insert(&mut self, numbers: impl Iterator<Item = usize>) -> Batch {
        numbers.fold(Batch::new(), |batch, number| {
            let version = (self.rows(number / KIND), self.payload(number));
            let signature = Signature::from_bytes(&params(), &version.0, 9).unwrap();
            let batch = batch.insert_with_payload(key(number), &signature, &version.1);
            self.versions[number] = Some(version);
            batch
        })
    }

    fn remove(&mut self, numbers: impl Iterator<Item = usize>) -> Batch {
        numbers.fold(Batch::new(), |batch, number| {
            self.versions[number] = None;
            batch.remove(key(number))
        })
    }

    /// The rows of the kind, of which about a quarter are replaced at random.
    fn rows(&mut self, kind: usize) -> Rows {
        let mut of_kind = Random(kind as u64);
        std::array::from_fn(|_| {
            let (own, other) = (of_kind.next().to_le_bytes()[0], self.random.next().to_le_bytes());
            if other[1] < 64 { other[0] } else { own }
        })
    }

    /// A payload, usually short. In every hundred, one has the maximum length and two are longer
    /// than the internal buffers.
    fn payload(&mut self, number: usize) -> Vec<u8> {
        let length = match number % 100 {
            3 => 64 << 10,
            5 => (32 << 10) + 1,
            7 => 50_000,
            rest => rest,
        };
        let words = std::iter::repeat_with(|| self.random.next().to_le_bytes());
        let mut payload: Vec<u8> = words.take(length.div_ceil(8)).flatten().collect();
        payload.truncate(length);
        payload
    }

    /// The expected matches: the documents that share a band and have enough equal rows, ordered by
    /// equal rows, then by key.
    fn query(&self, rows: &Rows, least: u32) -> Vec<(usize, u32)> {
        let width = params().band_bytes();
        let mut found = Vec::new();
        for (number, version) in self.versions.iter().enumerate() {
            let Some((other, _)) = version else { continue };
            let equal: u32 = rows.iter().zip(other).map(|(a, b)| u32::from(a == b)).sum();
            let mut bands = rows.chunks(width).zip(other.chunks(width));
            if equal >= least && bands.any(|(a, b)| a == b) {
                found.push((number, equal));
            }
        }
        found.sort_by_key(|(number, equal)| (std::cmp::Reverse(*equal), *number));
        found
    }

    /// Compares every document, and the answers of batched queries.
    fn check(&mut self, snapshot: &Snapshot) {
        let live = self.versions.iter().flatten().count();
        assert_eq!(snapshot.len(), live as u64);
        let mut count = 0;
        for document in snapshot.iter() {
            let document = document.unwrap();
            let (rows, payload) = self.versions[number_of(&document.key)].as_ref().unwrap();
            assert!(document.signature.as_bytes() == rows && document.payload == *payload);
            count += 1;
        }
        assert_eq!(count, live, "each document once");
        for number in (0..DOCUMENTS).step_by(37) {
            let found = snapshot.get(key(number)).unwrap();
            let expected = self.versions[number].as_ref();
            assert_eq!(found.map(|found| found.payload).as_ref(), expected.map(|(_, text)| text));
        }
        let kinds: Vec<u32> = (0..80).map(|_| self.random.below(400)).collect();
        let queries: Vec<Rows> = kinds.iter().map(|kind| self.rows(*kind as usize)).collect();
        let sign = |rows: &Rows| Signature::from_bytes(&params(), rows, 9).unwrap();
        let signatures: Vec<Signature> = queries.iter().map(sign).collect();
        let answers = snapshot.queries(&signatures).threshold(0.2).run().unwrap();
        let least = params().equal_rows_min(0.2);
        let mut matches = 0;
        for (rows, answer) in queries.iter().zip(answers) {
            let found =
                answer.matches.iter().map(|found| (number_of(&found.key), found.equal_rows));
            assert_eq!(found.collect::<Vec<_>>(), self.query(rows, least));
            matches += answer.found;
        }
        assert!(matches > 1_000, "{matches}");
    }
}

fn write(index: &Index, batch: &Batch, outcome: Outcome) {
    let written = index.write(batch).unwrap();
    assert_eq!(written.count(outcome), batch.len() as u64);
}

/// Replaces, removes, rewrites, flushes, compacts and reopens, with a comparison after each group
/// of steps.
fn live_through(options: &Options) {
    let scratch = Scratch::new();
    let index = Index::create(scratch.dir(), &params(), options.clone()).unwrap();
    let mut model = RowsModel::new();
    for batch in 0..DOCUMENTS / BATCH {
        let batch = model.insert(batch * BATCH..(batch + 1) * BATCH);
        write(&index, &batch, Outcome::Inserted);
    }
    model.check(&index.snapshot());
    let odd = || (1..10_000).step_by(2);
    write(&index, &model.insert(odd()), Outcome::Replaced);
    index.flush().unwrap();
    // The second half stays unchanged, so that the compaction copies some runs of consecutive
    // documents in full length (`RUN_DOCS_MAX`).
    let fourth = || (2..10_000).step_by(4);
    write(&index, &model.remove(fourth()), Outcome::Removed);
    write(&index, &model.insert(odd()), Outcome::Replaced);
    model.check(&index.snapshot());
    index.flush().unwrap();
    // The keys of these documents are still in segments, whose dead files list the documents as
    // dead.
    write(&index, &model.insert(fourth()), Outcome::Inserted);
    model.check(&index.snapshot());
    index.compact().unwrap();
    assert_eq!(index.stats().unwrap().segments, 1);
    model.check(&index.snapshot());
    write(&index, &model.remove(odd()), Outcome::Removed);
    drop(index);
    let index = Index::open(scratch.dir(), options.clone()).unwrap();
    model.check(&index.snapshot());
    assert!(index.verify().unwrap().problems.is_empty());
}

#[test]
fn large_batches_obey_the_law_in_one_memtable_and_one_segment() {
    live_through(&inline().memtable_bytes_max(256 << 20));
}

#[test]
fn large_batches_obey_the_law_in_many_segments() {
    live_through(&inline().memtable_bytes_max(1 << 20).tier_segments_max(100));
}

#[test]
fn large_batches_obey_the_law_after_merges_and_without_maps() {
    let options = inline().memtable_bytes_max(4 << 20).tier_segments_max(2);
    live_through(&options.merge_bytes_max(1 << 20).read_mode(ReadMode::Pread));
}
