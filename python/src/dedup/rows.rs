//! Deduplication of a column: which rows are kept, and which row or document each dropped row
//! duplicates.
//!
//! The rule is described in `docs/guide/DEDUP.md`: in order of preference, a row is dropped if it
//! is similar to a kept row, or to a document of an index. The library decides.

use std::ops::Range;
use std::path::PathBuf;

use nearkin::{Against, Alike, Dedup, Guard, Index, Original, Sketcher, Snapshot};
use pyo3::prelude::*;

use crate::called::call_method;
use crate::columns::documents::{Documents, Sketching};
use crate::columns::keys::KeyType;
use crate::dedup::differences::Differences;
use crate::dedup::estimate::{
    Estimate, ROWS, Report, against_index, check_same, kept_index, of_kept,
};
use crate::dedup::fates::{Fate, Reason, Shown, fates_table};
use crate::dedup::how::{Deciding, How};
use crate::dedup::judge::Judging;
use crate::dedup::sieve::{Sieve, drop_blank};
use crate::error::{InvalidError, engine};
use crate::index::originals::{Make, Originals, with_detailed, with_originals};
use crate::interrupt::is_interrupted;
use crate::parallel::in_parts;
use crate::progress::report;
use crate::sketch::signatures::{Flat, Signatures, SignaturesBuilder};
use crate::tables::table::Table;

/// Rows in order of preference.
fn preferred(keep: &str, signatures: &Signatures) -> PyResult<Vec<usize>> {
    let mut order: Vec<usize> = (0..signatures.len()).collect();
    match keep {
        "first" => {}
        "newest" | "last" => order.reverse(),
        // The sort is stable: equally long rows stay in input order.
        "longest" => order.sort_by_key(|row| std::cmp::Reverse(signatures.count(*row))),
        other => {
            let message = format!("keep must be 'first', 'last' or 'longest', not {other:?}");
            return Err(InvalidError::new_err(message));
        }
    }
    Ok(order)
}

/// The input of an exact decision.
pub(crate) struct Work<'a> {
    pub(crate) kept: &'a Index,
    /// Rows in order of preference.
    pub(crate) order: &'a [usize],
    pub(crate) alike: Alike,
    pub(crate) threads: usize,
    pub(crate) fates: &'a mut [Fate],
    pub(crate) done: Report<'a>,
}

impl Work<'_> {
    /// Decides all rows by their shingles.
    pub(crate) fn run_exactly(&mut self, py: Python<'_>, make: &Make<'_>) -> PyResult<()> {
        let Self { kept, order, alike, threads, .. } = *self;
        let mut dedup = engine(py, || Dedup::new(kept, alike))?.cancel_if(is_interrupted);
        for begin in (0..order.len()).step_by(ROWS) {
            let ranks = begin..order.len().min(begin + ROWS);
            let fates = &mut *self.fates;
            engine(py, || by_shingles(&mut dedup, make, threads, ranks.clone(), order, fates))?;
            (self.done)(ranks.end)?;
        }
        Ok(())
    }
}

/// Drops rows that duplicate a document of the index, by their shingles.
fn against_exactly(
    py: Python<'_>,
    (snapshot, originals): (&Snapshot, &Originals),
    alike: Alike,
    make: &Make<'_>,
    fates: &mut [Fate],
) -> PyResult<()> {
    let guard = originals.guard;
    let against = engine(py, || Ok(Against::new(snapshot, alike)?.guard(guard)))?;
    let against = against.cancel_if(is_interrupted);
    let (mut unread, mut apart) = (0, 0);
    for (row, fate) in fates.iter_mut().enumerate() {
        let Some(document) = engine(py, || make(row))? else { continue };
        let mut raised = None;
        let verified = engine(py, || {
            let fetch =
                &mut |key: &[u8]| Python::attach(|py| originals.fetch(py, key, &mut raised));
            against.find_exactly(&document, fetch)
        });
        let verified = raised.map_or(verified, Err)?;
        unread += verified.unread;
        apart += u32::from(verified.duplicate.is_none() && verified.apart.is_some());
        if let Some(found) = verified.duplicate {
            let reason = Reason::from_duplicate(&found);
            *fate = Fate::InIndex(found.of.into_vec(), reason);
        }
        if row % 256 == 0 {
            py.check_signals()?;
        }
    }
    let warn = |message: String| {
        call_method(py.import("warnings")?.as_any(), "warn", (message,)).map(|_| ())
    };
    if unread > 0 {
        warn(format!(
            "{unread} candidates of `against` could not be compared: fetch has no document, or \
             one that has changed since it was indexed; nothing was dropped for them"
        ))?;
    }
    if apart > 0 && originals.warns {
        warn(format!(
            "{apart} {} in numbers from a document of `against`: not dropped for it; \
             guard='none' drops such rows, guard='{}' keeps them without this warning",
            if apart == 1 { "row differs" } else { "rows differ" },
            if guard == Guard::Agree { "agree" } else { "rare" },
        ))?;
    }
    Ok(())
}

/// Decides the rows of a range of ranks by their shingles.
fn by_shingles(
    dedup: &mut Dedup<'_>,
    make: &Make<'_>,
    threads: usize,
    ranks: Range<usize>,
    order: &[usize],
    fates: &mut [Fate],
) -> nearkin::Result<()> {
    let row_of = |rank: usize| order.get(rank).copied().unwrap_or(usize::MAX);
    // Skips the rows that were dropped for a document of the index.
    let stays = |rank: &usize| matches!(fates.get(row_of(*rank)), Some(Fate::Kept));
    let ranks: Vec<usize> = ranks.filter(stays).collect();
    let parts = in_parts(threads, ranks.len(), 64, |range| {
        let some = ranks.get(range).unwrap_or_default();
        some.iter().map(|rank| make(row_of(*rank))).collect::<nearkin::Result<Vec<_>>>()
    });
    let read = parts.into_iter().collect::<nearkin::Result<Vec<_>>>()?;
    let ranked = ranks.into_iter().zip(read.into_iter().flatten());
    let documents: Vec<(u64, Original)> =
        ranked.filter_map(|(rank, document)| Some((rank as u64, document?))).collect();
    let places: Vec<usize> = documents.iter().map(|(rank, _)| row_at(order, *rank)).collect();
    let decided = dedup.decide_exactly(documents, &mut |rank| make(row_at(order, rank)))?;
    for (row, duplicate) in places.into_iter().zip(decided) {
        if let (Some(one), Some(fate)) = (duplicate, fates.get_mut(row)) {
            *fate = Fate::Of(row_at(order, one.of), Reason::from_duplicate(&one));
        }
    }
    Ok(())
}

/// Maps a rank to a row.
fn row_at(order: &[usize], rank: u64) -> usize {
    let at = usize::try_from(rank).unwrap_or(usize::MAX);
    order.get(at).copied().unwrap_or(usize::MAX)
}

/// Decides with the signatures of all rows in memory. Returns the order of preference, too.
fn decide_by_preference(
    py: Python<'_>,
    documents: &Documents<'_>,
    sieve: &Sieve<'_>,
    keep: &str,
    (deciding, originals): (Deciding, Option<&Originals>),
    mut done: Report<'_>,
) -> PyResult<(Vec<usize>, Vec<Fate>)> {
    let Sieve { params, kept, against, alike, threads, confirm, .. } = *sieve;
    let sketcher = Sketcher::new(params);
    let how = Sketching { sketcher: &sketcher, threads, progress: None };
    let mut builder = SignaturesBuilder::new(params, documents.len());
    documents.sketch::<Flat>(py, how, |_, parts| {
        for part in &parts {
            builder.append(part);
        }
        Ok(())
    })?;
    let signatures = builder.finish();
    let order = preferred(keep, &signatures)?;
    let mut fates = vec![Fate::Kept; signatures.len()];
    if deciding == Deciding::Exact {
        if let Some(snapshot) = against {
            check_same(py, snapshot, params)?;
        }
        if let Some(against) = against.zip(originals) {
            let work = |make: &Make<'_>| against_exactly(py, against, alike, make, &mut fates);
            if against.1.guard == Guard::None {
                with_originals(documents, &sketcher, 0..documents.len(), work)?;
            } else {
                with_detailed(documents, &sketcher, work)?;
            }
        }
        let (order, fates, done) = (&*order, &mut *fates, &mut done);
        let mut work = Work { kept, order, alike, threads, fates, done };
        let rows = 0..documents.len();
        with_originals(documents, &sketcher, rows, |make| work.run_exactly(py, make))?;
    } else {
        if let Some(against) = against {
            against_index(py, against, &signatures, alike, threads, &mut fates)?;
        }
        let row_of = |rank: usize| order.get(rank).copied().unwrap_or(usize::MAX);
        let (signatures, order, row_of) = (&signatures, &*order, &row_of);
        let first_rank = 0;
        let estimate =
            Estimate { kept, signatures, order, first_rank, row_of, alike, threads, confirm };
        estimate.decide(py, &mut fates, done)?;
    }
    if sieve.drop_blank {
        drop_blank(&signatures, &mut fates);
    }
    Ok((order, fates))
}

/// Decides rows that are similar to a kept one. Returns the order of preference, too.
fn decide(
    py: Python<'_>,
    documents: &Documents<'_>,
    how: &How<'_>,
    sieve: &Sieve<'_>,
    originals: Option<&Originals>,
    done: Report<'_>,
) -> PyResult<(Vec<usize>, Vec<Fate>)> {
    let (keep, deciding) = (&*how.keep, how.deciding(documents));
    let mut by = |sieve: &Sieve<'_>| {
        if keep == "first" && deciding != Deciding::Exact {
            let fates = sieve.decide(py, documents, 0, &mut *done)?;
            return Ok(((0..documents.len()).collect(), fates));
        }
        decide_by_preference(py, documents, sieve, keep, (deciding, originals), &mut *done)
    };
    if deciding != Deciding::Confirmed {
        return by(sieve);
    }
    let (rows, sketcher) = (0..documents.len(), Sketcher::new(sieve.params));
    with_originals(documents, &sketcher, rows, |make| by(&Sieve { confirm: Some(make), ..*sieve }))
}

/// Decides the rows of a column; called by `nearkin.dedup`. Returns a table, and the number of rows
/// that the guard kept.
#[pyfunction]
pub(crate) fn decide_rows<'py>(
    py: Python<'py>,
    documents: &Bound<'py, PyAny>,
    how: &Bound<'py, PyAny>,
    folder: PathBuf,
) -> PyResult<(Table, usize)> {
    let mut how = How::new(how)?;
    let (given, alike) = (how.params.get(), how.alike());
    let exact = how.asked == Deciding::Exact;
    let are_made = how.against.is_some() || documents.cast::<Signatures>().is_ok();
    let params = engine(py, || of_kept(given, alike, exact, are_made))?;
    let documents = Documents::new(documents, &params)?;
    let guard = how.guard(py, &params, &documents)?;
    let threads = crate::parallel::threads(how.threads);
    let keys = how.against.as_ref().map_or(KeyType::Text, |against| against.get().keys);
    let snapshot = how.snapshot(py)?;
    let callback = crate::progress::callback(py, how.progress.take(), "dedup")?;
    let rows = documents.len();
    let mut done = |done: usize| report(py, callback.as_ref(), done as u64, rows as u64);
    let kept = engine(py, || kept_index(&folder, &params))?;
    let originals = how.fetch.take().map(|fetch| {
        Originals::new(fetch.unbind(), keys, &params).guarded(guard, how.is_guard_given())
    });
    let sieve = Sieve {
        params: &params,
        kept: &kept,
        against: snapshot.as_ref(),
        alike,
        drop_blank: how.drop_blank,
        threads,
        confirm: None,
    };
    let (order, mut fates) = decide(py, &documents, &how, &sieve, originals.as_ref(), &mut done)?;
    // The caller deletes the folder afterwards, so nothing needs to be flushed.
    engine(py, || {
        drop(kept);
        Ok(())
    })?;
    let sketcher = Sketcher::new(&params);
    if guard != Guard::None {
        with_detailed(&documents, &sketcher, |make| {
            let judging = Judging { guard, alike, order: &order, make, threads };
            judging.run(py, callback.as_ref(), &mut fates)
        })?;
    }
    for fate in &fates {
        if let Fate::InIndex(key, _) = fate {
            keys.check(py, key)?;
        }
    }
    let by_shingles = how.deciding(&documents) != Deciding::Estimate;
    let pairs = fates.iter().enumerate().filter_map(|(row, one)| Some((row, one.differs_from()?)));
    let differences =
        how.differences.then(|| Differences::new(py, &documents, &sketcher, pairs, threads));
    let shown = Shown { by_shingles, differences: differences.transpose()? };
    let apart = fates.iter().filter(|fate| matches!(fate, Fate::Apart { .. })).count();
    Ok((fates_table(&fates, keys, &shown), apart))
}

/// The parameters by which rows are deduplicated under this condition: see `of_kept`.
#[pyfunction]
pub(crate) fn dedup_params(
    py: Python<'_>,
    params: &Bound<'_, crate::sketch::params::Params>,
    threshold: f64,
    contained: Option<f64>,
    exact: bool,
    are_made: bool,
) -> PyResult<crate::sketch::params::Params> {
    let (params, alike) = (params.get(), Alike::from_minima(Some(threshold), contained, threshold));
    engine(py, || of_kept(params, alike, exact, are_made))
        .map(crate::sketch::params::Params::from_inner)
}
