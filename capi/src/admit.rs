//! Admission: check and insert in one step.

use crate::bytes::{bytes, payload};
use crate::error::{giving, making, nk_error, nk_status};
use crate::index::{nk_index, nk_outcome, outcome_of};
use crate::query::{Conditions, nk_query};
use crate::results::{Matches, nk_match};
use crate::sketch::nk_signature;
use crate::table::{self, handle};
use engine::{Admission, Decision, Newcomer};
use std::ffi::c_void;

/// What became of a newcomer.
pub struct nk_admission(());

handle!(nk_admission, Admitted, "admission");

/// The object of an admission handle.
pub(crate) struct Admitted {
    outcome: Option<nk_outcome>,
    duplicates: Matches,
    related: Matches,
    change: u64,
    complete: bool,
}

/// Inserts a document unless a stored one of another key is too similar: one atomic step, also
/// among threads. `payload` may be null: a stored one is kept then. `query` (may be null) says
/// which documents are duplicates: those that reach its threshold, or the index's own. Free the
/// admission. Errors: those of `nk_index_insert`; `NK_INVALID` if the conditions contradict each
/// other; `NK_EXISTS` if the newcomer's key belongs to a document that does not count;
/// `NK_CANCELLED`.
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
        let (index, signature) = (table::get(index)?, table::get(signature)?);
        let mut newcomer = Newcomer::new(bytes(key, key_len, "key")?, &signature);
        if let Some(payload) = payload(payload_data, payload_len)? {
            newcomer = newcomer.payload(payload);
        }
        let conditions = Conditions::of(query)?;
        let admit = conditions.admit(index.params().threshold());
        let Admission { decision, change, complete, .. } = index.admit_one(&newcomer, &admit)?;
        let (outcome, duplicates, related) = match decision {
            Decision::Rejected { duplicates, .. } => (None, duplicates, Vec::new()),
            Decision::Admitted { related, outcome, removed, .. } => {
                (Some(outcome_of(outcome)), removed, related)
            }
        };
        let (duplicates, related) = (Matches::new(duplicates), Matches::new(related));
        Ok(Admitted { outcome, duplicates, related, change, complete })
    })
}

/// What an admission says. The matches belong to it; they are in the order of an answer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_admission_view {
    /// The duplicates: of a rejected newcomer, the stored documents that it is too similar to; of
    /// an admitted one, those that it replaced.
    pub duplicates: *const nk_match,
    /// The number of duplicates.
    pub duplicates_len: usize,
    /// The related documents of an admitted newcomer.
    pub related: *const nk_match,
    /// The number of related documents.
    pub related_len: usize,
    /// The number of the change on whose state the decision was made.
    pub change: u64,
    /// What the insert did; of a rejected newcomer `NK_UNCHANGED`.
    pub outcome: nk_outcome,
    /// Whether the newcomer is stored now.
    pub is_admitted: bool,
    /// Whether it was compared with all candidates.
    pub complete: bool,
}

/// Shows an admission.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admission_get(
    admission: *const nk_admission,
    view: *mut nk_admission_view,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, view, || {
        let admitted = table::get(admission)?;
        let (duplicates, related) = (admitted.duplicates.shown(), admitted.related.shown());
        Ok(nk_admission_view {
            duplicates: duplicates.as_ptr(),
            duplicates_len: duplicates.len(),
            related: related.as_ptr(),
            related_len: related.len(),
            change: admitted.change,
            outcome: admitted.outcome.unwrap_or(nk_outcome::NK_UNCHANGED),
            is_admitted: admitted.outcome.is_some(),
            complete: admitted.complete,
        })
    })
}
