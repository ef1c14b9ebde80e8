//! Lanes: the stored bits of a row. Lanes of 8 and 16 bits are hashes of the row's value; lanes of
//! 32 and 64 bits hold the value itself (external schemes only).
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use super::numbers::index;
use crate::{Error, Result};

/// The odd multiplier of multiply-shift.
const FACTOR: u64 = 0xf135_7aea_2e62_a9c5;

/// The lanes of `values`: the top 16 bits of value x factor, little-endian, or their high byte for
/// 8-bit lanes.
#[inline(always)]
pub(crate) fn store(values: &[u64], lane_bits: u32) -> Box<[u8]> {
    let lane = |value: &u64| value.wrapping_mul(FACTOR).to_le_bytes();
    if lane_bits == 16 {
        values.iter().map(lane).flat_map(|bytes| [bytes[6], bytes[7]]).collect()
    } else {
        values.iter().map(|value| lane(value)[7]).collect()
    }
}

/// Whether lanes of this width hold whole values.
pub(crate) fn is_whole(lane_bits: u32) -> bool {
    lane_bits >= 32
}

/// Size of a lane in bytes.
pub(crate) fn bytes(lane_bits: u32) -> usize {
    index(lane_bits / 8)
}

/// The lanes of whole values, little-endian. `Invalid` names the first value that does not fit.
pub(crate) fn store_whole(values: &[u64], lane_bits: u32) -> Result<Box<[u8]>> {
    if lane_bits == 64 {
        return Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }
    let mut bytes = Vec::with_capacity(4 * values.len());
    for (row, value) in values.iter().enumerate() {
        let narrow = u32::try_from(*value).map_err(|_| {
            Error::invalid(format!(
                "row {row} is {value}, which has more than 32 bits; keep such rows in 64 lane bits"
            ))
        })?;
        bytes.extend_from_slice(&narrow.to_le_bytes());
    }
    Ok(bytes.into_boxed_slice())
}

/// Decodes a lane.
pub(crate) fn number(lane: &[u8]) -> u64 {
    lane.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Whether lanes can be converted to another width. Hashed lanes cannot become wider, and a 64-bit
/// value may not fit into 32 bits.
pub fn is_convertible(from_bits: u32, to_bits: u32) -> bool {
    matches!((from_bits, to_bits), (16, 8) | (32 | 64, 8 | 16) | (32, 64)) || from_bits == to_bits
}

/// Converts lanes to another width, which must be convertible.
pub fn convert(signature: &[u8], from_bits: u32, to_bits: u32) -> Vec<u8> {
    let lanes = signature.chunks_exact(bytes(from_bits));
    match (from_bits, to_bits) {
        // An 8-bit lane is the high byte of the 16-bit lane.
        (16, 8) => lanes.map(|lane| lane[1]).collect(),
        (32, 64) => lanes.flat_map(|lane| number(lane).to_le_bytes()).collect(),
        (32 | 64, 8 | 16) => store(&lanes.map(number).collect::<Vec<_>>(), to_bits).into_vec(),
        _ => signature.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converted_lanes_are_those_that_the_values_have() {
        let values: Vec<u64> = (1..200).map(|row| row * 0x1234_5671 % 0xffff_ffff).collect();
        let lanes = |bits| {
            if is_whole(bits) { store_whole(&values, bits).unwrap() } else { store(&values, bits) }
        };
        let all = [8, 16, 32, 64];
        let pairs = all.iter().flat_map(|from| all.iter().map(move |to| (*from, *to)));
        let pairs: Vec<_> = pairs.filter(|(from, to)| is_convertible(*from, *to)).collect();
        for (from, to) in &pairs {
            assert_eq!(convert(&lanes(*from), *from, *to), lanes(*to).into_vec(), "{from} {to}");
        }
        assert_eq!(pairs.len(), 10);
    }
}
