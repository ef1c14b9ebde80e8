//! The search of the memtable for documents similar to one signature.
//!
//! Short chains are compared while they are walked. If chains are long, as in a crowd, documents
//! are marked first and then compared once each, in storage order.

use super::candidate::{Found, SearchTerms};
use super::crowd::{CROWD_MIN, Crowd};
use super::narrow::Part;
use super::scratch::SearchScratch;
use super::search::{Search, small};
use super::stop::Stop;
use crate::format::bytes::index;
use crate::index::state::versions::{Place, Snapshot};
use crate::memtable::Content;

impl Search<'_> {
    /// Drops findings in segments whose documents have died since the floor, and adds the findings
    /// in the memtable.
    pub(super) fn search_memtable(&mut self, terms: SearchTerms<'_>) {
        let Snapshot { state, visible, .. } = self.snapshot;
        if state.memtable.is_untouched() {
            return;
        }
        if !self.scratch.found.is_empty() {
            let content = state.memtable.read();
            self.scratch.found.retain(|Found { place, .. }| {
                let number = state.segments[place.source].number();
                !content.segment_death(number, place.ordinal, *visible)
            });
        }
        for probe in 0..terms.signatures.len() {
            let keys = probe * self.bands..(probe + 1) * self.bands;
            match self.scratch.narrowed.part(keys, state.segments.len()) {
                Part::Nothing => {}
                Part::Whole => self.search_memtable_for(terms, probe, true),
                Part::Of(..) => self.search_memtable_for(terms, probe, false),
            }
        }
    }

    /// Adds the memtable's findings for one of the signatures: in all bands, or only in those that
    /// the filter does not exclude.
    fn search_memtable_for(&mut self, terms: SearchTerms<'_>, probe: usize, is_whole: bool) {
        let Snapshot { state, visible, .. } = self.snapshot;
        let (source, first_found) = (state.segments.len(), self.scratch.found.len());
        let keys = probe * self.bands..(probe + 1) * self.bands;
        let probe = small(probe);
        // Walks all bands at once, except if the filter excludes most of them, and in two cases. If
        // candidates are limited, a document met in a later band before its first shared band would
        // count against the limit without being scored. If the query may stop, that is checked
        // between bands, without holding the lock.
        let is_unbounded = self.bounds.are_none();
        let is_free = is_unbounded && self.stop.is_none();
        let together = if is_free && is_whole { self.bands } else { 1 };
        // The document found last is often met again in the next bands: it is not compared again.
        let mut last_found = u32::MAX;
        let (mut met, mut marks, mut mark_all) = (0, Vec::new(), false);
        for begin in (0..self.bands).step_by(together) {
            if !is_whole && !self.scratch.narrowed.may_be_in(keys.start + begin, source) {
                continue;
            }
            if !self.goes_on() {
                return;
            }
            let content = state.memtable.read();
            let SearchScratch { band_keys, found, walk, .. } = &mut *self.scratch;
            let bands = begin..self.bands.min(begin + together);
            let keys = &band_keys[keys.start + bands.start..keys.start + bands.end];
            let keys = keys.iter().zip(begin..).map(|(key, band)| (band, *key));
            content.buckets(keys, 0..u32::MAX, walk, |nth, ordinal| {
                if !content.is_live(ordinal, *visible) {
                    return true;
                }
                if self.bounds.take(probe, 1) == 0 {
                    return false;
                }
                if met >= CROWD_MIN {
                    mark(&mut marks, ordinal);
                    met += 1;
                    // With more candidates than documents, reading all documents costs less.
                    let is_most = met > content.document_count().max(CROWD_MIN);
                    mark_all |= is_most && is_unbounded;
                    return !mark_all;
                }
                met += 1;
                if met == CROWD_MIN {
                    // From here on documents are marked, and compared once.
                    marks.resize(index(content.document_count()).div_ceil(64), 0);
                    mark(&mut marks, ordinal);
                    return true;
                }
                if last_found == ordinal {
                    return true;
                }
                let band = small(begin + nth);
                let signature = content.signature(ordinal);
                if let Some(equal_rows) = terms.score(probe, (band, band), signature) {
                    last_found = ordinal;
                    found.push(Found { probe, place: Place { source, ordinal }, equal_rows });
                }
                true
            });
            if mark_all {
                mark_live(&content, *visible, &mut marks);
                break;
            }
        }
        if !marks.is_empty() {
            self.compare_marked(terms, probe, first_found, marks);
        }
    }

    /// Compares the marked documents of the memtable, each once. Those that were found before
    /// marking began, from index `first_found` on, must not be found again.
    fn compare_marked(
        &mut self,
        terms: SearchTerms<'_>,
        probe: u32,
        first_found: usize,
        mut marks: Vec<u64>,
    ) {
        let earlier = self.scratch.found[first_found..].iter();
        earlier.for_each(|found| unmark(&mut marks, found.place.ordinal));
        let Snapshot { state, .. } = self.snapshot;
        let never = Stop::default();
        let (found, stop) = (&mut self.scratch.found, self.stop.unwrap_or(&never));
        let (source, bands) = (state.segments.len(), self.bands);
        let mut crowd = Crowd { terms, probe, bands, source, stop, found };
        self.is_stopped |= !crowd.compare_recent(&state.memtable, &marks);
    }
}

/// Sets the bits of all live documents.
fn mark_live(content: &Content, visible: u64, marks: &mut [u64]) {
    for (word, begin) in marks.iter_mut().zip((0..).step_by(64)) {
        let end = content.document_count().min(begin + 64);
        for ordinal in begin..end {
            *word |= u64::from(content.is_live(ordinal, visible)) << (ordinal - begin);
        }
    }
}

/// Clears the bit of a document.
fn unmark(marks: &mut [u64], ordinal: u32) {
    if let Some(word) = marks.get_mut(index(ordinal / 64)) {
        *word &= !(1 << (ordinal % 64));
    }
}

/// Sets the bit of a document.
#[inline]
fn mark(marks: &mut [u64], ordinal: u32) {
    if let Some(word) = marks.get_mut(index(ordinal / 64)) {
        *word |= 1 << (ordinal % 64);
    }
}
