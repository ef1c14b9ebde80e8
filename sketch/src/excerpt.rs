//! Formats bytes for `Debug`: as text where possible, and at most one line.

use std::fmt;

/// Maximum number of bytes shown of keys and payloads.
const SHOWN: usize = 48;

/// The first bytes, escaped, and the total length if bytes were cut off.
pub struct Excerpt<'a>(pub &'a [u8]);

impl fmt::Debug for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.get(..SHOWN).unwrap_or(self.0);
        match str::from_utf8(shown) {
            Ok(text) => write!(f, "{text:?}")?,
            // A character was split at the cut.
            Err(error) if error.error_len().is_none() && shown.len() < self.0.len() => {
                shown = &shown[..error.valid_up_to()];
                write!(f, "{:?}", String::from_utf8_lossy(shown))?;
            }
            Err(_) => write!(f, "\"{}\"", shown.escape_ascii())?,
        }
        if shown.len() < self.0.len() {
            write!(f, ".. ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_text_and_long_ones_in_part() {
        assert_eq!(format!("{:?}", Excerpt(b"p1")), "\"p1\"");
        assert_eq!(format!("{:?}", Excerpt(b"\"\n\xff")), r#""\"\n\xff""#);
        assert_eq!(format!("{:?}", Excerpt("\u{e9}\u{4e2d}".as_bytes())), "\"\u{e9}\u{4e2d}\"");
        let cut =
            format!("{:?}", Excerpt("\u{e9}".repeat(99).replacen('\u{e9}', "e", 1).as_bytes()));
        assert!(cut.contains("\u{e9}\"..") && cut.ends_with("(197 bytes)"), "{cut}");
        let long = format!("{:?}", Excerpt(&vec![0; 70_000]));
        assert!(long.ends_with("\".. (70000 bytes)") && long.len() < 220, "{long}");
        assert_eq!(format!("{:?}", Excerpt(&[b'a'; 48])).len(), 50);
    }
}
