//! Request bodies: JSON parsed into plain data. Unknown fields are errors.

use std::error::Error as _;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use futures_core::Stream as _;
use nearkin::{Alike, Conditions, Signature, Sketcher};
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
#[cfg(test)]
use utoipa::ToSchema;

use super::error_response::ErrorResponse;
use crate::serve::shared::Shared;
use nearkin_kit::base64;
use nearkin_kit::output::JsonBytes;

/// Maximum size of a refused body that is still read.
const DISCARDED_BYTES_MAX: usize = 256 << 20;

/// A request body whose type is JSON and whose size is within the limit. It is parsed later, on a
/// thread that may block, because parsing takes time.
pub(crate) struct Body {
    bytes: Bytes,
    /// The memory reserved for this body, out of the memory for all bodies.
    _room: OwnedSemaphorePermit,
}

impl Body {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, ErrorResponse> {
        // `Json` names the field of a wrong value, which `serde_json` does not.
        let parsed = Json::from_bytes(&self.bytes).map(|Json(body)| body);
        parsed.map_err(|rejection| {
            let error = rejection.source().map(ToString::to_string);
            let error = error.unwrap_or_else(|| rejection.body_text());
            let mut message = format!("the body: {error}");
            // Replaces names of Rust types in serde's messages.
            for (of_rust, of_json) in
                [("usize", "an integer from 0"), ("u64", "an integer from 0"), ("f64", "a number")]
            {
                let expected = format!("expected {of_json}");
                message = message.replace(&format!("expected {of_rust}"), &expected);
            }
            ErrorResponse::invalid(message)
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
            return Err(ErrorResponse::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "content_type",
                "the body is not declared as JSON",
            )
            .advise("send the header `Content-Type: application/json`"));
        }
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
    ErrorResponse::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("the body has more than {most} bytes"),
    )
    .advise("send smaller bodies, or start the server with a larger --body-bytes-max")
}

/// Bytes in JSON: a string, or `{"base64": "..."}` if they are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Blob(pub(crate) Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonBytes(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BlobVisitor)
    }
}

struct BlobVisitor;

impl<'de> Visitor<'de> for BlobVisitor {
    type Value = Blob;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or {\"base64\": \"...\"}")
    }

    fn visit_str<E>(self, text: &str) -> Result<Blob, E> {
        Ok(Blob(text.as_bytes().to_vec()))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Blob, M::Error> {
        let Some((name, text)) = map.next_entry::<String, String>()? else {
            return Err(M::Error::missing_field("base64"));
        };
        let more = map.next_key::<String>()?;
        if let Some(name) = Some(name).filter(|name| name != "base64").or(more) {
            return Err(M::Error::custom(format!("unknown field `{name}`, expected `base64`")));
        }
        let bytes = base64::decode(&text);
        bytes.map(Blob).ok_or_else(|| M::Error::custom("this is not base64 with its padding"))
    }
}

/// An item of a set: a string, or an integer, which stands for its digits.
#[derive(Debug)]
pub(crate) struct Item(String);

impl AsRef<[u8]> for Item {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl Visitor<'_> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer from -2^63 to 2^64 - 1")
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Item, E> {
        Ok(Item(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Item, E> {
        Ok(Item(number.to_string()))
    }
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
}

/// A document to remove.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Remove))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
pub(crate) struct RemoveBody {
    pub(crate) key: Blob,
}

/// Declares a body with the conditions that queries and admissions have in common, after its own
/// fields. Not a flattened struct, whose errors would not list the fields that there are.
macro_rules! with_conditions {
    ($(#[$of:meta])* struct $name:ident { $($own:tt)* }) => {
        $(#[$of])*
        pub(crate) struct $name {
            $($own)*
            /// Only documents whose key begins with these bytes count: a tenant's part of the
            /// index. `key` and `keys` must begin with them, too.
            pub(crate) prefix: Option<Blob>,
            /// Only documents stored at this time or later, in milliseconds UTC.
            pub(crate) after: Option<u64>,
            /// Only documents stored before this time.
            pub(crate) before: Option<u64>,
            /// Maximum number of candidates compared; bounds the time where very many documents are
            /// similar. `complete` may then be false. Default: no limit.
            pub(crate) max_candidates: Option<usize>,
            /// Time for the search, in milliseconds. A query then answers what it has found, and
            /// `complete` is false; nothing is admitted. Default: no limit.
            #[cfg_attr(test, schema(minimum = 0))]
            pub(crate) deadline_ms: Option<f64>,
        }

        impl $name {
            /// The conditions of a search that begins now, with this condition of a match.
            pub(crate) fn conditions(
                &self,
                alike: Alike,
            ) -> Result<Conditions<'static>, ErrorResponse> {
                let Self { after, before, max_candidates, deadline_ms, .. } = self;
                let given = json!({
                    "after": after, "before": before,
                    "max_candidates": max_candidates, "deadline_ms": deadline_ms,
                });
                let conditions = Conditions::deserialize(given)
                    .map_err(|error| ErrorResponse::invalid(error.to_string()))?;
                let prefix = self.prefix.as_ref().map_or(&[][..], |prefix| &prefix.0);
                Ok(conditions.alike(alike).prefix(prefix))
            }
        }
    };
}

with_conditions! {
/// A query: exactly one of `text`, `texts`, `items`, `rows`, `key` and `keys`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Query))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
struct QueryBody {
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
    /// Minimum similarity of a match. Default: the index's own threshold.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(crate) threshold: Option<f64>,
    /// Maximum number of matches.
    #[cfg_attr(test, schema(minimum = 1, maximum = 1000, default = 10))]
    pub(crate) limit: Option<usize>,
    /// Only documents that contain, or are contained in, what is searched for: the larger one
    /// contains at least this part of the smaller one. `threshold` is then 0 unless given.
    #[cfg_attr(test, schema(minimum = 0, maximum = 1))]
    pub(crate) contained: Option<f64>,
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
}

with_conditions! {
/// Inserts a document unless a stored one is too similar. Exactly one of `text`, `items` and
/// `rows` is needed.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ToSchema))]
#[cfg_attr(test, schema(as = Admit))]
#[serde(deny_unknown_fields, expecting = "a JSON object")]
struct AdmitBody {
    pub(crate) key: Blob,
    /// For an index of texts.
    pub(crate) text: Option<String>,
    /// For an index of sets (`--shingles items`).
    pub(crate) items: Option<Vec<Item>>,
    /// For an index of signatures made elsewhere (`--scheme external:NAME`).
    pub(crate) rows: Option<Vec<u64>>,
    /// If omitted, a stored payload stays; an empty payload clears it.
    pub(crate) payload: Option<Blob>,
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
}

/// Which of a document and its duplicates is kept; default `first`. `longest`: the new one if it
/// has more shingles than each duplicate.
#[derive(Debug, Clone, Copy, Deserialize, Default)]
#[cfg_attr(test, derive(ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Keep {
    #[default]
    First,
    Newest,
    Longest,
}

impl From<Keep> for nearkin::Keep {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::First => Self::First,
            Keep::Newest => Self::Newest,
            Keep::Longest => Self::Longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_strings_or_base64() {
        let blob = |json: &str| serde_json::from_str::<Blob>(json).map_err(|e| e.to_string());
        assert_eq!(blob("\"a\\u00e9\"").unwrap().0, "a\u{e9}".as_bytes());
        assert_eq!(blob("{\"base64\":\"/w==\"}").unwrap().0, [0xff]);
        assert_eq!(serde_json::to_string(&Blob(vec![0xff])).unwrap(), "{\"base64\":\"/w==\"}");
        assert_eq!(serde_json::to_string(&Blob(b"a".to_vec())).unwrap(), "\"a\"");
        for (bad, wrong) in [
            ("7", "expected a string or {\"base64\""),
            ("{\"base64\":\"/w\"}", "not base64"),
            ("{}", "missing field `base64`"),
            ("{\"hex\":\"ff\"}", "unknown field `hex`"),
            ("{\"base64\":\"/w==\",\"x\":\"\"}", "unknown field `x`"),
        ] {
            let said = blob(bad).unwrap_err();
            assert!(said.contains(wrong), "{bad}: {said}");
        }
    }

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
