//! Searches by text, signature and key.

use crate::bytes::{bytes, put_if_wanted, text};
use crate::error::{making, nk_error};
use crate::query::{conditions_of, nk_query};
use crate::readable::{nk_readable, view};
use crate::results::{Answered, nk_answer, nk_answer_view};
use crate::sketch::nk_signature;
use crate::status::{Failure, nk_status};
use crate::table;
use engine::Query;
use std::ffi::{c_char, c_void};

/// Runs a query under its conditions.
fn run(query: *const nk_query, builder: Query<'_>) -> Result<Answered, Failure> {
    Ok(Answered::new(builder.conditions(conditions_of(query)?).run()?))
}

/// Makes the handle of an answer, and fills `shown` unless it is null.
fn answering(
    error: *mut *mut nk_error,
    answer: *mut *mut nk_answer,
    shown: *mut nk_answer_view,
    work: impl FnOnce() -> Result<Answered, Failure>,
) -> nk_status {
    making(error, answer, || {
        let answered = work()?;
        // The pointers stay valid when `answered` moves: they lead into memory of its vectors.
        put_if_wanted(shown, answered.view);
        Ok(answered)
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
        let readable = table::get(of)?;
        let signature = readable.sketcher().text(text(text_data, text_len, "text")?)?;
        run(query, readable.snapshot().query(&signature))
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
        run(query, view(of)?.query(&signature))
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
    answering(error, answer, shown, || run(query, view(of)?.query_key(bytes(key, key_len, "key")?)))
}
