//! Batches: operations that are written together.

use crate::bytes::{bytes, payload, put_if_wanted};
use crate::error::{guarded, making, nk_error};
use crate::places::lock;
use crate::sketch::nk_signature;
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{Batch, Edit};
use std::ffi::c_void;
use std::sync::Mutex;

/// Operations that are written together, by `nk_index_write`. A batch is locked during a call.
pub struct nk_batch(());

handle!(nk_batch, Mutex<Batch>, "batch");

/// Makes an empty batch. Free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_new(
    batch: *mut *mut nk_batch,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, batch, || Ok(Mutex::new(Batch::new())))
}

fn push(batch: *const nk_batch, edit: Edit<'_>) -> Result<(), Failure> {
    lock(&*table::get(batch)?).push(edit);
    Ok(())
}

/// Adds an insert. `payload` (up to 64 KiB) may be null: then a stored payload is kept. `time` is
/// in milliseconds since 1970; 0 means the time of the write. Keys and sizes are checked by
/// `nk_index_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_insert(
    batch: *const nk_batch,
    key: *const c_void,
    key_len: usize,
    signature: *const nk_signature,
    payload_data: *const c_void,
    payload_len: usize,
    time: u64,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (key, signature) = (bytes(key, key_len, "key")?, table::get(signature)?);
        let mut edit = Edit::insert(key, &signature);
        if let Some(payload) = payload(payload_data, payload_len)? {
            edit = edit.payload(payload);
        }
        push(batch, if time == 0 { edit } else { edit.time(time) })
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
        let (key, payload) = (bytes(key, key_len, "key")?, bytes(payload, payload_len, "payload")?);
        push(batch, Edit::set_payload(key, payload))
    })
}

/// Adds a removal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_remove(
    batch: *const nk_batch,
    key: *const c_void,
    key_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || push(batch, Edit::remove(bytes(key, key_len, "key")?)))
}

/// Empties a batch, and keeps its memory for the next operations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_batch_clear(
    batch: *const nk_batch,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        lock(&*table::get(batch)?).clear();
        Ok(())
    })
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
        let batch = table::get(batch)?;
        let batch = lock(&batch);
        put_if_wanted(operations, batch.len());
        put_if_wanted(log_bytes, batch.bytes());
        Ok(())
    })
}
