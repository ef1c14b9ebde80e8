//! Long look-ups. A *crowd* is a set of documents that share most of their bands with the query.
//! Each of them is compared once, in storage order.
//!
//! Without this special case, each document would be compared once per shared band. Here a segment
//! is processed in windows of consecutive documents: the ordinals of all bands are marked in a
//! window, and then the marked signatures are read sequentially.

use super::candidate::{Found, SearchTerms};
use super::stop::Stop;
use crate::Result;
use crate::format::bytes::index;
use crate::index::state::versions::Place;
use crate::memtable::Memtable;
use crate::segment::{Entries, Segment};
use std::borrow::Cow;

/// If the look-ups of one signature in one source have more entries than this, they are treated as
/// a crowd.
pub(super) const CROWD_MIN: u32 = small!(crowd::CROWD_MIN, 512);
/// Documents per window: the marks of one window fit into the L1 cache.
const WINDOW: u32 = small!(crowd::WINDOW, 1 << 14);
/// Prefetch distance, in signatures.
const AHEAD: usize = 16;

/// One bit for each document of a window.
type MarkWindow = [u64; (WINDOW / 64) as usize];

/// The signature that a crowd is compared with, and the output.
pub(super) struct Crowd<'a, 's> {
    pub(super) terms: SearchTerms<'s>,
    pub(super) probe: u32,
    pub(super) bands: usize,
    pub(super) source: usize,
    pub(super) stop: &'a Stop<'a>,
    pub(super) found: &'a mut Vec<Found>,
}

impl Crowd<'_, '_> {
    /// Compares the query with every document that these entries list, once per document. Returns
    /// false if it stopped early.
    pub(super) fn compare(&mut self, segment: &Segment, entries: &[Entries]) -> Result<bool> {
        let lists = entries.iter().map(|entries| segment.ordinals(entries));
        let lists = lists.collect::<Result<Vec<Cow<'_, [u8]>>>>()?;
        let mut lists: Vec<&[[u8; 4]]> = lists.iter().map(|list| list.as_chunks().0).collect();
        let mut marked = Vec::new();
        let next = |lists: &[&[[u8; 4]]]| {
            lists.iter().filter_map(|list| list.first().map(|next| u32::from_le_bytes(*next))).min()
        };
        while let Some(first) = next(&lists) {
            if self.stop.is_due() {
                return Ok(false);
            }
            let mut window: MarkWindow = [0; (WINDOW / 64) as usize];
            for list in &mut lists {
                *list = mark(list, first, &mut window);
            }
            marked.clear();
            each_marked(&window, first, |ordinal| marked.push(ordinal));
            if marked.last().is_none_or(|last| *last >= segment.docs()) {
                return Err(segment.no_such_document(&entries[0]));
            }
            for (at, ordinal) in marked.iter().enumerate() {
                if let Some(ahead) = marked.get(at + AHEAD) {
                    segment.prefetch_signature(*ahead);
                }
                self.hold_against(*ordinal, &segment.signature(*ordinal)?);
            }
        }
        Ok(true)
    }

    /// Compares the query with the documents of the memtable whose bits are set in `marks`, which
    /// has one bit per ordinal. Returns false if it stopped early.
    pub(super) fn compare_recent(&mut self, memtable: &Memtable, marks: &[u64]) -> bool {
        let words = index(WINDOW) / 64;
        for (words, begin) in marks.chunks(words).zip((0..).step_by(index(WINDOW))) {
            // The lock is released between two windows: writers wait for it, and `stop` may call
            // the caller's code.
            if self.stop.is_due() {
                return false;
            }
            let content = memtable.read();
            each_marked(words, begin, |ordinal| {
                self.hold_against(ordinal, content.signature(ordinal));
            });
        }
        true
    }

    #[inline]
    fn hold_against(&mut self, ordinal: u32, signature: &[u8]) {
        if let Some(equal_rows) = self.terms.score_in_any_band(self.probe, self.bands, signature) {
            let place = Place { source: self.source, ordinal };
            self.found.push(Found { probe: self.probe, place, equal_rows });
        }
    }
}

/// Marks the ordinals of a list that lie in the window starting at `first`. Returns the rest of the
/// list.
fn mark<'l>(list: &'l [[u8; 4]], first: u32, window: &mut MarkWindow) -> &'l [[u8; 4]] {
    // The ordinals ascend, so each word is written once for all its bits.
    let (mut word, mut bits) = (0, 0);
    for (at, ordinal) in list.iter().enumerate() {
        let within = u32::from_le_bytes(*ordinal).wrapping_sub(first);
        if within >= WINDOW {
            window[word] |= bits;
            return &list[at..];
        }
        if index(within / 64) != word {
            window[word] |= bits;
            (word, bits) = (index(within / 64), 0);
        }
        bits |= 1 << (within % 64);
    }
    window[word] |= bits;
    &[]
}

#[inline]
fn each_marked(words: &[u64], begin: u32, mut take: impl FnMut(u32)) {
    let mut first = begin;
    for word in words {
        let mut rest = *word;
        while rest != 0 {
            take(first.wrapping_add(rest.trailing_zeros()));
            rest &= rest - 1;
        }
        first = first.wrapping_add(64);
    }
}
