//! Exact comparison, as steps of a job on a cluster. A document travels as its shingles, so that it
//! can be compared where its text is not.
#![expect(clippy::doc_link_with_quotes, reason = "the examples are in Python")]

use std::path::PathBuf;

use nearkin::shards::Verifier;
use nearkin::{Alike, Original, Overlap, Signature, Sketcher};
use pyo3::prelude::*;

use crate::arrow::{Builder, Field, Kind};
use crate::columns::column::{Column, Role};
use crate::columns::documents::Documents;
use crate::columns::integers::{check_rows, integers};
use crate::columns::keys::KeyType;
use crate::dedup::estimate::{Estimate, kept_index};
use crate::dedup::fates::{Fate, Shown, fates_table};
use crate::dedup::rows::Work;
use crate::error::{InvalidError, engine};
use crate::index::originals::{Make, with_originals};
use crate::interrupt::is_interrupted;
use crate::sketch::params::Params;
use crate::sketch::signatures::Signatures;
use crate::tables::table::Table;

/// Number of documents whose shingles are made between two checks for signals.
const ROWS: usize = 256;
/// Bytes of a shingle.
const BYTES: usize = size_of::<u64>();

const SHINGLES: [Field; 2] =
    [Field::nullable("signature", Kind::Bytes), Field::nullable("shingles", Kind::Bytes)];
const COMPARED: [Field; 6] = [
    Field::new("row", Kind::Integer),
    Field::new("similarity", Kind::Float),
    Field::new("contained", Kind::Float),
    Field::new("shingles", Kind::Integer),
    Field::new("of_shingles", Kind::Integer),
    Field::new("shared", Kind::Integer),
];

/// The documents of a column (texts, or sets if ``params`` have items) for exact comparison: a
/// table of (signature, shingles). ``shingles`` holds the hashes of all shingles, ascending, 8
/// bytes each. Both are null if a document is null or has nothing to compare. Costs a sort of the
/// shingles more than :meth:`Sketcher.texts`.
///
/// >>> import nearkin as nk
/// >>> from nearkin import shards
/// >>> p = nk.Params(shingles="words:1")
/// >>> t = shards.shingles(p, ["b a a", None])
/// >>> [row and len(row) for row in t["shingles"]]
/// [16, None]
#[pyfunction]
pub(crate) fn shingles<'py>(
    py: Python<'py>,
    params: &Bound<'py, Params>,
    documents: &Bound<'py, PyAny>,
) -> PyResult<Table> {
    let params = &params.get().inner;
    let (documents, sketcher) = (Documents::new(documents, params)?, Sketcher::new(params));
    let mut builder = Builder::new(&SHINGLES);
    for first in (0..documents.len()).step_by(ROWS) {
        let rows = first..documents.len().min(first + ROWS);
        let count = rows.len();
        let made = with_originals(&documents, &sketcher, rows, |make| {
            engine(py, || (0..count).map(make).collect::<nearkin::Result<Vec<_>>>())
        })?;
        for made in made {
            let bytes = made.as_ref().map(bytes_of);
            let signature = made.as_ref().map(|made| made.signature().as_bytes());
            builder.row([signature.into(), bytes.as_deref().into()]);
        }
        py.check_signals()?;
    }
    Ok(Table::new(&SHINGLES, builder.finish()))
}

fn bytes_of(document: &Original) -> Vec<u8> {
    document.shingle_hashes().iter().flat_map(|hash| hash.to_le_bytes()).collect()
}

/// The document with this signature and these shingles.
fn document(signature: Signature, bytes: &[u8]) -> nearkin::Result<Original> {
    let hashes = bytes.as_chunks::<BYTES>().0.iter();
    let hashes = hashes.map(|hash| u64::from_le_bytes(*hash)).collect();
    Original::from_shingle_hashes(signature, hashes)
}

/// The rows of a column of shingles, of which none may be null.
fn rows_of<'a>(
    held: &'a crate::columns::column::Held<'_, '_>,
    name: &str,
) -> PyResult<Vec<&'a [u8]>> {
    let rows = held.bytes(0)?.into_iter().enumerate();
    let row = |(row, bytes): (usize, Option<&'a [u8]>)| {
        let bytes = bytes.ok_or_else(|| InvalidError::new_err(format!("{name}[{row}] is null")))?;
        if bytes.len().is_multiple_of(BYTES) {
            return Ok(bytes);
        }
        let message = format!("{name}[{row}] has {} bytes, no multiple of {BYTES}", bytes.len());
        Err(InvalidError::new_err(message))
    };
    rows.map(row).collect()
}

/// Compares candidates exactly. Each row is a candidate: the shingles of two documents, as
/// :func:`shingles` makes them. Returns the candidates that hold: their similarity is at least
/// ``threshold``, and with ``contained`` the larger document contains at least this fraction of the
/// smaller one. A row of the table has the row number in the batch, similarity and containment, the
/// number of shingles of both documents, and the number that both have.
///
/// >>> import nearkin as nk
/// >>> from nearkin import shards
/// >>> p = nk.Params(shingles="words:1")
/// >>> a, b = shards.shingles(p, ["a b c d", "b c"])["shingles"]
/// >>> shards.compare(p, [a, a], [a, b], 0.5).rows()
/// [(0, 1.0, 1.0, 4, 4, 4), (1, 0.5, 1.0, 4, 2, 2)]
#[pyfunction]
#[pyo3(signature = (params, shingles, other_shingles, threshold, *, contained=None))]
pub(crate) fn compare(
    py: Python<'_>,
    params: &Bound<'_, Params>,
    shingles: &Bound<'_, PyAny>,
    other_shingles: &Bound<'_, PyAny>,
    threshold: f64,
    contained: Option<f64>,
) -> PyResult<Table> {
    let params = &params.get().inner;
    let alike = Alike::from_minima(Some(threshold), contained, threshold);
    let (left, right) =
        (Column::new(shingles, Role::Shingles)?, Column::new(other_shingles, Role::Shingles)?);
    check_rows(left.len(), right.len(), "other_shingles")?;
    let (left, right) = (left.hold(0..left.len())?, right.hold(0..right.len())?);
    let (left, right) = (rows_of(&left, "shingles")?, rows_of(&right, "other_shingles")?);
    let found = engine(py, || compared(params, alike, &left, &right))?;
    let rows = found.into_iter().map(|(row, overlap)| {
        let Overlap { similarity, containment, counts, shared, .. } = overlap;
        let values = [row.into(), similarity.into(), containment.into()];
        values.into_iter().chain([counts.0.into(), counts.1.into(), shared.into()])
    });
    Ok(Table::filled(&COMPARED, rows))
}

fn compared(
    params: &nearkin::Params,
    alike: Alike,
    left: &[&[u8]],
    right: &[&[u8]],
) -> nearkin::Result<Vec<(i64, Overlap)>> {
    // Refuses a threshold or a containment outside 0 to 1.
    Verifier::new(params, alike)?;
    // Shingles alone are compared.
    let signature = Signature::from_bytes(params, &vec![0; params.signature_bytes()], 0)?;
    let mut found = Vec::new();
    for (row, (a, b)) in (0_i64..).zip(left.iter().zip(right)) {
        let (a, b) = (document(signature.clone(), a)?, document(signature.clone(), b)?);
        found.extend(alike.overlap(&a, &b).map(|overlap| (row, overlap)));
        if is_interrupted() {
            break;
        }
    }
    Ok(found)
}

/// Decides documents in order of preference, with parameters as they are: by the estimate, or if
/// there are `shingles`, by these; `exact` also compares candidates from below the threshold.
/// `shingles` are those of the distinct documents, and the number of its distinct document for
/// each one. Called by `nearkin.spark` for whole components.
#[pyfunction]
#[pyo3(signature = (signatures, params, folder, threshold, contained, exact, shingles))]
#[expect(clippy::too_many_arguments, reason = "those of Python")]
pub(crate) fn decide_in_order(
    py: Python<'_>,
    signatures: &Bound<'_, Signatures>,
    params: &Bound<'_, Params>,
    folder: PathBuf,
    threshold: f64,
    contained: Option<f64>,
    exact: bool,
    shingles: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
) -> PyResult<Table> {
    let (params, signatures) = (&params.get().inner, signatures.get());
    let alike = Alike::from_minima(Some(threshold), contained, threshold);
    let kept = engine(py, || kept_index(&folder, params))?;
    let order: Vec<usize> = (0..signatures.len()).collect();
    let mut fates = vec![Fate::Kept; order.len()];
    let mut done = |_| py.check_signals();
    let by_shingles = shingles.is_some();
    let column = shingles.as_ref().map(|(one, _)| Column::new(one, Role::Shingles)).transpose()?;
    let held = column.as_ref().map(|column| column.hold(0..column.len())).transpose()?;
    let rows = held.as_ref().map_or_else(|| Ok(Vec::new()), |held| rows_of(held, "shingles"))?;
    let distinct = shingles.as_ref().map(|(_, of)| integers(of, "distinct")).transpose()?;
    if let Some(distinct) = &distinct {
        check_rows(order.len(), distinct.len(), "distinct")?;
    }
    let distinct = distinct.unwrap_or_default();
    let make = |row: usize| {
        let at = distinct.get(row).and_then(|at| usize::try_from(*at).ok());
        match (signatures.row(row), at.and_then(|at| rows.get(at))) {
            (Some(bytes), Some(shingles)) => {
                let signature = Signature::from_bytes(params, bytes, signatures.count(row))?;
                document(signature, shingles).map(Some)
            }
            _ => Ok(None),
        }
    };
    let (kept_rows, order, threads) = (&kept, &order, 1);
    if exact {
        let (fates, done) = (&mut *fates, &mut done);
        Work { kept: kept_rows, order, alike, threads, fates, done }.run_exactly(py, &make)?;
    } else {
        let confirm = by_shingles.then_some(&make as &Make<'_>);
        let (kept, row_of, first_rank) = (kept_rows, &|rank| rank, 0);
        let estimate =
            Estimate { kept, signatures, order, first_rank, row_of, alike, threads, confirm };
        estimate.decide(py, &mut fates, &mut done)?;
    }
    engine(py, || {
        drop(kept);
        Ok(())
    })?;
    let shown = Shown { by_shingles, differences: None };
    Ok(fates_table(&fates, KeyType::Text, &shown))
}
