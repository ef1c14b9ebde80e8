//! `nearkin.shards`: the steps of a job on a cluster, as functions of Arrow batches.
//!
//! Document numbers and BandKeys are signed 64-bit integers, as in Spark. The 64 bits of a BandKey
//! are unchanged, but read as a signed number.
#![expect(clippy::doc_link_with_quotes, reason = "the examples are in Python")]

use nearkin::shards::{self, VerifiedPair, Verifier};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

use crate::arrow::{Field, Kind};
use crate::columns::column::{Column, Role};
use crate::columns::integers::{check_rows, integers};
use crate::error::{InvalidError, engine, unlocked};
use crate::interrupt::is_interrupted;
use crate::progress::run;
use crate::shards::condition::Condition;
use crate::sketch::params::Params;
use crate::sketch::signatures::Signatures;
use crate::tables::table::Table;

const ENTRIES: [Field; 3] = [
    Field::new("band", Kind::Integer),
    Field::new("band_key", Kind::Integer),
    Field::new("document", Kind::Integer),
];
const PAIRS: [Field; 4] = [
    Field::new("a", Kind::Integer),
    Field::new("b", Kind::Integer),
    Field::new("equal_rows", Kind::Integer),
    Field::new("similarity", Kind::Float),
];
const VERIFIED: [Field; 3] = [
    Field::new("row", Kind::Integer),
    Field::new("equal_rows", Kind::Integer),
    Field::new("similarity", Kind::Float),
];

fn bands_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
    let bands = integers(object, "bands")?;
    let band = |band: i64| {
        u16::try_from(band).map_err(|_| InvalidError::new_err(format!("there is no band {band}")))
    };
    bands.into_iter().map(band).collect()
}

/// The concatenated signatures of a column, and which rows have one. The column is a `Signatures`
/// object, or holds the bytes of one signature per row, as from `Signature.to_bytes`.
fn signatures_of(object: &Bound<'_, PyAny>, bytes: usize) -> PyResult<(Vec<u8>, Vec<bool>)> {
    let mut data = Vec::new();
    let mut push = |row: usize, signature: Option<&[u8]>| {
        let signature = signature.unwrap_or_default();
        if !signature.is_empty() && signature.len() != bytes {
            let found = signature.len();
            let message = format!("signatures[{row}] has {found} bytes, not {bytes}");
            return Err(InvalidError::new_err(message));
        }
        data.extend_from_slice(signature);
        Ok(!signature.is_empty())
    };
    if let Ok(signatures) = object.cast::<Signatures>() {
        let signatures = signatures.get();
        let rows = (0..signatures.len()).map(|row| push(row, signatures.row(row)));
        let valid = rows.collect::<PyResult<Vec<_>>>()?;
        return Ok((data, valid));
    }
    let column = Column::new(object, Role::Signatures)?;
    let held = column.hold(0..column.len())?;
    let rows = held.bytes(0)?.into_iter().enumerate();
    let valid = rows.map(|(row, signature)| push(row, signature)).collect::<PyResult<Vec<_>>>()?;
    Ok((data, valid))
}

/// Like [`signatures_of`], but every row must have a signature.
fn all_signatures(object: &Bound<'_, PyAny>, bytes: usize, rows: usize) -> PyResult<Vec<u8>> {
    let (data, valid) = signatures_of(object, bytes)?;
    check_rows(rows, valid.len(), "signatures")?;
    match valid.iter().position(|is_valid| !is_valid) {
        Some(row) => Err(InvalidError::new_err(format!("signatures[{row}] is null"))),
        None => Ok(data),
    }
}

/// The rows of the band join: one per document and band. Documents without a signature (null) have
/// no rows. ``bands=(first, end)`` returns only the rows of these bands.
///
/// >>> import nearkin as nk
/// >>> from nearkin import shards
/// >>> p = nk.Params(shingles="words:1", hashes=16, bands=(2, 4))
/// >>> s = nk.Sketcher(p).texts(["a b c", None, "a b c"])
/// >>> t = shards.band_entries(p, s, [10, 11, 12])
/// >>> t["band"], t["document"]
/// ([0, 1, 0, 1], [10, 10, 12, 12])
/// >>> t["band_key"][:2] == t["band_key"][2:]
/// True
#[pyfunction]
#[pyo3(signature = (params, signatures, documents, bands=None))]
pub(crate) fn band_entries(
    py: Python<'_>,
    params: &Bound<'_, Params>,
    signatures: &Bound<'_, PyAny>,
    documents: &Bound<'_, PyAny>,
    bands: Option<(usize, usize)>,
) -> PyResult<Table> {
    let params = &params.get().inner;
    let (data, valid) = signatures_of(signatures, params.signature_bytes())?;
    let documents = integers(documents, "documents")?;
    check_rows(documents.len(), valid.len(), "signatures")?;
    let bands = bands.map_or(0..params.bands(), |(first, end)| first..end);
    let entries = engine(py, || {
        let numbers = documents.iter().zip(&valid).filter(|(_, is_valid)| **is_valid);
        let numbers: Vec<u64> = numbers.map(|(number, _)| number.cast_unsigned()).collect();
        shards::band_entries(params, &data, &numbers, bands)
    })?;
    let rows = entries.into_iter().map(|entry| {
        let (band_key, document) = (entry.band_key.cast_signed(), entry.document.cast_signed());
        [u32::from(entry.band).into(), band_key.into(), document.into()]
    });
    Ok(Table::filled(&ENTRIES, rows))
}

/// Two documents, their pair, and its containment (0 if none is asked for).
type FoundPair = (i64, i64, VerifiedPair, f64);

/// A table of pairs, with the smaller document number first.
fn table_of_pairs(pairs: Vec<FoundPair>, condition: Condition) -> Table {
    let rows = pairs.into_iter().map(|(one, other, pair, containment)| {
        let ends = [one.min(other).into(), one.max(other).into()];
        ends.into_iter().chain([pair.equal_rows.into(), pair.similarity.into(), containment.into()])
    });
    Table::filled(&condition.fields(&PAIRS), rows)
}

/// The documents of complete buckets.
struct Buckets {
    rows: BTreeMap<(u16, i64), Vec<usize>>,
    documents: Vec<i64>,
    data: Vec<u8>,
    /// The counts of shingles, if the condition needs them.
    counts: Vec<u32>,
    bytes: usize,
}

impl Buckets {
    fn new(
        params: &nearkin::Params,
        bands: &Bound<'_, PyAny>,
        band_keys: &Bound<'_, PyAny>,
        documents: &Bound<'_, PyAny>,
        signatures: &Bound<'_, PyAny>,
        condition: Condition,
    ) -> PyResult<Self> {
        let bytes = params.signature_bytes();
        let counts = condition.counts(signatures)?;
        let documents = integers(documents, "documents")?;
        let (bands, keys) = (bands_of(bands)?, integers(band_keys, "band_keys")?);
        check_rows(documents.len(), bands.len(), "bands")?;
        check_rows(documents.len(), keys.len(), "band_keys")?;
        let data = all_signatures(signatures, bytes, documents.len())?;
        let mut rows: BTreeMap<(u16, i64), Vec<usize>> = BTreeMap::new();
        for (row, bucket) in bands.into_iter().zip(keys).enumerate() {
            rows.entry(bucket).or_default().push(row);
        }
        Ok(Self { rows, documents, data, counts, bytes })
    }

    /// Calls `visit` with the band, the rows and the signatures of each bucket.
    fn each(
        &self,
        mut visit: impl FnMut(u16, &[usize], &[u8]) -> nearkin::Result<()>,
    ) -> nearkin::Result<()> {
        let mut together = Vec::new();
        for ((band, _), rows) in &self.rows {
            together.clear();
            for row in rows {
                let signature = self.data.get(row * self.bytes..(row + 1) * self.bytes);
                together.extend_from_slice(signature.unwrap_or_default());
            }
            visit(*band, rows, &together)?;
        }
        Ok(())
    }

    /// The containment of a pair of a bucket, if it satisfies the condition.
    fn reached(
        &self,
        params: &nearkin::Params,
        condition: Condition,
        rows: &[usize],
        pair: &VerifiedPair,
    ) -> Option<f64> {
        let count = |at: usize| rows.get(at).and_then(|row| self.counts.get(*row));
        condition.reached(params, pair.equal_rows, (count(pair.a), count(pair.b)))
    }

    /// The document at a place in a bucket.
    fn document(&self, rows: &[usize], at: usize) -> Option<i64> {
        rows.get(at).and_then(|row| self.documents.get(*row)).copied()
    }
}

/// The pairs among the documents of complete buckets: rows of (band, BandKey, document, signature),
/// in any order. All rows of a bucket must be in the batch. A pair counts only at the first band
/// that it shares, so over all buckets each pair is found once.
#[pyfunction]
#[pyo3(signature = (params, bands, band_keys, documents, signatures, threshold, **conditions),
    text_signature = "(params, bands, band_keys, documents, signatures, threshold, *, \
        contained=None, for_verification=False)")]
#[expect(clippy::too_many_arguments, reason = "columns, and keywords of Python")]
pub(crate) fn verify_buckets(
    py: Python<'_>,
    params: &Bound<'_, Params>,
    bands: &Bound<'_, PyAny>,
    band_keys: &Bound<'_, PyAny>,
    documents: &Bound<'_, PyAny>,
    signatures: &Bound<'_, PyAny>,
    threshold: f64,
    conditions: Option<&Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let params = params.get().inner.clone();
    let condition = Condition::new("verify_buckets", threshold, conditions)?;
    let buckets = Buckets::new(&params, bands, band_keys, documents, signatures, condition)?;
    let pairs = run(py, None, move |_| {
        let verifier = Verifier::new(&params, condition.alike)?;
        let mut pairs = Vec::new();
        buckets.each(|band, rows, together| {
            let named = |pair: VerifiedPair| {
                let contained = buckets.reached(&params, condition, rows, &pair)?;
                let ends = (buckets.document(rows, pair.a)?, buckets.document(rows, pair.b)?);
                Some((ends.0, ends.1, pair, contained))
            };
            pairs.extend(verifier.bucket(band, together)?.into_iter().filter_map(named));
            Ok(())
        })?;
        Ok(pairs)
    })?;
    Ok(table_of_pairs(pairs, condition))
}

/// Edges that connect the documents of complete buckets, as all their pairs do, for
/// :func:`components`: a crowd of n similar documents costs about n comparisons and n edges. An
/// edge may be found in several buckets. All rows of a bucket must be in the batch.
///
/// >>> import nearkin as nk
/// >>> from nearkin import shards
/// >>> p = nk.Params(shingles="words:1", hashes=16, bands=(2, 4))
/// >>> s = [bytes(16), bytes(16), bytes(15) + b"x"]
/// >>> shards.connect_buckets(p, [0, 0, 0], [4, 4, 4], [10, 12, 11], s, 0.5).rows()
/// [(10, 12), (10, 11)]
#[pyfunction]
#[pyo3(signature = (params, bands, band_keys, documents, signatures, threshold, **conditions),
    text_signature = "(params, bands, band_keys, documents, signatures, threshold, *, \
        contained=None, for_verification=False)")]
#[expect(clippy::too_many_arguments, reason = "columns, and keywords of Python")]
pub(crate) fn connect_buckets(
    py: Python<'_>,
    params: &Bound<'_, Params>,
    bands: &Bound<'_, PyAny>,
    band_keys: &Bound<'_, PyAny>,
    documents: &Bound<'_, PyAny>,
    signatures: &Bound<'_, PyAny>,
    threshold: f64,
    conditions: Option<&Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let params = params.get().inner.clone();
    let condition = Condition::new("connect_buckets", threshold, conditions)?;
    let buckets = Buckets::new(&params, bands, band_keys, documents, signatures, condition)?;
    let edges = run(py, None, move |_| {
        let verifier = Verifier::new(&params, condition.alike)?;
        let mut edges = Vec::new();
        buckets.each(|_, rows, together| {
            let holds =
                |pair: &VerifiedPair| buckets.reached(&params, condition, rows, pair).is_some();
            let named = |(a, b)| Some((buckets.document(rows, a)?, buckets.document(rows, b)?));
            edges.extend(verifier.connect_if(together, holds)?.into_iter().filter_map(named));
            Ok(())
        })?;
        Ok(edges)
    })?;
    let fields = ["a", "b"].map(|name| Field::new(name, Kind::Integer));
    Ok(Table::filled(&fields, edges.into_iter().map(|(a, b): (i64, i64)| [a.into(), b.into()])))
}

/// The pairs between two parts of a bucket that is too large for one task. The parts have no
/// document in common. (:func:`verify_buckets` returns the pairs within a part.)
#[pyfunction]
#[pyo3(signature = (params, band, documents, signatures, other_documents, other_signatures,
    threshold, **conditions),
    text_signature = "(params, band, documents, signatures, other_documents, other_signatures, \
        threshold, *, contained=None, for_verification=False)")]
#[expect(clippy::too_many_arguments, reason = "two parts of two columns each")]
pub(crate) fn verify_between(
    py: Python<'_>,
    params: &Bound<'_, Params>,
    band: u16,
    documents: &Bound<'_, PyAny>,
    signatures: &Bound<'_, PyAny>,
    other_documents: &Bound<'_, PyAny>,
    other_signatures: &Bound<'_, PyAny>,
    threshold: f64,
    conditions: Option<&Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let params = &params.get().inner;
    let bytes = params.signature_bytes();
    let condition = Condition::new("verify_between", threshold, conditions)?;
    let (own, others) = (condition.counts(signatures)?, condition.counts(other_signatures)?);
    let left = integers(documents, "documents")?;
    let right = integers(other_documents, "other_documents")?;
    let left_data = all_signatures(signatures, bytes, left.len())?;
    let right_data = all_signatures(other_signatures, bytes, right.len())?;
    let by = params.clone();
    let found = run(py, None, move |_| {
        Verifier::new(&by, condition.alike)?.between(band, &left_data, &right_data)
    })?;
    let documents = |pair: VerifiedPair| {
        let counts = (own.get(pair.a), others.get(pair.b));
        let contained = condition.reached(params, pair.equal_rows, counts)?;
        Some((*left.get(pair.a)?, *right.get(pair.b)?, pair, contained))
    };
    Ok(table_of_pairs(found.into_iter().filter_map(documents).collect(), condition))
}

/// Compares candidates. Each row is a candidate: a band, and the signatures of two documents that
/// share a bucket of that band. Returns the candidates that reach the threshold and share no
/// earlier band: their row number in the batch, their equal rows and their similarity.
///
/// With ``contained``, the larger document must also contain at least this fraction of the smaller
/// one, by the estimate; it needs counts of shingles, so both columns must be `Signatures`.
/// ``for_verification`` returns the candidates of :func:`compare`: those down to three standard
/// errors below these minima. The functions of buckets have the same keywords.
#[pyfunction]
#[pyo3(signature = (params, bands, signatures, other_signatures, threshold, **conditions),
    text_signature = "(params, bands, signatures, other_signatures, threshold, *, contained=None, \
        for_verification=False)")]
pub(crate) fn verify(
    py: Python<'_>,
    params: &Bound<'_, Params>,
    bands: &Bound<'_, PyAny>,
    signatures: &Bound<'_, PyAny>,
    other_signatures: &Bound<'_, PyAny>,
    threshold: f64,
    conditions: Option<&Bound<'_, PyDict>>,
) -> PyResult<Table> {
    let params = &params.get().inner;
    let bytes = params.signature_bytes();
    let condition = Condition::new("verify", threshold, conditions)?;
    let (own, others) = (condition.counts(signatures)?, condition.counts(other_signatures)?);
    let bands = bands_of(bands)?;
    let left = all_signatures(signatures, bytes, bands.len())?;
    let right = all_signatures(other_signatures, bytes, bands.len())?;
    let found = engine(py, || {
        let verifier = Verifier::new(params, condition.alike)?;
        let both = left.chunks_exact(bytes).zip(right.chunks_exact(bytes));
        let mut found = Vec::new();
        for (row, (band, (a, b))) in bands.iter().zip(both).enumerate() {
            let reached = |equal_rows| {
                let counts = (own.get(row), others.get(row));
                Some((row, equal_rows, condition.reached(params, equal_rows, counts)?))
            };
            found.extend(verifier.pair(*band, a, b)?.and_then(reached));
            if is_interrupted() {
                break;
            }
        }
        Ok(found)
    })?;
    let rows = found.into_iter().map(|(row, equal_rows, containment)| {
        let similarity = params.similarity(equal_rows);
        [row.into(), equal_rows.into(), similarity.into(), containment.into()]
    });
    Ok(Table::filled(&condition.fields(&VERIFIED), rows))
}

/// The shard that each key belongs to, from 0 to ``shards - 1``: a table of one column.
#[pyfunction]
pub(crate) fn shard_of(py: Python<'_>, keys: &Bound<'_, PyAny>, shards: u32) -> PyResult<Table> {
    const FIELDS: [Field; 1] = [Field::nullable("shard", Kind::Integer)];
    let column = Column::new(keys, Role::Keys)?;
    let held = column.hold(0..column.len())?;
    let keys = held.bytes(0)?;
    let found = unlocked(py, || {
        let shard = |key: &[u8]| nearkin::shards::shard_of(key, shards);
        keys.iter().map(|key| key.map(shard)).collect::<Vec<_>>()
    })?;
    Ok(Table::filled(&FIELDS, found.into_iter().map(|shard| [shard.into()])))
}
