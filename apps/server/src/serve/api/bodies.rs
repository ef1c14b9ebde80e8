//! Request bodies: JSON parsed into plain data. Unknown fields are errors.

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use futures_core::Stream as _;
use nearkin::{Signature, Sketcher};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;
#[cfg(test)]
use utoipa::ToSchema;

use super::blob::{Blob, Item};
use super::conditions::HasConditions;
use super::error_response::ErrorResponse;
use super::malformed;
use crate::serve::http::guard;
use crate::serve::shared::Shared;

/// Maximum size of a refused body that is still read.
const DISCARDED_BYTES_MAX: usize = 256 << 20;

/// The number of results that a request asks for: `default` without a number, at most 1,000, which
/// bounds the size of the answer.
pub(crate) fn limit(given: Option<usize>, default: usize) -> Result<usize, ErrorResponse> {
    match given.unwrap_or(default) {
        limit @ 1..=1_000 => Ok(limit),
        other => {
            Err(ErrorResponse::invalid(format!("`limit` must be from 1 to 1000, not {other}")))
        }
    }
}

/// Default number of matches in an answer.
pub(crate) const MATCHES_DEFAULT: usize = 10;

/// A request body whose type is JSON and whose size is within the limit. It is parsed later,
/// because parsing takes time.
pub(crate) struct Body {
    bytes: Bytes,
    /// The memory reserved for this body, out of the memory for all bodies.
    _room: OwnedSemaphorePermit,
}

impl Body {
    /// A body that did not come over HTTP.
    pub(crate) fn of_bytes(
        bytes: impl Into<Bytes>,
        shared: &Shared,
    ) -> Result<Self, ErrorResponse> {
        let bytes = bytes.into();
        Ok(Self { _room: shared.room(bytes.len())?, bytes })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, ErrorResponse> {
        malformed::check(&self.bytes)?;
        // `Json` names the field of a wrong value, which `serde_json` does not.
        let parsed = Json::from_bytes(&self.bytes).map(|Json(body)| body);
        parsed.map_err(|rejection| {
            let error = rejection.source().map(ToString::to_string);
            let error = error.unwrap_or_else(|| rejection.body_text());
            malformed::explained("body", &self.bytes, &error)
        })
    }
}

impl FromRequest<Arc<Shared>> for Body {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, ErrorResponse> {
        let length = request.headers().get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok());
        let length = length.and_then(|value| value.parse::<usize>().ok());
        let most = shared.limits.body_bytes_max;
        let arrival = guard::peer(&request).map(|peer| Arc::clone(&peer.arrival));
        if let Some(arrival) = &arrival {
            arrival.await_rest();
        }
        let room = match Self::room(&request, length, shared) {
            Ok(room) => room,
            Err(refusal) => {
                discard(request, length.unwrap_or(0)).await;
                return Err(refusal);
            }
        };
        let bytes =
            Bytes::from_request(request, shared).await.map_err(|rejection| {
                match rejection.status() {
                    StatusCode::PAYLOAD_TOO_LARGE => too_large(most),
                    _ => ErrorResponse::invalid(format!("the body: {rejection}")),
                }
            })?;
        if let Some(arrival) = arrival {
            arrival.await_answer();
        }
        Ok(Self { bytes, _room: room })
    }
}

impl Body {
    /// Checks the announced type and length of a body, and reserves its memory.
    fn room(
        request: &Request,
        length: Option<usize>,
        shared: &Shared,
    ) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let headers = request.headers();
        let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|value| value.split(';').next()).unwrap_or_default();
        // Requiring JSON also blocks forms on other sites: without CORS, browsers cannot send this
        // content type.
        if !kind.trim().eq_ignore_ascii_case("application/json") {
            return Err(ErrorResponse::new("content_type", "the body is not declared as JSON")
                .advise("send the header `Content-Type: application/json`"));
        }
        malformed::check_encoding(headers)?;
        let most = shared.limits.body_bytes_max;
        if length.is_some_and(|length| length > most) {
            return Err(too_large(most));
        }
        shared.room(length.unwrap_or(most))
    }
}

/// Reads a refused body and forgets it, unless it is very large: many clients look for the answer
/// only after they have sent everything. The time limit of the request applies.
async fn discard(request: Request, length: usize) {
    if length > DISCARDED_BYTES_MAX {
        return;
    }
    let mut data = request.into_body().into_data_stream();
    while let Some(Ok(_)) = poll_fn(|context| Pin::new(&mut data).poll_next(context)).await {}
}

fn too_large(most: usize) -> ErrorResponse {
    ErrorResponse::new("too_large", format!("the body has more than {most} bytes"))
        .advise("send smaller bodies, or start the server with a larger --body-bytes-max")
}

/// Computes a signature from a text, items or rows. Exactly one of the three must be given.
pub(crate) fn signature(
    sketcher: &Sketcher,
    text: Option<&str>,
    items: Option<&[Item]>,
    rows: Option<&[u64]>,
) -> Result<Signature, ErrorResponse> {
    Ok(match (text, items, rows) {
        (Some(text), None, None) => sketcher.text(text)?,
        (None, Some(items), None) => sketcher.items(items)?,
        // The number of shingles behind external rows is unknown, so it is stored as 0.
        (None, None, Some(rows)) => sketcher.rows(rows, 0)?,
        _ => {
            return Err(ErrorResponse::invalid(
                "exactly one of `text`, `items` and `rows` is needed",
            ));
        }
    })
}

/// A document: exactly one of `text`, `items` and `rows`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
#[cfg_attr(test, schema(as = Document))]
pub(crate) struct Put {
    /// For an index of texts.
    pub(crate) text: Option<String>,
    /// For an index of sets (`--shingles items`).
    pub(crate) items: Option<Vec<Item>>,
    /// For an index of signatures made elsewhere (`--scheme external:NAME`).
    pub(crate) rows: Option<Vec<u64>>,
    /// If omitted, a stored payload stays; an empty payload clears it.
    pub(crate) payload: Option<Blob>,
    /// The document's own time, in milliseconds since 1970; default: now.
    pub(crate) time: Option<u64>,
}

/// Several operations, applied as one change.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
#[cfg_attr(test, schema(as = Batch))]
pub(crate) struct Operations {
    /// Operations on the same key apply in order; the outcome of the last one counts. At most 16
    /// MiB of keys, payloads and signatures.
    pub(crate) operations: Vec<Operation>,
}

/// One operation of a batch.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    // The titles are the names of the types in generated clients.
    #[cfg_attr(test, schema(title = "InsertOperation"))]
    Insert(Insert),
    #[cfg_attr(test, schema(title = "SetPayloadOperation"))]
    SetPayload(SetPayload),
    #[cfg_attr(test, schema(title = "RemoveOperation"))]
    Remove(RemoveBody),
}

/// Sets the payload of a stored document.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub(crate) struct SetPayload {
    pub(crate) key: Blob,
    pub(crate) payload: Blob,
}

/// A document to insert: exactly one of `text`, `items` and `rows`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub(crate) struct Insert {
    pub(crate) key: Blob,
    /// For an index of texts.
    pub(crate) text: Option<String>,
    /// For an index of sets (`--shingles items`).
    pub(crate) items: Option<Vec<Item>>,
    /// For an index of signatures made elsewhere (`--scheme external:NAME`).
    pub(crate) rows: Option<Vec<u64>>,
    /// If omitted, a stored payload stays; an empty payload clears it.
    pub(crate) payload: Option<Blob>,
    /// The document's own time, in milliseconds since 1970; default: now.
    pub(crate) time: Option<u64>,
}

/// A document to remove.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Remove))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub(crate) struct RemoveBody {
    pub(crate) key: Blob,
}

/// A file, whose text is asked for.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
#[cfg_attr(test, schema(as = File))]
pub(crate) struct FileBody {
    /// Its name; the ending tells some formats apart.
    pub(crate) name: String,
    /// All of its bytes.
    pub(crate) content: Blob,
}

/// A query: exactly one of `text`, `texts`, `items`, `rows`, `key` and `keys`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Query))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub(crate) struct QueryBody {
    /// For an index of texts.
    pub(crate) text: Option<String>,
    /// For an index of sets (`--shingles items`).
    pub(crate) items: Option<Vec<Item>>,
    /// For an index of signatures made elsewhere (`--scheme external:NAME`).
    pub(crate) rows: Option<Vec<u64>>,
    /// Several texts, at most 1,000, each with an answer of its own: the answer is `Answers`. All
    /// see the same state of the index.
    pub(crate) texts: Option<Vec<String>>,
    pub(crate) key: Option<Blob>,
    /// Keys of stored documents to query together. There is one answer: it lists each match once,
    /// with its highest similarity to any of these documents.
    pub(crate) keys: Option<Vec<Blob>>,
    /// Maximum number of matches.
    #[cfg_attr(test, schema(minimum = 1, maximum = 1000, default = 10))]
    pub(crate) limit: Option<usize>,
    /// Whether to compare the documents themselves, which needs a server with `--texts`: matches
    /// below `threshold` or `contained` are dropped, and the others have `exact`. With `text`,
    /// `texts`, `items` or `key`.
    #[serde(default)]
    #[cfg_attr(test, schema(default = false))]
    pub(crate) exact: bool,
    /// Whether to return the payloads of matches.
    #[serde(default)]
    #[cfg_attr(test, schema(default = false))]
    pub(crate) payloads: bool,
}

impl HasConditions for QueryBody {
    const WITHOUT: &[&str] = &["limit"];
}

/// Inserts a document unless a stored one is too similar. Exactly one of `text`, `items` and
/// `rows` is needed.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Admit))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub(crate) struct AdmitBody {
    pub(crate) key: Blob,
    /// For an index of texts.
    pub(crate) text: Option<String>,
    /// For an index of sets (`--shingles items`).
    pub(crate) items: Option<Vec<Item>>,
    /// For an index of signatures made elsewhere (`--scheme external:NAME`).
    pub(crate) rows: Option<Vec<u64>>,
    /// If omitted, a stored payload stays; an empty payload clears it.
    pub(crate) payload: Option<Blob>,
    /// The document's own time, in milliseconds since 1970; default: now.
    pub(crate) time: Option<u64>,
    /// The document is rejected if its similarity to a stored document with another key is at least
    /// this.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1, default = 0.9))]
    pub(crate) reject: Option<f64>,
    /// Minimum similarity of documents returned as related to the admitted one; at most `reject`.
    /// Default: none are returned.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(crate) relate: Option<f64>,
    #[serde(default)]
    pub(crate) keep: Keep,
    /// Maximum number of matches.
    #[cfg_attr(test, schema(minimum = 1, maximum = 1000, default = 10))]
    pub(crate) limit: Option<usize>,
    /// Whether to return the payloads of matches.
    #[serde(default)]
    #[cfg_attr(test, schema(default = false))]
    pub(crate) payloads: bool,
}

impl HasConditions for AdmitBody {
    const WITHOUT: &[&str] = &["threshold", "contained", "limit"];
}

/// Which of a document and its duplicates is kept; default `first`. `longest`: the new one if it
/// has more shingles than each duplicate. `all`: the document is admitted, and its duplicates are
/// named as related.
#[derive(Debug, Clone, Copy, Deserialize, Default)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Keep {
    #[default]
    First,
    Newest,
    Longest,
    All,
}

impl From<Keep> for nearkin::Keep {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::First => Self::First,
            Keep::Newest => Self::Newest,
            Keep::Longest => Self::Longest,
            Keep::All => Self::All,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_and_items_that_are_none_are_refused() {
        let put = |json: &str| serde_json::from_str::<Put>(json).map(|_| ());
        assert!(put("{\"items\":[\"a\",1,-1,18446744073709551615]}").is_ok());
        for bad in [
            "{\"texts\":\"a\"}",
            "{\"items\":[1.5]}",
            "{\"items\":[null]}",
            "[]",
            "{\"rows\":[-1]}",
        ] {
            assert!(put(bad).is_err(), "{bad}");
        }
    }
}
