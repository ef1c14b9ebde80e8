//! Error handles, and the wrapper of every exported function, which catches panics.

use crate::bytes::{Out, put_if_wanted};
use crate::status::{Failure, nk_status};
use crate::table::{self, Handle, handle};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An error: its status, message and advice.
pub struct nk_error(());

handle!(nk_error, Failure, "error");

/// The message of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    match panic.downcast_ref::<&str>() {
        Some(text) => text,
        None => panic.downcast_ref::<String>().map_or("no message", String::as_str),
    }
}

/// Runs the body of an exported function. A failure or a panic becomes a status and, unless `error`
/// is null, an error handle. Success leaves `error` unchanged.
pub(crate) fn guarded(
    error: *mut *mut nk_error,
    work: impl FnOnce() -> Result<(), Failure>,
) -> nk_status {
    // This is unwind safe: the engine's handles are, and what this crate guards by a lock is
    // changed by one call of the engine.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return nk_status::NK_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic_text(&*panic);
            Failure::new(nk_status::NK_BUG, format!("nearkin panicked: {text}"))
        }
    };
    let status = failure.status();
    if let Ok(error) = Out::required(error, "error") {
        // If the table is full, the caller gets the status alone.
        error.put(table::make(failure).unwrap_or(std::ptr::null_mut()));
    }
    status
}

/// Like [`giving`]: the result is a new handle for the object that `work` returns.
pub(crate) fn making<H: Handle>(
    error: *mut *mut nk_error,
    out: *mut *mut H,
    work: impl FnOnce() -> Result<H::Object, Failure>,
) -> nk_status {
    giving(error, out, || table::make(work()?))
}

/// Like [`guarded`], for a function with one result, whose pointer may be null.
pub(crate) fn telling<T>(
    error: *mut *mut nk_error,
    out: *mut T,
    work: impl FnOnce() -> Result<T, Failure>,
) -> nk_status {
    guarded(error, || work().map(|value| put_if_wanted(out, value)))
}

/// Like [`guarded`], for a function with one result, whose pointer must not be null.
pub(crate) fn giving<T>(
    error: *mut *mut nk_error,
    out: *mut T,
    work: impl FnOnce() -> Result<T, Failure>,
) -> nk_status {
    guarded(error, || {
        let out = Out::required(out, "the result")?;
        out.put(work()?);
        Ok(())
    })
}

/// The status of an error; `NK_BAD_HANDLE` if `error` is no error handle.
#[unsafe(no_mangle)]
pub extern "C" fn nk_error_status(error: *const nk_error) -> nk_status {
    table::get(error).map_or(nk_status::NK_BAD_HANDLE, |error| error.status())
}

/// The message of an error: what happened, to which file. UTF-8 that ends with a zero byte, owned
/// by the error; for a handle that is no error, a static text. Never null.
#[unsafe(no_mangle)]
pub extern "C" fn nk_error_message(error: *const nk_error) -> *const c_char {
    table::get(error).map_or(c"no error handle".as_ptr(), |error| error.message().as_ptr())
}

#[cfg(test)]
mod tests;
