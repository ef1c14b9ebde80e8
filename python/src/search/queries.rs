//! Queries: keyword arguments, and queries of a whole column.

use nearkin::{Alike, Signature, Snapshot};
use pyo3::prelude::*;

use crate::arrow::{Batch, Builder, Field, Kind};
use crate::columns::documents::{Documents, Sketching};
use crate::error::{engine, raise, unlocked};

use crate::columns::keys::{KeyType, key_kind, not_utf8};
use crate::options::Count;
use crate::parallel::in_parts;
use crate::sketch::signatures::Sink;
use crate::tables::table::Table;

/// The condition under which two documents match: their similarity is at least `threshold`
/// (default: `own`). With `contained`, their containment must also be at least `contained`, and the
/// default of `threshold` is 0.
pub(crate) fn alike(own: f64, threshold: Option<f64>, contained: Option<f64>) -> Alike {
    match contained {
        Some(contained) => Alike::contained(contained).and_similar(threshold.unwrap_or(0.0)),
        None => Alike::similar(threshold.unwrap_or(own)),
    }
}

/// Keyword arguments of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryArgs {
    pub(crate) threshold: Option<f64>,
    pub(crate) contained: Option<f64>,
    pub(crate) limit: Option<Count>,
    pub(crate) max_candidates: Option<Count>,
    /// Whether the search goes three standard errors below the minimum.
    pub(crate) for_verification: bool,
}

impl QueryArgs {
    pub(crate) fn apply<'a>(&self, mut query: nearkin::Query<'a>) -> nearkin::Query<'a> {
        if let Some(threshold) = self.threshold {
            query = query.threshold(threshold);
        }
        if let Some(contained) = self.contained {
            query = query.contained(contained);
        }
        if let Some(Count(limit)) = self.limit {
            query = query.limit(limit);
        }
        if let Some(Count(candidates)) = self.max_candidates {
            query = query.max_candidates(candidates);
        }
        if self.for_verification {
            query = query.for_verification();
        }
        query
    }

    fn of_many<'a>(&self, mut queries: nearkin::Queries<'a>) -> nearkin::Queries<'a> {
        if let Some(threshold) = self.threshold {
            queries = queries.threshold(threshold);
        }
        if let Some(contained) = self.contained {
            queries = queries.contained(contained);
        }
        if let Some(Count(limit)) = self.limit {
            queries = queries.limit(limit);
        }
        if let Some(Count(candidates)) = self.max_candidates {
            queries = queries.max_candidates(candidates);
        }
        if self.for_verification {
            queries = queries.for_verification();
        }
        queries
    }
}

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
    args: &QueryArgs,
    payloads: bool,
    how: Sketching<'_>,
) -> PyResult<Table> {
    let mut fields = vec![
        Field::new("row", Kind::Integer),
        Field::new("key", key_kind(keys)),
        Field::new("similarity", Kind::Float),
    ];
    if args.contained.is_some() {
        fields.push(Field::new("contained", Kind::Float));
    }
    if payloads {
        fields.push(Field::new("payload", Kind::Bytes));
    }
    let threads = how.threads;
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
                args.of_many(snapshot.queries(some)).run()
            })
            .into_iter()
            .collect::<nearkin::Result<Vec<_>>>()
        })?;
        let filled = unlocked(py, || {
            let mut builder = Builder::new(&fields);
            for (row, answer) in numbers.iter().zip(answers.into_iter().flatten()) {
                for found in answer.matches {
                    push(&mut builder, keys, *row, &found)?;
                }
            }
            Ok(builder.finish())
        })?;
        batches.extend(filled.map_err(|key: Vec<u8>| raise(py, "InvalidError", &not_utf8(&key)))?);
        Ok(())
    })?;
    Ok(Table::new(&fields, batches))
}

/// Adds a match; a key that is not UTF-8 is an error.
fn push(
    builder: &mut Builder,
    keys: KeyType,
    row: usize,
    found: &nearkin::Match,
) -> Result<(), Vec<u8>> {
    if keys == KeyType::Text && str::from_utf8(&found.key).is_err() {
        return Err(found.key.clone());
    }
    if let [rows, keys, similarities, rest @ ..] = builder.columns.as_mut_slice() {
        rows.integer(i64::try_from(row).ok());
        keys.bytes(Some(&found.key));
        similarities.float(Some(found.similarity));
        for column in rest {
            match column.field.kind {
                Kind::Float => {
                    column.float(found.containment.map(|containment| containment.estimate));
                }
                _ => column.bytes(Some(&found.payload)),
            }
        }
    }
    builder.row_ended();
    Ok(())
}
