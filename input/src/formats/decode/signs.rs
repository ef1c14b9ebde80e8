//! Signs of an encoding, and of a binary file, in the first bytes.

use encoding_rs::Encoding;

/// The encoding and the length of a byte order mark.
pub(super) fn mark_of(bytes: &[u8]) -> Option<(&'static Encoding, usize)> {
    // In UTF-32, which is not read, the mark begins like that of UTF-16.
    Encoding::for_bom(bytes).filter(|_| !bytes.starts_with(b"\xff\xfe\0\0"))
}

/// Whether a byte is a control character that occurs in no text encoding. ESC is accepted, because
/// terminals and ISO-2022 use it.
pub(super) fn is_odd_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}
