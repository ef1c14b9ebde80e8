//! The guard, as the last step of a deduplication on a cluster.

use nearkin::{Alike, Guard, Sketcher};
use pyo3::prelude::*;

use crate::columns::documents::Documents;
use crate::columns::integers::{check_rows, integers};
use crate::columns::keys::KeyType;
use crate::dedup::fates::{Fate, Reason, Shown, fates_table};
use crate::dedup::judge::Judging;
use crate::error::engine;
use crate::index::originals::with_detailed;
use crate::sketch::params::Params;
use crate::tables::table::Table;

/// Judges documents that were dropped, and keeps those that `guard` protects. Rows are in order of
/// preference: those that were dropped for one with other shingles, and those they were dropped
/// for. `of` is the row that a row was dropped for, -1 for one that is kept; `counts` are the
/// shingles of the two, and those that both have. Called by `nearkin.spark`.
#[pyfunction]
pub(crate) fn judge_in_order(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    params: &Bound<'_, Params>,
    threshold: f64,
    guard: Option<&str>,
    of: &Bound<'_, PyAny>,
    counts: [Bound<'_, PyAny>; 3],
) -> PyResult<Table> {
    let params = &params.get().inner;
    let guard = match guard {
        Some(name) => engine(py, || name.parse())?,
        None => Guard::for_params(params),
    };
    let documents = Documents::new(texts, params)?;
    let rows = documents.len();
    let of = integers(of, "of")?;
    let [own, other, shared] = &counts;
    let (own, other, shared) =
        (integers(own, "own")?, integers(other, "other")?, integers(shared, "shared")?);
    for (column, name) in [(&of, "of"), (&own, "own"), (&other, "other"), (&shared, "shared")] {
        check_rows(rows, column.len(), name)?;
    }
    let count = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
    let counted = own.iter().zip(&other).zip(&shared);
    let mut fates: Vec<Fate> = of
        .iter()
        .zip(counted)
        .map(|(of, ((own, other), shared))| match usize::try_from(*of) {
            Ok(of) => Fate::Of(of, Reason::from_counts([*own, *other, *shared].map(count))),
            Err(_) => Fate::Kept,
        })
        .collect();
    let order: Vec<usize> = (0..rows).collect();
    let sketcher = Sketcher::new(params);
    with_detailed(&documents, &sketcher, |make| {
        let (alike, threads) = (Alike::similar(threshold), 1);
        Judging { guard, alike, order: &order, make, threads }.run(py, None, &mut fates)
    })?;
    let shown = Shown { by_shingles: true, differences: None };
    Ok(fates_table(&fates, KeyType::Text, &shown))
}
