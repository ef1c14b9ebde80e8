//! Deduplication of a column: which rows are kept, and which row or document each dropped row
//! duplicates.
//!
//! The rule is described in `docs/guide/DEDUP.md`: in order of preference, a row is dropped if it
//! is similar to a kept row, or to a document of an index. The library makes the decisions. By
//! default it uses estimates: it admits row after row to an index of kept rows. With `exact`, its
//! `Dedup` compares shingles.

use std::ops::Range;
use std::path::PathBuf;

use nearkin::{
    Admit, Alike, Decision, Dedup, Durability, ErrorKind, Index, Maintenance, Newcomer, Options,
    Original, Params, Signature, Sketcher, Snapshot,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::answers::KeyType;
use crate::arrow::{Builder, Field, Kind};
use crate::documents::{Documents, Sketching};
use crate::error::{engine, raise};
use crate::parallel::in_parts;
use crate::progress::report;
use crate::queries::{alike, key_kind};
use crate::readable::Readable;
use crate::sieve::Sieve;
use crate::signatures::{Flat, Signatures, SignaturesBuilder};
use crate::table::Table;

/// Number of rows that are decided between two checks for signals.
const ROWS: usize = 1_024;

/// The decision on a row.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fate {
    /// The row is kept.
    #[default]
    Kept,
    /// Dropped as a duplicate of this row, which is kept.
    Of(usize, f64),
    /// Dropped as a duplicate of this document of the index.
    InIndex(Vec<u8>, f64),
}

/// The parameters of the index of kept rows, in which each row searches for a duplicate.
pub(crate) fn of_kept(params: &Params, alike: Alike, exact: bool) -> nearkin::Result<Params> {
    // A containment search finds pairs of low similarity, for which the estimate has a large error.
    // So it needs the same parameters as exact comparison.
    if exact || alike.asks_for_containment() {
        return Dedup::params(params, alike);
    }
    let threshold = alike.similarity_needed();
    if (params.threshold() - threshold).abs() < f64::EPSILON {
        return Ok(params.clone());
    }
    params.to_builder().threshold(threshold).choose_bands().build()
}

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
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(order)
}

/// Drops rows that are similar to a document of an index.
pub(crate) fn against_index(
    py: Python<'_>,
    snapshot: &Snapshot,
    signatures: &Signatures,
    alike: Alike,
    threads: usize,
    fates: &mut [Fate],
) -> PyResult<()> {
    let differences = snapshot.params().signature_differences(&signatures.params);
    if !differences.is_empty() {
        let message = format!("`against` has other parameters: {}", differences.join("; "));
        return Err(raise(py, "MismatchError", &message));
    }
    for (number, some) in fates.chunks_mut(ROWS).enumerate() {
        let first = number * ROWS;
        let (mut rows, mut asked) = (Vec::new(), Vec::new());
        for at in 0..some.len() {
            if let Some(signature) = signatures.signature(py, first + at)? {
                rows.push(at);
                asked.push(signature);
            }
        }
        let answers = engine(py, || {
            let ask = |range: Range<usize>| {
                let part = asked.get(range).unwrap_or_default();
                snapshot.queries(part).alike(alike).limit(1).run()
            };
            in_parts(threads, asked.len(), 128, ask).into_iter().collect::<Result<Vec<_>, _>>()
        })?;
        for (at, answer) in rows.iter().zip(answers.into_iter().flatten()) {
            if let (Some(fate), Some(found)) =
                (some.get_mut(*at), answer.matches.into_iter().next())
            {
                *fate = Fate::InIndex(found.key, found.similarity);
            }
        }
        py.check_signals()?;
    }
    Ok(())
}

/// The index of kept rows, in a folder that the caller deletes.
pub(crate) fn kept_index(path: &PathBuf, params: &Params) -> nearkin::Result<Index> {
    let options = Options::default().durability(Durability::OsBuffer);
    Index::create(path, params, options.maintenance(Maintenance::Inline))
}

#[expect(clippy::big_endian_bytes, reason = "keys are compared as bytes: in order of rank")]
fn rank_key(rank: usize) -> [u8; 8] {
    (rank as u64).to_be_bytes()
}

#[expect(clippy::big_endian_bytes, reason = "as they were made")]
fn rank_of(key: &[u8]) -> usize {
    let bytes = key.first_chunk::<8>().copied().unwrap_or_default();
    usize::try_from(u64::from_be_bytes(bytes)).unwrap_or(usize::MAX)
}

/// A callback with the number of rows done.
type Report<'a> = &'a mut dyn FnMut(usize) -> PyResult<()>;

/// Decides by the estimate: the library admits row after row.
pub(crate) struct Estimate<'a> {
    pub(crate) kept: &'a Index,
    pub(crate) signatures: &'a Signatures,
    /// Rows to decide, in order of preference. The rank of a row is its place in that order; the
    /// first one here has the rank `first_rank`.
    pub(crate) order: &'a [usize],
    pub(crate) first_rank: usize,
    /// Maps a rank to a row.
    pub(crate) row_of: &'a dyn Fn(usize) -> usize,
    pub(crate) alike: Alike,
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
        let admit = Admit::at(self.alike).limit(1);
        for (number, some) in self.order.chunks(ROWS).enumerate() {
            let mut newcomers: Vec<(usize, [u8; 8], Signature)> = Vec::with_capacity(some.len());
            for (rank, row) in (self.first_rank + number * ROWS..).zip(some) {
                if let (Some(Fate::Kept), Some(signature)) =
                    (fates.get(*row), self.signatures.signature(py, *row)?)
                {
                    newcomers.push((*row, rank_key(rank), signature));
                }
            }
            let kept = self.kept;
            let admissions = engine(py, || {
                let newcomers: Vec<Newcomer<'_>> = newcomers
                    .iter()
                    .map(|(_, key, signature)| Newcomer::new(key, signature))
                    .collect();
                kept.admit_all(&newcomers, &admit)
            })?;
            for ((row, ..), admission) in newcomers.iter().zip(admissions) {
                if let Decision::Rejected { duplicates, .. } = admission.decision
                    && let (Some(found), Some(fate)) = (duplicates.first(), fates.get_mut(*row))
                {
                    *fate = Fate::Of((self.row_of)(rank_of(&found.key)), found.similarity);
                }
            }
            done(number * ROWS + some.len())?;
        }
        Ok(())
    }
}

/// Decides by exact comparison, for which all texts or sets are held at once.
fn decide_exactly(
    py: Python<'_>,
    documents: &Documents<'_>,
    sketcher: &Sketcher,
    work: &mut Work<'_>,
) -> PyResult<()> {
    match documents {
        Documents::Texts(column) => {
            let held = column.hold(0..column.len())?;
            let texts = held.texts(0)?;
            let make = |row: usize| match texts.get(row).copied().flatten() {
                Some(text) => not_empty(sketcher.original_text(text)),
                None => Ok(None),
            };
            work.run_exactly(py, &make)
        }
        Documents::Items(items) => {
            let held = items.hold(0..items.len())?;
            let sets = held.sets(0)?;
            let make = |row: usize| {
                let made = sets.members(row).map(|items| sketcher.original_items(items));
                made.map_or(Ok(None), not_empty)
            };
            work.run_exactly(py, &make)
        }
        Documents::Signatures(_) => {
            Err(PyValueError::new_err("exact needs the documents, not their signatures"))
        }
    }
}

fn not_empty(made: nearkin::Result<Original>) -> nearkin::Result<Option<Original>> {
    match made {
        Ok(original) => Ok(Some(original)),
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}

/// The input of a decision.
struct Work<'a> {
    kept: &'a Index,
    order: &'a [usize],
    alike: Alike,
    threads: usize,
    fates: &'a mut [Fate],
    done: Report<'a>,
}

impl Work<'_> {
    fn run_exactly(
        &mut self,
        py: Python<'_>,
        make: &(dyn Fn(usize) -> nearkin::Result<Option<Original>> + Sync),
    ) -> PyResult<()> {
        let Self { kept, order, alike, threads, .. } = *self;
        let mut dedup = engine(py, || Dedup::new(kept, alike))?;
        for begin in (0..order.len()).step_by(ROWS) {
            let ranks = begin..order.len().min(begin + ROWS);
            let fates = &mut *self.fates;
            engine(py, || by_shingles(&mut dedup, make, threads, ranks.clone(), order, fates))?;
            (self.done)(ranks.end)?;
        }
        Ok(())
    }
}

/// Decides the rows of a range of ranks by their shingles.
fn by_shingles(
    dedup: &mut Dedup<'_>,
    make: &(dyn Fn(usize) -> nearkin::Result<Option<Original>> + Sync),
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
    let decided = dedup.decide(documents, &mut |rank| make(row_at(order, rank)))?;
    for (row, duplicate) in places.into_iter().zip(decided) {
        if let (Some(one), Some(fate)) = (duplicate, fates.get_mut(row)) {
            *fate = Fate::Of(row_at(order, one.of), one.overlap.similarity);
        }
    }
    Ok(())
}

/// Maps a rank to a row.
fn row_at(order: &[usize], rank: u64) -> usize {
    let at = usize::try_from(rank).unwrap_or(usize::MAX);
    order.get(at).copied().unwrap_or(usize::MAX)
}

/// The result table: `kept, cluster, cluster_size, duplicate_of, similarity, index_key`.
fn told(fates: &[Fate], keys: KeyType) -> Table {
    let fields = [
        Field::new("kept", Kind::Bool),
        Field::nullable("cluster", Kind::Integer),
        Field::nullable("cluster_size", Kind::Integer),
        Field::nullable("duplicate_of", Kind::Integer),
        Field::nullable("similarity", Kind::Float),
        Field::nullable("index_key", key_kind(keys)),
    ];
    let mut sizes = vec![1_i64; fates.len()];
    for fate in fates {
        if let Fate::Of(of, _) = fate
            && let Some(size) = sizes.get_mut(*of)
        {
            *size += 1;
        }
    }
    let number = |row: usize| i64::try_from(row).ok();
    let mut builder = Builder::new(&fields);
    for (row, fate) in fates.iter().enumerate() {
        let (cluster, of, similarity, key) = match fate {
            Fate::Kept => (Some(row), None, None, None),
            Fate::Of(of, similarity) => (Some(*of), Some(*of), Some(*similarity), None),
            Fate::InIndex(key, similarity) => (None, None, Some(*similarity), Some(key.as_slice())),
        };
        let size = cluster.and_then(|cluster| sizes.get(cluster).copied());
        if let [kept, clusters, cluster_sizes, others, similarities, index_keys] =
            builder.columns.as_mut_slice()
        {
            kept.bool(matches!(fate, Fate::Kept));
            clusters.integer(cluster.and_then(number));
            cluster_sizes.integer(size);
            others.integer(of.and_then(number));
            similarities.float(similarity);
            index_keys.bytes(key);
        }
        builder.row_ended();
    }
    Table::new(&fields, builder.finish())
}

/// Decides with the signatures of all rows in memory.
fn decide_by_preference(
    py: Python<'_>,
    documents: &Documents<'_>,
    sieve: &Sieve<'_>,
    keep: &str,
    exact: bool,
    mut done: Report<'_>,
) -> PyResult<Vec<Fate>> {
    let Sieve { params, kept, against, alike, threads } = *sieve;
    let sketcher = Sketcher::new(params);
    let how = Sketching { sketcher: &sketcher, threads };
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
    if let Some(against) = against {
        against_index(py, against, &signatures, alike, threads, &mut fates)?;
    }
    if exact {
        let (order, fates, done) = (&*order, &mut *fates, &mut done);
        let mut work = Work { kept, order, alike, threads, fates, done };
        decide_exactly(py, documents, &sketcher, &mut work)?;
    } else {
        let row_of = |rank: usize| order.get(rank).copied().unwrap_or(usize::MAX);
        let (signatures, order) = (&signatures, &*order);
        let estimate = Estimate { kept, signatures, order, first_rank: 0, row_of: &row_of, alike };
        estimate.decide(py, &mut fates, done)?;
    }
    Ok(fates)
}

/// Decides the rows of a column; called by `nearkin.dedup`.
#[pyfunction]
#[pyo3(signature = (documents, params, folder, threshold, contained, keep, exact, against, threads,
    progress))]
#[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
fn decide_rows<'py>(
    py: Python<'py>,
    documents: &Bound<'py, PyAny>,
    params: &Bound<'py, crate::params::Params>,
    folder: PathBuf,
    threshold: Option<f64>,
    contained: Option<f64>,
    keep: &str,
    exact: bool,
    against: Option<&Bound<'py, Readable>>,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Table> {
    let given = params.get().inner.clone();
    let alike = alike(given.threshold(), threshold, contained);
    let params = engine(py, || of_kept(&given, alike, exact))?;
    let documents = Documents::new(documents, &params)?;
    let threads = crate::parallel::threads(threads);
    let keys = against.map_or(KeyType::Text, |against| against.get().keys);
    let snapshot = against.map(|against| against.get().snapshot_now(py)).transpose()?;
    let callback = crate::progress::callback(py, progress, "dedup")?;
    let rows = documents.len();
    let mut done = |done: usize| report(py, callback.as_ref(), done as u64, rows as u64);
    let kept = engine(py, || kept_index(&folder, &params))?;
    let against = snapshot.as_ref();
    let sieve = Sieve { params: &params, kept: &kept, against, alike, threads };
    let fates = if keep == "first" && !exact {
        sieve.decide(py, &documents, 0, &mut done)?
    } else {
        decide_by_preference(py, &documents, &sieve, keep, exact, &mut done)?
    };
    // The caller deletes the folder afterwards, so nothing needs to be flushed.
    engine(py, || {
        drop(kept);
        Ok(())
    })?;
    for fate in &fates {
        if let Fate::InIndex(key, _) = fate {
            keys.check(py, key)?;
        }
    }
    Ok(told(&fates, keys))
}

/// Registers the function.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(decide_rows, module)?)
}
