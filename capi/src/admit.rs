//! Admission: check and insert in one step.

use crate::bytes::bytes;
use crate::callback::{Filter, nk_filter, nk_release};
use crate::error::{Failure, giving, guarded, making, nk_error, nk_status};
use crate::index::{nk_index, nk_outcome, outcome_of};
use crate::results::{Matches, nk_match};
use crate::sketch::nk_signature;
use crate::table::{self, handle};
use engine::{Admission, Admit, Alike, Decision, Keep, Newcomer};
use std::ffi::c_void;
use std::sync::{PoisonError, RwLock};

/// The conditions under which newcomers are admitted: set once, used for any number of them.
pub struct nk_admit(());

handle!(nk_admit, RwLock<Admit<'static>>, "admit");

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

/// Which of a newcomer and its duplicates stays.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_keep {
    /// The stored document: a newcomer with a duplicate is rejected. The default.
    NK_KEEP_FIRST = 0,
    /// The newcomer: it replaces its duplicates.
    NK_KEEP_NEWEST = 1,
    /// The longer one.
    NK_KEEP_LONGEST = 2,
}

/// A condition on two documents: a similarity, a containment (negative: none), or both.
pub(crate) fn alike(similarity: f64, contained: f64) -> Alike {
    // Not a number is passed on, so that the engine refuses it.
    if contained < 0.0 {
        Alike::similar(similarity)
    } else {
        Alike::contained(contained).and_similar(similarity)
    }
}

/// Makes conditions that reject a newcomer if a stored document of another key has at least this
/// similarity and, unless `contained` is negative, the smaller of the two is contained in the
/// larger one by at least this share. Both are checked by `nk_index_admit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admit_new(
    similarity: f64,
    contained: f64,
    admit: *mut *mut nk_admit,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, admit, || Ok(RwLock::new(Admit::at(alike(similarity, contained)))))
}

fn set(
    admit: *const nk_admit,
    set: impl FnOnce(Admit<'static>) -> Admit<'static>,
) -> Result<(), Failure> {
    let admit = table::get(admit)?;
    let mut admit = admit.write().unwrap_or_else(PoisonError::into_inner);
    let before = admit.clone();
    *admit = set(before.clone());
    drop(admit);
    // The release of a former filter runs without the lock.
    drop(before);
    Ok(())
}

/// For an admitted newcomer, also returns stored documents of at least this similarity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admit_relate(
    admit: *const nk_admit,
    similarity: f64,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || set(admit, |admit| admit.relate(similarity)))
}

/// Sets which of a newcomer and its duplicates stays: a number of `nk_keep`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admit_keep(
    admit: *const nk_admit,
    keep: i32,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let keep = match keep {
            _ if keep == nk_keep::NK_KEEP_FIRST as i32 => Keep::First,
            _ if keep == nk_keep::NK_KEEP_NEWEST as i32 => Keep::Newest,
            _ if keep == nk_keep::NK_KEEP_LONGEST as i32 => Keep::Longest,
            _ => return Err(Failure::invalid("keep: not a number of nk_keep")),
        };
        set(admit, |admit| admit.keep(keep))
    })
}

/// Returns at most this many duplicates or related documents. Replaced ones are always returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admit_limit(
    admit: *const nk_admit,
    limit: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || set(admit, |admit| admit.limit(limit)))
}

/// Lets only documents whose keys begin with this prefix count, and refuses newcomers with another
/// key: a tenant's part of the index.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admit_prefix(
    admit: *const nk_admit,
    prefix: *const c_void,
    prefix_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let prefix = bytes(prefix, prefix_len, "prefix")?;
        set(admit, |admit| admit.prefix(prefix))
    })
}

/// Lets only documents count that a function of the caller lets pass. Its data are released when
/// the conditions are freed or get another filter, and no call uses this one. If the call fails,
/// they are not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_admit_filter(
    admit: *const nk_admit,
    filter: nk_filter,
    user_data: *mut c_void,
    release: nk_release,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        if filter.is_none() {
            return Err(Failure::invalid("filter: the function is null"));
        }
        // The filter is made when the handle is known to be good: otherwise nothing is released.
        set(admit, |admit| match Filter::new(filter, user_data, release) {
            Some(filter) => admit.filter(move |key, payload| filter.passes(key, payload)),
            None => admit,
        })
    })
}

/// Inserts a document unless a stored one is too similar: one atomic step, also among threads. The
/// payload may be null; a stored one is kept then. Free the admission. Errors: those of
/// `nk_index_insert`, and `NK_INVALID` if the conditions contradict each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_admit(
    index: *const nk_index,
    key: *const c_void,
    key_len: usize,
    signature: *const nk_signature,
    payload: *const c_void,
    payload_len: usize,
    admit: *const nk_admit,
    admission: *mut *mut nk_admission,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, admission, || {
        let (index, signature) = (table::get(index)?, table::get(signature)?);
        let key = bytes(key, key_len, "key")?;
        let stored = bytes(payload, payload_len, "payload")?;
        let mut newcomer = Newcomer::new(key, &signature);
        if !payload.is_null() {
            newcomer = newcomer.payload(stored);
        }
        let admit = table::get(admit)?;
        let admit = admit.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Admission { decision, change, complete, .. } = index.admit_one(&newcomer, &admit)?;
        let (outcome, duplicates, related) = match decision {
            Decision::Rejected { duplicates, .. } => (None, duplicates, Vec::new()),
            Decision::Admitted { related, outcome, removed, .. } => {
                (Some(outcome_of(outcome)), removed, related)
            }
        };
        let (duplicates, related) = (Matches::new(duplicates), Matches::new(related));
        let admitted = Admitted { outcome, duplicates, related, change, complete };
        Ok(admitted)
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
