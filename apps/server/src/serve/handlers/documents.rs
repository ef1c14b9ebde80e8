//! Handlers for documents by key, and for batches.
//!
//! Each write is one call of the library, which syncs all waiting writes together.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use nearkin::{Batch, Edit, Outcome, Signature};

use crate::serve::api::answers::{self, BatchWritten, Stored, Written};
use crate::serve::api::blob::Blob;
use crate::serve::api::bodies::{self, Body, Operation, Operations, Put};
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::http::url;
use crate::serve::shared::Shared;

/// Path prefix of documents.
const PREFIX: &str = "/v1/documents/";

/// The key in the path of a document.
fn key_of(uri: &Uri) -> Result<Vec<u8>, ErrorResponse> {
    url::key_after(PREFIX, uri)
}

/// An insert. Without a payload, the stored payload stays.
fn insert<'a>(key: &'a [u8], signature: &'a Signature, payload: Option<&'a Blob>) -> Edit<'a> {
    let edit = Edit::insert(key, signature);
    match payload {
        Some(payload) => edit.payload(&payload.0),
        None => edit,
    }
}

pub(crate) async fn put(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    body: Body,
) -> Result<(StatusCode, Json<Written>), ErrorResponse> {
    let key = key_of(&uri)?;
    let work = move |shared: &Shared| {
        let Put { text, items, rows, payload } = body.read()?;
        let sketcher = &shared.sketcher;
        let signature =
            bodies::signature(sketcher, text.as_deref(), items.as_deref(), rows.as_deref())?;
        let batch: Batch = [insert(&key, &signature, payload.as_ref())].into_iter().collect();
        shared.index.write(batch)
    };
    let written = shared.work(work).await?;
    let outcome = written.outcomes.first().copied().unwrap_or(Outcome::Unchanged);
    let status = match outcome {
        Outcome::Inserted => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let outcome = answers::word(outcome);
    Ok((status, Json(Written { outcome, change: written.change })))
}

pub(crate) async fn get(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Json<Stored>, ErrorResponse> {
    let key = key_of(&uri)?;
    let work = move |shared: &Shared| {
        let Some(document) = shared.index.get(&key)? else {
            return Err(ErrorResponse::unknown_key(&key));
        };
        let shingle_count = document.signature.shingle_count();
        let (key, payload) = (Blob(document.key), Blob(document.payload));
        Ok(Json(Stored { key, payload, time: document.time, shingle_count }))
    };
    shared.work(work).await
}

pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Json<Written>, ErrorResponse> {
    let key = key_of(&uri)?;
    let work = move |shared: &Shared| {
        let written = shared.index.write(Batch::new().remove(&key))?;
        if written.outcomes.first() == Some(&Outcome::Missing) {
            return Err(ErrorResponse::unknown_key(&key));
        }
        let outcome = answers::word(Outcome::Removed);
        Ok(Json(Written { outcome, change: written.change }))
    };
    shared.work(work).await
}

pub(crate) async fn batch(
    State(shared): State<Arc<Shared>>,
    body: Body,
) -> Result<Json<BatchWritten>, ErrorResponse> {
    let work = move |shared: &Shared| {
        let Operations { operations } = body.read()?;
        let mut batch = Batch::new();
        for (at, operation) in operations.into_iter().enumerate() {
            match operation {
                Operation::Remove(remove) => batch.push(Edit::remove(&remove.key.0)),
                Operation::SetPayload(set) => {
                    batch.push(Edit::set_payload(&set.key.0, &set.payload.0));
                }
                Operation::Insert(given) => {
                    let (text, items, rows) = (given.text, given.items, given.rows);
                    let signature = bodies::signature(
                        &shared.sketcher,
                        text.as_deref(),
                        items.as_deref(),
                        rows.as_deref(),
                    )
                    .map_err(|refused| refused.with_prefix(&format!("operations[{at}]")))?;
                    batch.push(insert(&given.key.0, &signature, given.payload.as_ref()));
                }
            }
        }
        shared.index.write(batch)
    };
    let written = shared.work(work).await?;
    let outcomes = written.outcomes.into_iter().map(answers::word).collect();
    Ok(Json(BatchWritten { outcomes, change: written.change }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_a_path_is_any_bytes() {
        let key = |path: &str| key_of(&path.parse().unwrap()).ok();
        assert_eq!(key("/v1/documents/a").unwrap(), b"a");
        assert_eq!(key("/v1/documents/docs/a%2Fb%20c+d?x=1").unwrap(), b"docs/a/b c+d");
        assert_eq!(key("/v1/documents/%ff%00").unwrap(), [0xff, 0]);
        for bad in
            ["/v1/documents/a%", "/v1/documents/a%2", "/v1/documents/%zz", "/v1/documents/%+1"]
        {
            assert_eq!(key(bad), None, "{bad}");
        }
    }
}
