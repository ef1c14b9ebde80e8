//! Lanes: the 8 or 16 bits of a row's value that are stored.
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
