//! Signatures: of texts and of sets of items.

use crate::bytes::{bytes, lent, nk_bytes, put_if_wanted, text};
use crate::error::{guarded, making, nk_error};
use crate::params::nk_params;
use crate::readable::{nk_readable, sketcher_of};
use crate::results::nk_document;
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{Signature, Sketcher};
use std::ffi::{c_char, c_void};

/// Makes signatures. Immutable: threads share it.
pub struct nk_sketcher(());

handle!(nk_sketcher, Sketcher, "sketcher");

/// The signature of a text or a set. Immutable.
pub struct nk_signature(());

handle!(nk_signature, Signature, "signature");

/// Makes a sketcher for these parameters. No index is needed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_sketcher_new(
    params: *const nk_params,
    sketcher: *mut *mut nk_sketcher,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, sketcher, || Ok(Sketcher::new(&*table::get(params)?)))
}

/// Makes the signature of a text in UTF-8. `of` is an index, a reader or a snapshot (`NK_READ`), or
/// a sketcher (`NK_SKETCH`). Errors: `NK_EMPTY` if the text is blank, `NK_INVALID` if it is not
/// UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_sketch_text(
    of: *const nk_readable,
    text_data: *const c_char,
    text_len: usize,
    signature: *mut *mut nk_signature,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, signature, || Ok(sketcher_of(of)?.text(text(text_data, text_len, "text")?)?))
}

/// Makes the signature of a set of items, for parameters with "shingles=items". `of` is as for
/// `nk_sketch_text`. Errors: `NK_EMPTY` if there are no items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_sketch_items(
    of: *const nk_readable,
    items: *const nk_bytes,
    items_len: usize,
    signature: *mut *mut nk_signature,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, signature, || {
        let items = lent(items, items_len, "items")?.iter().enumerate();
        let items = items.map(|(number, item)| {
            let named = || bytes(item.data, item.len, &format!("item {number} (counted from 0)"));
            bytes(item.data, item.len, "an item").or_else(|_| named())
        });
        Ok(sketcher_of(of)?.items(items.collect::<Result<Vec<_>, Failure>>()?)?)
    })
}

/// Makes a signature from the bytes and the number of shingles that `nk_signature_get` gave, for
/// signatures that are kept elsewhere. Errors: `NK_INVALID` if the length is not that of a
/// signature of these parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_signature_from_bytes(
    params: *const nk_params,
    data: *const c_void,
    len: usize,
    shingles: u32,
    signature: *mut *mut nk_signature,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, signature, || {
        let (params, data) = (table::get(params)?, bytes(data, len, "data")?);
        Ok(Signature::from_bytes(&params, data, shingles)?)
    })
}

/// The signature of a document, as a handle of its own. Free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_document_signature(
    document: *const nk_document,
    signature: *mut *mut nk_signature,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, signature, || Ok(table::get(document)?.signature.clone()))
}

/// The bytes of a signature, which belong to it, and the number of its shingles. Either result may
/// be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_signature_get(
    signature: *const nk_signature,
    data: *mut nk_bytes,
    shingles: *mut u32,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let signature = table::get(signature)?;
        put_if_wanted(data, nk_bytes::from_slice(signature.as_bytes()));
        put_if_wanted(shingles, signature.shingle_count());
        Ok(())
    })
}
