//! Optional instruction sets: detects them, and dispatches to the kernels that use them. On a
//! processor without them, the scalar code runs.
//!
//! The kernels name no module that calls them: what both need stands in leaves (`rounds`, `masks`,
//! `hash`, `unit`, `fold::scripts`).
//!
//! The only unsafe code that makes or compares signatures is here, in the submodules of this
//! module, in `compiled.rs` and in `compare.rs`.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "functions of a processor's features: see the arguments")
)]
#![cfg_attr(
    not(target_arch = "x86_64"),
    expect(
        unused_variables,
        unreachable_code,
        reason = "a `Processor` has no value there, so nothing is called"
    )
)]

use super::fold::scripts::{Scripts, Stretch};
use super::masks::Cut;
use super::rounds::{Eight, FEW_MAX};
use super::unit::UnitHash;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use super::{
    eights::plain_eights as eights, masks::plain_blanks as blanks, masks::plain_masks as masks,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use sse2::{blanks, eights, masks};

/// The optional instruction sets of this processor. Only `detect` makes this type.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    /// AVX2 and the other features of x86-64-v3.
    #[cfg(target_arch = "x86_64")]
    Avx2(Proof),
    /// AVX-512 as in x86-64-v4, plus VBMI and VBMI2. Processors that have x86-64-v4 only (before
    /// Ice Lake) use AVX2, which saves a third variant.
    #[cfg(target_arch = "x86_64")]
    Avx512(Proof),
}

/// Proof that the instruction set was detected.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proof(());

/// Integers, and arrays of them: types without padding that may hold any bytes.
#[cfg(target_arch = "x86_64")]
trait Integers {}
#[cfg(target_arch = "x86_64")]
impl Integers for u8 {}
#[cfg(target_arch = "x86_64")]
impl Integers for u32 {}
#[cfg(target_arch = "x86_64")]
impl Integers for u64 {}
#[cfg(target_arch = "x86_64")]
impl<T: Integers, const N: usize> Integers for [T; N] {}

/// Calls the kernel of this processor, a value of the type `Processor`.
macro_rules! kernel {
    ($processor:expr, $avx2:expr, $avx512:expr) => {
        match $processor {
            // SAFETY: an `Avx2` is only made where the processor has the features that the function
            // requires.
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Processor::Avx2(_) => unsafe { $avx2 },
            // SAFETY: an `Avx512` is only made where the processor has the features that the
            // function requires.
            #[cfg(target_arch = "x86_64")]
            $crate::simd::Processor::Avx512(_) => unsafe { $avx512 },
        }
    };
}

pub(crate) use kernel;

impl Processor {
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn detect() -> Option<Self> {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let v4 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        v3.then_some(if v4 { Self::Avx512(Proof(())) } else { Self::Avx2(Proof(())) })
    }

    /// All variants that this processor supports.
    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let best = Self::detect();
        #[cfg(target_arch = "x86_64")]
        let avx2 = best.map(|_| Self::Avx2(Proof(())));
        #[cfg(not(target_arch = "x86_64"))]
        let avx2 = best;
        #[cfg(target_arch = "x86_64")]
        let best = best.filter(|best| matches!(best, Self::Avx512(_)));
        avx2.into_iter().chain(best)
    }

    /// Does what `split::edges` does. `edges` must be longer than `piece` by 64; the length of
    /// `text` must be a multiple of 64 and at least that of `piece`; `marks` has one number per 64
    /// bytes.
    #[inline(always)]
    pub(crate) fn edges(
        self,
        piece: &[u8],
        text: &mut [u8],
        marks: &mut [u64],
        edges: &mut [u32],
        rules: Cut,
    ) -> (usize, bool) {
        let marks = &mut marks[..piece.len().div_ceil(64)];
        // Finding the marks by AVX-512 was no faster.
        let (inside, bars) = kernel!(
            self,
            avx2::marks(piece, text, marks, rules),
            avx2::marks(piece, text, marks, rules)
        );
        let mut count = kernel!(self, avx2::places(marks, edges), avx512::places(marks, edges));
        if inside && let Some(place) = edges.get_mut(count) {
            #[expect(clippy::cast_possible_truncation, reason = "a piece is shorter than 2^31")]
            let end = (64 * marks.len()) as u32;
            *place = end;
            count += 1;
        }
        (count, bars)
    }

    /// Folds ASCII, plain letters and their marks from `from` on, as `fold::Pass` does. With
    /// `WORDS`, as in `Pass`, it folds punctuation, too. It stops before any other character, after
    /// about `limit` bytes, or near the end of the text.
    #[inline(always)]
    pub(crate) fn letters<const WORDS: bool>(
        self,
        scripts: &Scripts,
        text: &[u8],
        out: &mut [u8],
        limit: usize,
        from: Stretch,
    ) -> Stretch {
        kernel!(
            self,
            avx2::letters::<WORDS>(scripts, text, out, limit, from),
            avx512::letters::<WORDS>(scripts, text, out, limit, from)
        )
    }

    /// Writes the hashes of all units to `out`, computed as if all units were short. Writes the
    /// positions of long units, in any order, to `long`, and returns their number. `out` must be as
    /// long as `units`, and `long` longer by eight; `lens` is a buffer as long as `units`. The
    /// length of `text` must be at least 128 bytes more than some power of two, and all units must
    /// start below this power.
    #[inline(always)]
    pub(crate) fn short(
        self,
        text: &[u8],
        units: &[[u32; 2]],
        hash: UnitHash,
        out: &mut [u64],
        lens: &mut [u64],
        long: &mut [u32],
    ) -> usize {
        kernel!(
            self,
            avx2::short(text, units, hash, out, lens, long),
            avx512::short(text, units, hash, out, long)
        )
    }

    /// `windows::windows` for windows of three units.
    #[inline(always)]
    pub(crate) fn windows_of_3(self, units: &mut Vec<u64>) {
        match self {
            // SAFETY: see `kernel`.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => unsafe { avx2::windows_of_3(units) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => super::hash::direct::<3>(units),
        }
    }

    /// The minimum number of hashes for which running one round after the other over all hashes is
    /// faster than `few::values`.
    #[inline(always)]
    pub(crate) fn many(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 24,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 48,
        }
    }

    /// Finds the hashes that eight rounds put into one of the `open` rows of 128: byte i of `hits`
    /// is for hash i, and has one bit per round. May set other bits, too.
    #[inline(always)]
    pub(crate) fn open_rounds(
        self,
        hashes: &[u64],
        eight: &Eight,
        open: [u64; 2],
        hits: &mut [u8; FEW_MAX],
    ) {
        kernel!(
            self,
            avx2::open_rounds(hashes, eight, open, hits),
            avx512::open_rounds(hashes, eight, open, hits)
        );
    }

    /// Finds the hashes that this round puts into one of the `open` rows of 128, and perhaps
    /// others. Writes them to `picked` as they were given, not as `rounds::rehash` changes them.
    /// Returns their number. `picked` must have room for all hashes and eight more.
    #[inline(always)]
    pub(crate) fn pick_of_128(
        self,
        hashes: &[[u64; 8]],
        constants: (u64, u64),
        open: [u64; 2],
        picked: &mut [u64],
    ) -> usize {
        kernel!(
            self,
            avx2::pick_of_128(hashes, constants, open, picked),
            avx512::pick_of_128(hashes, constants, open, picked)
        )
    }
}
