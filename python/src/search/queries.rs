//! Queries by a column of documents.

use nearkin::{Signature, Snapshot};
use pyo3::prelude::*;

use crate::arrow::{Batch, Builder, Field, Kind};
use crate::columns::documents::{Documents, Sketching};
use crate::columns::keys::{KeyType, key_kind, not_utf8};
use crate::error::{engine, raise, unlocked};
use crate::parallel::in_parts;
use crate::search::conditions::Conditions;
use crate::sketch::signatures::Sink;
use crate::tables::table::Table;

/// Collects the rows that have a signature, with their numbers.
#[derive(Debug, Default)]
struct Numbered {
    rows: Vec<usize>,
    signatures: Vec<Signature>,
    count: usize,
}

impl Sink for Numbered {
    fn push(&mut self, signature: Option<Signature>) {
        if let Some(signature) = signature {
            self.rows.push(self.count);
            self.signatures.push(signature);
        }
        self.count += 1;
    }
}

/// Number of signatures that a thread queries at a time.
const TOGETHER: usize = 256;

/// Queries by a column of documents. Returns a table of (row, key, similarity), with `contained`
/// and the payload if they were requested.
pub(crate) fn query_many<'py>(
    py: Python<'py>,
    keys: KeyType,
    snapshot: &Snapshot,
    documents: &Documents<'py>,
    conditions: &Conditions,
    payloads: bool,
    how: Sketching<'_>,
) -> PyResult<Table> {
    let mut fields = vec![
        Field::new("row", Kind::Integer),
        Field::new("key", key_kind(keys)),
        Field::new("similarity", Kind::Float),
    ];
    let is_contained = conditions.is_contained;
    if is_contained {
        fields.push(Field::new("contained", Kind::Float));
    }
    if payloads {
        fields.push(Field::new("payload", Kind::Bytes));
    }
    let threads = if conditions.has_filter { 1 } else { how.threads };
    let mut batches: Vec<Batch> = Vec::new();
    documents.sketch::<Numbered>(py, how, |rows, parts| {
        let mut first = rows.start;
        let mut numbers: Vec<usize> = Vec::new();
        let mut signatures = Vec::new();
        for part in parts {
            numbers.extend(part.rows.iter().map(|row| first + row));
            signatures.extend(part.signatures);
            first += part.count;
        }
        // Runs even without signatures, so that an invalid threshold is always an error.
        let answers = engine(py, || {
            in_parts(threads, signatures.len().max(1), TOGETHER, |range| {
                let some = signatures.get(range).unwrap_or_default();
                snapshot.queries(some).conditions(conditions.engine.clone()).run()
            })
            .into_iter()
            .collect::<nearkin::Result<Vec<_>>>()
        })?;
        // A table cannot say that rows are missing.
        if conditions.are_late() && answers.iter().flatten().any(|answer| !answer.complete) {
            return Err(raise(py, "CancelledError", "query_many: the time has run out"));
        }
        let filled = unlocked(py, || {
            let mut builder = Builder::new(&fields);
            for (row, answer) in numbers.iter().zip(answers.into_iter().flatten()) {
                for found in answer.matches {
                    if keys == KeyType::Text && str::from_utf8(&found.key).is_err() {
                        return Err(found.key);
                    }
                    let containment = found.containment.map(|containment| containment.estimate);
                    let cells = [(*row).into(), (&found.key).into(), found.similarity.into()];
                    let contained = is_contained.then_some(containment.into());
                    let payload = payloads.then_some((&found.payload).into());
                    builder.row(cells.into_iter().chain(contained).chain(payload));
                }
            }
            Ok(builder.finish())
        })?;
        batches.extend(filled.map_err(|key: Vec<u8>| raise(py, "InvalidError", &not_utf8(&key)))?);
        Ok(())
    })?;
    Ok(Table::new(&fields, batches))
}
