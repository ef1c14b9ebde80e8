//! What Python writes and JSON lacks, replaced.

/// A line whose deviations from JSON are replaced. No byte changes its place.
pub(crate) struct Relaxed {
    pub(crate) line: Vec<u8>,
    /// Whether halves of surrogate pairs were replaced.
    pub(crate) has_replaced: bool,
}

/// Replaces what Python's `json.dumps` writes and JSON lacks: NaN and infinities become a number
/// that is no key and no item, halves of surrogate pairs U+FFFD. Returns `None` if the line has
/// none of these.
pub(crate) fn relaxed(line: &[u8]) -> Option<Relaxed> {
    let mut relaxed = Relaxed { line: line.to_vec(), has_replaced: false };
    let (mut at, mut has_changed, mut is_string) = (0, false, false);
    while let Some(&byte) = line.get(at) {
        at += match byte {
            b'"' => {
                is_string = !is_string;
                1
            }
            b'\\' if is_string => {
                let (bytes, is_half) = escape_at(&line[at..]);
                if is_half {
                    relaxed.line[at..at + bytes].copy_from_slice(b"\\uFFFD");
                    (relaxed.has_replaced, has_changed) = (true, true);
                }
                bytes
            }
            b'N' | b'I' | b'-' if !is_string => match constant_at(line, at) {
                Some(bytes) => {
                    relaxed.line[at..at + bytes].fill(b' ');
                    relaxed.line[at..at + 3].copy_from_slice(b"0.5");
                    has_changed = true;
                    bytes
                }
                None => 1,
            },
            _ => 1,
        };
    }
    has_changed.then_some(relaxed)
}

/// The length of the escape at the beginning of `text`, and whether it is half of a surrogate pair.
fn escape_at(text: &[u8]) -> (usize, bool) {
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    match unit(text) {
        Some(0xd800..=0xdbff) if matches!(unit(&text[6..]), Some(0xdc00..=0xdfff)) => (12, false),
        Some(0xd800..=0xdfff) => (6, true),
        Some(_) => (6, false),
        None => (2, false),
    }
}

/// The length of NaN, Infinity or -Infinity as a whole value at `at`.
fn constant_at(line: &[u8], at: usize) -> Option<usize> {
    let is_delimiter = |byte: &u8| b" \t\r,:[]{}".contains(byte);
    let constant = [&b"NaN"[..], b"Infinity", b"-Infinity"].into_iter();
    let bytes = constant.filter(|one| line[at..].starts_with(one)).map(<[u8]>::len).next()?;
    let before = at.checked_sub(1).is_none_or(|before| is_delimiter(&line[before]));
    let behind = line.get(at + bytes).is_none_or(is_delimiter);
    (before && behind).then_some(bytes)
}
