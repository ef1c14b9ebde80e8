//! Where a text may be cut so that each part has the words it has within the whole.
//!
//! Knows the boundaries of Unicode's UAX #29 as far as spaces of ASCII go.

/// Cuts a text into stretches of ASCII and others, before an ASCII space that an ASCII character
/// follows. There no rule of UAX #29 sees both sides: a space ends whatever is before it (WB999),
/// and only a combining mark could attach to it (WB4). So each stretch has the words it has within
/// the text.
pub(crate) fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let cut = |at: &usize| bytes[*at] == b' ' && bytes.get(at + 1).is_some_and(u8::is_ascii);
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
