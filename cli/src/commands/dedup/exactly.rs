//! The second pass with `--exact`.
//!
//! The library decides; this module passes the documents to it.

use nearkin::Dedup;

use super::ledger::Kind;
use super::order::{self, CHUNK, DecidedRanks, Order};
use super::verdicts::Verdict;
use super::work::Work;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use rayon::prelude::*;

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
    let (mut places, mut shingles, mut count) = (Vec::new(), 0, 0);
    for (at, entry) in entries.iter().enumerate() {
        if shingles >= SHINGLES_MAX {
            break;
        }
        count = at + 1;
        if entry.kind == Kind::Document {
            shingles += u64::from(entry.shingles);
            places.push(at);
        }
    }
    numbers.truncate(count);
    let documents = work.documents();
    let ranked = |at: &usize| {
        interrupt::check()?;
        let document = documents.original(documents.line(&entries[*at]))?;
        Ok((begin + *at as u64, document))
    };
    let ranked: Result<Vec<_>, Failure> = places.par_iter().map(ranked).collect();
    let mut verdicts = vec![Verdict::None; count];
    let fetch = &mut |rank: u64| documents.original(documents.line_of(order.line(rank))).map(Some);
    for (at, duplicate) in places.into_iter().zip(dedup.decide_exactly(ranked?, fetch)?) {
        verdicts[at] = order::verdict(order, duplicate);
    }
    Ok(DecidedRanks { numbers, verdicts })
}
