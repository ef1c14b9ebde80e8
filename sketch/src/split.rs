//! Splits ASCII text, or the output of `fold` for any text, into units and hashes them. Processes
//! 64 bytes at a time: converts them to lower case, then computes masks with one bit per byte.
//! Finally hashes all units, those of similar length together, so that branches are predictable.
//!
//! Finds the boundaries of words and tokens in ASCII; non-ASCII bytes count as letters.
//! `unicode::words` defines words; the plain code at the end of this file defines the masks.

use super::masks::{Cut, UnitKind};
use super::simd::{Processor, blanks, masks};
use super::unicode;
use super::unit::UnitHash;
use super::white_space::tokens;

/// A text is processed in pieces that are only a little longer than this, so that buffers stay
/// small.
const PIECE_BYTES: usize = 8 << 10;

/// Maximum length of a piece that is divided here, with 32-bit positions. Only a unit of such a
/// length, or such a run of units without white space, makes a piece longer; slower code divides
/// that piece.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// Buffers of one piece of text. They are overwritten and never cleared: stale bytes at the end do
/// not matter.
#[derive(Debug, Default)]
pub(crate) struct Split {
    /// The text as it is hashed: in lower case or unchanged.
    text: Vec<u8>,
    /// `marks` has one bit per byte, set where a unit begins or has just ended. `edges` has the
    /// positions of these bits: begins and ends alternate.
    marks: Vec<u64>,
    edges: Vec<u32>,
    /// `heads` has the first eight bytes of each unit (the AVX2 kernel stores lengths here). `long`
    /// has the positions of long units.
    heads: Vec<u64>,
    long: Vec<u32>,
    /// The folded text before it is divided; used by `units`.
    pub(crate) folded: Vec<u8>,
}

impl Split {
    pub(crate) fn bytes(&self) -> usize {
        let places = self.edges.capacity() + self.long.capacity();
        let words = self.marks.capacity() + self.heads.capacity();
        self.text.capacity()
            + self.folded.capacity()
            + places * size_of::<u32>()
            + words * size_of::<u64>()
    }

    /// Adds the hashes of the units of a text.
    #[inline(always)]
    pub(crate) fn hash(
        &mut self,
        text: &[u8],
        rules: Cut,
        hash: UnitHash,
        processor: Option<Processor>,
        out: &mut Vec<u64>,
    ) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rules.piece(rest));
            if piece.len() <= PIECE_BYTES_MAX {
                let count = self.cut(piece, rules, processor);
                self.hash_units(count, hash, processor, out);
            } else {
                // A 32-bit position might overflow, so the slower code is used.
                let piece = &*String::from_utf8_lossy(piece);
                let piece = if rules.lower { &piece.to_ascii_lowercase() } else { piece };
                let mut add = |unit: &str| out.push(hash.hash_bytes(unit.as_bytes()));
                match rules.kind {
                    UnitKind::Words => unicode::words::words(piece).for_each(|(_, word)| add(word)),
                    UnitKind::Tokens => tokens(piece).for_each(add),
                }
            }
            rest = after;
        }
    }

    /// Fills `text` and `edges` from one piece; returns the number of edges.
    #[inline(always)]
    fn cut(&mut self, piece: &[u8], rules: Cut, processor: Option<Processor>) -> usize {
        let bytes = piece.len().next_multiple_of(64);
        if self.text.len() < bytes + 128 {
            // Two blocks are added, so that reading eight bytes or two vectors from the start of
            // any unit stays in the buffer. The length without them is a power of two, so that a
            // mask can keep positions in range.
            self.text.resize(bytes.next_power_of_two() + 128, 0);
        }
        if self.edges.len() < bytes + 64 {
            self.edges.resize(bytes + 64, 0);
            self.marks.resize(bytes / 64, 0);
        }
        let text = &mut self.text[..bytes];
        let (count, bars) = match processor {
            Some(processor) => {
                processor.edges(piece, text, &mut self.marks, &mut self.edges, rules)
            }
            None => edges(piece, text, &mut self.edges, rules),
        };
        if bars { drop_bars(text, &mut self.edges[..count]) } else { count }
    }

    /// Adds the hashes of the units given by the first `count` edges.
    #[inline(always)]
    fn hash_units(
        &mut self,
        count: usize,
        hash: UnitHash,
        processor: Option<Processor>,
        out: &mut Vec<u64>,
    ) {
        let units = self.edges[..count].as_chunks::<2>().0;
        if self.heads.len() < units.len() {
            self.heads.resize(units.len(), 0);
            // Eight positions are written at a time.
            self.long.resize(units.len() + 8, 0);
        }
        let start = out.len();
        out.resize(start + units.len(), 0);
        let (text, out, long) = (&self.text[..], &mut out[start..], &mut self.long[..]);
        let count = match processor {
            Some(processor) => processor.short(text, units, hash, out, &mut self.heads, long),
            None => hash_short(text, units, &mut self.heads, long, hash, out),
        };
        hash_long(text, units, &long[..count], hash, out);
    }

    /// The units of an ASCII text in order, as they are hashed.
    #[cfg(test)]
    pub(crate) fn units(text: &str, rules: Cut) -> Vec<String> {
        let mut split = Self::default();
        let mut found = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rules.piece(rest.as_bytes()));
            let count = split.cut(piece.as_bytes(), rules, None);
            for [start, end] in split.edges[..count].as_chunks::<2>().0 {
                let unit = &split.text[*start as usize..*end as usize];
                found.push(String::from_utf8(unit.to_vec()).expect("ASCII"));
            }
            rest = after;
        }
        found
    }
}

impl Cut {
    /// The length of the first piece of a text: it ends where no unit spans the boundary.
    fn piece(self, text: &[u8]) -> usize {
        let ends = |byte: &u8| match self.kind {
            UnitKind::Words => {
                !matches!(byte, b'\''..=b';' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | 0x80..)
            }
            UnitKind::Tokens => *byte == b' ',
        };
        let beyond = text.get(PIECE_BYTES..).and_then(|beyond| beyond.iter().position(ends));
        beyond.map_or(text.len(), |at| PIECE_BYTES + at + 1)
    }
}

/// Writes the begin and end of each unit of `piece`, and the text as it is hashed. Returns the
/// number of edges, which is even, and whether a unit begins with `_`.
#[inline(always)]
pub(crate) fn edges(piece: &[u8], text: &mut [u8], edges: &mut [u32], rules: Cut) -> (usize, bool) {
    match (rules.kind, rules.lower) {
        (UnitKind::Words, true) => edges_of::<true, true>(piece, text, edges),
        (UnitKind::Words, false) => edges_of::<true, false>(piece, text, edges),
        (UnitKind::Tokens, true) => edges_of::<false, true>(piece, text, edges),
        (UnitKind::Tokens, false) => edges_of::<false, false>(piece, text, edges),
    }
}

#[inline(always)]
fn edges_of<const WORDS: bool, const LOWER: bool>(
    piece: &[u8],
    text: &mut [u8],
    edges: &mut [u32],
) -> (usize, bool) {
    let mut count = 0;
    let mut inside = 0_u64;
    let mut bars = 0;
    let mut base = 0_u32;
    let (blocks, tail) = piece.as_chunks::<64>();
    let mut padded = [if WORDS { 0 } else { b' ' }; 64];
    padded[..tail.len()].copy_from_slice(tail);
    let last = (!tail.is_empty()).then_some(&padded);
    for (block, place) in blocks.iter().chain(last).zip(text.as_chunks_mut::<64>().0) {
        *place = if LOWER { block.map(|byte| byte.to_ascii_lowercase()) } else { *block };
        let mut mask;
        if WORDS {
            let masks = masks(place);
            mask = masks.word;
            let joint = masks.joint & (mask << 1 | inside) & (mask >> 1 | 1 << 63);
            mask |= joined(piece, base, joint);
            bars |= masks.bar & !(mask << 1 | inside);
        } else {
            mask = !blanks(place);
        }
        let mut changes = mask ^ (mask << 1 | inside);
        inside = mask >> 63;
        let new = changes.count_ones() as usize;
        let Some(places) = edges.get_mut(count..).and_then(<[u32]>::first_chunk_mut::<64>) else {
            break;
        };
        // Writes sixteen at a time, usually more than needed: the loop count then seldom depends on
        // the text.
        for (some, from) in places.as_chunks_mut::<16>().0.iter_mut().zip((0..).step_by(16)) {
            if from >= new {
                break;
            }
            for place in some {
                *place = base + changes.trailing_zeros();
                changes &= changes.wrapping_sub(1);
            }
        }
        count += new;
        base += 64;
    }
    if inside == 1
        && let Some(place) = edges.get_mut(count)
    {
        *place = base;
        count += 1;
    }
    (count, bars != 0)
}

/// Drops the words that consist of `_` only; returns the number of edges left.
fn drop_bars(text: &[u8], edges: &mut [u32]) -> usize {
    let mut kept = 0;
    for at in (0..edges.len()).step_by(2) {
        let (start, end) = (edges[at], edges[at + 1]);
        if text[start as usize..end as usize].iter().any(|byte| *byte != b'_') {
            edges[kept] = start;
            edges[kept + 1] = end;
            kept += 2;
        }
    }
    kept
}

/// The hashes of all units in order, computed as if all were short: without branches, so that the
/// loop is vectorised. Writes the positions of long units to `long`; returns their number.
#[inline(always)]
fn hash_short(
    text: &[u8],
    units: &[[u32; 2]],
    heads: &mut [u64],
    long: &mut [u32],
    hash: UnitHash,
    out: &mut [u64],
) -> usize {
    let (heads, long) = (&mut heads[..units.len()], &mut long[..units.len()]);
    let mut count = 0;
    for (at, ([start, end], head)) in (0_u32..).zip(units.iter().zip(&mut *heads)) {
        *head = u64::from_le_bytes(chunk(text, *start));
        long[count] = at;
        count += usize::from(end - start > 8);
    }
    for (out, (head, [start, end])) in out.iter_mut().zip(heads.iter().zip(units)) {
        *out = hash.short(*head, end - start);
    }
    count
}

/// The hashes of the long units.
#[inline(always)]
fn hash_long(text: &[u8], units: &[[u32; 2]], long: &[u32], hash: UnitHash, out: &mut [u64]) {
    for &at in long {
        let [start, end] = units[at as usize];
        // Always found: each unit lies within the text.
        let Some(unit) = text.get(start as usize..end as usize) else { continue };
        out[at as usize] = match (unit.first_chunk(), unit.last_chunk()) {
            (Some(first), Some(last)) if unit.len() <= 16 => {
                let [first, last] = [first, last].map(|bytes| u64::from_le_bytes(*bytes));
                hash.medium(first, last, end - start)
            }
            _ => hash.hash_bytes_cold(unit),
        };
    }
}

/// The `N` bytes of `text` from `at` on. After the start of a unit there are always as many,
/// because the buffer is longer than its units; otherwise the result would be zeros.
#[inline(always)]
fn chunk<const N: usize>(text: &[u8], at: u32) -> [u8; N] {
    text.get(at as usize..).and_then(|bytes| bytes.first_chunk().copied()).unwrap_or([0; N])
}

/// Keeps those bits of `joint` whose bytes join their neighbours. Bit 0 stands for the byte at
/// `base`.
#[inline(always)]
fn joined(piece: &[u8], base: u32, mut joint: u64) -> u64 {
    let mut mask = 0;
    while joint != 0 {
        let at = joint.trailing_zeros();
        joint &= joint - 1;
        mask |= u64::from(joins(piece, (base + at) as usize)) << at;
    }
    mask
}

/// Whether the byte at `at` joins its neighbours into one word.
fn joins(text: &[u8], at: usize) -> bool {
    let (Some(&before), Some(&after)) = (text.get(at.wrapping_sub(1)), text.get(at + 1)) else {
        return false;
    };
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80;
    match text[at] {
        b'.' | b'\'' => {
            is_letter(before) && is_letter(after)
                || before.is_ascii_digit() && after.is_ascii_digit()
        }
        b':' => is_letter(before) && is_letter(after),
        b',' | b';' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}
