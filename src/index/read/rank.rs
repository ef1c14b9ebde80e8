//! From what a search found to the answer: the filter, the order of the law, the limit.
//!
//! Documents are read in the order in which they were found, which is mostly the order in which
//! they lie, and keys only where they decide: of a crowd of ties, each once.

use super::alike::Alike;
use super::search::Found;
use super::terms::Stop;
use crate::format::bytes::index;
use crate::index::state::{Place, Snapshot};
use crate::params::Containment;
use crate::{Match, Result};
use std::borrow::Cow;
use std::collections::BinaryHeap;

/// Documents read between two looks at whether to stop.
const BLOCK: usize = if cfg!(test) { 4 } else { 256 };
/// How many documents ahead the memory is asked.
const AHEAD: usize = 8;
/// A signature has no more rows.
const ROWS_MAX: usize = 1_024;

impl Snapshot {
    /// Moves those of which one contains enough of the other to the front: how many, and whether it
    /// came to the end before it was to stop. Given are the counts of shingles of what was asked
    /// about, by the numbers of the probes.
    pub(super) fn keep_contained(
        &self,
        found: &mut [Found],
        alike: Alike,
        counts: &[u32],
        stop: &Stop<'_>,
    ) -> Result<(usize, bool)> {
        let mut kept = 0;
        for begin in (0..found.len()).step_by(BLOCK) {
            if stop.is_due() {
                return Ok((kept, false));
            }
            for at in begin..found.len().min(begin + BLOCK) {
                if alike.reached_by(self.containment(found[at], counts)?) {
                    found.swap(kept, at);
                    kept += 1;
                }
            }
        }
        Ok((kept, true))
    }

    /// The same where nothing stops it: how many.
    pub(crate) fn keep_all_contained(
        &self,
        found: &mut [Found],
        alike: Alike,
        counts: &[u32],
    ) -> Result<usize> {
        Ok(self.keep_contained(found, alike, counts, &Stop::default())?.0)
    }

    fn containment(&self, found: Found, counts: &[u32]) -> Result<Option<Containment>> {
        let own = counts.get(index(found.probe)).copied().unwrap_or(0);
        let other = self.shingle_count(found.place)?;
        Ok(self.params().containment(found.equal_rows, own, other))
    }

    /// Moves what the caller's filter lets pass to the front: how many, and whether it came to the
    /// end before it was to stop.
    pub(super) fn keep_passing(
        &self,
        found: &mut [Found],
        filter: &dyn Fn(&[u8], &[u8]) -> bool,
        stop: &Stop<'_>,
    ) -> Result<(usize, bool)> {
        let mut kept = 0;
        let mut copied = Vec::new();
        for begin in (0..found.len()).step_by(BLOCK) {
            if stop.is_due() {
                return Ok((kept, false));
            }
            for at in begin..found.len().min(begin + BLOCK) {
                self.ask_ahead(found, at);
                if self.passes(found[at].place, filter, &mut copied)? {
                    found.swap(kept, at);
                    kept += 1;
                }
            }
        }
        Ok((kept, true))
    }

    /// The filter is the caller's code, which may ask the index or write to it: it is called under
    /// no lock, with a copy of what is in memory.
    fn passes(
        &self,
        Place { source, ordinal }: Place,
        filter: &dyn Fn(&[u8], &[u8]) -> bool,
        copied: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Some(live) = self.state.segments.get(source) {
            let stored = live.segment.document(ordinal)?;
            return Ok(filter(&stored.key, &stored.payload));
        }
        copied.clear();
        let content = self.state.memtable.read();
        copied.extend_from_slice(content.key(ordinal));
        let key_end = copied.len();
        copied.extend_from_slice(content.payload(ordinal));
        drop(content);
        let (key, payload) = copied.split_at(key_end);
        Ok(filter(key, payload))
    }

    /// The first `limit` in the order of the law. Only documents that may be among them have
    /// their keys read. With counts of shingles, as above, matches say what is contained.
    pub(crate) fn rank(
        &self,
        found: &mut [Found],
        limit: usize,
        counts: Option<&[u32]>,
    ) -> Result<Vec<Match>> {
        Ok(self.rank_until(found, limit, counts, &Stop::default())?.0)
    }

    /// The same, and whether it came to its end before it was to stop.
    pub(super) fn rank_until(
        &self,
        found: &mut [Found],
        limit: usize,
        counts: Option<&[u32]>,
        stop: &Stop<'_>,
    ) -> Result<(Vec<Match>, bool)> {
        let (best, mut is_whole) = self.best(found, limit, stop)?;
        // One alone, too: the disk then gets to know all that reading it takes at once.
        for candidate in best.iter().take(AHEAD) {
            self.prefetch_key(candidate.place)?;
        }
        let mut matches = Vec::with_capacity(best.len());
        for block in best.chunks(BLOCK) {
            // A few are read whatever the clock says: the time went into finding them.
            if !matches.is_empty() && stop.is_due() {
                is_whole = false;
                break;
            }
            for candidate in block {
                let mut told = self.complete(*candidate)?;
                if let Some(counts) = counts {
                    told.containment = self.containment(*candidate, counts)?;
                }
                matches.push(told);
            }
        }
        matches.sort_unstable_by(|a, b| {
            b.equal_rows.cmp(&a.equal_rows).then_with(|| a.key.cmp(&b.key))
        });
        Ok((matches, is_whole))
    }

    /// Moves the `limit` first in the order of the law to the front, in no order, and returns
    /// them; and whether all that tie for the last places were looked at.
    fn best<'f>(
        &self,
        found: &'f mut [Found],
        limit: usize,
        stop: &Stop<'_>,
    ) -> Result<(&'f [Found], bool)> {
        if limit == 0 || found.len() <= limit {
            return Ok((&found[..limit.min(found.len())], true));
        }
        let (least, ties) = last_rows(found, limit);
        let above = bring_to_front(found, 0, |found| found.equal_rows > least);
        let places = limit - above;
        if ties == places {
            bring_to_front(found, above, |found| found.equal_rows == least);
            return Ok((&found[..limit], true));
        }
        let (mut chosen, is_whole) = self.least_keys(found, (above, least), places, stop)?;
        let end = above + chosen.len();
        chosen.sort_unstable();
        for (to, from) in (above..).zip(chosen) {
            // Ascending, and none before its place: what is swapped away comes no more.
            found.swap(to, from);
        }
        Ok((&found[..end], is_whole))
    }

    /// Which of those found, from `begin` on, that have this many equal rows have the least keys:
    /// as many as there are places.
    fn least_keys(
        &self,
        found: &[Found],
        (begin, equal_rows): (usize, u32),
        places: usize,
        stop: &Stop<'_>,
    ) -> Result<(Vec<usize>, bool)> {
        let memtable = self.state.segments.len();
        // The greatest of the least keys is on top.
        let mut least: BinaryHeap<(Vec<u8>, usize)> = BinaryHeap::new();
        let mut is_whole = true;
        for first in (begin..found.len()).step_by(BLOCK) {
            if first > begin && stop.is_due() {
                is_whole = false;
                break;
            }
            let block = first..found.len().min(first + BLOCK);
            let is_recent = |found: &Found| found.place.source == memtable;
            let content = found[block.clone()].iter().any(is_recent);
            let content = content.then(|| self.state.memtable.read());
            for at in block {
                let Found { place: Place { source, ordinal }, equal_rows: rows, .. } = found[at];
                self.ask_ahead(found, at);
                if rows != equal_rows {
                    continue;
                }
                let key = match (self.state.segments.get(source), &content) {
                    (Some(live), _) => live.segment.key(ordinal)?,
                    (None, Some(content)) => Cow::Borrowed(content.key(ordinal)),
                    (None, None) => continue,
                };
                if least.len() < places {
                    least.push((key.into_owned(), at));
                } else if let Some(mut greatest) = least.peek_mut()
                    && *key < *greatest.0
                {
                    *greatest = (key.into_owned(), at);
                }
            }
        }
        Ok((least.into_iter().map(|(_, at)| at).collect(), is_whole))
    }

    /// Asks the memory for what is read of a document some places ahead.
    fn ask_ahead(&self, found: &[Found], at: usize) {
        let of = |at: usize| {
            let place = found.get(at)?.place;
            Some((&self.state.segments.get(place.source)?.segment, place.ordinal))
        };
        if let Some((segment, ordinal)) = of(at + 2 * AHEAD) {
            segment.prefetch_document(ordinal);
        }
        if let Some((segment, ordinal)) = of(at + AHEAD) {
            segment.prefetch_key_if_verified(ordinal);
        }
    }

    fn prefetch_key(&self, place: Place) -> Result<()> {
        match self.state.segments.get(place.source) {
            Some(live) => live.segment.prefetch_key(place.ordinal),
            None => Ok(()),
        }
    }

    fn complete(&self, found: Found) -> Result<Match> {
        let Place { source, ordinal } = found.place;
        let (key, payload, time) = match self.state.segments.get(source) {
            Some(live) => {
                let stored = live.segment.document(ordinal)?;
                let time = live.segment.time(ordinal)?;
                (stored.key.into_owned(), stored.payload.into_owned(), time)
            }
            None => {
                let content = self.state.memtable.read();
                let (key, payload) = (content.key(ordinal), content.payload(ordinal));
                (key.to_vec(), payload.to_vec(), content.time(ordinal))
            }
        };
        Ok(Match {
            key,
            payload,
            time,
            equal_rows: found.equal_rows,
            similarity: self.params().similarity(found.equal_rows),
            standard_error: self.params().standard_error(found.equal_rows),
            containment: None,
        })
    }
}

/// How many equal rows the last of the first `limit` has, and how many have as many.
fn last_rows(found: &[Found], limit: usize) -> (u32, usize) {
    let mut counts = [0_usize; ROWS_MAX + 1];
    for found in found {
        counts[index(found.equal_rows).min(ROWS_MAX)] += 1;
    }
    let mut above = 0;
    for (rows, count) in counts.into_iter().enumerate().rev() {
        above += count;
        if above >= limit {
            return (u32::try_from(rows).unwrap_or(u32::MAX), count);
        }
    }
    (0, counts[0])
}

/// Moves those of which something is true to the front, from `begin` on, in their order; returns
/// where they end.
fn bring_to_front(found: &mut [Found], begin: usize, is: impl Fn(&Found) -> bool) -> usize {
    let mut end = begin;
    for at in begin..found.len() {
        if is(&found[at]) {
            found.swap(end, at);
            end += 1;
        }
    }
    end
}
