//! Decisions by all shingles, with candidates from below the threshold.

use std::sync::Arc;

use nearkin_sketch::engine::{Agreement, shares_a_band};

use super::form_index::FormIndex;
use super::fresh::Fresh;
use super::{Dedup, Duplicate, FetchByRank, KeptCandidate, rank_of};
use crate::{Alike, Original, Result, Signature};

/// Number of candidates of a document that are compared without a search for fewer.
const USUAL: usize = small!(exact::USUAL, 32);
/// Number of candidates beyond the usual ones at which that search begins.
const EXCESS_MAX: usize = small!(exact::EXCESS_MAX, 10_000);
/// The lowest similarity at which shingles make candidates fewer.
const LEAST_IN_CROWD: f64 = 0.1;

impl Dedup<'_> {
    /// Decides the next documents by their shingles, in order of their ranks. Returns `None` for
    /// each document that is kept. The kept documents are written to the index as one batch.
    ///
    /// Candidates are all kept documents with an estimate of at least the threshold minus three
    /// standard errors ([`Alike::for_verification`]); they are fetched and compared. `fetch`
    /// returns a document that was kept before; up to 64 MiB of such documents are cached.
    ///
    /// Each document costs a query and a comparison with each candidate, on the caller's thread.
    /// Copies of one document cost one comparison each. Documents that share a template are all
    /// candidates of each other. If there are many of them, those that share too few rare shingles
    /// are left out before they are compared; this takes about 40 bytes for each shingle of the
    /// kept documents. It ends at 256 MiB, with those of the documents given together, and where
    /// shingles are so frequent that it saves nothing.
    ///
    /// # Errors
    ///
    /// `Invalid`: ranks do not ascend, or `fetch` has no document for a kept rank. `Mismatch`:
    /// documents were made with other parameters. Also the errors of `fetch`, of queries and of
    /// writing. On an error none of the given documents is kept.
    pub fn decide_exactly(
        &mut self,
        documents: Vec<(u64, Original)>,
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Vec<Option<Duplicate>>> {
        let last = self.check_ranks(documents.iter().map(|(rank, _)| *rank))?;
        let decided = self.decide_each(&documents, fetch);
        if decided.is_err() {
            // It may hold documents of this batch.
            self.crowd = None;
        }
        let decided = decided?;
        self.last = last;
        for ((rank, document), duplicate) in documents.into_iter().zip(&decided) {
            if duplicate.is_none() {
                self.cache.put(rank, Arc::new(document));
            }
        }
        Ok(decided)
    }

    fn decide_each(
        &mut self,
        documents: &[(u64, Original)],
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Vec<Option<Duplicate>>> {
        let wide = self.alike.for_verification();
        let signatures: Vec<Signature> =
            documents.iter().map(|(_, document)| document.signature().clone()).collect();
        let bytes = documents.iter().map(|(_, one)| FormIndex::bytes_of(one)).sum();
        if self.crowd.as_ref().is_some_and(|crowd| !crowd.has_room(bytes) || crowd.is_slow()) {
            (self.crowd, self.excess) = (None, None);
        }
        let stored = if self.crowd.is_some() {
            let snapshot = self.kept.snapshot();
            signatures.iter().try_for_each(|signature| snapshot.check_signature(signature))?;
            Vec::new()
        } else {
            self.answers(&signatures, wide, usize::MAX)?
        };
        let mut fresh = Fresh::new(self.kept.params(), wide, documents.len());
        let mut decided = Vec::with_capacity(documents.len());
        for (at, (rank, document)) in documents.iter().enumerate() {
            let duplicate = if self.crowd.is_some() {
                self.best_of_crowd(document, wide)?
            } else {
                let mut candidates: Vec<KeptCandidate> =
                    stored[at].matches.iter().map(KeptCandidate::stored).collect();
                fresh.matches(at, &signatures[at], |found| {
                    let (rank, equal_rows) = (documents[found.at].0, found.equal_rows);
                    candidates.push(KeptCandidate { rank, equal_rows, fresh: Some(found.at) });
                });
                candidates.sort_unstable_by_key(KeptCandidate::order);
                let excess = candidates.len().saturating_sub(USUAL);
                self.excess = self.excess.map(|before| before + excess);
                self.best(document, documents, &candidates, fetch)?
            };
            if duplicate.is_none() {
                fresh.keep(at, &signatures[at]);
                if let Some(crowd) = &mut self.crowd {
                    crowd.keep(*rank, document.clone());
                }
            }
            decided.push(duplicate);
            if self.crowd.is_none() && self.excess.is_some_and(|excess| excess > EXCESS_MAX) {
                let kept = fresh.kept().map(|at| &documents[at]);
                self.crowd = self.gather(kept, bytes, fetch)?;
                self.excess = self.crowd.is_some().then_some(0);
            }
        }
        self.keep(fresh.kept().map(|at| (documents[at].0, &signatures[at])))?;
        Ok(decided)
    }

    /// All kept documents, those of this batch among them; `None` if there are too many, with the
    /// bytes of the whole batch, or if their shingles do not make candidates fewer.
    fn gather<'d>(
        &mut self,
        fresh: impl Iterator<Item = &'d (u64, Original)>,
        bytes: usize,
        fetch: &mut FetchByRank<'_>,
    ) -> Result<Option<FormIndex>> {
        let least = self.alike.least();
        let mut crowd = FormIndex::new(least);
        let snapshot = self.kept.snapshot();
        let stored = FormIndex::bytes_of_documents(snapshot.len());
        if self.alike.asks_for_containment()
            || least < LEAST_IN_CROWD
            || !crowd.has_room(bytes.saturating_add(stored))
        {
            return Ok(None);
        }
        let mut ranks = Vec::new();
        snapshot.for_each_key(|key| {
            ranks.push(rank_of(key));
            std::ops::ControlFlow::Continue(())
        })?;
        for rank in ranks {
            self.go_on()?;
            if !crowd.has_room(bytes) {
                return Ok(None);
            }
            crowd.keep(rank, Original::clone(&*self.cache.get(rank, fetch)?));
        }
        fresh.for_each(|(rank, document)| crowd.keep(*rank, document.clone()));
        Ok(Some(crowd))
    }

    /// What [`Dedup::best`] returns if all candidates are compared: `wide` says which they are.
    fn best_of_crowd(&mut self, document: &Original, wide: Alike) -> Result<Option<Duplicate>> {
        self.go_on()?;
        let params = self.kept.params();
        let (band_bytes, bands) = (params.band_bytes(), params.bands());
        let (lane_bits, equal_rows_min) = (params.lane_bits(), wide.equal_rows_min(params));
        let (mut best, mut alike) = (None::<Duplicate>, self.alike);
        let Some(crowd) = &mut self.crowd else { return Ok(None) };
        for number in crowd.candidates(document) {
            let (rank, other) = crowd.document(number);
            let Some(overlap) = alike.overlap(document, other) else { continue };
            let [a, b] = [document, other].map(|one| one.signature().as_bytes());
            let is_candidate = shares_a_band(a, b, band_bytes, bands)
                && Agreement::compare(a, b, lane_bits, equal_rows_min).is_some();
            let reason = Duplicate::between(rank, overlap, (document, other));
            if is_candidate && reason.is_better_than(best.as_ref()) {
                alike = reason.or_better(alike);
                best = Some(reason);
            }
        }
        Ok(best)
    }
}
