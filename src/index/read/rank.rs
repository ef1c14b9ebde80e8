//! Turns the findings of a search into an answer: filter, order, limit.
//!
//! Documents are read in the order in which they were found, which is mostly their storage order.
//! Keys are read only if they decide about the order or the limit. Within a group of ties, each key
//! is read once.

use super::alike::Alike;
use super::candidate::Found;
use super::selection::Selection;
use super::stop::Stop;
use crate::format::bytes::index;
use crate::index::state::versions::{Place, Snapshot};
use crate::{Containment, Match, Result};
use std::borrow::Cow;
use std::collections::BinaryHeap;

/// Number of documents that are read between two checks of the stop condition.
const BLOCK: usize = small!(rank::BLOCK, 256);
/// Prefetch distance, in documents.
const AHEAD: usize = 8;
/// Maximum number of rows of a signature.
const ROWS_MAX: usize = 1_024;

impl Snapshot {
    /// Moves the findings with sufficient containment to the front. Returns their number, and
    /// whether all findings were checked before the query had to stop. `counts[probe]` is the
    /// number of shingles of the query document with the index `probe`: see [`Found::probe`].
    pub(crate) fn keep_contained(
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

    fn containment(&self, found: Found, counts: &[u32]) -> Result<Option<Containment>> {
        let own = counts.get(index(found.probe)).copied().unwrap_or(0);
        let other = self.shingle_count(found.place)?;
        Ok(self.params().containment(found.equal_rows, own, other))
    }

    /// Moves the findings whose documents pass to the front. Returns their number, and
    /// whether all findings were checked before the query had to stop.
    pub(super) fn keep_passing(
        &self,
        found: &mut [Found],
        selection: &Selection<'_>,
        stop: &Stop<'_>,
    ) -> Result<(usize, bool)> {
        let (mut kept, has_times) = (0, selection.has_times());
        let mut copied = Vec::new();
        for begin in (0..found.len()).step_by(BLOCK) {
            if stop.is_due() {
                return Ok((kept, false));
            }
            for at in begin..found.len().min(begin + BLOCK) {
                self.ask_ahead(found, at, has_times);
                if self.passes(found[at].place, selection, &mut copied)? {
                    found.swap(kept, at);
                    kept += 1;
                }
            }
        }
        Ok((kept, true))
    }

    /// The first `limit` matches by equal rows, then by key. Keys are read only for documents that
    /// may be among them. If counts of shingles are given, matches include the containment.
    pub(crate) fn rank(
        &self,
        found: &mut [Found],
        limit: usize,
        counts: Option<&[u32]>,
    ) -> Result<Vec<Match>> {
        Ok(self.rank_until(found, limit, counts, &Stop::default())?.0)
    }

    /// Like [`Snapshot::rank`], with a stop condition. Also returns whether it finished before the
    /// query had to stop.
    pub(super) fn rank_until(
        &self,
        found: &mut [Found],
        limit: usize,
        counts: Option<&[u32]>,
        stop: &Stop<'_>,
    ) -> Result<(Vec<Match>, bool)> {
        let (best, mut is_whole) = self.best(found, limit, stop)?;
        // Starts the disk reads of the first keys before any of these keys is read, so that the
        // disk gets all of the reads at once. This helps however few candidates there are.
        for candidate in best.iter().take(AHEAD) {
            self.prefetch_key(candidate.place)?;
        }
        let mut matches = Vec::with_capacity(best.len());
        for block in best.chunks(BLOCK) {
            // At least one block of matches is always read, since the work of finding them is done.
            if !matches.is_empty() && stop.is_due() {
                is_whole = false;
                break;
            }
            for candidate in block {
                matches.push(self.matched(*candidate, counts)?);
            }
        }
        matches.sort_unstable_by(|a, b| {
            b.equal_rows.cmp(&a.equal_rows).then_with(|| a.key.cmp(&b.key))
        });
        Ok((matches, is_whole))
    }

    /// Moves the first `limit` findings by equal rows to the front, unordered, and returns them.
    /// Also returns whether all ties for the last places were examined.
    pub(crate) fn best<'f>(
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
            // Both indices ascend and `to` never exceeds `from`, so no swap moves away a chosen
            // finding.
            found.swap(to, from);
        }
        Ok((&found[..end], is_whole))
    }

    /// The indices of the findings with the smallest keys, at most `places` of them; considers the
    /// findings from `begin` on that have this many equal rows. Also returns whether all of them
    /// were examined before the query had to stop.
    fn least_keys(
        &self,
        found: &[Found],
        (begin, equal_rows): (usize, u32),
        places: usize,
        stop: &Stop<'_>,
    ) -> Result<(Vec<usize>, bool)> {
        let memtable = self.state.segments.len();
        // A max-heap: the greatest of the smallest keys is on top.
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
                self.ask_ahead(found, at, false);
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

    /// Prefetches the keys of the documents of findings that will be read soon, and their times if
    /// these are read.
    fn ask_ahead(&self, found: &[Found], at: usize, has_times: bool) {
        let of = |at: usize| {
            let place = found.get(at)?.place;
            Some((&self.state.segments.get(place.source)?.segment, place.ordinal))
        };
        if let Some((segment, ordinal)) = of(at + 2 * AHEAD) {
            if has_times {
                segment.prefetch_document(ordinal);
            } else {
                segment.prefetch_start(ordinal);
            }
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

    /// Reads the document of a finding. With counts of shingles, the match includes the
    /// containment.
    pub(crate) fn matched(&self, found: Found, counts: Option<&[u32]>) -> Result<Match> {
        let containment = match counts {
            Some(counts) => self.containment(found, counts)?,
            None => None,
        };
        Ok(Match { containment, ..self.complete(found)? })
    }

    fn complete(&self, found: Found) -> Result<Match> {
        let (key, payload, time) = self.text(found.place)?;
        Ok(Match {
            key: key.into_owned(),
            payload: payload.into_owned(),
            time,
            equal_rows: found.equal_rows,
            similarity: self.params().similarity(found.equal_rows),
            standard_error: self.params().standard_error(found.equal_rows),
            containment: None,
            overlap: None,
        })
    }
}

/// Returns the number of equal rows that the finding in place `limit` (counted from 1) would have
/// after sorting by equal rows, and how many findings have that number.
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

/// Moves the findings from `begin` on that satisfy a condition before those that do not, in their
/// order. Returns the end of those that satisfy the condition.
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
