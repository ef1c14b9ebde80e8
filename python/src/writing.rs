//! Writes columns to an index: adds, admits or removes their documents.

use std::mem::take;

use nearkin::{
    Admission, Admit, Alike, Batch, Decision, Document, Edit, Keep, Newcomer, Outcome, Signature,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::answers::KeyType;
use crate::arrow::{Builder, Field, Kind};
use crate::columns::{Column, Role};
use crate::documents::{Documents, Sketching};
use crate::error::{engine, raise};
use crate::progress::report;
use crate::queries::key_kind;
use crate::readable::Readable;
use crate::reports::Added;
use crate::table::Table;

/// Maximum size of a batch in the log, in bytes. Each batch needs one sync.
const BATCH_BYTES: usize = 4 << 20;
/// Number of removes per batch.
const REMOVES: usize = 10_000;
/// Number of documents that are admitted per call.
const NEWCOMERS: usize = 1_024;

/// Converts a time to milliseconds since 1970 (UTC).
pub(crate) fn ms_of(time: &Bound<'_, PyAny>) -> PyResult<u64> {
    time.py().import("nearkin._columns")?.getattr("ms_of")?.call1((time,))?.extract()
}

/// The columns of documents to be written, all of the same length.
pub(crate) struct Columns<'py> {
    keys: Column<'py>,
    documents: Documents<'py>,
    payloads: Option<Column<'py>>,
    times: Option<Vec<Option<u64>>>,
}

impl<'py> Columns<'py> {
    pub(crate) fn new(
        readable: &Readable,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        documents: &Bound<'py, PyAny>,
        payloads: Option<Bound<'py, PyAny>>,
        times: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        readable.check_of_documents(py)?;
        Self::of(py, &readable.params, keys, documents, payloads, times)
    }

    /// Like [`Columns::new`], but needs no open index, only its parameters.
    pub(crate) fn of(
        py: Python<'py>,
        params: &nearkin::Params,
        keys: &Bound<'py, PyAny>,
        documents: &Bound<'py, PyAny>,
        payloads: Option<Bound<'py, PyAny>>,
        times: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let documents = Documents::new(documents, params)?;
        let keys = Column::new(keys, Role::Keys)?;
        documents.check_length(keys.len(), "keys")?;
        let payloads = payloads.map(|column| Column::new(&column, Role::Payloads)).transpose()?;
        if let Some(payloads) = &payloads {
            documents.check_length(payloads.len(), "payloads")?;
        }
        let times = times.map(|times| -> PyResult<Vec<Option<u64>>> {
            let module = py.import("nearkin._columns")?;
            module.getattr("times")?.call1((times, documents.len()))?.extract()
        });
        let times = times.transpose()?;
        if let Some(times) = &times {
            documents.check_length(times.len(), "times")?;
        }
        Ok(Self { keys, documents, payloads, times })
    }

    /// All rows as documents, for a sealed file. A missing payload is empty, a missing time is 0. A
    /// document without anything to compare is an error.
    pub(crate) fn sealable(
        &self,
        py: Python<'py>,
        params: &nearkin::Params,
        threads: usize,
    ) -> PyResult<Vec<Document>> {
        let sketcher = nearkin::Sketcher::new(params);
        let how = Sketching { sketcher: &sketcher, threads };
        let mut made = Vec::with_capacity(self.documents.len());
        self.documents.sketch::<Vec<Option<Signature>>>(py, how, |rows, parts| {
            let keys = self.keys.hold(rows.clone())?;
            let keys = keys.bytes(rows.start)?;
            check_keys(py, KeyType::Bytes, &keys, rows.start)?;
            let payloads = self.payloads.as_ref();
            let payloads = payloads.map(|column| column.hold(rows.clone())).transpose()?;
            let payloads = payloads.as_ref().map(|held| held.bytes(rows.start)).transpose()?;
            let signatures = parts.into_iter().flatten();
            for ((row, key), signature) in rows.clone().zip(&keys).zip(signatures) {
                let Some(signature) = signature else {
                    let message = format!("documents[{row}] has nothing to compare: leave it out");
                    return Err(raise(py, "EmptyError", &message));
                };
                let payload = payloads.as_ref().and_then(|all| *all.get(row - rows.start)?);
                let time = time_of(self.times.as_deref(), row).unwrap_or(0);
                let document = Document::new(key.unwrap_or_default(), signature);
                made.push(document.with_payload(payload.unwrap_or_default()).with_time(time));
            }
            Ok(())
        })?;
        Ok(made)
    }
}

fn time_of(times: Option<&[Option<u64>]>, row: usize) -> Option<u64> {
    times.and_then(|times| times.get(row).copied().flatten())
}

/// Refuses null keys, and keys that an index of text keys could not show.
pub(crate) fn check_keys(
    py: Python<'_>,
    key_type: KeyType,
    keys: &[Option<&[u8]>],
    first: usize,
) -> PyResult<()> {
    for (key, row) in keys.iter().zip(first..) {
        let Some(key) = key else {
            return Err(raise(py, "InvalidError", &format!("keys[{row}] is null")));
        };
        key_type.check(py, key)?;
    }
    Ok(())
}

/// An insert; without a payload, the stored one is kept.
pub(crate) fn insert<'a>(
    key: &'a [u8],
    payload: Option<&'a [u8]>,
    time: Option<u64>,
    signature: &'a Signature,
) -> Edit<'a> {
    let mut edit = Edit::insert(key, signature);
    if let Some(payload) = payload {
        edit = edit.payload(payload);
    }
    match time {
        Some(time) => edit.time(time),
        None => edit,
    }
}

/// Adds documents, a batch at a time.
pub(crate) fn add(
    py: Python<'_>,
    readable: &Readable,
    columns: &Columns<'_>,
    callback: Option<&Py<PyAny>>,
    threads: usize,
) -> PyResult<Added> {
    let index = readable.writer(py)?;
    let how = Sketching { sketcher: &readable.sketcher, threads };
    let (count, times) = (columns.documents.len(), columns.times.as_deref());
    let mut added = Added::default();
    columns.documents.sketch::<Vec<Option<Signature>>>(py, how, |rows, parts| {
        let keys = columns.keys.hold(rows.clone())?;
        let keys = keys.bytes(rows.start)?;
        check_keys(py, readable.keys, &keys, rows.start)?;
        let payloads = columns.payloads.as_ref();
        let payloads = payloads.map(|column| column.hold(rows.clone())).transpose()?;
        let payloads = payloads.as_ref().map(|held| held.bytes(rows.start)).transpose()?;
        let signatures = parts.into_iter().flatten();
        let empty = &mut added.empty;
        let written = engine(py, || {
            let (mut batch, mut outcomes) = (Batch::new(), Vec::with_capacity(rows.len()));
            for ((row, key), signature) in rows.clone().zip(&keys).zip(signatures) {
                let Some(signature) = signature else {
                    empty.push(row);
                    continue;
                };
                let payload = payloads.as_ref().and_then(|all| *all.get(row - rows.start)?);
                let (key, time) = (key.unwrap_or_default(), time_of(times, row));
                batch.push(insert(key, payload, time, &signature));
                if batch.bytes() >= BATCH_BYTES {
                    outcomes.extend(index.write(take(&mut batch))?.outcomes);
                }
            }
            if !batch.is_empty() {
                outcomes.extend(index.write(batch)?.outcomes);
            }
            Ok(outcomes)
        })?;
        for outcome in written {
            added.count(outcome);
        }
        report(py, callback, rows.end as u64, count as u64)
    })?;
    Ok(added)
}

/// Removes the documents of a column of keys.
pub(crate) fn remove<'py>(
    py: Python<'py>,
    readable: &Readable,
    keys: &Bound<'py, PyAny>,
) -> PyResult<u64> {
    let (index, keys) = (readable.writer(py)?, Column::new(keys, Role::Keys)?);
    let (count, mut removed) = (keys.len(), 0);
    for begin in (0..count).step_by(REMOVES) {
        let held = keys.hold(begin..count.min(begin + REMOVES))?;
        let some = held.bytes(begin)?;
        check_keys(py, readable.keys, &some, begin)?;
        let written = engine(py, || {
            let batch = some.iter().flatten().fold(Batch::new(), Batch::remove);
            index.write(batch)
        })?;
        removed += written.count(Outcome::Removed);
        py.check_signals()?;
    }
    Ok(removed)
}

/// The conditions for admitting documents.
pub(crate) struct Admitting {
    admit: Admit,
    /// Whether the table has a column of containments.
    is_contained: bool,
}

impl Admitting {
    pub(crate) fn new(reject: Alike, relate: Option<f64>, keep: &str) -> PyResult<Self> {
        let keep = match keep {
            "first" => Keep::First,
            "newest" => Keep::Newest,
            "longest" => Keep::Longest,
            other => {
                let message = format!("keep must be 'first', 'newest' or 'longest', not {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        // The table reports only the most similar document.
        let mut admit = Admit::at(reject).keep(keep).limit(1);
        if let Some(relate) = relate {
            admit = admit.relate(relate);
        }
        Ok(Self { admit, is_contained: reject.asks_for_containment() })
    }
}

/// Admits documents in their order.
pub(crate) fn admit(
    py: Python<'_>,
    readable: &Readable,
    columns: &Columns<'_>,
    admitting: &Admitting,
    callback: Option<&Py<PyAny>>,
    threads: usize,
) -> PyResult<Table> {
    let index = readable.writer(py)?;
    let how = Sketching { sketcher: &readable.sketcher, threads };
    let kind = key_kind(readable.keys);
    let mut fields = vec![
        Field::new("key", kind),
        Field::new("decision", Kind::Text),
        Field::nullable("of_key", kind),
        Field::nullable("similarity", Kind::Float),
    ];
    if admitting.is_contained {
        fields.push(Field::nullable("contained", Kind::Float));
    }
    let mut builder = Builder::new(&fields);
    let (count, times) = (columns.documents.len(), columns.times.as_deref());
    columns.documents.sketch::<Vec<Option<Signature>>>(py, how, |rows, parts| {
        let keys = columns.keys.hold(rows.clone())?;
        let keys = keys.bytes(rows.start)?;
        check_keys(py, readable.keys, &keys, rows.start)?;
        let payloads = columns.payloads.as_ref();
        let payloads = payloads.map(|column| column.hold(rows.clone())).transpose()?;
        let payloads = payloads.as_ref().map(|held| held.bytes(rows.start)).transpose()?;
        let signatures: Vec<Option<Signature>> = parts.into_iter().flatten().collect();
        let all: Vec<usize> = (0..rows.len()).collect();
        for some in all.chunks(NEWCOMERS) {
            let newcomer = |at: &usize| {
                let signature = signatures.get(*at)?.as_ref()?;
                let key = keys.get(*at).copied().flatten().unwrap_or_default();
                let mut newcomer = Newcomer::new(key, signature);
                if let Some(payload) = payloads.as_ref().and_then(|all| *all.get(*at)?) {
                    newcomer = newcomer.payload(payload);
                }
                match time_of(times, rows.start + at) {
                    Some(time) => Some(newcomer.time(time)),
                    None => Some(newcomer),
                }
            };
            let newcomers: Vec<Newcomer<'_>> = some.iter().filter_map(newcomer).collect();
            let admissions = engine(py, || index.admit_all(&newcomers, &admitting.admit))?;
            let mut admissions = admissions.into_iter();
            for at in some {
                let admission = match signatures.get(*at) {
                    Some(Some(_)) => admissions.next(),
                    _ => None,
                };
                let key = keys.get(*at).copied().flatten().unwrap_or_default();
                push_decision(py, readable.keys, &mut builder, key, admission.as_ref())?;
            }
            py.check_signals()?;
        }
        report(py, callback, rows.end as u64, count as u64)
    })?;
    Ok(Table::new(&fields, builder.finish()))
}

fn push_decision(
    py: Python<'_>,
    key_type: KeyType,
    builder: &mut Builder,
    key: &[u8],
    admission: Option<&Admission>,
) -> PyResult<()> {
    let (decision, other) = match admission.map(|admission| &admission.decision) {
        None => ("empty", None),
        Some(Decision::Rejected { duplicates, .. }) => ("rejected", duplicates.first()),
        Some(Decision::Admitted { related, removed, .. }) => match removed.first() {
            Some(removed) => ("replaced", Some(removed)),
            None => ("admitted", related.first()),
        },
    };
    if let Some(other) = other {
        key_type.check(py, &other.key)?;
    }
    if let [keys, decisions, others, similarities, rest @ ..] = builder.columns.as_mut_slice() {
        keys.bytes(Some(key));
        decisions.bytes(Some(decision.as_bytes()));
        others.bytes(other.map(|other| other.key.as_slice()));
        similarities.float(other.map(|other| other.similarity));
        for contained in rest {
            contained.float(other.and_then(|other| other.containment).map(|told| told.estimate));
        }
    }
    builder.row_ended();
    Ok(())
}
