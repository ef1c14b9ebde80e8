//! The instructions that this processor has beyond what every one has: which they are, and every
//! kernel that uses them, called from one place. On a processor without, the plain code runs.
//!
//! Knows numbers and bytes. With its modules and `compare.rs`, the only unsafe code that makes
//! signatures.
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

use super::few::{Eight, FEW_MAX};
use super::fold::scripts::{Scripts, Stretch};
use super::large::Large;
use super::scratch::Scratch;
use super::split::Cut;
use super::unit::UnitHash;
use super::{Inner, Signature};
use crate::Result;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use super::{
    item::plain_eights as eights, split::plain_blanks as blanks, split::plain_masks as masks,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use sse2::{blanks, eights, masks};

/// What this processor has beyond what every one has: made by `detect` only.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {
    /// AVX2 and what x86-64-v3 adds with it.
    #[cfg(target_arch = "x86_64")]
    Avx2(Proof),
    /// AVX-512 as x86-64-v4 defines it, and VBMI and VBMI2, besides. A processor that has only the
    /// first (before Ice Lake) takes the way of AVX2, so that there is no third.
    #[cfg(target_arch = "x86_64")]
    Avx512(Proof),
}

/// That it was detected.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Proof(());

/// Calls the kernel of this processor.
macro_rules! kernel {
    ($processor:expr, $avx2:expr, $avx512:expr) => {
        match $processor {
            // SAFETY: the function needs the features that an `Avx2` is made with only.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => unsafe { $avx2 },
            // SAFETY: the function needs the features that an `Avx512` is made with only.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => unsafe { $avx512 },
        }
    };
}

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

    /// All that this processor has, one for each kind.
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

    /// `Inner::text`, compiled for this processor: the same code, fewer instructions.
    pub(crate) fn text(
        self,
        inner: &Inner,
        text: &str,
        scratch: &mut Scratch,
    ) -> Result<Signature> {
        kernel!(
            self,
            text_by_avx2(self, inner, text, scratch),
            text_by_avx512(self, inner, text, scratch)
        )
    }

    /// `Inner::large_text` likewise.
    pub(crate) fn large_text(
        self,
        inner: &Inner,
        text: &str,
        large: Large,
        scratch: &mut Scratch,
    ) -> Result<Signature> {
        kernel!(
            self,
            large_text_by_avx2(self, inner, text, large, scratch),
            large_text_by_avx512(self, inner, text, large, scratch)
        )
    }

    /// `split::edges`. `edges` must be longer by 64 than `piece`, `text` no shorter and a multiple
    /// of 64, and `marks` hold a number for each 64 bytes.
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
        let (inside, bars) = kernel!(
            self,
            avx2::marks(piece, text, marks, rules),
            avx512::marks(piece, text, marks, rules)
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

    /// ASCII and plain letters from `from` on, folded as `fold::Pass` does. It ends before what
    /// needs more, after `limit` bytes or a little more, or where little of the text is left.
    #[inline(always)]
    pub(crate) fn letters(
        self,
        scripts: &Scripts,
        text: &[u8],
        out: &mut [u8],
        limit: usize,
        from: Stretch,
    ) -> Stretch {
        kernel!(
            self,
            avx2::letters(scripts, text, out, limit, from),
            avx512::letters(scripts, text, out, limit, from)
        )
    }

    /// The hashes of all units as if they were short, into `out`, which must be as long; the places
    /// of those that are not into `long`, which must be longer by eight, in any order; returns how
    /// many they are. `lens` is a buffer, as long as the units are many. `text` goes on for 128
    /// bytes behind a power of two, before which all units begin.
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

    /// `hash::windows` of three units.
    #[inline(always)]
    pub(crate) fn windows_of_3(self, units: &mut Vec<u64>) {
        match self {
            // SAFETY: as of `kernel`.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => unsafe { avx2::windows_of_3(units) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => super::hash::direct::<3>(units),
        }
    }

    /// `hash::finalise` of each.
    #[inline(always)]
    pub(crate) fn finalise(self, sums: &mut [u64]) {
        match self {
            // SAFETY: as of `kernel`.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => unsafe { avx2::finalise(sums) },
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => super::hash::finalise_all(sums),
        }
    }

    /// Least hashes to values; which slots no hash fell into, bit by bit.
    #[inline(always)]
    pub(crate) fn settle(self, slots: &mut [u64; 128]) -> [u64; 2] {
        kernel!(self, avx2::settle(slots), avx512::settle(slots))
    }

    /// From how many hashes on rounds one by one, of all hashes, are faster than `few::values`.
    #[inline(always)]
    pub(crate) fn many(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => 24,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => 48,
        }
    }

    /// For each hash, which of eight rounds put it into one of the `open` rows of 128, bit by bit,
    /// and perhaps other rounds. False if this processor has no way of its own.
    #[inline(always)]
    pub(crate) fn open_rounds(
        self,
        hashes: &[u64],
        eight: &Eight,
        open: [u64; 2],
        hits: &mut [u8; FEW_MAX],
    ) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => false,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => {
                // SAFETY: as of `kernel`.
                unsafe { avx512::open_rounds(hashes, eight, open, hits) };
                true
            }
        }
    }

    /// Writes the hashes, as they were given, that this round puts into rows of `open`, of 128,
    /// and perhaps others; returns how many. `picked` must be longer by eight than all of them.
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn text_by_avx2(
    own: Processor,
    inner: &Inner,
    text: &str,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.text(Some(own), text, scratch)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn text_by_avx512(
    own: Processor,
    inner: &Inner,
    text: &str,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.text(Some(own), text, scratch)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn large_text_by_avx2(
    own: Processor,
    inner: &Inner,
    text: &str,
    large: Large,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.large_text(Some(own), text, large, scratch)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2")]
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn large_text_by_avx512(
    own: Processor,
    inner: &Inner,
    text: &str,
    large: Large,
    scratch: &mut Scratch,
) -> Result<Signature> {
    inner.large_text(Some(own), text, large, scratch)
}
