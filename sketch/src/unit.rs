//! The unit hash: XXH3-64 with a seed, with the formulas for short inputs inlined.
//!
//! The definition is the crate `xxhash-rust` (and `docs/reference/SIGNATURES.md`). Most words are
//! short, and a call with its branches would cost more than the few multiplications. The four
//! formulas are tested against the crate for every length and many seeds.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Words of XXH3's default secret at the byte offsets that short inputs use.
const SECRET_0: u64 = 0xbe4b_a423_396c_feb8;
const SECRET_8: u64 = 0x1cad_21f7_2c81_017c;
const SECRET_16: u64 = 0xdb97_9083_e96d_d4de;
const SECRET_24: u64 = 0x1f67_b3b7_a4a4_4072;
const SECRET_32: u64 = 0x78e5_c0cc_4ee6_79cb;
const SECRET_40: u64 = 0x2172_ffcc_7dd0_5a82;
const SECRET_48: u64 = 0x8e24_43f7_7446_08b8;

/// XXH3-64 with a fixed seed, and the constants that short inputs are mixed with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitHash {
    seed: u64,
    pub(crate) tiny: u64,
    pub(crate) small: u64,
    low: u64,
    high: u64,
}

impl UnitHash {
    pub(crate) fn new(seed: u64) -> Self {
        let swapped = seed ^ ((seed & 0xffff_ffff).swap_bytes() & !0xffff_ffff);
        Self {
            seed,
            tiny: ((SECRET_0 & 0xffff_ffff) ^ (SECRET_0 >> 32)).wrapping_add(seed),
            small: (SECRET_8 ^ SECRET_16).wrapping_sub(swapped),
            low: (SECRET_24 ^ SECRET_32).wrapping_add(seed),
            high: (SECRET_40 ^ SECRET_48).wrapping_sub(seed),
        }
    }

    /// The hash of one unit of any length.
    #[inline]
    pub(crate) fn hash_bytes(self, bytes: &[u8]) -> u64 {
        xxh3_64_with_seed(bytes, self.seed)
    }

    /// `hash_bytes`, but not inlined: rare callers should not keep its constants in registers.
    #[inline(never)]
    pub(crate) fn hash_bytes_cold(self, bytes: &[u8]) -> u64 {
        self.hash_bytes(bytes)
    }

    /// The hash of a unit of 1 to 8 bytes, given as the low bytes of `head`, little-endian.
    /// Unspecified for longer units. Computes both formulas: a branch would be mispredicted too
    /// often.
    #[inline(always)]
    pub(crate) fn short(self, head: u64, len: u32) -> u64 {
        let len = u64::from(len);
        let (tiny, small) = (self.tiny(head, len), self.small(head, len));
        if len < 4 { tiny } else { small }
    }

    /// The hash of 1 to 3 bytes mixes the first, the middle and the last byte. The middle one of
    /// two bytes is the last.
    #[inline(always)]
    fn tiny(self, head: u64, len: u64) -> u64 {
        let byte = |at: u64| head >> (at.wrapping_mul(8) & 63) & 255;
        let bytes = byte(0) << 16 | byte(len >> 1) << 24 | byte(len.wrapping_sub(1)) | len << 8;
        let mixed = bytes ^ self.tiny;
        let mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0x1656_67b1_9e37_79f9);
        mixed ^ mixed >> 32
    }

    /// The hash of 4 to 8 bytes mixes the first four and the last four bytes.
    #[inline(always)]
    fn small(self, head: u64, len: u64) -> u64 {
        let last = head >> (len.wrapping_sub(4).wrapping_mul(8) & 63) & 0xffff_ffff;
        let mixed = (last | head << 32) ^ self.small;
        let mixed = mixed ^ mixed.rotate_left(49) ^ mixed.rotate_left(24);
        let mixed = mixed.wrapping_mul(0x9fb2_1c65_1e98_df25);
        let mixed = mixed ^ (mixed >> 35).wrapping_add(len);
        let mixed = mixed.wrapping_mul(0x9fb2_1c65_1e98_df25);
        mixed ^ mixed >> 28
    }

    /// The hash of 9 to 16 bytes mixes the first eight and the last eight bytes, little-endian.
    #[inline(always)]
    pub(crate) fn medium(self, first: u64, last: u64, len: u32) -> u64 {
        let (low, high) = (first ^ self.low, last ^ self.high);
        let folded = folded(low, high);
        let sum = u64::from(len).wrapping_add(low.swap_bytes()).wrapping_add(high);
        let mixed = sum.wrapping_add(folded);
        let mixed = (mixed ^ mixed >> 37).wrapping_mul(0x1656_6791_9e37_79f9);
        mixed ^ mixed >> 32
    }

    /// The hash of 17 to 32 bytes mixes the first sixteen and the last sixteen bytes,
    /// little-endian.
    #[inline(always)]
    pub(crate) fn large(self, first: [u64; 2], last: [u64; 2], len: u32) -> u64 {
        let mix = |[low, high]: [u64; 2], secret: [u64; 2]| {
            folded(
                low ^ secret[0].wrapping_add(self.seed),
                high ^ secret[1].wrapping_sub(self.seed),
            )
        };
        let sum = u64::from(len).wrapping_mul(0x9e37_79b1_85eb_ca87);
        let mixed = sum
            .wrapping_add(mix(first, [SECRET_0, SECRET_8]))
            .wrapping_add(mix(last, [SECRET_16, SECRET_24]));
        let mixed = (mixed ^ mixed >> 37).wrapping_mul(0x1656_6791_9e37_79f9);
        mixed ^ mixed >> 32
    }
}

/// The folded product: the exclusive or of the two halves of the product.
#[inline(always)]
fn folded(a: u64, b: u64) -> u64 {
    let (low, high) = halves(u128::from(a) * u128::from(b));
    low ^ high
}

/// The low and the high half of a 128-bit number.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "halves are wanted")]
fn halves(wide: u128) -> (u64, u64) {
    (wide as u64, (wide >> 64) as u64)
}
