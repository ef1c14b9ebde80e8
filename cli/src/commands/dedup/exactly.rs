//! The second pass with `--exact`: compares documents by their shingles, which the first pass has
//! stored in the ledger.
//!
//! The library decides; this module passes the documents to it.

use nearkin::{Dedup, Error, Original, Signature};

use super::ledger::{Entry, Kind, Ledger, Verdict};
use super::order::{self, CHUNK, DecidedRanks, Order};
use super::work::Work;
use nearkin_kit::failure::Failure;

/// Number of shingles at which no further document is added to those that are decided together.
/// Bounds the memory.
const SHINGLES_MAX: u64 = 4 << 20;

/// Decides the next documents in order of rank: up to `CHUNK` documents, or fewer if they reach
/// `SHINGLES_MAX` shingles before. Returns the numbers of their lines, and the verdicts.
pub(super) fn decide(
    dedup: &mut Dedup<'_>,
    work: &Work,
    order: &Order,
    (begin, end): (u64, u64),
) -> Result<DecidedRanks, Failure> {
    let mut numbers: Vec<u64> = (begin..end.min(begin + CHUNK)).map(|r| order.line(r)).collect();
    let entries = work.ledger.entries(&numbers).map_err(|error| work.failed(&error))?;
    let mut documents = Vec::with_capacity(entries.len());
    let (mut places, mut shingles, mut count) = (Vec::new(), 0, 0);
    for (at, entry) in entries.iter().enumerate() {
        if shingles >= SHINGLES_MAX {
            break;
        }
        count = at + 1;
        if entry.kind == Kind::Document {
            let document = original(work, entry)?;
            shingles += u64::from(entry.shingles);
            places.push(at);
            documents.push((begin + at as u64, document));
        }
    }
    numbers.truncate(count);
    let mut verdicts = vec![Verdict::None; count];
    let fetch = &mut |rank: u64| {
        let entry = work.ledger.entries(&[order.line(rank)]).map_err(Error::other)?;
        entry.first().map(|entry| original_of(&work.ledger, work.kept.params(), entry)).transpose()
    };
    for (at, duplicate) in places.into_iter().zip(dedup.decide_exactly(documents, fetch)?) {
        verdicts[at] = order::verdict(order, duplicate);
    }
    Ok(DecidedRanks { numbers, verdicts })
}

fn original(work: &Work, entry: &Entry) -> Result<Original, Failure> {
    Ok(original_of(&work.ledger, work.kept.params(), entry)?)
}

fn original_of(
    ledger: &Ledger,
    params: &nearkin::Params,
    entry: &Entry,
) -> nearkin::Result<Original> {
    let shingles = ledger.shingles(entry).map_err(Error::other)?;
    let signature = Signature::from_bytes(params, &entry.signature, entry.shingles)?;
    Original::from_shingle_hashes(signature, shingles)
}
