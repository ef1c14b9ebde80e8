//! Looks once more at the rows that were dropped, and keeps what the guard protects. The library
//! judges.

use nearkin::{Alike, Apart, Error, Guard, Judge, Judgement, Progress, Suspects};
use pyo3::prelude::*;
use std::ops::ControlFlow;

use crate::dedup::fates::{Fate, Reason};
use crate::index::originals::Make;
use crate::interrupt::is_interrupted;
use crate::parallel::in_parts;
use crate::progress::run_here;

/// Number of rows that a thread makes at a time.
const ROWS_OF_A_PART: usize = 64;

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

impl Judging<'_> {
    /// Judges the rows that were dropped. The callback is called in between, and cancels.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        callback: Option<&Py<PyAny>>,
        fates: &mut [Fate],
    ) -> PyResult<()> {
        let rows = fates.len() as u64;
        let mut suspects = Suspects::default();
        let mut ranks = vec![u64::MAX; fates.len()];
        for (rank, row) in (0..).zip(self.order) {
            if let Some(place) = ranks.get_mut(*row) {
                *place = rank;
            }
        }
        for (rank, fate) in ranks.iter().zip(&*fates) {
            if let Fate::Of(of, Reason { counts: Some(counts), .. }) = fate
                && let Some(of) = ranks.get(*of)
            {
                suspects.add_dropped(*rank, *of, *counts);
            }
        }
        let row_at = |rank: u64| {
            let at = usize::try_from(rank).unwrap_or(usize::MAX);
            self.order.get(at).copied().unwrap_or(usize::MAX)
        };
        let fetch = |ranks: &[u64]| {
            let made = in_parts(self.threads, ranks.len(), ROWS_OF_A_PART, |range| {
                let some = ranks.get(range).unwrap_or_default().iter();
                some.map(|rank| (self.make)(row_at(*rank))).collect::<nearkin::Result<Vec<_>>>()
            });
            Ok(made
                .into_iter()
                .collect::<nearkin::Result<Vec<_>>>()?
                .into_iter()
                .flatten()
                .collect())
        };
        let judged = &mut |rank, judgement| {
            let Some(fate) = fates.get_mut(row_at(rank)) else { return };
            *fate = match judgement {
                Judgement::CopyOf(copy) => Fate::Of(row_at(copy.of), Reason::from_duplicate(&copy)),
                Judgement::Kept { apart, similar_to } => Fate::Apart {
                    of: row_at(similar_to.of),
                    reason: Reason::from_duplicate(&similar_to),
                    what: if apart == Apart::Numbers { "numbers" } else { "rare" },
                },
                Judgement::Unlike => Fate::Kept,
            };
        };
        let judge = Judge::new(self.guard, self.alike, suspects).threads(self.threads);
        let mut judge = judge.cancel_if(is_interrupted);
        let mut all = Progress::default();
        (all.done, all.total) = (rows, rows);
        run_here(py, callback, |tick| {
            let mut fetch_or_end = |ranks: &[u64]| match tick(all) {
                ControlFlow::Continue(()) => fetch(ranks),
                ControlFlow::Break(()) => Err(Error::other("the call was cancelled")),
            };
            judge.run(&mut fetch_or_end, judged)
        })
    }
}
