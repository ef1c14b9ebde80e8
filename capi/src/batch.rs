//! Batches: operations that are written together.

use crate::bytes::{Out, bytes};
use crate::error::{Failure, guarded, making, nk_error, nk_status};
use crate::sketch::nk_signature;
use crate::table::{self, handle};
use engine::{Batch, Edit};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Operations that are written together, by `nk_index_write`. A batch is locked during a call.
pub struct nk_batch(());

handle!(nk_batch, Mutex<Batch>, "batch");

/// Makes an empty batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_new(
    batch: *mut *mut nk_batch,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, batch, || Ok(Mutex::new(Batch::new())))
}

fn change(batch: *const nk_batch, change: impl FnOnce(&mut Batch)) -> Result<(), Failure> {
    let batch = table::get(batch)?;
    change(&mut batch.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

/// Adds an insert, which keeps a stored payload. Keys and sizes are checked by `nk_index_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_insert(
    batch: *const nk_batch,
    key: *const c_void,
    key_len: usize,
    signature: *const nk_signature,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (key, signature) = (bytes(key, key_len, "key")?, table::get(signature)?);
        change(batch, |batch| batch.push(Edit::insert(key, &signature)))
    })
}

/// Adds an insert with a payload.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_insert_with_payload(
    batch: *const nk_batch,
    key: *const c_void,
    key_len: usize,
    signature: *const nk_signature,
    payload: *const c_void,
    payload_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (key, signature) = (bytes(key, key_len, "key")?, table::get(signature)?);
        let payload = bytes(payload, payload_len, "payload")?;
        change(batch, |batch| batch.push(Edit::insert(key, &signature).payload(payload)))
    })
}

/// Adds a change of the payload of a stored document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_set_payload(
    batch: *const nk_batch,
    key: *const c_void,
    key_len: usize,
    payload: *const c_void,
    payload_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let key = bytes(key, key_len, "key")?;
        let payload = bytes(payload, payload_len, "payload")?;
        change(batch, |batch| batch.push(Edit::set_payload(key, payload)))
    })
}

/// Adds a remove.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_remove(
    batch: *const nk_batch,
    key: *const c_void,
    key_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let key = bytes(key, key_len, "key")?;
        change(batch, |batch| batch.push(Edit::remove(key)))
    })
}

/// Empties a batch, and keeps its memory for the next operations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_clear(
    batch: *const nk_batch,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || change(batch, Batch::clear))
}

/// The number of operations of a batch, and its length in bytes of the log. Either result may be
/// null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_size(
    batch: *const nk_batch,
    operations: *mut usize,
    log_bytes: *mut usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        change(batch, |batch| {
            if let Some(operations) = Out::optional(operations) {
                operations.put(batch.len());
            }
            if let Some(log_bytes) = Out::optional(log_bytes) {
                log_bytes.put(batch.bytes());
            }
        })
    })
}
