//! Looks once more at the rows that were dropped, and keeps what the guard protects. The library
//! judges.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use nearkin::{Alike, Apart, Details, Guard, Judge, Judgement, Original};
use pyo3::prelude::*;

use crate::dedup::estimate::Report;
use crate::dedup::fates::{Fate, Reason};
use crate::error::engine;
use crate::index::originals::Make;
use crate::interrupt::is_interrupted;
use crate::parallel::in_parts;

/// Number of rows between two checks for signals.
const ROWS: usize = 1_024;
/// Number of rows that a thread makes at a time.
const ROWS_OF_A_PART: usize = 64;
/// Maximum size in bytes of the documents that stay in memory between the two passes.
const BYTES_MAX: usize = 64 << 20;
/// Approximate memory of a document without its shingles and details, in bytes.
const DOCUMENT_BYTES: usize = size_of::<Original>() + 256;

/// A second look at rows that were decided by their shingles.
pub(crate) struct Judging<'a> {
    pub(crate) guard: Guard,
    pub(crate) alike: Alike,
    /// Rows in order of preference.
    pub(crate) order: &'a [usize],
    /// Makes the document of a row with its details.
    pub(crate) make: &'a Make<'a>,
    pub(crate) threads: usize,
}

/// Documents that were counted, by row.
#[derive(Default)]
struct Counted {
    documents: HashMap<usize, Arc<Original>>,
    bytes: usize,
}

impl Counted {
    fn put(&mut self, row: usize, document: Arc<Original>) {
        let details = document.details().map_or(0, Details::bytes);
        let bytes = size_of_val(document.shingle_hashes()) + details + DOCUMENT_BYTES;
        if self.bytes + bytes <= BYTES_MAX {
            self.bytes += bytes;
            self.documents.insert(row, document);
        }
    }
}

impl Judging<'_> {
    /// Judges the rows that were dropped for a row with other shingles. `done` is called in
    /// between.
    pub(crate) fn run(&self, py: Python<'_>, fates: &mut [Fate], done: Report<'_>) -> PyResult<()> {
        let parts = participants(fates);
        if self.guard == Guard::None || parts.iter().all(Option::is_none) {
            return Ok(());
        }
        let shingles = parts.iter().flatten().map(|count| u64::from(*count)).sum();
        let mut judge = Judge::new(self.guard, self.alike, shingles);
        let takes_part = |row: &usize| parts.get(*row).is_some_and(Option::is_some);
        let rows: Vec<usize> = (0..fates.len()).filter(takes_part).collect();
        let mut counted = Counted::default();
        for some in rows.chunks(ROWS) {
            engine(py, || {
                for (row, document) in self.made(some, &counted)? {
                    if is_interrupted() {
                        break;
                    }
                    judge.count(&document);
                    counted.put(row, document);
                }
                Ok(())
            })?;
            done(fates.len())?;
        }
        let mut ranks = vec![usize::MAX; fates.len()];
        for (rank, row) in self.order.iter().enumerate() {
            if let Some(place) = ranks.get_mut(*row) {
                *place = rank;
            }
        }
        let ranked: Vec<usize> = self.order.iter().copied().filter(takes_part).collect();
        for some in ranked.chunks(ROWS) {
            engine(py, || self.judge((&mut judge, &counted), some, &ranks, fates))?;
            done(fates.len())?;
        }
        Ok(())
    }

    /// The documents of rows.
    fn made(
        &self,
        rows: &[usize],
        counted: &Counted,
    ) -> nearkin::Result<Vec<(usize, Arc<Original>)>> {
        let make = |range: Range<usize>| {
            let some = rows.get(range).unwrap_or_default().iter();
            let made = some.map(|row| match counted.documents.get(row) {
                Some(document) => Ok(Some((*row, Arc::clone(document)))),
                None => Ok(((self.make)(*row)?).map(|document| (*row, Arc::new(document)))),
            });
            made.filter_map(Result::transpose).collect::<nearkin::Result<Vec<_>>>()
        };
        let parts = in_parts(self.threads, rows.len(), ROWS_OF_A_PART, make);
        Ok(parts.into_iter().collect::<nearkin::Result<Vec<_>>>()?.concat())
    }

    /// Judges rows that take part, in order of preference.
    fn judge(
        &self,
        (judge, counted): (&mut Judge, &Counted),
        rows: &[usize],
        ranks: &[usize],
        fates: &mut [Fate],
    ) -> nearkin::Result<()> {
        let rank_of = |row: usize| ranks.get(row).map_or(u64::MAX, |rank| *rank as u64);
        let row_at = |rank: u64| {
            let at = usize::try_from(rank).unwrap_or(usize::MAX);
            self.order.get(at).copied().unwrap_or(usize::MAX)
        };
        let fetch = &mut |rank: u64| match counted.documents.get(&row_at(rank)) {
            Some(document) => Ok(Some(Original::clone(document))),
            None => (self.make)(row_at(rank)),
        };
        for (row, document) in self.made(rows, counted)? {
            if is_interrupted() {
                break;
            }
            let Some(fate) = fates.get_mut(row) else { continue };
            let Fate::Of(of, reason) = *fate else {
                judge.keep(rank_of(row), &document);
                continue;
            };
            match judge.decide(rank_of(row), &document, rank_of(of), fetch)? {
                Judgement::Stands => {}
                Judgement::CopyOf(copy) => {
                    *fate = Fate::Of(row_at(copy.of), Reason::from_duplicate(&copy));
                }
                Judgement::Kept(apart) => {
                    let what = if apart == Apart::Numbers { "numbers" } else { "rare" };
                    *fate = Fate::Apart { of, reason, what };
                }
            }
        }
        Ok(())
    }
}

/// For each row that takes part, the number of its shingles: rows that were dropped for a row with
/// other shingles, and the rows that they were dropped for.
fn participants(fates: &[Fate]) -> Vec<Option<u32>> {
    let mut parts = vec![None; fates.len()];
    for (row, fate) in fates.iter().enumerate() {
        let (Some(of), Fate::Of(_, Reason { counts: Some([own, other, _]), .. })) =
            (fate.differs_from(), fate)
        else {
            continue;
        };
        for (row, count) in [(row, *own), (of, *other)] {
            if let Some(place) = parts.get_mut(row) {
                *place = Some(count);
            }
        }
    }
    parts
}
