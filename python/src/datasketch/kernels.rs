//! The inner loops: they permute hashes and keep the minima, with AVX2 if the processor has it.

use super::random::MERSENNE_61;

/// Lowers each value of `out` to the minimum of itself and of `a * mix(h) + b` modulo 2^32 over all
/// hashes `h`. `mix` is the finalizer of MurmurHash3.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled once more with AVX2 by its caller")]
fn affine32(a: &[u32], b: &[u32], hashes: &[u32], out: &mut [u32]) {
    for &hash in hashes {
        let mut h = hash;
        h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
        h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
        h ^= h >> 16;
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = (*out).min(a.wrapping_mul(h).wrapping_add(*b));
        }
    }
}

/// As `affine32`, modulo 2^64.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled once more with AVX2 by its caller")]
fn affine64(a: &[u64], b: &[u64], hashes: &[u64], out: &mut [u64]) {
    for &hash in hashes {
        let mut h = hash;
        h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 33;
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = (*out).min(a.wrapping_mul(h).wrapping_add(*b));
        }
    }
}

/// Lowers each value of `out` to the minimum of itself and of the legacy permutation of all hashes
/// `h`: the low 32 bits of `a * h + b` modulo 2^61 - 1. As in datasketch, `a * h + b` wraps modulo
/// 2^64 before the remainder is taken.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled once more with AVX2 by its caller")]
fn legacy(a: &[u64], b: &[u64], hashes: &[u64], out: &mut [u64]) {
    for &h in hashes {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            let sum = a.wrapping_mul(h).wrapping_add(*b);
            let folded = (sum & MERSENNE_61) + (sum >> 61);
            let rest = if folded >= MERSENNE_61 { folded - MERSENNE_61 } else { folded };
            *out = (*out).min(rest & 0xffff_ffff);
        }
    }
}

macro_rules! dispatched {
    ($name:ident, $wide:ident, $plain:ident, $lane:ty) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $wide(a: &[$lane], b: &[$lane], hashes: &[$lane], out: &mut [$lane]) {
            $plain(a, b, hashes, out);
        }

        /// Runs the plain loop, in the version compiled for AVX2 if the processor has it.
        #[cfg_attr(
            target_arch = "x86_64",
            expect(unsafe_code, reason = "calls a function compiled for AVX2")
        )]
        pub(super) fn $name(a: &[$lane], b: &[$lane], hashes: &[$lane], out: &mut [$lane]) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2, and the function is otherwise safe.
                unsafe { $wide(a, b, hashes, out) };
                return;
            }
            $plain(a, b, hashes, out);
        }
    };
}

dispatched!(min_affine32, affine32_avx2, affine32, u32);
dispatched!(min_affine64, affine64_avx2, affine64, u64);
dispatched!(min_legacy, legacy_avx2, legacy, u64);
