//! Writes runs of ASCII in lower case.

use super::super::is_joint;
use super::{Last, Pass};

impl<const WORDS: bool> Pass<'_, WORDS> {
    /// Writes a run of ASCII in lower case. Returns false if it needs the slow path.
    #[inline(always)]
    pub(super) fn ascii(&mut self, text: &[u8], first: u8, out: &mut [u8], limit: usize) -> bool {
        let next = text.get(self.at + 1).copied();
        if WORDS && self.last >= Last::Number && !self.before_ascii(first, next, out) {
            return false;
        }
        (self.last, self.combining) = (Last::Ascii, 0);
        let (mut at, mut len) = (self.at, self.len);
        while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<8>)
            && let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<8>)
        {
            let word = u64::from_le_bytes(*bytes);
            *place = lower(word).to_le_bytes();
            let high = word & 0x8080_8080_8080_8080;
            if high != 0 || len > limit {
                let count = (high.trailing_zeros() / 8) as usize;
                (self.at, self.len) = (at + count, len + count);
                return true;
            }
            (at, len) = (at + 8, len + 8);
            while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<64>)
                && bytes.iter().fold(0, |all, byte| all | byte) < 0x80
                && len <= limit
                && let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<64>)
            {
                *place = bytes.map(|byte| byte.to_ascii_lowercase());
                (at, len) = (at + 64, len + 64);
            }
        }
        let end = text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii());
        for (byte, place) in end.zip(out.get_mut(len..).unwrap_or_default()) {
            *place = byte.to_ascii_lowercase();
            (at, len) = (at + 1, len + 1);
        }
        (self.at, self.len) = (at, len);
        true
    }

    /// Writes a word boundary if one is needed between a character that is not a plain letter and
    /// the ASCII after it. Returns false if it needs the slow path.
    #[inline(never)]
    pub(super) fn before_ascii(&mut self, first: u8, next: Option<u8>, out: &mut [u8]) -> bool {
        match self.last {
            Last::Number if is_joint(first) => {
                // A joint joins nothing if no word character follows it.
                first != b'_' && next.is_none_or(|next| next.is_ascii() && !in_word(next))
            }
            Last::Hebrew => !matches!(first, b'\'' | b'"'),
            Last::Katakana if first == b'_' => false,
            Last::Alone | Last::Katakana => {
                self.boundary(out);
                true
            }
            _ => true,
        }
    }
}

/// Whether an ASCII byte may stand in a word.
fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Writes a run of fewer than eight ASCII bytes in lower case, and returns its length. Returns
/// `None` if the next eight bytes are all ASCII, or if there are fewer than eight.
#[inline(always)]
pub(super) fn few_ascii(text: &[u8], at: usize, out: &mut [u8], len: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*text.get(at..)?.first_chunk()?);
    let high = word & 0x8080_8080_8080_8080;
    if high == 0 {
        return None;
    }
    *out.get_mut(len..)?.first_chunk_mut()? = lower(word).to_le_bytes();
    Some((high.trailing_zeros() / 8) as usize)
}

/// Converts ASCII upper-case letters to lower case, eight bytes at once. If some bytes are not
/// ASCII, their results must not be used.
#[inline(always)]
fn lower(bytes: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = bytes & (0x7f * EACH);
    let from_a = low + u64::from(0x80 - b'A') * EACH;
    let beyond_z = low + u64::from(0x80 - b'Z' - 1) * EACH;
    bytes | (from_a & !beyond_z & (0x80 * EACH)) >> 2
}
