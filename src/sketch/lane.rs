//! Lanes: the 8 or 16 bits of a row's value that are stored, and the count of equal ones.
//!
//! Knows values and bytes. Does not know how a value came about. Frozen: `docs/SIGNATURES.md`.

/// The multiplier of multiply-shift, odd.
const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

/// The stored bytes of `values`: the top 16 bits of value x factor, little-endian, or their high
/// byte.
#[inline(always)]
pub(crate) fn store(values: &[u64], lane_bits: u32) -> Box<[u8]> {
    let lane = |value: &u64| value.wrapping_mul(FACTOR).to_le_bytes();
    if lane_bits == 16 {
        values.iter().map(lane).flat_map(|bytes| [bytes[6], bytes[7]]).collect()
    } else {
        values.iter().map(|value| lane(value)[7]).collect()
    }
}

/// How many lanes of two signatures are equal. Signatures of different lengths are compared as
/// far as the shorter goes. Written for the vectoriser: a byte counts for each of 16 columns.
pub(crate) fn equal_rows(a: &[u8], b: &[u8], lane_bits: u32) -> u32 {
    if lane_bits == 16 { equal_wide(a, b) } else { equal_narrow(a, b) }
}

/// Bytes between two emptyings of the columns: no column counts beyond 255.
const STRETCH: usize = 255 * 16;

fn equal_narrow(a: &[u8], b: &[u8]) -> u32 {
    let mut equal = 0;
    for (a, b) in a.chunks(STRETCH).zip(b.chunks(STRETCH)) {
        let mut columns = [0_u8; 16];
        let (a, b) = (a.as_chunks::<16>(), b.as_chunks::<16>());
        for (a, b) in a.0.iter().zip(b.0) {
            for (column, (a, b)) in columns.iter_mut().zip(a.iter().zip(b)) {
                *column += u8::from(a == b);
            }
        }
        equal += columns.iter().map(|&column| u32::from(column)).sum::<u32>();
        equal += a.1.iter().zip(b.1).map(|(a, b)| u32::from(a == b)).sum::<u32>();
    }
    equal
}

fn equal_wide(a: &[u8], b: &[u8]) -> u32 {
    let mut equal = 0;
    for (a, b) in a.chunks(STRETCH).zip(b.chunks(STRETCH)) {
        let mut columns = [0_u16; 8];
        let (a, b) = (a.as_chunks::<2>().0, b.as_chunks::<2>().0);
        let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
        for (a, b) in a.0.iter().zip(b.0) {
            for (column, (a, b)) in columns.iter_mut().zip(a.iter().zip(b)) {
                *column += u16::from(u16::from_le_bytes(*a) == u16::from_le_bytes(*b));
            }
        }
        equal += columns.iter().map(|&column| u32::from(column)).sum::<u32>();
        equal += a.1.iter().zip(b.1).map(|(a, b)| u32::from(a == b)).sum::<u32>();
    }
    equal
}
