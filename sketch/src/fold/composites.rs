//! Letters that compose with a mark from U+0300 to U+033F, as in Vietnamese with separate marks.
//!
//! Layout of `composites.bin`: a byte for each character below `FIRSTS`, the number of its row;
//! then the rows: for each of 64 marks the composite in two bytes, little-endian, or 0. The first
//! row is empty. `tools/tables` writes the file, and `sketch::tests::fold` compares it with its
//! definition.

use super::scripts::MARKS;
use super::utf8::{decode, encode};

/// The first character beyond the table.
const FIRSTS: usize = 0x460;
/// Number of composites in a row: one per mark.
const ROW: usize = 64;

/// Composites of lower-case letters: letters that no normalisation changes.
#[derive(Debug)]
pub(crate) struct Composites {
    row_of: &'static [u8; FIRSTS],
    rows: &'static [[[u8; 2]; ROW]],
}

pub(crate) static COMPOSITES: Composites = Composites::new(include_bytes!("composites.bin"));

impl Composites {
    const fn new(bytes: &'static [u8]) -> Self {
        let (row_of, rows) = bytes.split_at(FIRSTS);
        match row_of.first_chunk() {
            Some(row_of) => Self { row_of, rows: rows.as_chunks().0.as_chunks().0 },
            None => panic!("the table is complete"),
        }
    }

    /// The composite of the last character before `len` with the mark CC, `second`; and the
    /// position of that character. `None` if the table has no composite.
    #[inline(always)]
    pub(crate) fn get(&self, out: &[u8], len: usize, second: u8) -> Option<(u16, usize)> {
        let (first, bytes) = match *out.get(..len)? {
            [.., last] if last < 0x80 => (u32::from(last), 1),
            [.., lead @ 0xc2..0xe0, last] => decode([lead, last, 0, 0]),
            _ => return None,
        };
        let row = self.rows.get(usize::from(*self.row_of.get(first as usize)?))?;
        let composite = u16::from_le_bytes(row[usize::from(second & 0x3f)]);
        (composite != 0).then_some((composite, len - bytes))
    }

    /// Copies the first `end` bytes of a folded block to `out`, from `len` on. `events` has the
    /// leading bytes of marks, each of which is composed with the letter before it, and of
    /// characters of three bytes that become the byte of ASCII in `folded`, or nothing. `text` is
    /// the block before folding. Stops before a mark for which the table has no composite, and when
    /// `out` is full. Returns the number of bytes read, and the new length.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "its kernels use it"))]
    pub(crate) fn copy<const N: usize>(
        &self,
        (text, folded): (&[u8], &[u8; 128]),
        mut events: u64,
        end: usize,
        out: &mut [u8],
        len: usize,
    ) -> (usize, usize) {
        let (mut from, mut to) = (0, len);
        while let Some(letters) = folded.get(from..).and_then(<[u8]>::first_chunk::<N>)
            && let Some(place) = out.get_mut(to..).and_then(<[u8]>::first_chunk_mut)
        {
            *place = *letters;
            let event = end.min(events.trailing_zeros() as usize);
            to += event - from;
            let second = match text.get(event..) {
                Some([MARKS, second, ..]) if event < end => *second,
                Some([_, _, _, ..]) if event < end => {
                    // The byte of ASCII was copied with the letters before it.
                    to += usize::from(folded.get(event).is_some_and(u8::is_ascii));
                    from = event + 3;
                    events &= events - 1;
                    continue;
                }
                _ => return (event, to),
            };
            // The letter is read where it does not depend on the composites before it.
            let composite = if event > from {
                self.get(folded, event, second).map(|(composite, at)| (composite, event - at))
            } else {
                self.get(out, to, second).map(|(composite, at)| (composite, to - at))
            };
            let Some((composite, bytes)) = composite else { return (event, to) };
            let Some(place) = out.get_mut(to - bytes..).and_then(<[u8]>::first_chunk_mut) else {
                return (event, to);
            };
            let (written, count) = encode(composite.into());
            *place = written;
            (from, to) = (event + 2, to - bytes + count);
            events &= events - 1;
        }
        (from, to)
    }
}
