//! Words of messages: numbers, sizes and untrusted bytes as a person reads them.

use std::borrow::Cow;

/// A key for JSON: UTF-8, with invalid bytes replaced by U+FFFD.
pub fn lossy(key: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(key)
}

/// A key for the terminal: like [`lossy`], but control characters and bidirectional marks are
/// escaped. They could break a table, run terminal commands or reorder the visible text.
pub fn visible(key: &[u8]) -> String {
    // Fast path: printable ASCII needs no escapes.
    if key.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return lossy(key).into_owned();
    }
    let mut text = String::with_capacity(key.len());
    for character in lossy(key).chars() {
        if character.is_control() || is_layout(character) {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

/// Whether a character changes the layout of others: bidirectional marks, embeddings, overrides and
/// isolates, and Unicode's line and paragraph separators.
fn is_layout(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// A number with thousands separators: 1,061,040.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 document`, `2,000 documents`.
pub fn counted(number: u64, singular: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {singular}{plural}", grouped(number))
}

/// A byte count in the largest binary unit that leaves at least one digit before the point.
pub fn bytes(number: u64) -> String {
    let mut size = number as f64;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    if unit == "bytes" { counted(number, "byte") } else { format!("{size:.1} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_061_040), "1,061,040");
        assert_eq!(counted(1, "pair"), "1 pair");
        assert_eq!(counted(0, "pair"), "0 pairs");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1_023), "1,023 bytes");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(3 << 30), "3.0 GiB");
    }

    #[test]
    fn a_key_cannot_command_the_terminal() {
        assert_eq!(visible(b"a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(visible(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(visible("a\u{9b}b\u{7f}".as_bytes()), "a\\u{9b}b\\u{7f}");
    }

    #[test]
    fn a_key_cannot_turn_the_order_of_what_is_shown() {
        let turned = "invoice\u{202e}txt.exe\u{2066}\u{2069}\u{200f}\u{61c}";
        let expected = "invoice\\u{202e}txt.exe\\u{2066}\\u{2069}\\u{200f}\\u{61c}";
        assert_eq!(visible(turned.as_bytes()), expected);
        assert_eq!(visible("a\u{2028}b".as_bytes()), "a\\u{2028}b");
        let hebrew = "\u{5e9}\u{5dc}\u{5d5}\u{5dd}";
        assert_eq!(visible(hebrew.as_bytes()), hebrew, "letters stay as they are");
    }
}
