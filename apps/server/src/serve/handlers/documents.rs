//! Handlers for documents, one or many, and for their texts.
//!
//! Each write is one call of the library, which syncs all waiting writes together.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use axum::Json;
use axum::http::{StatusCode, Uri};
use nearkin::{Batch, Edit, Key, Outcome, Signature, Snapshot};

use crate::serve::api::answers::{
    BatchWritten, DocumentList, FileText, ListedDocument, PrefixRemoved, Stored, TextRead, Written,
};
use crate::serve::api::blob::Blob;
use crate::serve::api::bodies::{self, Body, FileBody, Operation, Operations, Put};
use crate::serve::api::error_response::ErrorResponse;
use crate::serve::call::Call;
use crate::serve::http::url::{Parameters, key_after};
use nearkin_input::formats;
use nearkin_input::raw::Reason;
use nearkin_kit::input::originals::TextNow;

/// Path prefix of documents.
const PREFIX: &str = "/v1/documents/";

/// Path prefix of texts.
const TEXT_PREFIX: &str = "/v1/texts/";

/// Maximum size of a text in an answer.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// Characters of a key that an error repeats.
const KEY_CHARS_MAX: usize = 64;

/// Default number of documents on a page.
const PAGE_DEFAULT: usize = 100;

/// An insert. Without a payload, the stored payload stays; without a time, it is now.
fn insert<'a>(
    key: &'a [u8],
    signature: &'a Signature,
    payload: Option<&'a Blob>,
    time: Option<u64>,
) -> Edit<'a> {
    let edit = Edit::insert(key, signature);
    let edit = payload.into_iter().fold(edit, |edit, payload| edit.payload(&payload.0));
    time.into_iter().fold(edit, Edit::time)
}

/// How an error names one operation of many.
fn row_name(at: usize, key: &[u8]) -> String {
    let key = String::from_utf8_lossy(key);
    let start: String = key.chars().take(KEY_CHARS_MAX).collect();
    let rest = if start.len() < key.len() { "..." } else { "" };
    format!("operations[{at}], key {:?}", start + rest)
}

pub(crate) fn put(
    call: &Call<'_>,
    (uri, body): &(Uri, Body),
) -> Result<(StatusCode, Json<Written>), ErrorResponse> {
    let key = key_after(PREFIX, uri)?;
    let Put { text, items, rows, payload, time } = body.read()?;
    let (text, items, rows) = (text.as_deref(), items.as_deref(), rows.as_deref());
    let signature = bodies::signature(&call.sketcher, text, items, rows)?;
    let batch: Batch = [insert(&key, &signature, payload.as_ref(), time)].into_iter().collect();
    let written = call.index.write(batch)?;
    let outcome = written.outcomes.first().copied().unwrap_or(Outcome::Unchanged);
    let status = match outcome {
        Outcome::Inserted => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    Ok((status, Json(Written { outcome: outcome.as_str(), change: written.change })))
}

pub(crate) fn get(call: &Call<'_>, uri: &Uri) -> Result<Json<Stored>, ErrorResponse> {
    stored(call, &key_after(PREFIX, uri)?).map(Json)
}

/// The document with this key.
pub(crate) fn stored(call: &Call<'_>, key: &[u8]) -> Result<Stored, ErrorResponse> {
    let document = call.index.snapshot().get(key)?;
    let document = document.ok_or_else(|| ErrorResponse::unknown_key(key))?;
    let shingle_count = document.signature.shingle_count();
    let (key, payload) = (Blob(document.key), Blob(document.payload));
    Ok(Stored { key, payload, time: document.time, shingle_count })
}

pub(crate) fn delete(call: &Call<'_>, uri: &Uri) -> Result<Json<Written>, ErrorResponse> {
    let key = key_after(PREFIX, uri)?;
    let written = call.index.write(Batch::new().remove(&key))?;
    if written.outcomes.first() == Some(&Outcome::Missing) {
        return Err(ErrorResponse::unknown_key(&key));
    }
    Ok(Json(Written { outcome: Outcome::Removed.as_str(), change: written.change }))
}

pub(crate) fn batch(call: &Call<'_>, body: &Body) -> Result<Json<BatchWritten>, ErrorResponse> {
    let Operations { operations } = body.read()?;
    let mut batch = Batch::new();
    for (at, operation) in operations.into_iter().enumerate() {
        call.check()?;
        match operation {
            Operation::Remove(remove) => batch.push(Edit::remove(&remove.key.0)),
            Operation::SetPayload(set) => {
                batch.push(Edit::set_payload(&set.key.0, &set.payload.0));
            }
            Operation::Insert(given) => {
                let (text, items) = (given.text.as_deref(), given.items.as_deref());
                let rows = given.rows.as_deref();
                let signature = bodies::signature(&call.sketcher, text, items, rows)
                    .map_err(|refused| refused.with_prefix(&row_name(at, &given.key.0)))?;
                let payload = given.payload.as_ref();
                batch.push(insert(&given.key.0, &signature, payload, given.time));
            }
        }
    }
    let written = call.index.write(batch)?;
    let outcomes = written.outcomes.into_iter().map(Outcome::as_str).collect();
    Ok(Json(BatchWritten { outcomes, change: written.change }))
}

/// The smallest `count` keys after `after` that begin with `prefix` and contain `part`, in upper or
/// lower case.
fn keys_containing(
    call: &Call<'_>,
    snapshot: &Snapshot,
    (prefix, part, after): (&[u8], &[u8], Option<&[u8]>),
    count: usize,
) -> Result<Vec<Key<'static>>, ErrorResponse> {
    let part = String::from_utf8_lossy(part).to_lowercase();
    let mut found = BTreeSet::new();
    let mut failed = Ok(());
    snapshot.for_each_key(|key| {
        let is_listed = key.starts_with(prefix) && after.is_none_or(|after| key > after);
        if is_listed && String::from_utf8_lossy(key).to_lowercase().contains(&part) {
            found.insert(key.to_vec());
            if found.len() > count {
                found.pop_last();
            }
        }
        failed = call.check();
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failed.map(|()| found.into_iter().map(Key::from).collect())
}

pub(crate) fn list(call: &Call<'_>, uri: &Uri) -> Result<Json<DocumentList>, ErrorResponse> {
    let known = ["prefix", "contains", "after", "limit", "payloads"];
    let parameters = Parameters::parse(uri, &known)?;
    let limit = bodies::limit(parameters.parsed("limit")?, PAGE_DEFAULT)?;
    let payloads = parameters.parsed("payloads")?.unwrap_or(false);
    let snapshot = call.index.snapshot();
    let prefix = parameters.bytes("prefix").unwrap_or_default();
    // One key more than the page holds tells whether another page follows.
    let after = parameters.bytes("after");
    let mut keys = match parameters.bytes("contains") {
        Some(part) => keys_containing(call, &snapshot, (prefix, part, after), limit + 1)?,
        None => snapshot.keys_page(prefix, after, limit + 1)?,
    };
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
}

pub(crate) fn delete_listed(
    call: &Call<'_>,
    uri: &Uri,
) -> Result<Json<PrefixRemoved>, ErrorResponse> {
    let parameters = Parameters::parse(uri, &["prefix", "before"])?;
    let prefix = parameters.bytes("prefix");
    if let Some(time) = parameters.parsed("before")? {
        // An empty prefix, too: most likely it was meant to name a tenant.
        if prefix.is_some() {
            return Err(ErrorResponse::invalid("give either `prefix` or `before`"));
        }
        return removed(call.index.remove_before(time));
    }
    let prefix = prefix.unwrap_or_default();
    if prefix.is_empty() {
        // Most likely the prefix came from an empty variable of the client.
        return Err(ErrorResponse::invalid("`prefix` is missing or empty")
            .advise("an empty prefix would remove every document"));
    }
    removed(call.index.remove_prefix(prefix))
}

/// Many documents are removed by several changes, of which the last may fail.
fn removed(removed: Result<u64, ErrorResponse>) -> Result<Json<PrefixRemoved>, ErrorResponse> {
    let removed = removed.map_err(|refused| match refused.kind() {
        "io" | "disk_full" | "locked" => {
            refused.advise("some may have been removed: fix the cause, and repeat the request")
        }
        _ => refused,
    })?;
    Ok(Json(PrefixRemoved { removed }))
}

/// The text of a file in the body, as all commands read files.
pub(crate) fn read_file(_: &Call<'_>, body: &Body) -> Result<Json<FileText>, ErrorResponse> {
    let FileBody { name, content } = body.read()?;
    let refused = |reason: &Reason| {
        ErrorResponse::invalid(format!(
            "cannot read {name:?}: {} ({})",
            reason.kind(),
            reason.detail()
        ))
    };
    let text = formats::text(Path::new(&name), content.0).map_err(|reason| refused(&reason))?.text;
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the text of {name:?} has more than {TEXT_BYTES_MAX} bytes");
        return Err(ErrorResponse::new("too_large", message));
    }
    Ok(Json(FileText { text }))
}

/// The text of a document, read again from its source.
pub(crate) fn text(call: &Call<'_>, uri: &Uri) -> Result<Json<TextRead>, ErrorResponse> {
    text_of(call, key_after(TEXT_PREFIX, uri)?).map(Json)
}

/// The text of the document with this key.
pub(crate) fn text_of(call: &Call<'_>, key: Vec<u8>) -> Result<TextRead, ErrorResponse> {
    let Some(originals) = &call.originals else {
        let message = "this server does not read texts";
        return Err(ErrorResponse::new("no_text", message).advise(
            "start it with --texts, and with --from FILE.jsonl if the texts are in JSON lines",
        ));
    };
    let snapshot = call.index.snapshot();
    // Checked first: a file that is not a stored document must not even be opened.
    if snapshot.signature(&key)?.is_none() {
        return Err(ErrorResponse::unknown_key(&key));
    }
    let name = String::from_utf8_lossy(&key);
    let (kind, what, advice) = match originals.text_now(&snapshot, &key)? {
        TextNow::Text(text) if text.len() <= TEXT_BYTES_MAX => {
            return Ok(TextRead { key: Blob(key), text });
        }
        TextNow::Text(text) => (
            "too_large",
            format!("has {} bytes; the server returns up to {TEXT_BYTES_MAX}", text.len()),
            "use `nearkin report` for longer texts",
        ),
        TextNow::Changed => {
            ("changed", "has changed since it was added".to_owned(), "add the document again")
        }
        TextNow::Missing => (
            "no_text",
            "was not found".to_owned(),
            "give the folder of the keys as --texts-root, or lines with --from",
        ),
    };
    let message = format!("the text of {name:?} {what}");
    Err(ErrorResponse::new(kind, message).advise(advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_a_path_is_any_bytes() {
        let key = |path: &str| key_after(PREFIX, &path.parse().unwrap()).ok();
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
