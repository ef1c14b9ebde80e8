//! Finds positions where a text can be cut so that its parts have the same words as the whole text.
//!
//! Follows UAX #29 for ASCII spaces.

/// Cuts a text into parts that are all ASCII, and parts that are not. Cuts only before an ASCII
/// space that is between two other ASCII characters. No rule of UAX #29 looks across such a
/// position: a space ends everything before it (WB999) except another space (WB3d), and only a
/// combining mark could attach to it and to the spaces before it (WB4). So the cuts change no
/// words.
pub(crate) fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let is_other = |byte: &u8| byte.is_ascii() && *byte != b' ';
        let cut = |at: &usize| {
            bytes[*at] == b' '
                && bytes.get(at.wrapping_sub(1)).is_some_and(is_other)
                && bytes.get(at + 1).is_some_and(u8::is_ascii)
        };
        // The longest ASCII part, or a part up to the next possible cut.
        let foreign = bytes.iter().position(|byte| !byte.is_ascii());
        let end = match foreign {
            None => bytes.len(),
            Some(foreign) => match (1..foreign).rev().find(cut) {
                Some(end) => end,
                None => (foreign..bytes.len()).find(cut).unwrap_or(bytes.len()),
            },
        };
        let (stretch, after) = rest.split_at(end);
        rest = after;
        (!stretch.is_empty()).then_some(stretch)
    })
}

#[cfg(test)]
mod tests {
    use super::stretches;
    use crate::unicode::words::words;

    #[test]
    fn spaces_are_not_cut_from_spaces_that_a_mark_attaches_to() {
        // Found by fuzzing: a combining mark that is a letter forms a word with all spaces before
        // it.
        for text in ["   \u{ac9}", "a   \u{ac9} b", "\u{2003}  \u{ac9}", "\u{e9}  \u{ac9}  c d"] {
            let whole: Vec<&str> = words(text).map(|(_, word)| word).collect();
            let parts = stretches(text).flat_map(words).map(|(_, word)| word);
            let parts: Vec<&str> = parts.collect();
            assert_eq!(parts, whole, "{text:?}");
            assert_eq!(stretches(text).collect::<String>(), text);
        }
    }
}
