//! Narrows a search: which bands of which sources have to be looked up, according to the filter
//! over the memtable and small segments.

use crate::Result;
use crate::filter::{BandFilter, ColumnBits};
use crate::index::state::versions::{LiveSegment, State};
use crate::segment::{Entries, LookUp, Tables};
use crate::sync::Arc;
use std::ops::Range;

/// A segment is looked up in all bands if at least one in this many of them may be there: a look-up
/// of all bands costs less for each.
const WHOLE_INVERSE: usize = 4;

/// What the filter says about the BandKeys of a search.
#[derive(Debug, Default)]
pub(super) struct Narrowed {
    /// The columns of each segment, then of the memtable; 0 for one that is not covered. Empty if
    /// none is.
    owned: Vec<ColumnBits>,
    /// The columns that may contain each BandKey.
    may_contain: Vec<ColumnBits>,
}

/// The bands of one signature to look up in one source.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'n> {
    Whole,
    /// The bands whose key may be in one of these columns.
    Of(&'n [ColumnBits], ColumnBits),
    Nothing,
}

impl Narrowed {
    /// Notes which sources are covered, and by which filter; `None` if none is. A segment that
    /// becomes covered later is searched in full: the filter may be read before it has the
    /// segment's keys.
    #[inline]
    pub(super) fn begin<'s>(&mut self, state: &'s State) -> Option<&'s BandFilter> {
        self.owned.clear();
        let memtable = state.memtable.covered().filter(|_| !state.memtable.is_untouched());
        let segments = state.segments.iter().map(|live| live.segment.covered());
        let all = segments.chain([memtable]);
        let (filter, _) = all.clone().flatten().next()?;
        self.owned.extend(all.map(|covered| match covered {
            Some((of, columns)) if std::ptr::eq(of, filter) => columns,
            _ => 0,
        }));
        Some(filter)
    }

    /// Asks the filter for all BandKeys. Their lines were prefetched.
    pub(super) fn ask(&mut self, filter: &BandFilter, band_keys: &[u64]) {
        self.may_contain.clear();
        self.may_contain.extend(band_keys.iter().map(|key| filter.columns_of(*key)));
    }

    /// Whether any source is covered.
    #[inline]
    pub(super) fn is_anything_covered(&self) -> bool {
        !self.owned.is_empty()
    }

    /// Completes the look-ups of some signatures in some segments, as `Search::advance` does, but
    /// only those that the filter does not exclude. `first` is the index of the first signature,
    /// and that of the first segment. `matching` is empty.
    #[inline(never)]
    pub(super) fn look_up(
        &self,
        segments: &[Arc<LiveSegment>],
        keys: &[u64],
        bands: usize,
        first: (usize, usize),
        look_ups: &mut [LookUp],
        matching: &mut Vec<Entries>,
    ) -> Result<()> {
        let part = |nth: usize, source: usize| {
            let key = (first.0 + nth) * bands;
            self.part(key..key + bands, first.1 + source)
        };
        let mut rest = &mut *look_ups;
        for (nth, keys) in keys.chunks_exact(bands).enumerate() {
            for (source, live) in segments.iter().enumerate() {
                let these = rest.split_off_mut(..bands).unwrap_or_default();
                part(nth, source).each(bands, |tables, some| {
                    live.segment.look_up(tables, &keys[some.clone()], &mut these[some]);
                    Ok(())
                })?;
            }
        }
        let mut rest = &mut *look_ups;
        for nth in 0..keys.len() / bands {
            for (source, live) in segments.iter().enumerate() {
                let these = rest.split_off_mut(..bands).unwrap_or_default();
                part(nth, source).each(bands, |tables, some| {
                    live.segment.find_groups(tables, &mut these[some])
                })?;
            }
        }
        let (count, mut rest) = (look_ups.len(), &*look_ups);
        for nth in 0..keys.len() / bands {
            for (source, live) in segments.iter().enumerate() {
                let first = count - rest.len();
                let these = rest.split_off(..bands).unwrap_or_default();
                part(nth, source).each(bands, |_, some| {
                    let number = u32::try_from(first + some.start).unwrap_or(u32::MAX);
                    live.segment.match_fingerprints(number, &these[some], matching)
                })?;
            }
        }
        Ok(())
    }

    /// Whether a source has to be looked up for this BandKey.
    #[inline]
    pub(super) fn may_be_in(&self, key: usize, source: usize) -> bool {
        self.owned.get(source).is_none_or(|own| *own == 0 || self.may_contain[key] & own != 0)
    }

    /// The bands with these BandKeys, those of one signature, to look up in a source.
    #[inline]
    pub(super) fn part(&self, keys: Range<usize>, source: usize) -> Part<'_> {
        match self.owned.get(source) {
            None | Some(0) => Part::Whole,
            Some(own) => Part::narrow(&self.may_contain[keys], *own),
        }
    }
}

impl<'n> Part<'n> {
    fn narrow(may_contain: &'n [ColumnBits], own: ColumnBits) -> Self {
        let count = may_contain.iter().filter(|columns| **columns & own != 0).count();
        match count {
            0 => Self::Nothing,
            _ if count * WHOLE_INVERSE >= may_contain.len() => Self::Whole,
            _ => Self::Of(may_contain, own),
        }
    }

    /// Calls `look_up` for the bands to look up: with all of them, or one by one.
    #[inline]
    pub(super) fn each(
        self,
        bands: usize,
        mut look_up: impl FnMut(Tables, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Whole => look_up(Tables::Bands, 0..bands),
            Self::Nothing => Ok(()),
            Self::Of(may_contain, own) => {
                for (band, table) in (0..bands).zip(0..) {
                    if may_contain[band] & own != 0 {
                        look_up(Tables::One(table), band..band + 1)?;
                    }
                }
                Ok(())
            }
        }
    }
}
