//! Replaces `simd` on other processor architectures: always the portable code.
//! The proof type has no value here, so functions that take it are never called.

use super::few::{Eight, FEW_MAX};
use super::fold::scripts::{Scripts, Stretch};
pub(crate) use super::item::plain_eights as eights;
use super::large::Large;
use super::scratch::Scratch;
use super::split::Cut;
pub(crate) use super::split::{plain_blanks as blanks, plain_masks as masks};
use super::unit::UnitHash;
use super::{Inner, Signature};
use crate::Result;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Processor {}

impl Processor {
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    #[cfg(test)]
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        std::iter::empty()
    }

    pub(crate) fn text(self, _: &Inner, _: &str, _: &mut Scratch) -> Result<Signature> {
        match self {}
    }

    pub(crate) fn large_text(
        self,
        _: &Inner,
        _: &str,
        _: Large,
        _: &mut Scratch,
    ) -> Result<Signature> {
        match self {}
    }

    pub(crate) fn edges(
        self,
        _: &[u8],
        _: &mut [u8],
        _: &mut [u64],
        _: &mut [u32],
        _: Cut,
    ) -> (usize, bool) {
        match self {}
    }

    pub(crate) fn letters(
        self,
        _: &Scripts,
        _: &[u8],
        _: &mut [u8],
        _: usize,
        _: Stretch,
    ) -> Stretch {
        match self {}
    }

    pub(crate) fn short(
        self,
        _: &[u8],
        _: &[[u32; 2]],
        _: UnitHash,
        _: &mut [u64],
        _: &mut [u64],
        _: &mut [u32],
    ) -> usize {
        match self {}
    }

    pub(crate) fn pick(self, _: &[u64], _: (u64, u64), _: &[u64], _: &mut [u64]) -> Option<usize> {
        match self {}
    }

    pub(crate) fn windows_of_3(self, _: &mut Vec<u64>) {
        match self {}
    }

    pub(crate) fn finalise(self, _: &mut [u64]) {
        match self {}
    }

    pub(crate) fn settle(self, _: &mut [u64; 128]) -> [u64; 2] {
        match self {}
    }

    pub(crate) fn many(self) -> usize {
        match self {}
    }

    pub(crate) fn open_rounds(
        self,
        _: &[u64],
        _: &Eight,
        _: [u64; 2],
        _: &mut [u8; FEW_MAX],
    ) -> bool {
        match self {}
    }

    pub(crate) fn pick_of_128(
        self,
        _: &[[u64; 8]],
        _: (u64, u64),
        _: [u64; 2],
        _: &mut [u64],
    ) -> usize {
        match self {}
    }
}
