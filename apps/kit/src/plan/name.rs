//! Paths in a plan: as they are, except for what an editor or a reader could mistake. Such bytes
//! are `%` and two hexadecimal digits, as in a URL.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Whether a character stands as it is. Control characters would break lines, `%` begins an escape,
/// and nobody sees the others: marks of direction, joiners and unusual blanks.
fn is_plain(character: char) -> bool {
    let hidden = matches!(
        character,
        '%' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    character == ' ' || !(hidden || character.is_control() || character.is_whitespace())
}

/// A path as text on a single line, without loss.
pub fn encode(path: &Path) -> String {
    let mut text = String::new();
    let escape = |text: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    };
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_plain(character) {
                text.push(character);
            } else {
                escape(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

/// The path of which this is the text. `None` if a `%` is not followed by two hexadecimal digits,
/// or if the system has no such path.
pub fn decode(text: &str) -> Option<PathBuf> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|two| two.bytes().all(|one| one.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    path(bytes).filter(|path| !path.as_os_str().as_encoded_bytes().contains(&0))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every system takes every path")]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_line_and_comes_back() {
        for (path, text) in [
            ("/a b/it's \"x\" -f", "/a b/it's \"x\" -f"),
            ("/100%.txt", "/100%25.txt"),
            ("/new\nline\t\r", "/new%0Aline%09%0D"),
            ("/\u{5e9}\u{202e}txt", "/\u{5e9}%E2%80%AEtxt"),
            ("/\u{a0}\u{3000}\u{85}", "/%C2%A0%E3%80%80%C2%85"),
            (r"\\?\C:\a", r"\\?\C:\a"),
        ] {
            assert_eq!(encode(Path::new(path)), text);
            assert_eq!(decode(text).as_deref(), Some(Path::new(path)));
        }
        for wrong in ["/%", "/%4", "/%4g", "/%+1", "/a%00"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn any_bytes_come_back() {
        use std::os::unix::ffi::OsStrExt as _;
        let mut seed = 7_u64;
        for _ in 0..2_000 {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56).to_le_bytes()[0].max(1)
            };
            let bytes: Vec<u8> = (0..12).map(|_| next()).collect();
            let path = Path::new(std::ffi::OsStr::from_bytes(&bytes));
            let text = encode(path);
            assert!(!text.contains(['\n', '\r', '\t']), "{text:?}");
            assert_eq!(decode(&text).as_deref(), Some(path));
        }
    }
}
