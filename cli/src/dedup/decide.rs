//! The second pass: visits documents in order of preference, and drops each document that is
//! similar to one already kept.
//!
//! The kept documents are stored in an index; the key of each is its rank, its place in the order
//! of preference. So if a document is equally similar to several kept ones, the query returns the
//! most preferred of them. And decisions made after the last checkpoint can be undone: their ranks
//! are the highest.

use std::collections::HashMap;
use std::sync::Arc;

use ahash::RandomState;
use nearkin::{Alike, Answer, Batch, Params, Signature};
use rayon::prelude::*;

use super::asked::Asked;
use super::exactly::Exactly;
use super::ledger::{Entry, Kind, Verdict, Verdicts};
use super::order::{CHUNK, Decided, Order};
use super::work::{Stage, Work};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::{Progress, Unit};

/// Number of documents that a core looks up at a time.
const BATCH_SIGNATURES: usize = 128;

/// Number of removals per batch.
const REMOVES: usize = 10_000;

pub(super) fn run(asked: &Asked<'_>, work: &mut Work) -> Result<(), Failure> {
    work.ledger.flush().map_err(|error| work.failed(&error))?;
    let lines = work.ledger.count;
    let order = Order::new(asked.args.keep, work)?;
    let ranks = order.ranks(lines);
    let verdicts = Verdicts::open(&work.folder, lines);
    let mut verdicts = verdicts.map_err(|error| work.failed(&error))?;
    take_back(work)?;
    let progress = Progress::start("deciding", Unit::Documents, Some(ranks));
    let kept = Arc::clone(&work.kept);
    let mut exactly = if asked.args.exact { Some(Exactly::new(asked, &kept)?) } else { None };
    while work.state.done < ranks {
        let begin = work.state.done;
        let decided = match &mut exactly {
            Some(exactly) => exactly.decide(work, &order, (begin, ranks))?,
            None => decide(asked, work, &order, (begin, ranks.min(begin + CHUNK)))?,
        };
        let end = begin + decided.numbers.len() as u64;
        let Decided { numbers, verdicts: decided } = decided;
        let count = |is: fn(&Verdict) -> bool| decided.iter().filter(|one| is(one)).count() as u64;
        work.state.counts.kept += count(|one| *one == Verdict::Kept);
        work.state.counts.dropped += count(|one| matches!(one, Verdict::Dropped { .. }));
        verdicts.write(&numbers, &decided).map_err(|error| work.failed(&error))?;
        work.state.done = end;
        if work.is_due() || end == ranks {
            work.kept.sync()?;
            verdicts.sync().map_err(|error| work.failed(&error))?;
            work.store()?;
        }
        progress.reached(end);
        interrupt::check()?;
    }
    work.enter(Stage::Write)
}

/// Removes the documents that were kept after the last checkpoint.
fn take_back(work: &Work) -> Result<(), Failure> {
    let mut ranks = Vec::new();
    for document in work.kept.snapshot().iter() {
        let key = document?.key;
        if rank_of(&key) >= work.state.done {
            ranks.push(key);
        }
    }
    for some in ranks.chunks(REMOVES) {
        work.kept.write(some.iter().fold(Batch::new(), Batch::remove))?;
    }
    Ok(())
}

/// The key of a rank: big-endian, so that keys are ordered like ranks.
#[expect(clippy::big_endian_bytes, reason = "the order of keys is that of their bytes")]
fn key_of(rank: u64) -> [u8; 8] {
    rank.to_be_bytes()
}

#[expect(clippy::big_endian_bytes, reason = "the order of keys is that of their bytes")]
fn rank_of(key: &[u8]) -> u64 {
    key.first_chunk().map_or(u64::MAX, |key| u64::from_be_bytes(*key))
}

fn decide(
    asked: &Asked<'_>,
    work: &Work,
    order: &Order,
    (begin, end): (u64, u64),
) -> Result<Decided, Failure> {
    let numbers: Vec<u64> = (begin..end).map(|rank| order.line(rank)).collect();
    let entries = work.ledger.entries(&numbers).map_err(|error| work.failed(&error))?;
    let (mut ranks, mut signatures) = (Vec::new(), Vec::new());
    for (rank, Entry { kind, shingles, signature, .. }) in (begin..end).zip(entries) {
        if kind == Kind::Document {
            signatures.push(Signature::from_bytes(work.kept.params(), &signature, shingles)?);
            ranks.push(rank);
        }
    }
    let found = stored(asked, work, &signatures)?;
    let mut fresh = Fresh::new(work.kept.params(), asked.alike, signatures.len());
    let mut kept = Batch::new();
    let mut verdicts = vec![Verdict::None; numbers.len()];
    for ((rank, signature), found) in ranks.iter().zip(&signatures).zip(found) {
        // If both are equally similar, the stored document is named, because it was kept earlier.
        let like = match (found, fresh.like(signature)) {
            (Some(stored), Some(fresh)) if fresh.1 > stored.1 => Some(fresh),
            (stored, fresh) => stored.or(fresh),
        };
        let at = usize::try_from(rank - begin).unwrap_or(usize::MAX);
        verdicts[at] = if let Some((of, equal_rows)) = like {
            Verdict::Dropped { of: order.line(of), equal: equal_rows }
        } else {
            fresh.push(*rank, signature);
            kept = kept.insert(key_of(*rank), signature);
            Verdict::Kept
        };
    }
    if !kept.is_empty() {
        work.kept.write(kept)?;
    }
    Ok(Decided { numbers, verdicts })
}

/// A similar document: its rank, and the number of equal rows.
type Like = (u64, u32);

/// For each document, finds the most similar of the documents that were kept from earlier chunks.
/// Runs on all cores.
fn stored(
    asked: &Asked<'_>,
    work: &Work,
    signatures: &[Signature],
) -> Result<Vec<Option<Like>>, Failure> {
    let snapshot = work.kept.snapshot();
    let some = |some: &[Signature]| {
        let queries = snapshot.queries(some).alike(asked.alike);
        let first = |answer: Answer| {
            answer.matches.first().map(|found| (rank_of(&found.key), found.equal_rows))
        };
        Ok(queries.limit(1).run()?.into_iter().map(first).collect::<Vec<_>>())
    };
    let found: nearkin::Result<Vec<_>> =
        signatures.par_chunks(BATCH_SIGNATURES).map(some).collect();
    Ok(found?.concat())
}

/// The documents of this chunk that are kept but not yet in the index. They are searched by the
/// same rule as the index: an equal band, and enough equal rows.
struct Fresh<'a> {
    ranks: Vec<u64>,
    signatures: Vec<&'a Signature>,
    /// Maps each band (its number and its bytes) to the document added last with this band.
    bands: HashMap<(usize, &'a [u8]), usize, RandomState>,
    /// Links the documents of a band: for each document and each of its bands, the document that
    /// was added before it with the same band.
    before: Vec<Option<usize>>,
    band_bytes: usize,
    band_count: usize,
    lane_bytes: usize,
    params: &'a Params,
    alike: Alike,
}

impl<'a> Fresh<'a> {
    /// Creates the structure with room for this many documents.
    fn new(params: &'a Params, alike: Alike, documents: usize) -> Self {
        let bands = documents * params.bands();
        Self {
            ranks: Vec::with_capacity(documents),
            signatures: Vec::with_capacity(documents),
            bands: HashMap::with_capacity_and_hasher(bands, RandomState::default()),
            before: Vec::with_capacity(bands),
            band_bytes: params.band_bytes(),
            band_count: params.bands(),
            lane_bytes: params.signature_bytes() / params.hashes(),
            params,
            alike,
        }
    }

    fn bands(&self, signature: &'a Signature) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        signature.as_bytes().chunks_exact(self.band_bytes).take(self.band_count).enumerate()
    }

    fn push(&mut self, rank: u64, signature: &'a Signature) {
        let at = self.ranks.len();
        for band in self.bands(signature) {
            self.before.push(self.bands.insert(band, at));
        }
        self.ranks.push(rank);
        self.signatures.push(signature);
    }

    /// Finds the most similar of these documents; if several are equally similar, the one of the
    /// lowest rank.
    fn like(&self, signature: &'a Signature) -> Option<Like> {
        let mut best: Option<Like> = None;
        for band in self.bands(signature) {
            let mut next = self.bands.get(&band).copied();
            while let Some(at) = next {
                next = self.before[at * self.band_count + band.0];
                let other = self.signatures[at];
                let equal_rows = self.equal_rows(other.as_bytes(), signature.as_bytes());
                let counts = (signature.shingle_count(), other.shingle_count());
                let found = (self.ranks[at], equal_rows);
                let is_better = best.is_none_or(|(rank, most)| {
                    equal_rows > most || (equal_rows == most && found.0 < rank)
                });
                if is_better && self.alike.is_reached(self.params, equal_rows, counts) {
                    best = Some(found);
                }
            }
        }
        best
    }

    fn equal_rows(&self, one: &[u8], other: &[u8]) -> u32 {
        let rows = one.chunks_exact(self.lane_bytes).zip(other.chunks_exact(self.lane_bytes));
        u32::try_from(rows.filter(|(one, other)| one == other).count()).unwrap_or(u32::MAX)
    }
}
