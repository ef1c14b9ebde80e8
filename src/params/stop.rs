//! Stop lists: words that texts are compared without, as one text in one order.
//!
//! Does not know what a word of a text is; `sketch` does.

use crate::{Error, Result};

/// Most bytes of a stop list: the catalog's row holds it, and is written whole at every commit.
const LIST_BYTES_MAX: usize = 64 << 10;

/// The list of some words: each once, in the order of their bytes, a line each. White space
/// divides a word; None if there is none.
pub(super) fn list<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for words in words {
        all.extend(words.as_ref().split_whitespace().map(str::to_owned));
    }
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Refuses what is not such a list, or too long.
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
    Err(Error::invalid("a stored stop list is not in order"))
}

/// What the list adds to the text of the parameters.
pub(super) fn id_text(stop: Option<&str>) -> String {
    match stop {
        Some(stop) => format!(";stop={:016x}", xxhash_rust::xxh3::xxh3_64(stop.as_bytes())),
        None => String::new(),
    }
}

/// How many words a list has.
pub(super) fn count(stop: Option<&str>) -> usize {
    stop.map_or(0, |stop| stop.split('\n').count())
}
