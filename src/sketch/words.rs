//! Where a text may be cut so that each part has the words it has within the whole.
//!
//! Knows the boundaries of Unicode's UAX #29 as far as spaces of ASCII go.

/// Cuts a text into stretches of ASCII and others, before an ASCII space that stands between two
/// other ASCII characters. There no rule of UAX #29 sees both sides: a space ends whatever is
/// before it (WB999) but another space (WB3d), and only a combining mark could attach to it (WB4),
/// and to all spaces before it. So each stretch has the words it has within the text.
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
        // As far as ASCII goes, or else up to where it may begin.
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
    use unicode_segmentation::UnicodeSegmentation;

    #[test]
    fn spaces_are_not_cut_from_spaces_that_a_mark_attaches_to() {
        // Found by fuzzing. A mark that is a letter makes a word of all the spaces before it.
        for text in ["   \u{ac9}", "a   \u{ac9} b", "\u{2003}  \u{ac9}", "\u{e9}  \u{ac9}  c d"] {
            let whole: Vec<&str> = text.unicode_words().collect();
            let parts: Vec<&str> = stretches(text).flat_map(str::unicode_words).collect();
            assert_eq!(parts, whole, "{text:?}");
            assert_eq!(stretches(text).collect::<String>(), text);
        }
    }
}
