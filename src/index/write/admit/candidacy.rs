//! Deciding on a newcomer with the help of the caller's code: a filter, a deadline, or documents.
//!
//! The caller's code runs without a lock. Candidates are looked at on a snapshot; under the write
//! lock, only those that were written since are looked for. If there are any, the lock is released,
//! and they are looked at, too.

use super::Admission;
use super::conditions::{Admit, AdmitTerms};
use super::judged::Judged;
use crate::index::merge::commit;
use crate::index::read::candidate::Found;
use crate::index::read::stop::Stop;
use crate::index::state::core::{Core, Writer};
use crate::index::state::versions::{Place, Snapshot};
use crate::index::write::operation::Operation;
use crate::keyed::RandomState;
use crate::{Error, ErrorKind, Overlap, Result};
use std::collections::HashMap;

/// Maximum number of attempts to decide on a newcomer. An attempt fails if candidates were written
/// while others were looked at.
const ATTEMPTS: u32 = 16;

/// What a look at a candidate says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict {
    /// The estimate of the search counts.
    Similar,
    Duplicate(Overlap),
    Related(Overlap),
    /// Similar enough for a duplicate, but the guard sets the two apart.
    Apart(Overlap),
    /// Below both thresholds.
    Unlike,
    /// The candidate's document is not available; what it is by the estimate, if that counts.
    Unverified(Estimated),
    /// The filter does not let it pass.
    Hidden,
}

/// What a candidate is by the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Estimated {
    Duplicate,
    Related,
    /// Below both thresholds, or the estimate does not count.
    Neither,
}

/// A look at a document: the version that was seen, and what it said.
struct SeenDocument {
    signature: Vec<u8>,
    shingle_count: u32,
    /// What only the selection looks at; empty and 0 if there is none.
    payload: Vec<u8>,
    time: u64,
    verdict: Verdict,
}

/// The candidates of a newcomer.
struct Candidates {
    /// The possible duplicates, then the possibly related documents.
    found: Vec<Found>,
    duplicates: usize,
    /// Whether all candidates were compared.
    complete: bool,
    /// The place of the document under the newcomer's own key, if there is a filter.
    own: Option<Place>,
}

/// A look at a document that passes the filter. Called without a lock.
type Compare<'c> = dyn FnMut(&Snapshot, Found, &[u8]) -> Result<Verdict> + 'c;

/// A newcomer that is being decided on.
pub(super) struct Candidacy<'a> {
    newcomer: &'a Operation<'a>,
    admit: &'a Admit<'a>,
    terms: AdmitTerms,
    /// Maximum number of candidates that are looked at; `None`: all.
    compared_max: Option<usize>,
    /// The documents looked at so far, by key. `None`: the estimate alone decides, so that nothing
    /// is looked at.
    looks: Option<HashMap<Vec<u8>, SeenDocument, RandomState>>,
}

/// The error for an admission that its own condition has stopped.
pub(super) fn stopped() -> Error {
    let message = "the admission was stopped before it was decided; the document is not written";
    Error::new(ErrorKind::Cancelled, message)
}

/// Keeps the first candidates by equal rows, then by key. Returns their number.
fn keep_best(
    before: &Snapshot,
    found: &mut Vec<Found>,
    most: usize,
    stop: &Stop<'_>,
) -> Result<usize> {
    let (best, is_whole) = before.best(found, most, stop)?;
    let count = best.len();
    found.truncate(count);
    if is_whole { Ok(count) } else { Err(stopped()) }
}

impl<'a> Candidacy<'a> {
    pub(super) fn new(
        newcomer: &'a Operation<'a>,
        admit: &'a Admit<'a>,
        terms: AdmitTerms,
    ) -> Self {
        let looks = Some(HashMap::default());
        Self { newcomer, admit, terms, compared_max: None, looks }
    }

    /// Decides by the estimate alone.
    pub(super) fn by_estimate(mut self) -> Self {
        self.looks = None;
        self
    }

    /// Looks only at this many candidates of the highest estimates, possible duplicates first.
    pub(super) fn comparing_at_most(mut self, compared_max: Option<usize>) -> Self {
        self.compared_max = compared_max;
        self
    }

    /// Decides, and writes the newcomer if it is admitted. Returns the last change, too.
    pub(super) fn decide(
        &mut self,
        core: &Core,
        compare: &mut Compare<'_>,
    ) -> Result<(Admission, u64)> {
        let mut before = core.applied(&core.writer());
        let mut candidates = self.candidates(&before, &self.admit.conditions.stop)?;
        // Under the lock only the clock is looked at: the other condition is the caller's code.
        let by_clock = Stop { deadline: self.admit.conditions.stop.deadline, cancel: None };
        for _ in 0..ATTEMPTS {
            self.look_at_all(&before, &candidates, compare)?;
            let mut writer = core.to_write()?;
            commit::refuse_if_stopped(core)?;
            if writer.change != before.change() {
                before = core.applied(&writer);
                candidates = self.candidates(&before, &by_clock)?;
                if !self.knows_all(&before, &candidates)? {
                    continue;
                }
            }
            let admission = self.write(core, &mut writer, &before, &candidates)?;
            return Ok((admission, writer.change));
        }
        Err(Error::new(
            ErrorKind::Unsettled,
            "documents like this one were written each time while others were compared with it; \
             try again",
        ))
    }

    /// The live documents that may be duplicates or related.
    fn candidates(&self, before: &Snapshot, stop: &Stop<'_>) -> Result<Candidates> {
        let (mut found, mut complete) = before.search_newcomer(self.newcomer, self.terms, stop)?;
        let (duplicates, related) = self.terms.part(before, &mut found, self.newcomer)?;
        let (mut duplicates, count) = (duplicates.len(), duplicates.len() + related.len());
        found.truncate(count);
        if let Some(most) = self.compared_max.filter(|most| *most < count) {
            let mut others = found.split_off(duplicates);
            duplicates = keep_best(before, &mut found, most, stop)?;
            keep_best(before, &mut others, most - duplicates, stop)?;
            found.append(&mut others);
            complete = false;
        }
        let is_filtered = self.admit.conditions.selection.is_some();
        let own = if is_filtered { before.locate(self.newcomer.key())? } else { None };
        Ok(Candidates { found, duplicates, complete, own })
    }

    /// Looks at all candidates that were not looked at yet.
    fn look_at_all(
        &mut self,
        before: &Snapshot,
        candidates: &Candidates,
        compare: &mut Compare<'_>,
    ) -> Result<()> {
        if self.looks.is_none() {
            return Ok(());
        }
        if let Some(place) = candidates.own {
            // Only whether it may be replaced matters.
            let own = Found { probe: 0, place, equal_rows: 0 };
            self.look_at(before, own, &mut |_, _, _| Ok(Verdict::Unlike))?;
        }
        for found in &candidates.found {
            if self.admit.conditions.stop.is_due() {
                return Err(stopped());
            }
            self.look_at(before, *found, compare)?;
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        before: &Snapshot,
        found: Found,
        compare: &mut Compare<'_>,
    ) -> Result<()> {
        let key = before.key(found.place)?;
        if self.look_of(before, found.place, &key)?.is_some() {
            return Ok(());
        }
        let signature = before.signature_bytes(found.place)?.into_owned();
        let shingle_count = before.shingle_count(found.place)?;
        let (payload, time) = self.filtered(before, found.place)?;
        let passes = match &self.admit.conditions.selection {
            Some(selection) => before.passes(found.place, selection, &mut Vec::new())?,
            None => true,
        };
        let verdict = if passes { compare(before, found, &key)? } else { Verdict::Hidden };
        let seen = SeenDocument { signature, shingle_count, payload, time, verdict };
        if let Some(looks) = &mut self.looks {
            looks.insert(key, seen);
        }
        Ok(())
    }

    /// What only the selection looks at: the payload and the time of a document.
    fn filtered(&self, before: &Snapshot, place: Place) -> Result<(Vec<u8>, u64)> {
        let (mut payload, mut time) = (Vec::new(), 0);
        if let Some(selection) = &self.admit.conditions.selection {
            if selection.filter.is_some() {
                before.payload_onto(place, &mut payload)?;
            }
            if selection.filter.is_some() || selection.has_times() {
                time = before.time(place)?;
            }
        }
        Ok((payload, time))
    }

    /// Whether this version of each candidate was looked at.
    fn knows_all(&self, before: &Snapshot, candidates: &Candidates) -> Result<bool> {
        if self.looks.is_none() {
            return Ok(true);
        }
        let places = candidates.found.iter().map(|found| found.place);
        for place in places.chain(candidates.own) {
            if self.look_of(before, place, &before.key(place)?)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was seen of this version of a document, if it was looked at.
    fn look_of(&self, before: &Snapshot, place: Place, key: &[u8]) -> Result<Option<Verdict>> {
        let Some(look) = self.looks.as_ref().and_then(|looks| looks.get(key)) else {
            return Ok(None);
        };
        let (payload, time) = self.filtered(before, place)?;
        let is_same = *before.signature_bytes(place)? == *look.signature
            && before.shingle_count(place)? == look.shingle_count
            && payload == look.payload
            && time == look.time;
        Ok(is_same.then_some(look.verdict))
    }

    fn verdict_of(&self, key: &[u8]) -> Option<Verdict> {
        match &self.looks {
            Some(looks) => looks.get(key).map(|look| look.verdict),
            None => Some(Verdict::Similar),
        }
    }

    /// Decides by the looks at all candidates, and writes the newcomer if it is admitted.
    fn write(
        &self,
        core: &Core,
        writer: &mut Writer,
        before: &Snapshot,
        candidates: &Candidates,
    ) -> Result<Admission> {
        let Candidates { found, duplicates: first_related, complete, own } = candidates;
        let seen = |place| match before.key(place) {
            Ok(key) => Ok((self.verdict_of(&key), key)),
            Err(error) => Err(error),
        };
        if let Some(place) = own
            && let (Some(Verdict::Hidden), key) = seen(*place)?
        {
            return Err(Error::new(
                ErrorKind::Exists,
                format!(
                    "a document that the conditions do not let pass has the key {:?}; choose \
                     another key, or drop the condition",
                    String::from_utf8_lossy(&key)
                ),
            ));
        }
        let mut judged = Judged { complete: *complete, ..Judged::default() };
        let Judged { duplicates, related, apart, unverified, .. } = &mut judged;
        for (number, found) in found.iter().enumerate() {
            match seen(found.place)? {
                (Some(Verdict::Similar), _) if number < *first_related => {
                    duplicates.push((*found, None));
                }
                (Some(Verdict::Similar), _) => related.push((*found, None)),
                (Some(Verdict::Duplicate(overlap)), _) => duplicates.push((*found, Some(overlap))),
                (Some(Verdict::Related(overlap)), _) => related.push((*found, Some(overlap))),
                (Some(Verdict::Apart(overlap)), _) => {
                    apart.push((*found, Some(overlap)));
                    if self.admit.relate.is_some_and(|relate| overlap.similarity >= relate) {
                        related.push((*found, Some(overlap)));
                    }
                }
                (Some(Verdict::Unlike | Verdict::Hidden) | None, _) => {}
                (Some(Verdict::Unverified(estimated)), key) => {
                    match estimated {
                        Estimated::Duplicate => duplicates.push((*found, None)),
                        Estimated::Related => related.push((*found, None)),
                        Estimated::Neither => {}
                    }
                    unverified.push(key);
                }
            }
        }
        unverified.sort_unstable();
        judged.conclude(core, writer, before, self.newcomer, self.terms)
    }
}
