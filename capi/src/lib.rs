//! `libnearkin`: the engine's public API as C functions. `include/nearkin.h` is made from this
//! crate by cbindgen, with the comments as its documentation.
//!
//! An exported function parses its arguments, calls the engine, and stores the result. It runs in
//! [`error::guarded`], so that no panic reaches the caller. Handles are numbers that [`table`]
//! looks up. Unsafe code is in `bytes.rs` (the caller's bytes and results), `callback.rs` (the
//! caller's functions and data) and `slot.rs` (an object and its users). `results.rs` and
//! `admit.rs` say that threads may share views.
#![expect(non_camel_case_types, reason = "types are named as C code names them")]
#![expect(unsafe_code, reason = "the boundary to C; each block says what it relies on")]

use status::nk_status;
use std::ffi::{c_char, c_void};

pub mod admit;
pub mod batch;
pub mod bytes;
pub mod callback;
pub mod error;
pub mod find;
pub mod index;
pub mod maintain;
pub mod params;
mod places;
pub mod query;
pub mod readable;
pub mod results;
pub mod sketch;
mod slot;
pub mod status;
pub mod sweep;
mod table;

/// The version of the library, such as "0.1.0". Static; never null.
#[unsafe(no_mangle)]
pub extern "C" fn nk_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Frees a handle of any kind, once; a null handle does nothing. Pointers into its results become
/// invalid. The call does not wait: a call that still uses the handle on another thread completes,
/// and drops the object. `NK_BAD_HANDLE` if the handle was freed before, or is no handle.
///
/// An index that was not closed loses no acknowledged write, but its next open replays the log:
/// call `nk_index_close` first.
#[unsafe(no_mangle)]
pub extern "C" fn nk_free(handle: *mut c_void) -> nk_status {
    error::guarded(std::ptr::null_mut(), || table::free(handle.addr()))
}

/// The number of live handles of all threads. A test that expects 0 at its end finds leaks.
#[unsafe(no_mangle)]
pub extern "C" fn nk_handles_live() -> usize {
    table::live()
}
