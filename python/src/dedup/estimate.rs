//! Decides rows of a deduplication by the estimate of their similarity, or by the shingles of what
//! the estimate finds.

use std::ops::Range;
use std::path::Path;

use nearkin::{Against, Alike, Dedup, Index, Maintenance, Options, Params, Signature, Snapshot};
use pyo3::prelude::*;

use crate::dedup::fates::{Fate, Reason};
use crate::error::engine;
use crate::index::originals::Make;
use crate::interrupt::is_interrupted;
use crate::parallel::in_parts;
use crate::sketch::signature;
use crate::sketch::signatures::Signatures;

/// Number of rows that are decided between two checks for signals.
pub(crate) const ROWS: usize = 4_096;
/// Number of rows that a thread looks up at a time.
const ROWS_OF_A_PART: usize = 128;
/// Like `ROWS`, if shingles confirm what the estimate finds.
const ROWS_CONFIRMED: usize = 1_024;

/// The parameters of the index of kept rows. `are_made`: signatures exist already, or must be
/// comparable with those of an index, so that only bands can be chosen.
pub(crate) fn of_kept(
    params: &crate::sketch::params::Params,
    alike: Alike,
    exact: bool,
    are_made: bool,
) -> nearkin::Result<Params> {
    let alike = if exact { alike.for_verification() } else { alike };
    match &params.given {
        Some(given) if !are_made => Dedup::choose(given, alike),
        _ => Dedup::params(&params.inner, alike),
    }
}

/// Fails if the documents of an index have other signatures than the rows.
pub(crate) fn check_same(py: Python<'_>, snapshot: &Snapshot, params: &Params) -> PyResult<()> {
    let what = "`against` has other parameters";
    signature::check_same(py, snapshot.params(), params, what)
}

/// Drops rows that are similar to a document of an index, by the estimate.
pub(crate) fn against_index(
    py: Python<'_>,
    snapshot: &Snapshot,
    signatures: &Signatures,
    alike: Alike,
    threads: usize,
    fates: &mut [Fate],
) -> PyResult<()> {
    check_same(py, snapshot, &signatures.params)?;
    let against = engine(py, || Against::new(snapshot, alike))?.cancel_if(is_interrupted);
    for (number, some) in fates.chunks_mut(ROWS).enumerate() {
        let first = number * ROWS;
        let (mut rows, mut queries) = (Vec::new(), Vec::new());
        for at in 0..some.len() {
            if let Some(signature) = signatures.signature(py, first + at)? {
                rows.push(at);
                queries.push(signature);
            }
        }
        let found = engine(py, || {
            let find = |range: Range<usize>| against.find(queries.get(range).unwrap_or_default());
            let parts = in_parts(threads, queries.len(), ROWS_OF_A_PART, find);
            parts.into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        for (at, duplicate) in rows.iter().zip(found.into_iter().flatten()) {
            if let (Some(fate), Some(found)) = (some.get_mut(*at), duplicate) {
                let reason = Reason::from_duplicate(&found);
                *fate = Fate::InIndex(found.of.into_vec(), reason);
            }
        }
        py.check_signals()?;
    }
    Ok(())
}

/// The index of kept rows: in memory, or for many rows in a folder that the caller deletes.
pub(crate) fn kept_index(path: &Path, params: &Params) -> nearkin::Result<Index> {
    Index::scratch(path, params, Options::default().maintenance(Maintenance::Inline))
}

/// A callback with the number of rows done.
pub(crate) type Report<'a> = &'a mut dyn FnMut(usize) -> PyResult<()>;

/// Decides by the signatures.
pub(crate) struct Estimate<'a> {
    pub(crate) kept: &'a Index,
    pub(crate) signatures: &'a Signatures,
    /// Rows to decide, in order of preference. The rank of a row is its place in that order; the
    /// first one here has the rank `first_rank`.
    pub(crate) order: &'a [usize],
    pub(crate) first_rank: usize,
    /// Maps a rank to a row.
    pub(crate) row_of: &'a (dyn Fn(usize) -> usize + Sync),
    pub(crate) alike: Alike,
    pub(crate) threads: usize,
    /// Makes the document of a row, whose shingles confirm what the estimate finds. If `None`, the
    /// estimate decides.
    pub(crate) confirm: Option<&'a Make<'a>>,
}

impl Estimate<'_> {
    /// Drops rows that are similar to a kept one. `done` is called with the number of rows of
    /// `order` decided so far.
    pub(crate) fn decide(
        &self,
        py: Python<'_>,
        fates: &mut [Fate],
        done: Report<'_>,
    ) -> PyResult<()> {
        let Self { kept, alike, row_of, threads, confirm, .. } = *self;
        let at_once = if confirm.is_some() { ROWS_CONFIRMED } else { ROWS };
        let mut dedup = engine(py, || Dedup::new(kept, alike))?.cancel_if(is_interrupted);
        for (number, some) in self.order.chunks(at_once).enumerate() {
            let (mut rows, mut ranks) = (Vec::with_capacity(some.len()), Vec::new());
            let mut queries: Vec<Signature> = Vec::with_capacity(some.len());
            for (rank, row) in (self.first_rank + number * at_once..).zip(some) {
                if let (Some(Fate::Kept), Some(signature)) =
                    (fates.get(*row), self.signatures.signature(py, *row)?)
                {
                    rows.push(*row);
                    ranks.push(rank as u64);
                    queries.push(signature);
                }
            }
            let decided = engine(py, || {
                let look_up = |range: Range<usize>| {
                    let some = queries.get(range).unwrap_or_default();
                    match confirm {
                        Some(_) => dedup.look_up_candidates(some),
                        None => dedup.look_up(some),
                    }
                };
                let parts = in_parts(threads, queries.len(), ROWS_OF_A_PART, look_up);
                let found = parts.into_iter().collect::<nearkin::Result<Vec<_>>>()?.concat();
                let Some(make) = confirm else {
                    return dedup.decide(&ranks, &queries, &found);
                };
                let row = |rank: &u64| row_of(usize::try_from(*rank).unwrap_or(usize::MAX));
                let fetch = &mut |ranks: &[u64]| {
                    let make_some = |range: Range<usize>| {
                        let some = ranks.get(range).unwrap_or_default().iter();
                        some.map(|rank| make(row(rank))).collect::<nearkin::Result<Vec<_>>>()
                    };
                    let parts = in_parts(threads, ranks.len(), ROWS_OF_A_PART, make_some);
                    Ok(parts.into_iter().collect::<nearkin::Result<Vec<_>>>()?.concat())
                };
                dedup.decide_confirmed(&ranks, &queries, &found, fetch)
            })?;
            for (row, duplicate) in rows.into_iter().zip(decided) {
                if let (Some(found), Some(fate)) = (duplicate, fates.get_mut(row)) {
                    let of = usize::try_from(found.of).unwrap_or(usize::MAX);
                    *fate = Fate::Of(row_of(of), Reason::from_duplicate(&found));
                }
            }
            done(number * at_once + some.len())?;
        }
        Ok(())
    }
}
