//! Characters to UTF-8 and back, without branches that a validated text does not need.

/// The UTF-8 bytes of the character with this code point, and how many there are.
#[inline(always)]
pub(super) fn encode(number: u32) -> ([u8; 4], usize) {
    let low = |shift: u32| 0x80 | (number >> shift & 0x3f);
    let (bytes, len) = if number < 0x80 {
        (number, 1)
    } else if number < 0x800 {
        (0xc0 | number >> 6 | low(0) << 8, 2)
    } else if number < 0x1_0000 {
        (0xe0 | number >> 12 | low(6) << 8 | low(0) << 16, 3)
    } else {
        (0xf0 | number >> 18 | low(12) << 8 | low(6) << 16 | low(0) << 24, 4)
    };
    (bytes.to_le_bytes(), len)
}

/// The code point of the first character of these bytes, and its length in bytes. The bytes must be
/// UTF-8, and the character not ASCII.
#[inline(always)]
pub(super) fn decode(bytes: [u8; 4]) -> (u32, usize) {
    let [a, b, c, d] = bytes.map(u32::from);
    if a < 0xe0 {
        ((a & 0x1f) << 6 | b & 0x3f, 2)
    } else if a < 0xf0 {
        ((a & 0xf) << 12 | (b & 0x3f) << 6 | c & 0x3f, 3)
    } else {
        ((a & 7) << 18 | (b & 0x3f) << 12 | (c & 0x3f) << 6 | d & 0x3f, 4)
    }
}
