//! Stop lists in their stored form: one string with the words in byte order.
//!
//! `sketch` applies them.

use crate::{Error, Result};

/// Maximum length of a stop list in bytes. It is part of the catalog's row, which every commit
/// writes as a whole.
const LIST_BYTES_MAX: usize = 64 << 10;

/// Makes a stop list: each word once, in byte order, one per line. A string with white space counts
/// as several words. Returns `None` if there is no word.
pub(super) fn list<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for words in words {
        all.extend(words.as_ref().split_whitespace().map(str::to_owned));
    }
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Returns an error if a string is not a valid stop list, or is too long.
pub(super) fn check(stop: &str) -> Result<()> {
    if stop.len() > LIST_BYTES_MAX {
        return Err(Error::invalid(format!(
            "a stop list has at most {LIST_BYTES_MAX} bytes, not {}",
            stop.len()
        )));
    }
    if list([stop]).as_deref() == Some(stop) {
        return Ok(());
    }
    Err(Error::invalid("a stored stop list is not sorted"))
}

/// The stop list as it appears in the text whose hash is the id of the parameters.
pub(super) fn id_text(stop: Option<&str>) -> String {
    match stop {
        Some(stop) => format!(";stop={:016x}", xxhash_rust::xxh3::xxh3_64(stop.as_bytes())),
        None => String::new(),
    }
}

/// Number of words in a stop list.
pub(super) fn count(stop: Option<&str>) -> usize {
    stop.map_or(0, |stop| stop.split('\n').count())
}
