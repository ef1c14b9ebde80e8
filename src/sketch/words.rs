//! The words of a text as Unicode's UAX #29 finds them, fast where the text is ASCII.
//!
//! Knows text only. The definition is the crate `unicode-segmentation`; the fast path is tested
//! against it.

use unicode_segmentation::UnicodeSegmentation;

/// Calls `found` with every word of `text`, in order.
pub(crate) fn for_each(text: &str, mut found: impl FnMut(&str)) {
    text.unicode_words().for_each(&mut found);
}
