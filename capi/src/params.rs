//! Parameters, which an index keeps for ever, and options of one opening.

use crate::bytes::text;
use crate::callback::{listener, nk_listener, nk_release};
use crate::error::{Failure, guarded, making, nk_error, nk_status};
use crate::results::{Text, nk_text};
use crate::settings::{parse, unknown, value};
use crate::table::{self, handle};
use engine::{Durability, Maintenance, Options, Params, ParamsBuilder, ReadMode};
use std::ffi::{c_char, c_void};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// The parameters of an index: which signature a text gets, and which documents are compared.
/// Chosen once. Immutable.
pub struct nk_params(());

handle!(nk_params, Params, "params");

/// Options of an open index. An index copies them when it is opened.
pub struct nk_options(());

handle!(nk_options, RwLock<Options>, "options");

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
/// lane_bits, normalise, stop_words (separated by spaces), bag, keep_case, keep_space, no_nfc
/// (true or false), scheme, seed. A preset is applied first. Errors: `NK_INVALID` names the
/// setting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_from_text(
    settings: *const c_char,
    settings_len: usize,
    params: *mut *mut nk_params,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, params, || {
        let settings = parse(text(settings, settings_len, "settings")?)?;
        let preset = settings.iter().find(|(name, _)| *name == "preset");
        let mut builder = match preset {
            Some((name, preset)) => Params::preset(value(name, preset)?),
            None => Params::builder(),
        };
        for (name, text) in settings {
            builder = with_setting(builder, name, text)?;
        }
        Ok(builder.build()?)
    })
}

fn with_setting(builder: ParamsBuilder, name: &str, text: &str) -> Result<ParamsBuilder, Failure> {
    Ok(match name {
        "preset" => builder,
        "threshold" => builder.threshold(value(name, text)?),
        "shingles" => builder.shingles(value(name, text)?),
        "hashes" => builder.hashes(value(name, text)?),
        "recall" => builder.recall_target(value(name, text)?),
        "lane_bits" => builder.lane_bits(value(name, text)?),
        "normalise" => builder.normalise(value(name, text)?),
        "stop_words" => builder.stop_words(text.split_whitespace()),
        "bag" => builder.bag(value(name, text)?),
        "keep_case" => builder.keep_case(value(name, text)?),
        "keep_space" => builder.keep_space(value(name, text)?),
        "no_nfc" => builder.no_nfc(value(name, text)?),
        "scheme" => builder.scheme(value(name, text)?),
        "seed" => builder.seed(value(name, text)?),
        "bands" => {
            let (bands, rows) = text.split_once('x').ok_or_else(|| {
                Failure::invalid(&format!("bands={text}: write bands and rows, such as 17x5"))
            })?;
            builder.bands(value(name, bands)?, value(name, rows)?)
        }
        _ => {
            let known = "preset, threshold, shingles, hashes, bands, recall, lane_bits, \
                         normalise, stop_words, bag, keep_case, keep_space, no_nfc, scheme, seed";
            return Err(unknown(name, known));
        }
    })
}

/// All parameters as one line of JSON, for logs and comparisons. Free the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_json(
    params: *const nk_params,
    json: *mut *mut nk_text,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, json, || {
        let params = table::get(params)?;
        Text::json(&*params)
    })
}

/// Makes options from settings, such as "durability=os,ttl_ms=86400000"; an empty text gives the
/// defaults. The settings: durability (sync, os, or a number of milliseconds that a power cut may
/// cost), maintenance (shared, background, inline), read_mode (mmap, pread), memtable_bytes,
/// batch_bytes, merge_bytes, ttl_ms, merge_when_idle, keep_mapped (true or false). Errors:
/// `NK_INVALID` names the setting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_options_from_text(
    settings: *const c_char,
    settings_len: usize,
    options: *mut *mut nk_options,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, options, || {
        let mut options = Options::default();
        for (name, text) in parse(text(settings, settings_len, "settings")?)? {
            options = with_option(options, name, text)?;
        }
        Ok(RwLock::new(options))
    })
}

fn with_option(options: Options, name: &str, text: &str) -> Result<Options, Failure> {
    Ok(match (name, text) {
        ("durability", "sync") => options.durability(Durability::Sync),
        ("durability", "os") => options.durability(Durability::OsBuffer),
        ("durability", ms) => {
            let ms = Duration::from_millis(value(name, ms)?);
            options.durability(Durability::Interval(ms))
        }
        ("maintenance", "shared") => options.maintenance(Maintenance::Shared),
        ("maintenance", "background") => options.maintenance(Maintenance::Background),
        ("maintenance", "inline") => options.maintenance(Maintenance::Inline),
        ("read_mode", "mmap") => options.read_mode(ReadMode::Mmap),
        ("read_mode", "pread") => options.read_mode(ReadMode::Pread),
        ("maintenance" | "read_mode", other) => {
            return Err(Failure::invalid(&format!("{name}={other}: there is no such {name}")));
        }
        ("memtable_bytes", bytes) => options.memtable_bytes_max(value(name, bytes)?),
        ("batch_bytes", bytes) => options.batch_bytes_max(value(name, bytes)?),
        ("merge_bytes", bytes) => options.merge_bytes_max(value(name, bytes)?),
        ("ttl_ms", ms) => options.ttl(Duration::from_millis(value(name, ms)?)),
        ("merge_when_idle", yes) => options.merge_when_idle(value(name, yes)?),
        ("keep_mapped", yes) => options.keep_mapped(value(name, yes)?),
        _ => {
            let known = "durability, maintenance, read_mode, memtable_bytes, batch_bytes, \
                         merge_bytes, ttl_ms, merge_when_idle, keep_mapped";
            return Err(unknown(name, known));
        }
    })
}

/// Sets the listener for events of the indexes that are opened with these options afterwards. The
/// data are released when the options and all these indexes are gone, also if the call replaces an
/// earlier listener. If the call fails, they are not released.
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
        let mut options = options.write().unwrap_or_else(PoisonError::into_inner);
        let before = options.clone();
        *options = before.clone().on_event(on_event);
        drop(options);
        // The release of a former listener runs without the lock.
        drop(before);
        Ok(())
    })
}

/// The options of an argument that may be null: the defaults.
pub(crate) fn options_of(options: *const nk_options) -> Result<Options, Failure> {
    let options = table::get_if(options)?;
    Ok(options.map_or_else(Options::default, |options| {
        options.read().unwrap_or_else(PoisonError::into_inner).clone()
    }))
}
