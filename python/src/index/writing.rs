//! Writes columns to an index: adds, admits or removes their documents.

use std::ops::Range;

use nearkin::{
    Admission, Admit, Batch, Decision, Document, Edit, Keep, Newcomer, Original, Outcome,
    Signature, Written,
};
use pyo3::prelude::*;

use crate::arrow::{Builder, Cell, Field, Kind};
use crate::called::call;
use crate::columns::column::{Column, Held, Role};
use crate::columns::documents::{Documents, NewState, Sketching};
use crate::columns::keys::{KeyType, key_kind, not_utf8};
use crate::error::{InvalidError, at_row, engine, raise};
use crate::index::handle::InUse;
use crate::index::originals::{Originals, with_originals};
use crate::index::readable::Readable;
use crate::index::reports::Added;
use crate::progress::{report, run};
use crate::search::conditions::Conditions;
use crate::tables::table::Table;

/// Maximum size of a batch in the log, in bytes. Each batch needs one sync.
const BATCH_BYTES: usize = 4 << 20;
/// A batch of fewer bytes is written on the thread of the call: starting another one takes time.
const SMALL_BYTES: usize = 64 << 10;
/// Number of removes per batch.
const REMOVES: usize = 10_000;
/// Number of documents that are admitted per call.
const NEWCOMERS: usize = 1_024;

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
        Self::with_params(py, &readable.params, keys, documents, payloads, times)
    }

    /// Like [`Columns::new`], but needs no open index, only its parameters.
    pub(crate) fn with_params(
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
            call(&module.getattr("times")?, (times, documents.len()))?.extract()
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
        let how = Sketching { sketcher: &sketcher, threads, progress: None };
        let mut made = Vec::with_capacity(self.documents.len());
        self.documents.sketch::<Vec<Option<Signature>>>(py, how, |rows, parts| {
            let held = HeldRows::new(&self.keys, self.payloads.as_ref(), rows.clone())?;
            let (keys, payloads) = held.read(py, KeyType::Bytes)?;
            let signatures = parts.into_iter().flatten();
            for ((row, key), signature) in rows.clone().zip(&keys).zip(signatures) {
                let Some(signature) = signature else {
                    let message = format!("documents[{row}] has nothing to compare: leave it out");
                    return Err(raise(py, "EmptyError", &message));
                };
                let payload = payloads.get(row - rows.start).copied().flatten();
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

/// Rows of the columns of keys and payloads, kept alive while they are read.
pub(crate) struct HeldRows<'a, 'py> {
    keys: Held<'a, 'py>,
    payloads: Option<Held<'a, 'py>>,
    first: usize,
}

/// The keys of rows, none of them null, and their payloads: none at all without a column of them.
type KeysAndPayloads<'a> = (Vec<Option<&'a [u8]>>, Vec<Option<&'a [u8]>>);

impl<'a, 'py> HeldRows<'a, 'py> {
    pub(crate) fn new(
        keys: &'a Column<'py>,
        payloads: Option<&'a Column<'py>>,
        rows: Range<usize>,
    ) -> PyResult<Self> {
        let held = payloads.map(|column| column.hold(rows.clone())).transpose()?;
        Ok(Self { keys: keys.hold(rows.clone())?, payloads: held, first: rows.start })
    }

    pub(crate) fn read(&self, py: Python<'_>, key_type: KeyType) -> PyResult<KeysAndPayloads<'_>> {
        let keys = self.keys.bytes(self.first)?;
        check_keys(py, key_type, &keys, self.first)?;
        let payloads = self.payloads.as_ref().map(|held| held.bytes(self.first)).transpose()?;
        Ok((keys, payloads.unwrap_or_default()))
    }
}

/// Refuses null keys, and keys that an index of text keys could not show.
fn check_keys(
    py: Python<'_>,
    key_type: KeyType,
    keys: &[Option<&[u8]>],
    first: usize,
) -> PyResult<()> {
    for (key, row) in keys.iter().zip(first..) {
        let Some(key) = key else {
            return Err(raise(py, "InvalidError", &format!("keys[{row}] is null")));
        };
        if key_type == KeyType::Text && str::from_utf8(key).is_err() {
            return Err(raise(py, "InvalidError", &format!("keys[{row}]: {}", not_utf8(key))));
        }
    }
    Ok(())
}

/// An insert; without a payload, the stored one is kept. Without a signature, a remove: the
/// document is blank now.
pub(crate) fn put<'a>(
    key: &'a [u8],
    payload: Option<&'a [u8]>,
    time: Option<u64>,
    signature: Option<&'a Signature>,
) -> Edit<'a> {
    let mut edit = Edit::put(key, signature);
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
    let how = Sketching { sketcher: &readable.sketcher, threads, progress: callback };
    let times = columns.times.as_deref();
    let (count, mut added) = (columns.documents.len(), Added::default());
    columns.documents.sketch::<Vec<NewState>>(py, how, |rows, parts| {
        let held = HeldRows::new(&columns.keys, columns.payloads.as_ref(), rows.clone())?;
        let (keys, payloads) = held.read(py, readable.keys)?;
        let mut states = rows.clone().zip(&keys).zip(parts.into_iter().flatten());
        loop {
            let (mut batch, mut blank, mut numbers) = (Batch::new(), Vec::new(), Vec::new());
            for ((row, key), state) in states.by_ref() {
                if !matches!(state, Some(Some(_))) {
                    added.empty.push(row);
                }
                let Some(signature) = state else { continue };
                let payload = payloads.get(row - rows.start).copied().flatten();
                let (key, time) = (key.unwrap_or_default(), time_of(times, row));
                batch.push(put(key, payload, time, signature.as_ref()));
                blank.push(signature.is_none());
                numbers.push(row);
                if batch.bytes() >= BATCH_BYTES {
                    break;
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            let written = write(py, &index, batch, (numbers, count))?;
            added.count(&written.outcomes, &blank);
            py.check_signals()?;
        }
    })?;
    Ok(added)
}

/// Writes a batch of operations for these of `count` rows. A large batch takes long, above all if a
/// flush is due: an interrupt does not wait for it.
fn write(
    py: Python<'_>,
    index: &InUse<nearkin::Index>,
    batch: Batch,
    (rows, count): (Vec<usize>, usize),
) -> PyResult<Written> {
    let named = move |error| at_row(error, &rows, count);
    if batch.bytes() < SMALL_BYTES {
        return engine(py, || index.write(&batch).map_err(named));
    }
    let index = index.shared();
    run(py, None, move |_| index.write(batch).map_err(named))
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
        let batch = some.iter().flatten().fold(Batch::new(), Batch::remove);
        let written = write(py, &index, batch, ((begin..begin + some.len()).collect(), count))?;
        removed += written.count(Outcome::Removed);
        py.check_signals()?;
    }
    Ok(removed)
}

/// The conditions for admitting documents.
pub(crate) struct Admitting {
    admit: Admit<'static>,
    /// Whether the table has a column of containments.
    is_contained: bool,
}

impl Admitting {
    pub(crate) fn new(
        Conditions { engine: reject, is_contained, .. }: Conditions,
        relate: Option<f64>,
        keep: &str,
    ) -> PyResult<Self> {
        let keep: Keep = keep.parse().map_err(|_| {
            InvalidError::new_err(format!(
                "keep must be 'first', 'newest', 'longest' or 'all', not {keep:?}"
            ))
        })?;
        // The table reports only the most similar document.
        let mut admit = Admit::at(reject).keep(keep).limit(1);
        if let Some(relate) = relate {
            admit = admit.relate(relate);
        }
        Ok(Self { admit, is_contained })
    }
}

/// Admits documents in their order. With `fetch`, decides by exact comparison.
pub(crate) fn admit(
    py: Python<'_>,
    readable: &Readable,
    columns: &Columns<'_>,
    (admitting, fetch): (&Admitting, Option<&Originals>),
    callback: Option<&Py<PyAny>>,
    threads: usize,
) -> PyResult<Table> {
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
    if fetch.is_some() {
        let evidence = ["shared", "shingles", "of_shingles"];
        fields.extend(evidence.map(|name| Field::nullable(name, Kind::Integer)));
        fields.push(Field::new("unverified", Kind::Integer));
    }
    let mut builder = Builder::new(&fields);
    let count = columns.documents.len();
    let how = Sketching { sketcher: &readable.sketcher, threads, progress: callback };
    let admitting = (admitting, fetch);
    if fetch.is_some() {
        for begin in (0..count).step_by(NEWCOMERS) {
            let rows = begin..count.min(begin + NEWCOMERS);
            let made = with_originals(&columns.documents, how.sketcher, rows.clone(), |make| {
                engine(py, || (0..rows.len()).map(make).collect::<nearkin::Result<Vec<_>>>())
            })?;
            let compared = |at: usize| made.get(at)?.as_ref().map(Compared::Original);
            admit_rows(py, readable, columns, admitting, rows.clone(), &compared, &mut builder)?;
            report(py, callback, rows.end as u64, count as u64)?;
        }
        return Ok(Table::new(&fields, builder.finish()));
    }
    columns.documents.sketch::<Vec<Option<Signature>>>(py, how, |rows, parts| {
        let signatures: Vec<Option<Signature>> = parts.into_iter().flatten().collect();
        for begin in rows.clone().step_by(NEWCOMERS) {
            let some = begin..rows.end.min(begin + NEWCOMERS);
            let compared = |at: usize| {
                signatures.get(begin - rows.start + at)?.as_ref().map(Compared::Signature)
            };
            admit_rows(py, readable, columns, admitting, some, &compared, &mut builder)?;
        }
        Ok(())
    })?;
    Ok(Table::new(&fields, builder.finish()))
}

/// What is compared of a newcomer.
#[derive(Clone, Copy)]
enum Compared<'s> {
    Signature(&'s Signature),
    Original(&'s Original),
}

/// Admits some rows. `compared` has the document at a place of the range; `None` if there is
/// nothing to compare.
fn admit_rows<'s>(
    py: Python<'_>,
    readable: &Readable,
    columns: &Columns<'_>,
    (admitting, fetch): (&Admitting, Option<&Originals>),
    rows: Range<usize>,
    compared: &dyn Fn(usize) -> Option<Compared<'s>>,
    builder: &mut Builder,
) -> PyResult<()> {
    let (index, times) = (readable.writer(py)?, columns.times.as_deref());
    let held = HeldRows::new(&columns.keys, columns.payloads.as_ref(), rows.clone())?;
    let (keys, payloads) = held.read(py, readable.keys)?;
    let key_of = |at: usize| keys.get(at).copied().flatten().unwrap_or_default();
    let newcomer = |at: usize| {
        let mut newcomer = match compared(at)? {
            Compared::Signature(signature) => Newcomer::new(key_of(at), signature),
            Compared::Original(original) => Newcomer::original(key_of(at), original),
        };
        if let Some(payload) = payloads.get(at).copied().flatten() {
            newcomer = newcomer.payload(payload);
        }
        match time_of(times, rows.start + at) {
            Some(time) => Some(newcomer.time(time)),
            None => Some(newcomer),
        }
    };
    let newcomers: Vec<(usize, Newcomer<'_>)> =
        (0..rows.len()).filter_map(|at| Some((rows.start + at, newcomer(at)?))).collect();
    let (numbers, newcomers): (Vec<usize>, Vec<Newcomer<'_>>) = newcomers.into_iter().unzip();
    let count = columns.documents.len();
    let named = |error| at_row(error, &numbers, count);
    let admissions = match fetch {
        None => engine(py, || index.admit_all(&newcomers, &admitting.admit).map_err(named))?,
        Some(fetch) => fetch.admit(py, &index, &newcomers, &admitting.admit, &named)?,
    };
    let mut admissions = admissions.into_iter();
    for at in 0..rows.len() {
        let admission = compared(at).and_then(|_| admissions.next());
        let (key, is_contained) = (key_of(at), admitting.is_contained);
        push_decision(py, readable.keys, builder, key, is_contained, admission.as_ref())?;
    }
    py.check_signals()
}

fn push_decision(
    py: Python<'_>,
    key_type: KeyType,
    builder: &mut Builder,
    key: &[u8],
    is_contained: bool,
    admission: Option<&Admission>,
) -> PyResult<()> {
    let (decision, other) = match admission.map(|admission| &admission.decision) {
        None => ("empty", None),
        Some(Decision::Rejected { duplicates, .. }) => ("rejected", duplicates.first()),
        Some(decision @ Decision::Admitted { related, removed, .. }) => {
            (decision.as_str(), removed.first().or(related.first()))
        }
    };
    if let Some(other) = other {
        key_type.check(py, &other.key)?;
    }
    let overlap = other.and_then(|other| other.overlap);
    let similarity = other.map(|other| overlap.map_or(other.similarity, |it| it.similarity));
    let contained = match (overlap, other) {
        (Some(overlap), _) => Some(overlap.containment),
        (None, other) => {
            other.and_then(|other| other.containment).map(|containment| containment.estimate)
        }
    };
    let mut cells = vec![
        key.into(),
        decision.into(),
        other.map(|other| other.key.as_slice()).into(),
        similarity.into(),
    ];
    if is_contained {
        cells.push(contained.into());
    }
    let evidence: [Cell<'_>; 4] = [
        overlap.map(|it| it.shared).into(),
        overlap.map(|it| it.counts.0).into(),
        overlap.map(|it| it.counts.1).into(),
        admission.map_or(0, |admission| admission.unverified.len()).into(),
    ];
    builder.row(cells.into_iter().chain(evidence));
    Ok(())
}
