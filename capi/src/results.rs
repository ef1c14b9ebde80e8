//! Results that own their memory: documents, answers, texts.

use crate::bytes::nk_bytes;
use crate::error::{giving, nk_error};
use crate::status::{Failure, c_text, nk_status};
use crate::table::{self, handle};
use engine::{Answer, Document, Match};
use std::cell::Cell;
use std::ffi::{CString, c_char};

/// A stored document.
pub struct nk_document(());

handle!(nk_document, Document, "document");

/// The fields of a document. The bytes belong to the document handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_document_view {
    /// Its key.
    pub key: nk_bytes,
    /// The caller's bytes with it.
    pub payload: nk_bytes,
    /// When it was inserted or last replaced, in milliseconds since 1970.
    pub time: u64,
}

/// Gives the fields of a document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_document_get(
    document: *const nk_document,
    view: *mut nk_document_view,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, view, || {
        let document = table::get(document)?;
        let Document { key, payload, time, .. } = &*document;
        let (key, payload) = (nk_bytes::from_slice(key), nk_bytes::from_slice(payload));
        Ok(nk_document_view { key, payload, time: *time })
    })
}

/// A similar document. Its bytes belong to the answer or the admission.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_match {
    /// The document's key.
    pub key: nk_bytes,
    /// The caller's bytes with it.
    pub payload: nk_bytes,
    /// When it was inserted or last replaced, in milliseconds since 1970.
    pub time: u64,
    /// The estimated similarity (Jaccard), from 0 to 1.
    pub similarity: f64,
    /// The standard error of that estimate.
    pub standard_error: f64,
    /// The estimated share of the smaller document that is in the larger one; NaN unless the query
    /// has the condition `contained`.
    pub containment: f64,
    /// The number of equal rows of the two signatures, by which matches are ordered.
    pub equal_rows: u32,
}

/// Matches, and the structs of the header whose pointers lead into them.
pub(crate) struct Matches {
    _owned: Vec<Match>,
    shown: Vec<nk_match>,
}

impl Matches {
    pub(crate) fn new(owned: Vec<Match>) -> Self {
        let show = |found: &Match| nk_match {
            key: nk_bytes::from_slice(&found.key),
            payload: nk_bytes::from_slice(&found.payload),
            time: found.time,
            similarity: found.similarity,
            standard_error: found.standard_error,
            containment: found.containment.map_or(f64::NAN, |containment| containment.estimate),
            equal_rows: found.equal_rows,
        };
        let mut shown = SPARE.try_with(Cell::take).unwrap_or_default();
        shown.extend(owned.iter().map(show));
        Self { _owned: owned, shown }
    }

    pub(crate) fn shown(&self) -> &[nk_match] {
        &self.shown
    }
}

/// Maximum capacity, in matches, of the allocation that a thread keeps.
const SPARE_MAX: usize = 64;

thread_local! {
    /// The allocation of freed matches, which the next matches of this thread reuse.
    static SPARE: Cell<Vec<nk_match>> = const { Cell::new(Vec::new()) };
}

impl Drop for Matches {
    fn drop(&mut self) {
        if (1..=SPARE_MAX).contains(&self.shown.capacity()) {
            self.shown.clear();
            // An ending thread has no thread-local variables any more: the memory is freed.
            let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.shown)));
        }
    }
}

/// The answer of a query.
pub struct nk_answer(());

handle!(nk_answer, Answered, "answer");

/// The object of an answer handle: the struct of the header, and the matches that its pointers lead
/// to.
pub(crate) struct Answered {
    pub(crate) view: nk_answer_view,
    _matches: Matches,
}

impl Answered {
    pub(crate) fn new(answer: Answer) -> Self {
        let Answer { matches, found, threshold, change, complete, .. } = answer;
        let owned = Matches::new(matches);
        let (matches, matches_len) = (owned.shown().as_ptr(), owned.shown().len());
        let view = nk_answer_view { matches, matches_len, found, threshold, change, complete };
        Self { view, _matches: owned }
    }
}

/// The fields of an answer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_answer_view {
    /// The matches, most similar first, ties by key. They belong to the answer.
    pub matches: *const nk_match,
    /// The number of matches, at most the limit.
    pub matches_len: usize,
    /// The number of documents that reach the threshold, regardless of the limit.
    pub found: u64,
    /// The threshold of the query.
    pub threshold: f64,
    /// The number of the last change that the answer takes into account.
    pub change: u64,
    /// Whether the query ran to its end. False if a deadline or the bound of candidates stopped it:
    /// matches may be missing.
    pub complete: bool,
}

// SAFETY: the matches are never changed, and live as long as the object that holds this pointer
// beside their owner. Threads only copy the pointer.
unsafe impl Send for nk_answer_view {}
// SAFETY: as above.
unsafe impl Sync for nk_answer_view {}

/// Gives the fields of an answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_answer_get(
    answer: *const nk_answer,
    view: *mut nk_answer_view,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, view, || Ok(table::get(answer)?.view))
}

/// A text that the library made, such as JSON.
pub struct nk_text(());

/// The object of a text handle.
pub(crate) struct Text(CString);

handle!(nk_text, Text, "text");

impl Text {
    pub(crate) fn json(value: &impl serde::Serialize) -> Result<Self, Failure> {
        let json = serde_json::to_string(value);
        json.map(|json| Self(c_text(json)))
            .map_err(|error| Failure::new(nk_status::NK_BUG, format!("no JSON: {error}")))
    }
}

/// The bytes of a text: UTF-8 that ends with a zero byte, owned by the text. Null if the handle is
/// no text handle.
#[unsafe(no_mangle)]
pub extern "C" fn nk_text_get(text: *const nk_text) -> *const c_char {
    table::get(text).map_or(std::ptr::null(), |text| text.0.as_ptr())
}
