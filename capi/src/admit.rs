//! Admission: check and insert in one step.

use crate::bytes::{bytes, nk_bytes, payload, text};
use crate::error::{giving, making, nk_error};
use crate::index::nk_index;
use crate::query::{admit_of, nk_query};
use crate::results::{Matches, nk_match};
use crate::sketch::nk_signature;
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{Admission, Decision, Newcomer, Outcome};
use std::ffi::{c_char, c_int, c_void};

/// The result of an admission.
pub struct nk_admission(());

handle!(nk_admission, Admitted, "admission");

/// The object of an admission handle: the struct of the header, and the matches that its pointers
/// lead to.
pub(crate) struct Admitted {
    view: nk_admission_view,
    _matches: [Matches; 2],
}

/// Inserts a document unless a stored one of another key is too similar: one atomic step, also
/// among threads. `payload` may be null: a stored one is kept then. `query` (may be null) has the
/// conditions for a duplicate; the default threshold is that of the index. Free the admission.
/// Errors: those of `nk_index_insert`; `NK_INVALID` if the conditions contradict each other;
/// `NK_EXISTS` if the newcomer's key belongs to a document that does not count; `NK_CANCELLED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_admit(
    index: *const nk_index,
    key: *const c_void,
    key_len: usize,
    signature: *const nk_signature,
    payload_data: *const c_void,
    payload_len: usize,
    query: *const nk_query,
    admission: *mut *mut nk_admission,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, admission, || {
        let (held, signature) = (table::get(index)?, table::get(signature)?);
        let index = held.index()?;
        let mut newcomer = Newcomer::new(bytes(key, key_len, "key")?, &signature);
        if let Some(payload) = payload(payload_data, payload_len)? {
            newcomer = newcomer.payload(payload);
        }
        let admission = index.admit_one(&newcomer, &admit_of(query)?)?;
        Ok(Admitted::new(admission))
    })
}

/// Gives the text of a stored document, by its key: any number but 0, and `text`, which is read
/// before the next call; 0 if it cannot be had. It is called without a lock, on the thread of the
/// admission, and may use the library, but must not throw.
pub type nk_fetch = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        key: *const c_void,
        key_len: usize,
        text: *mut nk_bytes,
    ) -> c_int,
>;

/// Like `nk_index_admit`, for a text, and decides by comparing the texts themselves: `fetch` gives
/// those of stored documents that may be duplicates. One whose text cannot be had, is not UTF-8, or
/// is not the one that was indexed does not count, and `complete` is false then. Errors: those of
/// `nk_index_admit`; `NK_EMPTY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_admit_text(
    index: *const nk_index,
    key: *const c_void,
    key_len: usize,
    text_data: *const c_char,
    text_len: usize,
    payload_data: *const c_void,
    payload_len: usize,
    query: *const nk_query,
    fetch: nk_fetch,
    user_data: *mut c_void,
    admission: *mut *mut nk_admission,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, admission, || {
        let held = table::get(index)?;
        let (index, sketcher) = (held.index()?, held.index()?.sketcher());
        let call = fetch.ok_or_else(|| Failure::invalid("fetch is null"))?;
        let own = sketcher.original_text(text(text_data, text_len, "text")?)?;
        let mut newcomer = Newcomer::original(bytes(key, key_len, "key")?, &own);
        if let Some(payload) = payload(payload_data, payload_len)? {
            newcomer = newcomer.payload(payload);
        }
        let mut fetched = |key: &[u8]| -> engine::Result<Option<engine::Original>> {
            let mut told = nk_bytes { data: std::ptr::null(), len: 0 };
            // SAFETY: the header demands a function of this type that does not throw; the key is
            // valid during the call.
            let has_it = unsafe { call(user_data, key.as_ptr().cast(), key.len(), &raw mut told) };
            if has_it == 0 {
                return Ok(None);
            }
            let text = text(told.data.cast(), told.len, "text").ok();
            Ok(text.and_then(|text| sketcher.original_text(text).ok()))
        };
        let mut admit = admit_of(query)?.verify(&mut fetched);
        let admissions = index.admit_verified(&[newcomer], &mut admit)?;
        let admission = admissions.into_iter().next();
        let bug = || Failure::new(nk_status::NK_BUG, "no decision".to_owned());
        admission.map(Admitted::new).ok_or_else(bug)
    })
}

impl Admitted {
    fn new(Admission { decision, change, complete, unverified, .. }: Admission) -> Self {
        let (decision, duplicates, related) = match decision {
            Decision::Rejected { duplicates, .. } => (nk_decision::NK_REJECTED, duplicates, vec![]),
            Decision::Admitted { related, outcome, removed, .. } => {
                let decision = match outcome {
                    Outcome::Replaced => nk_decision::NK_ADMITTED_REPLACED,
                    Outcome::Unchanged => nk_decision::NK_ADMITTED_UNCHANGED,
                    _ => nk_decision::NK_ADMITTED,
                };
                (decision, removed, related)
            }
        };
        let matches = [duplicates, related].map(Matches::new);
        let [duplicates, related] = matches.each_ref().map(Matches::shown);
        let view = nk_admission_view {
            duplicates: duplicates.as_ptr(),
            duplicates_len: duplicates.len(),
            related: related.as_ptr(),
            related_len: related.len(),
            change,
            decision,
            complete: complete && unverified.is_empty(),
        };
        Self { view, _matches: matches }
    }
}

/// Whether a newcomer was admitted: all but `NK_REJECTED`, which is 0, say that it is stored now.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_decision {
    /// A duplicate is stored: nothing was written.
    NK_REJECTED = 0,
    /// Admitted under a new key.
    NK_ADMITTED = 1,
    /// Admitted, and the key had another document.
    NK_ADMITTED_REPLACED = 2,
    /// Admitted, and the key had the same document: nothing was written.
    NK_ADMITTED_UNCHANGED = 3,
}

/// The fields of an admission. The matches belong to the admission, and are in the order of an
/// answer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_admission_view {
    /// The stored documents that caused the rejection, or that the admitted newcomer replaced.
    pub duplicates: *const nk_match,
    /// The number of duplicates.
    pub duplicates_len: usize,
    /// The related documents of an admitted newcomer.
    pub related: *const nk_match,
    /// The number of related documents.
    pub related_len: usize,
    /// The number of the last change that the decision takes into account.
    pub change: u64,
    /// What was decided.
    pub decision: nk_decision,
    /// Whether the newcomer was compared with all candidates, and all texts could be had.
    pub complete: bool,
}

// SAFETY: the matches are never changed, and live as long as the object that holds these pointers
// beside their owners. Threads only copy the pointers.
unsafe impl Send for nk_admission_view {}
// SAFETY: as above.
unsafe impl Sync for nk_admission_view {}

/// Gives the fields of an admission.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admission_get(
    admission: *const nk_admission,
    view: *mut nk_admission_view,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, view, || Ok(table::get(admission)?.view))
}
