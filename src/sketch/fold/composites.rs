//! Letters that compose with a mark from U+0300 to U+033F, as in Vietnamese with separate marks.
//!
//! Layout of `composites.bin`: a byte for each character below `FIRSTS`, the number of its row;
//! then the rows: for each of 64 marks the composite in two bytes, little-endian, or 0. The first
//! row is empty. `tools/tables` writes the file, and `sketch::tests::fold` compares it with its
//! definition.

use super::decode;

/// The first character beyond the table.
const FIRSTS: usize = 0x460;
/// Number of marks.
const MARKS: usize = 64;

/// Composites of lower-case letters: letters that no normalisation changes.
#[derive(Debug)]
pub(crate) struct Composites {
    row_of: &'static [u8; FIRSTS],
    rows: &'static [[[u8; 2]; MARKS]],
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
}
