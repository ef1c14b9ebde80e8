//! An index for writing: opening and closing, single writes, batches.

use crate::batch::nk_batch;
use crate::bytes::{bytes, fill, path, payload, put_if_wanted};
use crate::callback::{Cancel, go_on, nk_cancel};
use crate::error::{giving, guarded, making, nk_error, telling};
use crate::params::{nk_options, nk_params, options_of};
use crate::places::lock;
use crate::readable::Readable;
use crate::sketch::nk_signature;
use crate::status::nk_status;
use crate::table::{self, handle};
use engine::{Index, Outcome};
use std::ffi::{c_char, c_void};

/// An open index, the one writer of its folder. Threads share it.
pub struct nk_index(());

handle!(nk_index, Readable, "index");

/// The outcome of a write for one document. Later versions may add numbers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_outcome {
    /// The key was new.
    NK_INSERTED = 1,
    /// The key had another signature or payload.
    NK_REPLACED = 2,
    /// The key had the same signature and payload: nothing was written.
    NK_UNCHANGED = 3,
    /// The document was removed.
    NK_REMOVED = 4,
    /// No document has the key: nothing was written.
    NK_MISSING = 5,
    /// A later operation of the same batch has the same key; its outcome covers both.
    NK_SUPERSEDED = 6,
    /// An outcome that this header does not know.
    NK_OUTCOME_OTHER = 7,
}

pub(crate) fn outcome_of(outcome: Outcome) -> nk_outcome {
    match outcome {
        Outcome::Inserted => nk_outcome::NK_INSERTED,
        Outcome::Replaced => nk_outcome::NK_REPLACED,
        Outcome::Unchanged => nk_outcome::NK_UNCHANGED,
        Outcome::Removed => nk_outcome::NK_REMOVED,
        Outcome::Missing => nk_outcome::NK_MISSING,
        Outcome::Superseded => nk_outcome::NK_SUPERSEDED,
        _ => nk_outcome::NK_OUTCOME_OTHER,
    }
}

/// Whether there is an index in the folder `path`. Errors: `NK_INVALID` if it has other content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_exists(
    path_data: *const c_char,
    path_len: usize,
    is_there: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, is_there, || Ok(Index::exists(path(path_data, path_len)?)?))
}

/// Creates an empty index in the folder `path` and opens it. `options` may be null. Errors:
/// `NK_EXISTS`, `NK_LOCKED`, `NK_IO`; `NK_INVALID` if the folder has other content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_create(
    path_data: *const c_char,
    path_len: usize,
    params: *const nk_params,
    options: *const nk_options,
    index: *mut *mut nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, index, || {
        let (params, options) = (table::get(params)?, options_of(options)?);
        Ok(Index::create(path(path_data, path_len)?, &params, options)?.into())
    })
}

/// Opens an index for reading and writing. `options` may be null. Errors: `NK_NOT_FOUND`,
/// `NK_LOCKED`, `NK_CORRUPT`, `NK_UNSUPPORTED`, `NK_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_open(
    path_data: *const c_char,
    path_len: usize,
    options: *const nk_options,
    index: *mut *mut nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, index, || {
        Ok(Index::open(path(path_data, path_len)?, options_of(options)?)?.into())
    })
}

/// Opens an index, or creates it if there is none. Errors: those of both, and `NK_MISMATCH` if the
/// index has other parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_open_or_create(
    path_data: *const c_char,
    path_len: usize,
    params: *const nk_params,
    options: *const nk_options,
    index: *mut *mut nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, index, || {
        let (params, options) = (table::get(params)?, options_of(options)?);
        Ok(Index::open_or_create(path(path_data, path_len)?, &params, options)?.into())
    })
}

/// Creates an empty index in memory. It is gone when its handles are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_temporary(
    params: *const nk_params,
    options: *const nk_options,
    index: *mut *mut nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, index, || {
        let (params, options) = (table::get(params)?, options_of(options)?);
        Ok(Index::temporary(&params, options)?.into())
    })
}

/// Closes an index: waits for running calls, flushes, and releases the folder, so that another
/// process may open it. The handle stays; calls through it fail with `NK_CLOSED` until it is freed.
/// Snapshots and answers keep working. A second close does nothing. Errors: those of
/// `nk_index_flush`; `NK_INVALID`, and the index stays open, in a listener of the index and in the
/// callback of a compaction, for whose end this call would wait. Within a filter it may be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_close(
    index: *const nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || Ok(table::get(index)?.index()?.shutdown()?))
}

/// Inserts a document, or replaces the one with this key (1 to 4,096 bytes). `payload` (up to 64
/// KiB) replaces a stored one; null keeps it. After `NK_OK` the document survives a power cut (see
/// durability in `nk_options_from_text`), and queries see it. `outcome` may be null. Errors:
/// `NK_MISMATCH` if the signature has other parameters, `NK_IO`, `NK_UNKNOWN`, `NK_POISONED`,
/// `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_insert(
    index: *const nk_index,
    key: *const c_void,
    key_len: usize,
    signature: *const nk_signature,
    payload_data: *const c_void,
    payload_len: usize,
    outcome: *mut nk_outcome,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, outcome, || {
        let (key, signature) = (bytes(key, key_len, "key")?, table::get(signature)?);
        let held = table::get(index)?;
        let index = held.index()?;
        let outcome = match payload(payload_data, payload_len)? {
            Some(payload) => index.insert_with_payload(key, &signature, payload)?,
            None => index.insert(key, &signature)?,
        };
        Ok(outcome_of(outcome))
    })
}

/// Replaces the payload of a stored document. The outcome is `NK_MISSING` if no document has this
/// key. Errors: those of `nk_index_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_set_payload(
    index: *const nk_index,
    key: *const c_void,
    key_len: usize,
    payload: *const c_void,
    payload_len: usize,
    outcome: *mut nk_outcome,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, outcome, || {
        let key = bytes(key, key_len, "key")?;
        let payload = bytes(payload, payload_len, "payload")?;
        Ok(outcome_of(table::get(index)?.index()?.set_payload(key, payload)?))
    })
}

/// Removes the document with this key. The outcome is `NK_REMOVED` or `NK_MISSING`. Errors: those
/// of `nk_index_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_remove(
    index: *const nk_index,
    key: *const c_void,
    key_len: usize,
    outcome: *mut nk_outcome,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, outcome, || {
        let key = bytes(key, key_len, "key")?;
        Ok(outcome_of(table::get(index)?.index()?.remove(key)?))
    })
}

/// Removes all documents whose keys begin with a prefix. `removed` (may be null) is their number.
/// Errors: `NK_INVALID` if the prefix is empty (`nk_index_clear` removes all), and those of
/// `nk_index_insert`; after one of these, a part may be removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_remove_prefix(
    index: *const nk_index,
    prefix: *const c_void,
    prefix_len: usize,
    removed: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, removed, || {
        let prefix = bytes(prefix, prefix_len, "prefix")?;
        Ok(table::get(index)?.index()?.remove_prefix(prefix)?)
    })
}

/// Like `nk_index_remove_prefix`, and ends early if `cancel`, which may be null, says so: the error
/// is `NK_CANCELLED` then, and what was removed before stays removed. `cancel` is not called after
/// the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_remove_prefix_until(
    index: *const nk_index,
    prefix: *const c_void,
    prefix_len: usize,
    cancel: nk_cancel,
    user_data: *mut c_void,
    removed: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, removed, || {
        let (prefix, cancel) =
            (bytes(prefix, prefix_len, "prefix")?, Cancel::of_call(cancel, user_data));
        let mut progress = |_| go_on(cancel.as_ref());
        Ok(table::get(index)?.index()?.remove_prefix_with(prefix, &mut progress)?)
    })
}

/// Removes all documents that were inserted or last replaced before `time`, in milliseconds since
/// 1970. `removed` (may be null) is their number. Ends early as `nk_index_remove_prefix_until`.
/// Errors: those of `nk_index_remove_prefix_until`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_remove_before(
    index: *const nk_index,
    time: u64,
    cancel: nk_cancel,
    user_data: *mut c_void,
    removed: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, removed, || {
        let cancel = Cancel::of_call(cancel, user_data);
        let mut progress = |_| go_on(cancel.as_ref());
        Ok(table::get(index)?.index()?.remove_before_with(time, &mut progress)?)
    })
}

/// Removes all documents, as `nk_index_remove_prefix_until` removes those with a prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_clear(
    index: *const nk_index,
    cancel: nk_cancel,
    user_data: *mut c_void,
    removed: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, removed, || {
        let cancel = Cancel::of_call(cancel, user_data);
        Ok(table::get(index)?.index()?.clear_with(&mut |_| go_on(cancel.as_ref()))?)
    })
}

/// Writes a batch as one change: all of it or nothing, with one sync. The batch is not changed.
/// `outcomes` receives the outcomes of the first `outcomes_len` operations, in order; `change` the
/// number of the change. Both may be null. Errors: those of `nk_index_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_write(
    index: *const nk_index,
    batch: *const nk_batch,
    outcomes: *mut nk_outcome,
    outcomes_len: usize,
    change: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (index, batch) = (table::get(index)?, table::get(batch)?);
        let written = index.index()?.write(&*lock(&batch))?;
        let results: Vec<_> = written.outcomes.into_iter().map(outcome_of).collect();
        fill(outcomes, outcomes_len, &results);
        put_if_wanted(change, written.change);
        Ok(())
    })
}
