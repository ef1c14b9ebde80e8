//! Documents made again from the content that the first pass stored, and the second pass with
//! `--exact`.
//!
//! The library decides; this module passes the documents to it.

use nearkin::{Dedup, Error, Original, Sketcher};

use super::held::Held;
use super::ledger::{Entry, Kind, Ledger};
use super::order::{self, CHUNK, DecidedRanks, Order};
use super::verdicts::Verdict;
use super::work::Work;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::stored;
use nearkin_kit::interrupt;
use rayon::prelude::*;

/// Number of shingles at which no further document is added to those that are decided together.
/// Bounds the memory.
const SHINGLES_MAX: u64 = 4 << 20;

/// Makes documents again from their content.
#[derive(Clone, Copy)]
pub(super) struct Documents<'a> {
    ledger: &'a Ledger,
    sketcher: &'a Sketcher,
    held: &'a Held,
}

impl<'a> Documents<'a> {
    pub(super) fn new(work: &'a Work) -> Self {
        Self { ledger: &work.ledger, sketcher: &work.sketcher, held: &work.held }
    }

    /// The document of a line.
    pub(super) fn original(self, number: u64) -> nearkin::Result<Original> {
        self.of_entry(&self.ledger.head(number).map_err(Error::other)?)
    }

    pub(super) fn of_entry(self, entry: &Entry) -> nearkin::Result<Original> {
        let content = self.ledger.content(entry).map_err(Error::other)?;
        stored::original(self.sketcher, &content)
    }

    /// The document of a line, with what can set it apart if it is a text. `entry` is that of the
    /// line, if it is at hand.
    pub(super) fn detailed(self, line: u64, entry: Option<&Entry>) -> nearkin::Result<Original> {
        if let Some(document) = self.held.get(line) {
            return Ok(document);
        }
        let content = match entry {
            Some(entry) => self.ledger.content(entry),
            None => self.ledger.head(line).and_then(|entry| self.ledger.content(&entry)),
        };
        let document = stored::detailed(self.sketcher, &content.map_err(Error::other)?)?;
        self.held.put(line, &document);
        Ok(document)
    }
}

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
    let documents = Documents::new(work);
    let ranked = |at: &usize| {
        interrupt::check()?;
        Ok((begin + *at as u64, documents.of_entry(&entries[*at])?))
    };
    let ranked: Result<Vec<_>, Failure> = places.par_iter().map(ranked).collect();
    let mut verdicts = vec![Verdict::None; count];
    let fetch = &mut |rank: u64| documents.original(order.line(rank)).map(Some);
    for (at, duplicate) in places.into_iter().zip(dedup.decide_exactly(ranked?, fetch)?) {
        verdicts[at] = order::verdict(order, duplicate);
    }
    Ok(DecidedRanks { numbers, verdicts })
}
