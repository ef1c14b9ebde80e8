//! What AVX-512 does in its own way: the calls, and what they have in common.
//!
//! Knows numbers. Each function is defined by plain code elsewhere, and tested against it.

use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_set1_epi64};

use super::Wide;
use crate::sketch::few::{Eight, FEW_MAX};
use crate::sketch::fold::scripts::{Scripts, Stretch};
use crate::sketch::split::Cut;
use crate::sketch::unit::UnitHash;

mod letters;
mod marks;
mod rows;
mod units;

/// What `Processor` says of the same names.
impl Wide {
    /// The first part of `Processor::edges`: whether a unit ends with the piece, whether any
    /// begins with `_`, how many edges there are.
    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn edges(
        self,
        piece: &[u8],
        text: &mut [u8],
        marks: &mut [u64],
        edges: &mut [u32],
        rules: Cut,
    ) -> (bool, bool, usize) {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        let (inside, bars) = unsafe { marks::marks(piece, text, marks, rules) };
        // SAFETY: as above.
        let count = unsafe { marks::places(marks, edges) };
        (inside, bars, count)
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn letters(
        self,
        scripts: &Scripts,
        text: &[u8],
        out: &mut [u8],
        limit: usize,
        from: Stretch,
    ) -> Stretch {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { letters::letters(scripts, text, out, limit, from) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn short(
        self,
        text: &[u8],
        units: &[[u32; 2]],
        hash: UnitHash,
        out: &mut [u64],
        long: &mut [u32],
    ) -> usize {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { units::short(text, units, hash, out, long) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn pick(
        self,
        hashes: &[u64],
        constants: (u64, u64),
        slots: &[u64],
        picked: &mut [u64],
    ) -> usize {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { rows::pick(hashes, constants, slots, picked) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn settle(self, slots: &mut [u64; 128]) -> [u64; 2] {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { rows::settle(slots) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn open_rounds(
        self,
        hashes: &[u64],
        eight: &Eight,
        open: [u64; 2],
        hits: &mut [u8; FEW_MAX],
    ) {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { rows::open_rounds(hashes, eight, open, hits) }
    }

    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub(super) fn pick_of_128(
        self,
        hashes: &[[u64; 8]],
        constants: (u64, u64),
        open: [u64; 2],
        picked: &mut [u64],
    ) -> usize {
        // SAFETY: the function needs the features that a `Wide` is made with only.
        unsafe { rows::pick_of_128(hashes, constants, open, picked) }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn constant(number: u64) -> __m512i {
    _mm512_set1_epi64(number.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn all(numbers: &[u64; 8]) -> __m512i {
    // SAFETY: 64 bytes are there to be read; no alignment is asked for.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn halves(bytes: &[u8; 128]) -> [__m512i; 2] {
    let [low, high] = [0, 64].map(|at| bytes.as_ptr().wrapping_add(at).cast());
    // SAFETY: 128 bytes are there to be read, the first half; no alignment is asked for.
    let low = unsafe { _mm512_loadu_si512(low) };
    // SAFETY: and the second.
    let high = unsafe { _mm512_loadu_si512(high) };
    [low, high]
}
