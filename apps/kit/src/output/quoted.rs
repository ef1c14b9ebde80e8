//! Formats quotations: the words at a byte range of a text, on one line of limited length.
//!
//! Pure: works on texts and byte ranges only.

use std::ops::Range;

/// Maximum number of characters of a quotation on one line.
const SHOWN_MAX: usize = 400;
/// Number of words at the beginning and at the end of a quotation that are searched for in the
/// stored text, to find where the quotation begins and ends there.
const ANCHOR: usize = 3;

/// The text at a byte range. Returns `None` if the text has no such range, for example because it
/// has changed.
pub fn at<'a>(text: &'a str, range: &Range<u64>) -> Option<&'a str> {
    let begin = usize::try_from(range.start).ok()?;
    let end = usize::try_from(range.end).ok()?;
    text.get(begin..end)
}

/// Narrows `stored` to the part that is quoted. A match consists of whole windows (fixed numbers of
/// words), so `stored` has extra words on both sides; the first and last words of `quoted` show
/// where the quotation begins and ends.
pub fn part<'a>(stored: &'a str, quoted: &str) -> &'a str {
    let wanted: Vec<String> = words(quoted).map(|(_, word)| plain(word)).collect();
    if wanted.len() < ANCHOR {
        return stored;
    }
    let places: Vec<(usize, &str)> = words(stored).collect();
    let there: Vec<String> = places.iter().map(|(_, word)| plain(word)).collect();
    let (first, last) = (&wanted[..ANCHOR], &wanted[wanted.len() - ANCHOR..]);
    let begin = there.windows(ANCHOR).position(|words| words == first).unwrap_or(0);
    let end = there.windows(ANCHOR).rposition(|words| words == last);
    let end = end.map_or(there.len(), |end| end + ANCHOR);
    match (places.get(begin), end.checked_sub(1).and_then(|last| places.get(last))) {
        (Some((begin, _)), Some((last, word))) if begin <= last => {
            &stored[*begin..last + word.len()]
        }
        _ => stored,
    }
}

/// Puts a text on one line. Long texts are shortened to their beginning and end.
pub fn line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    if count <= SHOWN_MAX {
        return line;
    }
    let begin: String = line.chars().take(SHOWN_MAX / 2).collect();
    let end: String = line.chars().skip(count - SHOWN_MAX / 2).collect();
    format!("{begin} [...] {end}")
}

/// The words of a text (separated by white space), each with its byte offset.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let offset = |word: &str| word.as_ptr().addr() - text.as_ptr().addr();
    text.split_whitespace().map(move |word| (offset(word), word))
}

/// A word in lower case, without punctuation.
fn plain(word: &str) -> String {
    word.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_text_is_cut_to_the_quotation() {
        let stored = "and so. Call me Ishmael!  Some years\nago, never mind how long; the rest";
        let quoted = "call me ISHMAEL some years ago never mind how long";
        let part = part(stored, quoted);
        assert_eq!(part, "Call me Ishmael!  Some years\nago, never mind how long;");
        assert_eq!(line(part), "Call me Ishmael! Some years ago, never mind how long;");
    }

    #[test]
    fn a_text_without_the_quotation_is_shown_whole() {
        for quoted in ["", "two words", "other words that are not there"] {
            assert_eq!(part("and so Call me long the rest", quoted).len(), 28, "{quoted}");
        }
    }

    #[test]
    fn ranges_that_are_not_there_are_nothing() {
        let text = "\u{e4}bc";
        assert_eq!(
            (at(text, &(0..4)), at(text, &(1..4)), at(text, &(0..5))),
            (Some(text), None, None)
        );
    }

    #[test]
    fn a_long_text_is_its_begin_and_its_end() {
        let shown = line(&format!("begin {} end", "middle ".repeat(200)));
        assert!(shown.starts_with("begin ") && shown.ends_with(" end") && shown.contains("[...]"));
        assert!(shown.chars().count() < SHOWN_MAX + 10);
    }
}
