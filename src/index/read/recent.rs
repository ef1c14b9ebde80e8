//! The search of the memtable for several signatures together, whatever change anybody sees.

use std::ops::Range;

use super::search::{Asked, Found};
use super::state::Place;
use crate::Params;
use crate::format::bytes::{index, wide};
use crate::memtable::{Content, Walk};

/// The change of a reader who sees everything: what has not died yet is live for it.
const LAST: u64 = u64::MAX - 1;

/// Signatures to look for in the memtable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recent<'a> {
    asked: Asked<'a>,
    /// The BandKeys of the first signature, then those of the second, and so on.
    band_keys: &'a [u64],
    bands: usize,
    /// The number of the memtable among the sources.
    source: usize,
}

impl<'a> Recent<'a> {
    /// `source` is the number of the memtable among the sources of the state.
    pub(crate) fn new(
        params: &Params,
        source: usize,
        (signatures, band_keys): (&'a [&'a [u8]], &'a [u64]),
        equal_rows_min: u32,
    ) -> Self {
        let asked = Asked::new(params, signatures, equal_rows_min);
        Self { asked, band_keys, bands: params.bands(), source }
    }

    /// Adds what satisfies the law for some of the signatures, among the documents of a range of
    /// ordinals, born at whatever change, that have not died.
    pub(crate) fn search(
        &self,
        content: &Content,
        probes: Range<usize>,
        ordinals: Range<u32>,
        found: &mut Vec<Found>,
    ) {
        let mut walk = Walk::default();
        let first = probes.start;
        // The last document found for each probe: most documents share more than one band.
        let mut last_found = vec![u32::MAX; probes.len()];
        let keys = &self.band_keys[first * self.bands..probes.end * self.bands];
        for (band, number) in (0..self.bands).zip(0..) {
            let keys = keys.iter().skip(band).step_by(self.bands).map(|key| (band, *key));
            content.buckets(keys, ordinals.clone(), &mut walk, |nth, ordinal| {
                if last_found[nth] == ordinal || !content.is_live(ordinal, LAST) {
                    return true;
                }
                let probe = u32::try_from(first + nth).unwrap_or(u32::MAX);
                let signature = content.signature(ordinal);
                if let Some(equal_rows) = self.asked.score(probe, (number, number), signature) {
                    last_found[nth] = ordinal;
                    let place = Place { source: self.source, ordinal };
                    found.push(Found { probe, place, equal_rows });
                }
                true
            });
        }
    }

    /// For each signature (at most 64), a bit set of the earlier signatures that match it: either,
    /// once stored, is found by a query with the other. Bit 0 is the first signature.
    pub(crate) fn alike(&self) -> Vec<u64> {
        let count = self.asked.signatures.len();
        let mut alike = vec![0; count];
        if count < 2 {
            return alike;
        }
        // Chains of the BandKeys in a few slots: newest first, counted from 1.
        let mut slots = [0_u32; 1 << SLOT_BITS];
        let mut older = Vec::with_capacity(self.band_keys.len());
        let bands = (0..count).flat_map(|probe| (0..self.bands).map(move |band| (probe, band)));
        for ((at, key), (probe, band)) in self.band_keys.iter().enumerate().zip(bands) {
            let spread = (key ^ wide(band)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let slot = usize::try_from(spread >> (64 - SLOT_BITS)).unwrap_or(0);
            let number = u32::try_from(at + 1).unwrap_or(0);
            let mut next = std::mem::replace(&mut slots[slot], number);
            older.push(next);
            while let Some(other) = next.checked_sub(1).map(index) {
                if self.band_keys[other] == *key && other % self.bands == band {
                    let earlier = other / self.bands;
                    let is_news = earlier != probe && alike[probe] >> earlier & 1 == 0;
                    if is_news && self.are_alike(probe, earlier) {
                        alike[probe] |= 1 << earlier;
                    }
                }
                next = older[other];
            }
        }
        alike
    }

    fn are_alike(&self, probe: usize, other: usize) -> bool {
        let last = u32::try_from(self.bands).map_or(u32::MAX, |bands| bands.saturating_sub(1));
        let probe = u32::try_from(probe).unwrap_or(u32::MAX);
        self.asked.score(probe, (0, last), self.asked.signatures[other]).is_some()
    }
}

/// There are 2^12 slots: for most indexes four times as many as BandKeys of 64 signatures.
const SLOT_BITS: u32 = if cfg!(test) { 5 } else { 12 };
