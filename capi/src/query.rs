//! Queries: their conditions, kept in a handle, and the searches.

use crate::bytes::{Out, bytes, text};
use crate::callback::{Filter, nk_filter, nk_release};
use crate::error::{Failure, guarded, making, nk_error, nk_status};
use crate::readable::{Readable, nk_readable, view};
use crate::results::{Answered, nk_answer, nk_answer_view};
use crate::sketch::nk_signature;
use crate::table::{self, handle};
use engine::Query;
use std::ffi::{c_char, c_void};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The conditions of queries: set once, used for any number of them. A null handle in its place
/// means: the threshold of the index, no limit.
pub struct nk_query(());

handle!(nk_query, RwLock<Conditions>, "query");

/// The conditions of a query.
#[derive(Clone, Default)]
pub(crate) struct Conditions {
    threshold: Option<f64>,
    contained: Option<f64>,
    limit: Option<usize>,
    candidates_max: Option<usize>,
    time: Option<Duration>,
    filter: Option<Filter>,
}

/// Makes conditions for queries, of which none is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_new(
    query: *mut *mut nk_query,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, query, || Ok(RwLock::default()))
}

fn set(
    query: *const nk_query,
    error: *mut *mut nk_error,
    set: impl FnOnce(&mut Conditions),
) -> nk_status {
    guarded(error, || {
        let query = table::get(query)?;
        set(&mut query.write().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    })
}

/// Returns only documents of at least this similarity, from 0 to 1. Checked by the search.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_threshold(
    query: *const nk_query,
    threshold: f64,
    error: *mut *mut nk_error,
) -> nk_status {
    set(query, error, |conditions| conditions.threshold = Some(threshold))
}

/// Returns only documents of which the smaller one is contained in the larger one by this share,
/// from 0 to 1. The threshold is 0 then, unless it is set, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_contained(
    query: *const nk_query,
    contained: f64,
    error: *mut *mut nk_error,
) -> nk_status {
    set(query, error, |conditions| conditions.contained = Some(contained))
}

/// Returns at most this many matches, the most similar ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_limit(
    query: *const nk_query,
    limit: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    set(query, error, |conditions| conditions.limit = Some(limit))
}

/// Compares at most this many candidates; the answer says whether that was enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_max_candidates(
    query: *const nk_query,
    candidates: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    set(query, error, |conditions| conditions.candidates_max = Some(candidates))
}

/// Stops a search after this many milliseconds; the answer has what was found, and says that it is
/// not complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_deadline_ms(
    query: *const nk_query,
    milliseconds: u64,
    error: *mut *mut nk_error,
) -> nk_status {
    set(query, error, |conditions| conditions.time = Some(Duration::from_millis(milliseconds)))
}

/// Returns only documents that a function of the caller lets pass; null removes it. Their data are
/// released when the query is freed or gets another filter, and no search uses this one. If the
/// call fails, they are not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_filter(
    query: *const nk_query,
    filter: nk_filter,
    user_data: *mut c_void,
    release: nk_release,
    error: *mut *mut nk_error,
) -> nk_status {
    let mut before = None;
    let status = set(query, error, |conditions| {
        before = std::mem::replace(&mut conditions.filter, Filter::new(filter, user_data, release));
    });
    // The release of the former filter runs without the lock.
    guarded(std::ptr::null_mut(), || {
        drop(before);
        Ok(())
    });
    status
}

/// Applies conditions to a query of the engine, and runs it.
fn run(mut query: Query<'_>, conditions: &Conditions) -> Result<Answered, Failure> {
    if let Some(threshold) = conditions.threshold {
        query = query.threshold(threshold);
    }
    if let Some(contained) = conditions.contained {
        query = query.contained(contained);
    }
    if let Some(limit) = conditions.limit {
        query = query.limit(limit);
    }
    if let Some(candidates) = conditions.candidates_max {
        query = query.max_candidates(candidates);
    }
    if let Some(at) = conditions.time.and_then(|time| Instant::now().checked_add(time)) {
        query = query.deadline(at);
    }
    if let Some(filter) = conditions.filter.clone() {
        query = query.filter(move |key, payload| filter.passes(key, payload));
    }
    Ok(Answered::new(query.run()?))
}

/// Makes the handle of an answer, and shows the answer if the caller asks for that.
fn answering(
    error: *mut *mut nk_error,
    answer: *mut *mut nk_answer,
    shown: *mut nk_answer_view,
    work: impl FnOnce() -> Result<Answered, Failure>,
) -> nk_status {
    making(error, answer, || {
        let answered = work()?;
        if let Some(shown) = Out::optional(shown) {
            // Its pointers lead into vectors, which stay where they are when the answer moves.
            shown.put(answered.view());
        }
        Ok(answered)
    })
}

fn conditions_of(query: *const nk_query) -> Result<Conditions, Failure> {
    Ok(match table::get_if(query)? {
        Some(query) => query.read().unwrap_or_else(PoisonError::into_inner).clone(),
        None => Conditions::default(),
    })
}

/// Finds the documents similar to a text in UTF-8. `query` may be null. Free the answer; `shown`
/// (may be null) receives what `nk_answer_get` gives. Errors: `NK_EMPTY` if the text is blank;
/// `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_find_text(
    of: *const nk_readable,
    text_data: *const c_char,
    text_len: usize,
    query: *const nk_query,
    answer: *mut *mut nk_answer,
    shown: *mut nk_answer_view,
    error: *mut *mut nk_error,
) -> nk_status {
    answering(error, answer, shown, || {
        let (readable, conditions) = (Readable::of(of)?, conditions_of(query)?);
        let signature = readable.sketcher().text(text(text_data, text_len, "text")?)?;
        run(readable.snapshot().query(&signature), &conditions)
    })
}

/// Finds the documents similar to a signature. `query` may be null. Free the answer; `shown` (may
/// be null) receives what `nk_answer_get` gives. Errors: `NK_MISMATCH` if the signature has other
/// parameters; `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_find_signature(
    of: *const nk_readable,
    signature: *const nk_signature,
    query: *const nk_query,
    answer: *mut *mut nk_answer,
    shown: *mut nk_answer_view,
    error: *mut *mut nk_error,
) -> nk_status {
    answering(error, answer, shown, || {
        let signature = table::get(signature)?;
        let (view, conditions) = (view(of)?, conditions_of(query)?);
        run(view.query(&signature), &conditions)
    })
}

/// Finds the documents similar to the stored one with this key, which is not in the answer itself.
/// `query` may be null. Free the answer; `shown` (may be null) receives what `nk_answer_get` gives.
/// Errors: `NK_NO_SUCH_KEY`; `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_find_key(
    of: *const nk_readable,
    key: *const c_void,
    key_len: usize,
    query: *const nk_query,
    answer: *mut *mut nk_answer,
    shown: *mut nk_answer_view,
    error: *mut *mut nk_error,
) -> nk_status {
    answering(error, answer, shown, || {
        let key = bytes(key, key_len, "key")?;
        let (view, conditions) = (view(of)?, conditions_of(query)?);
        run(view.query_key(key), &conditions)
    })
}
