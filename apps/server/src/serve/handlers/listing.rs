//! Handlers for many documents by the prefix of their keys: listing and removal.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;

use crate::serve::api::answers::{DocumentList, ListedDocument, PrefixRemoved};
use crate::serve::api::blob::Blob;
use crate::serve::api::bodies;
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::http::url::Parameters;
use crate::serve::shared::Shared;

/// Default number of documents on a page.
const PAGE_DEFAULT: usize = 100;

pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Json<DocumentList>, ErrorResponse> {
    let parameters = Parameters::parse(&uri, &["prefix", "after", "limit", "payloads"])?;
    let limit = bodies::limit(parameters.parsed("limit")?, PAGE_DEFAULT)?;
    let payloads = parameters.parsed("payloads")?.unwrap_or(false);
    let work = move |shared: &Shared| {
        let snapshot = shared.index.snapshot();
        let prefix = parameters.bytes("prefix").unwrap_or_default();
        // One key more than the page holds tells whether another page follows.
        let mut keys = snapshot.keys_page(prefix, parameters.bytes("after"), limit + 1)?;
        let is_last = keys.len() <= limit;
        keys.truncate(limit);
        let last = keys.last().map(|key| Blob(key.as_bytes().to_vec()));
        let listed = |document: nearkin::Document| ListedDocument {
            key: Blob(document.key),
            time: document.time,
            shingle_count: document.signature.shingle_count(),
            payload: payloads.then_some(Blob(document.payload)),
        };
        let documents = snapshot.get_many(&keys)?.into_iter().flatten().map(listed).collect();
        let after = last.filter(|_| !is_last);
        Ok(Json(DocumentList { documents, after, change: snapshot.change() }))
    };
    shared.work(work).await
}

pub(crate) async fn delete(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
) -> Result<Json<PrefixRemoved>, ErrorResponse> {
    let parameters = Parameters::parse(&uri, &["prefix"])?;
    let work = move |shared: &Shared| {
        let prefix = parameters.bytes("prefix").unwrap_or_default();
        if prefix.is_empty() {
            // Most likely the prefix came from an empty variable of the client.
            return Err(ErrorResponse::invalid("`prefix` is missing or empty")
                .advise("an empty prefix would remove every document"));
        }
        Ok(Json(PrefixRemoved { removed: shared.index.remove_prefix(prefix)? }))
    };
    shared.work(work).await
}
