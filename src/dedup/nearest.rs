//! The most similar documents of an index, by their shingles: candidates in order of their
//! estimates, until none of the rest can be more similar.

use std::collections::HashMap;
use std::sync::Arc;

use super::cache::Cache;
use super::parts::in_parts;
use super::{Duplicate, KeptCandidate, cancelled};
use crate::keyed::RandomState;
use crate::{Alike, Answer, Conditions, Error, Index, Original, Result, Signature};

/// Number of candidates of a document that are looked up; more only if all of these may be the most
/// similar one.
const CANDIDATES: usize = small!(nearest::CANDIDATES, 32);
const CANDIDATES_MAX: usize = small!(nearest::CANDIDATES_MAX, 256);
/// Maximum number of documents whose signatures are compared with one. Bounds the time where very
/// many documents share a band.
const COMPARED_MAX: usize = 1 << 15;
/// Number of candidates that are fetched at a time, after the first one.
const STEP: usize = 8;
/// Number of shingles of documents at which no further one is fetched with others.
pub(super) const SHINGLES_MAX: u64 = small!(nearest::SHINGLES_MAX, 2 << 20);
/// The true similarity is presumed to lie within this many standard errors of the estimate.
const ERRORS: f64 = 4.0;

/// Marks the numbers of removed documents in a cache of both sides.
pub(super) const REMOVED: u64 = 1 << 63;

/// A row of one of the two sides of an [`Audit`](super::Audit): its number, in the order in which
/// it was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AuditRow {
    /// A row that stays.
    Kept(u64),
    /// A row that was removed.
    Removed(u64),
}

/// A closure that returns the documents of several rows, in their order.
pub type FetchRows<'a> = dyn FnMut(&[AuditRow]) -> Result<Vec<Original>> + 'a;

/// The document most similar to another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nearest {
    pub(super) best: Option<Duplicate>,
    /// Whether no other document is more similar.
    pub(super) is_settled: bool,
}

/// Searches one side for the documents most similar to removed ones.
pub(super) struct NearestSearch<'a> {
    pub(super) index: &'a Index,
    /// The side that is searched: 0, or `REMOVED`. A removed document does not find itself.
    pub(super) side: u64,
    /// The number of shingles of each document of this side.
    pub(super) shingles: &'a [u32],
    /// The minimum similarity.
    pub(super) least: f64,
    pub(super) threads: usize,
    pub(super) stopping: Conditions<'static>,
    pub(super) cache: Cache,
}

/// What is known so far of the documents that are similar to one.
struct Looking {
    row: u64,
    document: Arc<Original>,
    /// The highest estimates first.
    candidates: Vec<KeptCandidate>,
    /// Whether there are further candidates, of lower estimates.
    is_cut: bool,
    /// Whether not all were searched.
    is_partial: bool,
    compared: usize,
    best: Option<Duplicate>,
    is_done: bool,
}

/// The row of a number in the cache.
pub(super) fn row_of(number: u64) -> AuditRow {
    if number & REMOVED == 0 { AuditRow::Kept(number) } else { AuditRow::Removed(number ^ REMOVED) }
}

/// Fetches the documents of rows by their numbers in the cache.
pub(super) fn by_numbers(
    numbers: &[u64],
    fetch: &mut FetchRows<'_>,
) -> Result<Vec<Option<Original>>> {
    let rows: Vec<AuditRow> = numbers.iter().map(|number| row_of(*number)).collect();
    let documents = fetch(&rows)?;
    if documents.len() != rows.len() {
        let (count, asked) = (documents.len(), rows.len());
        return Err(Error::invalid(format!("fetch returned {count} documents for {asked} rows")));
    }
    Ok(documents.into_iter().map(Some).collect())
}

impl NearestSearch<'_> {
    /// The nearest documents of these removed ones.
    pub(super) fn nearest(
        &mut self,
        rows: &[u64],
        fetch: &mut FetchRows<'_>,
    ) -> Result<Vec<Nearest>> {
        let numbers: Vec<u64> = rows.iter().map(|row| row | REMOVED).collect();
        let documents = self.documents(&numbers, fetch)?;
        let looking = rows.iter().zip(documents).map(|(row, one)| Looking::new(*row, one));
        let mut all: Vec<Looking> = looking.collect();
        self.look_up(all.iter_mut().collect(), CANDIDATES)?;
        let mut step = 1;
        while all.iter().any(|one| !one.is_done) {
            let mut rest = &mut all[..];
            while !rest.is_empty() {
                let (together, others) = rest.split_at_mut(self.count_together(rest, step));
                self.compare(together, step, fetch)?;
                rest = others;
            }
            let is_short =
                |one: &&mut Looking| !one.is_done && one.compared == one.candidates.len();
            self.look_up(all.iter_mut().filter(is_short).collect(), CANDIDATES_MAX)?;
            step = STEP;
        }
        let found = |one: &Looking| Nearest { best: one.best, is_settled: self.is_settled(one) };
        Ok(all.iter().map(found).collect())
    }

    /// The number of these whose next candidates fit into memory together, at least 1.
    fn count_together(&self, all: &[Looking], step: usize) -> usize {
        let shingles = |rank: u64| {
            usize::try_from(rank).ok().and_then(|rank| self.shingles.get(rank)).map_or(0, |n| *n)
        };
        let mut sum = 0;
        let fits = |one: &&Looking| {
            let fits = sum < SHINGLES_MAX;
            sum += one.next(step).map(|rank| u64::from(shingles(rank))).sum::<u64>();
            fits
        };
        all.iter().take_while(fits).count()
    }

    /// Compares each of these with its next candidates.
    fn compare(
        &mut self,
        all: &mut [Looking],
        step: usize,
        fetch: &mut FetchRows<'_>,
    ) -> Result<()> {
        let ranks = all.iter().flat_map(|one| one.next(step));
        let numbers: Vec<u64> = ranks.map(|rank| rank | self.side).collect();
        let documents = self.documents(&numbers, fetch)?;
        let (mut parts, mut rest) = (Vec::with_capacity(all.len()), &documents[..]);
        for one in all.iter() {
            let (own, others) = rest.split_at(one.next(step).count());
            parts.push((one, own));
            rest = others;
        }
        let compare = |part: &(&Looking, &[Arc<Original>])| part.0.better(part.1, self.least);
        let best = in_parts(self.threads, &parts, compare);
        for (one, best) in all.iter_mut().zip(best) {
            one.compared = one.candidates.len().min(one.compared + step);
            one.best = best;
            one.is_done |= !self.goes_on(one);
        }
        Ok(())
    }

    /// Documents by their numbers in the cache; all that it lacks are fetched at once.
    fn documents(
        &mut self,
        numbers: &[u64],
        fetch: &mut FetchRows<'_>,
    ) -> Result<Vec<Arc<Original>>> {
        if self.stopping.stop.is_due() {
            return Err(cancelled());
        }
        // The cache may drop some of them before the last one comes.
        let mut all: HashMap<u64, Arc<Original>, RandomState> = HashMap::default();
        let mut missing = Vec::new();
        for number in numbers {
            match self.cache.cached(*number) {
                Some(document) => drop(all.insert(*number, document)),
                None => missing.push(*number),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            for (number, document) in missing.iter().zip(by_numbers(&missing, fetch)?) {
                let Some(document) = document.map(Arc::new) else { continue };
                self.cache.put(*number, Arc::clone(&document));
                all.insert(*number, document);
            }
        }
        let lacks = || Error::invalid("fetch returned no document for a row");
        let of = |number: &u64| all.get(number).map(Arc::clone).ok_or_else(lacks);
        numbers.iter().map(of).collect()
    }

    /// Looks up this number of candidates for each.
    fn look_up(&self, mut all: Vec<&mut Looking>, limit: usize) -> Result<()> {
        let part = all.len().div_ceil(self.threads.max(1)).max(1);
        let signatures = |part: &[&mut Looking]| -> Vec<Signature> {
            part.iter().map(|one| one.document.signature().clone()).collect()
        };
        let parts: Vec<Vec<Signature>> = all.chunks(part).map(signatures).collect();
        let params = self.index.params();
        let error = params.standard_error(params.equal_rows_min(self.least));
        let low = Alike::similar((self.least - ERRORS * error).max(0.0));
        // One more shows whether there are others. A removed document also finds itself.
        let conditions = self.stopping.clone().alike(low).limit(limit + 2);
        let conditions = conditions.max_candidates(COMPARED_MAX);
        let snapshot = self.index.snapshot();
        let run =
            |part: &Vec<Signature>| snapshot.queries(part).conditions(conditions.clone()).run();
        let answers = in_parts(self.threads, &parts, run);
        if self.stopping.stop.is_due() {
            return Err(cancelled());
        }
        let answers: Vec<Answer> = answers.into_iter().collect::<Result<Vec<_>>>()?.concat();
        for (one, answer) in all.iter_mut().zip(answers) {
            let is_other = |other: &KeptCandidate| self.side == 0 || other.rank != one.row;
            let others = answer.matches.iter().map(KeptCandidate::stored).filter(is_other);
            one.candidates = others.collect();
            one.is_cut = one.candidates.len() > limit;
            one.is_partial = !answer.complete;
            one.candidates.truncate(limit);
            one.is_done = !self.goes_on(one);
        }
        Ok(())
    }

    /// Whether candidates of this estimate, or of a lower one, may be more similar than the best.
    fn may_be_better(&self, one: &Looking, candidate: Option<&KeptCandidate>) -> bool {
        let Some(KeptCandidate { equal_rows, .. }) = candidate else { return false };
        let best = one.best.map_or(self.least, |best| best.similarity);
        let params = self.index.params();
        let most = params.similarity(*equal_rows) + ERRORS * params.standard_error(*equal_rows);
        best < 1.0 && most >= best
    }

    /// Whether more candidates are to be compared, or looked up.
    fn goes_on(&self, one: &Looking) -> bool {
        let is_short = one.is_cut && one.candidates.len() < CANDIDATES_MAX;
        match one.candidates.get(one.compared) {
            None => is_short && self.may_be_better(one, one.candidates.last()),
            next => self.may_be_better(one, next),
        }
    }

    fn is_settled(&self, one: &Looking) -> bool {
        let is_best = one.best.is_some_and(|best| best.similarity >= 1.0);
        let are_rest = one.is_cut && self.may_be_better(one, one.candidates.last());
        is_best || !one.is_partial && !are_rest
    }
}

impl Looking {
    fn new(row: u64, document: Arc<Original>) -> Self {
        let (candidates, best, compared) = (Vec::new(), None, 0);
        let (is_cut, is_partial, is_done) = (false, false, false);
        Self { row, document, candidates, is_cut, is_partial, compared, best, is_done }
    }

    /// The ranks of the candidates that are compared next.
    fn next(&self, step: usize) -> impl Iterator<Item = u64> {
        let rest = self.candidates.get(self.compared..).filter(|_| !self.is_done);
        rest.unwrap_or_default().iter().take(step).map(|candidate| candidate.rank)
    }

    /// The best so far, or one of these, which are the next candidates.
    fn better(&self, others: &[Arc<Original>], least: f64) -> Option<Duplicate> {
        let mut best = self.best;
        for (rank, other) in self.next(others.len()).zip(others) {
            let alike = Alike::similar(best.map_or(least, |best| best.similarity));
            let Some(overlap) = alike.overlap(&self.document, other) else { continue };
            let found = Duplicate::between(rank, overlap, (&self.document, other));
            if overlap.shared > 0 && found.is_better_than(best.as_ref()) {
                best = Some(found);
            }
        }
        best
    }
}
