//! Parameters, which never change for an index, and options, which hold for one opening.

use crate::bytes::text;
use crate::callback::{listener, nk_listener, nk_release};
use crate::error::{guarded, making, nk_error};
use crate::places::lock;
use crate::results::{Text, nk_text};
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{Options, Params};
use std::ffi::{c_char, c_void};
use std::sync::Mutex;

/// The parameters of an index: which signature a text gets, and which documents are compared.
/// Chosen once. Immutable.
pub struct nk_params(());

handle!(nk_params, Params, "params");

/// Options of an open index. An index copies them when it is opened.
pub struct nk_options(());

handle!(nk_options, Mutex<Options>, "options");

/// Makes parameters for which a pair of similarity `threshold` is compared with 95 % probability.
/// Errors: `NK_INVALID` unless 0 < threshold < 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_for_threshold(
    threshold: f64,
    params: *mut *mut nk_params,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, params, || Ok(Params::for_threshold(threshold).build()?))
}

/// Makes parameters from settings, such as "threshold=0.7,shingles=words:3". The settings are those
/// of the command `nearkin create`: preset, threshold, shingles, hashes, bands (17x5), recall,
/// lane_bits, normalise, stop_words (separated by spaces), common (what
/// `nearkin tune --ignore-common SHARE --out FILE` wrote), passages, bag, keep_case, keep_space,
/// no_nfc (true or false), scheme, seed. A preset is applied first. Free the parameters. Errors:
/// `NK_INVALID` names the setting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_from_text(
    settings: *const c_char,
    settings_len: usize,
    params: *mut *mut nk_params,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, params, || Ok(text(settings, settings_len, "settings")?.parse()?))
}

/// All parameters as one line of JSON, for logs and comparisons. Free the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_json(
    params: *const nk_params,
    json: *mut *mut nk_text,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, json, || Text::json(&*table::get(params)?))
}

/// Makes options from settings, such as "durability=os,ttl_ms=86400000"; an empty text gives the
/// defaults. The settings: durability (sync, os, or the age in milliseconds of the oldest write
/// that a power cut may undo), maintenance (shared, background, inline), read_mode (mmap, pread),
/// memory_bytes, memtable_bytes, batch_bytes, merge_bytes, ttl_ms, merge_when_idle, keep_mapped
/// (true or false), shared (true: other processes write, too, by turns), lock_wait_ms.
/// Errors: `NK_INVALID` names the setting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_options_from_text(
    settings: *const c_char,
    settings_len: usize,
    options: *mut *mut nk_options,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, options, || Ok(Mutex::new(text(settings, settings_len, "settings")?.parse()?)))
}

/// Sets the listener for events of the indexes that are opened with these options afterwards. The
/// data are released when the options have another listener or are freed, and these indexes are
/// freed. If the call fails, they are not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_options_on_event(
    options: *const nk_options,
    on_event: nk_listener,
    user_data: *mut c_void,
    release: nk_release,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let options = table::get(options)?;
        if on_event.is_none() {
            return Err(Failure::invalid("on_event: the function is null"));
        }
        let Some(on_event) = listener(on_event, user_data, release) else { return Ok(()) };
        let mut options = lock(&options);
        let before = options.clone();
        *options = before.clone().on_event(on_event);
        drop(options);
        // Without the lock: the caller's release function may use this handle.
        drop(before);
        Ok(())
    })
}

/// The options of an argument; null stands for the defaults.
pub(crate) fn options_of(options: *const nk_options) -> Result<Options, Failure> {
    let options = table::get_if(options)?;
    Ok(options.map_or_else(Options::default, |options| lock(&options).clone()))
}
