//! Judges what another program removed: is each removed document similar to one that stays?

use std::ops::Range;
use std::path::Path;

use super::cache::Cache;
use super::nearest::{FetchRows, Nearest, NearestSearch, REMOVED, SHINGLES_MAX, by_numbers};
use super::{Duplicate, Evidence};
use crate::{
    Apart, Batch, Conditions, Error, Guard, Index, Judge, Judgement, Options, Params,
    ParamsBuilder, Result, Signature, Sketcher, Suspects,
};
use nearkin_sketch::engine::has_bands;

/// Number of documents that are written at once.
const BATCH: usize = 1_024;

/// The thresholds that [`AuditCounts::wrong`] counts at, with the one that was asked for.
const THRESHOLDS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// A pair of at least this similarity, or of the threshold that was asked for if it is lower, is
/// found with the probability `RECALL`.
const SEARCHED: f64 = 0.5;
const RECALL: f64 = 0.9995;
/// Bands of fewer rows find many documents that have hardly anything in common. With this many rows
/// of a signature there is no need of them.
const ROWS_MIN: usize = 3;
const HASHES: usize = 192;
/// Number of documents that are judged together.
const TOGETHER: usize = small!(audit::TOGETHER, 1_024);
/// The number of no document.
const NONE: u64 = u64::MAX;

/// Judges what another program removed: the most similar kept document of each removed one, by all
/// shingles; what sets the two apart; and whether a removed document without a similar kept one is
/// similar to another removed one (a chain).
///
/// Add the signatures of both sides, then call [`Audit::run`], which fetches documents again.
/// The similarity of each pair that is named is exact. Candidates are found by the bands of
/// signatures with the parameters of [`Audit::choose`]: a pair of similarity 0.5 (or of the
/// threshold, if that is lower) is missed with a probability below 0.001, a pair of 0.7 hardly
/// ever, and a pair below 0.5 more often ([`Params::candidate_probability`]). So a count of wrong
/// removals can only be too high, by that share.
///
/// Signatures lie in a folder, with some 600 bytes for each document. Memory: 40 bytes for each
/// removed document, 8 for each kept one, 64 more for each removed one that is similar, but not
/// equal to a kept one, and up to 256 MiB of documents and counts.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("work");
/// use nearkin::{Audit, AuditRow, Guard, Params, Shingles};
///
/// let kept = ["the bridge is closed until further notice by order of the mayor"];
/// let removed = [
///     "The bridge is closed until further notice, by order of the mayor!",
///     "pay 40 euros for the lessons of March",
/// ];
/// let given = Params::builder().shingles(Shingles::Words(1));
/// let mut audit = Audit::new(&dir, &Audit::choose(&given, 0.7)?, 0.7, Guard::Rare)?;
/// let sketcher = audit.sketcher();
/// for text in kept {
///     audit.add_kept(&[sketcher.text(text)?])?;
/// }
/// for text in removed {
///     audit.add_removed(&[sketcher.text(text)?])?;
/// }
/// let mut fetch = |rows: &[AuditRow]| {
///     let text = |row: &AuditRow| match row {
///         AuditRow::Kept(number) => kept[*number as usize],
///         AuditRow::Removed(number) => removed[*number as usize],
///     };
///     rows.iter().map(|row| sketcher.detailed_text(text(row))).collect()
/// };
/// let mut similar = Vec::new();
/// let counts = audit.run(&mut fetch, &mut |row| {
///     similar.push(row.kept.map_or(0.0, |kept| kept.similarity));
///     Ok(())
/// })?;
/// assert_eq!(similar, [1.0, 0.0]);
/// assert_eq!((counts.removed, counts.wrong_at(0.7)), (2, Some(1)));
/// # Ok(())
/// # }
/// ```
pub struct Audit {
    kept: Index,
    removed: Index,
    /// The number of shingles of each kept, and of each removed document.
    kept_shingles: Vec<u32>,
    shingles: Vec<u32>,
    threshold: f64,
    guard: Guard,
    threads: usize,
    stopping: Conditions<'static>,
}

/// What was found for a removed document, in few bytes.
struct FoundRow {
    /// `NONE`: no kept document is similar.
    of: u64,
    other: u32,
    shared: u32,
    is_settled: bool,
}

/// What is known of a removed document.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Audited {
    /// The number of the removed document.
    pub row: u64,
    /// The most similar kept document, by its number, if one was found.
    pub kept: Option<Duplicate>,
    /// What sets the two apart, if they reach the threshold: see [`Guard`].
    pub apart: Option<Apart>,
    /// The most similar other removed document, by its number, if no kept one reaches the threshold
    /// and this one does.
    pub chained: Option<Duplicate>,
    /// Whether all candidates were compared that can be more similar. Otherwise there were too many
    /// of them, and a kept document may be more similar than `kept`.
    pub is_settled: bool,
}

/// The counts of an [`Audit`].
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct AuditCounts {
    /// Number of kept documents.
    pub kept: u64,
    /// Number of removed documents.
    pub removed: u64,
    /// By ascending thresholds: the number of removed documents without a kept one that is as
    /// similar.
    pub wrong: Vec<(f64, u64)>,
    /// Removed documents with the same shingles as a kept one.
    pub equal: u64,
    /// Removed documents below the threshold that are similar to another removed one.
    pub chained: u64,
    /// Removed documents that reach the threshold, and differ from the kept one in numbers; `None`
    /// if the guard does not look at numbers.
    pub in_numbers: Option<u64>,
    /// The same, and they differ in what is rare.
    pub in_rare: Option<u64>,
    /// Documents whose most similar kept one is not certain: [`Audited::is_settled`].
    pub unsettled: u64,
}

impl AuditCounts {
    /// The number of removed documents without a kept one of at least this similarity, if that was
    /// counted.
    pub fn wrong_at(&self, threshold: f64) -> Option<u64> {
        let is_it = |one: &&(f64, u64)| one.0.total_cmp(&threshold).is_eq();
        self.wrong.iter().find(is_it).map(|(_, count)| *count)
    }

    fn of(kept: usize, guard: Guard, wrong: Vec<(f64, u64)>) -> Self {
        Self {
            kept: kept as u64,
            wrong,
            in_numbers: (guard != Guard::None).then_some(0),
            in_rare: (guard == Guard::Rare).then_some(0),
            ..Self::default()
        }
    }

    fn add(&mut self, one: &Audited) {
        self.removed += 1;
        let similarity = one.kept.map_or(0.0, |kept| kept.similarity);
        for (threshold, count) in &mut self.wrong {
            *count += u64::from(similarity < *threshold);
        }
        self.equal += u64::from(one.kept.is_some_and(|kept| kept.is_whole()));
        self.chained += u64::from(one.chained.is_some());
        let count = match one.apart {
            Some(Apart::Numbers) => &mut self.in_numbers,
            Some(Apart::Rare { .. }) => &mut self.in_rare,
            None => &mut None,
        };
        *count = count.map(|count| count + 1);
        self.unsettled += u64::from(!one.is_settled);
    }
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Audit");
        debug.field("kept", &self.kept_shingles.len()).field("removed", &self.shingles.len());
        debug.field("threshold", &self.threshold).finish_non_exhaustive()
    }
}

impl Audit {
    /// Parameters for an audit at this threshold, from settings of which only those that matter are
    /// given. Unless bands are given, they find nearly all pairs of similarity 0.5, or of the
    /// threshold if that is lower.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or settings out of range).
    pub fn choose(given: &ParamsBuilder, threshold: f64) -> Result<Params> {
        let given = given.clone().threshold(threshold.min(SEARCHED)).recall_target(RECALL);
        let params = given.clone().build()?;
        if has_bands(&given) || params.rows_per_band() >= ROWS_MIN {
            return Ok(params);
        }
        given.hashes(params.hashes().max(HASHES)).build()
    }

    /// Starts an audit without documents. The signatures are written to the folder `dir`, which
    /// must be missing or empty; the caller deletes it after the audit. `guard` says what may set
    /// apart documents that reach the threshold.
    ///
    /// # Errors
    ///
    /// `Invalid` (a threshold outside 0 to 1, or `dir` is not empty), `Io`.
    pub fn new(
        dir: impl AsRef<Path>,
        params: &Params,
        threshold: f64,
        guard: Guard,
    ) -> Result<Self> {
        if params.passages().is_some() {
            return Err(Error::invalid("an audit compares documents, not passages"));
        }
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Error::invalid(format!("a threshold is from 0 to 1, not {threshold}")));
        }
        let dir = dir.as_ref();
        let open = |name: &str, params: &Params| {
            Index::scratch(dir.join(name), params, Options::default())
        };
        // Chains are pairs of the threshold, so that fewer bands find them.
        let chains = if threshold > params.threshold() {
            params.to_builder().threshold(threshold).choose_bands().build()?
        } else {
            params.clone()
        };
        Ok(Self {
            kept: open("kept", params)?,
            removed: open("removed", &chains)?,
            kept_shingles: Vec::new(),
            shingles: Vec::new(),
            threshold,
            guard,
            threads: 1,
            stopping: Conditions::default(),
        })
    }

    /// Compares on so many threads; without this call, on one. The result is the same.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Ends a run with `Cancelled` as soon as this returns true.
    #[must_use]
    pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.stopping = self.stopping.cancel_if(cancel);
        self
    }

    /// What makes the signatures and the documents.
    pub fn sketcher(&self) -> Sketcher {
        self.kept.sketcher()
    }

    /// Adds documents that stay; their numbers go on from those before, from 0.
    ///
    /// # Errors
    ///
    /// `Mismatch` (signatures made with other parameters), `Io`.
    pub fn add_kept(&mut self, signatures: &[Signature]) -> Result<()> {
        add(&self.kept, &mut self.kept_shingles, signatures)
    }

    /// Adds documents that were removed; their numbers go on from those before, from 0.
    ///
    /// # Errors
    ///
    /// Those of [`Audit::add_kept`].
    pub fn add_removed(&mut self, signatures: &[Signature]) -> Result<()> {
        add(&self.removed, &mut self.shingles, signatures)
    }

    /// Judges all removed documents, and calls `audited` with each of them, in order.
    ///
    /// `fetch` returns documents with their details
    /// ([`Sketcher::detailed_text`](crate::Sketcher::detailed_text)), up to some thousand at once;
    /// 64 MiB of them are cached. Each removed document is fetched up to four times. Costs two
    /// queries and some comparisons for each: as many as there are candidates that may be more
    /// similar than the best one, at most 256.
    ///
    /// # Errors
    ///
    /// Those of `fetch`, of `audited` and of queries; `Cancelled`; `Invalid` if `fetch` returns
    /// another number of documents.
    pub fn run(
        &self,
        fetch: &mut FetchRows<'_>,
        audited: &mut dyn FnMut(Audited) -> Result<()>,
    ) -> Result<AuditCounts> {
        let mut found = Vec::with_capacity(self.shingles.len());
        let mut search = self.search(&self.kept, 0);
        for rows in self.parts() {
            let rows: Vec<u64> = rows.map(|row| row as u64).collect();
            found.extend(search.nearest(&rows, fetch)?.iter().map(FoundRow::new));
        }
        let apart = self.apart(&found, fetch)?;
        let mut apart = apart.into_iter().peekable();
        let mut counts = AuditCounts::of(self.kept_shingles.len(), self.guard, self.thresholds());
        let mut search = self.search(&self.removed, REMOVED);
        for rows in self.parts() {
            let nearest = |row: usize| found[row].duplicate(self.shingles[row]);
            let is_wrong = |row: &usize| !nearest(*row).is_some_and(|one| self.reaches(&one));
            let wrong: Vec<u64> = rows.clone().filter(is_wrong).map(|row| row as u64).collect();
            let chained = search.nearest(&wrong, fetch)?;
            let mut chained = wrong.into_iter().zip(chained).peekable();
            for row in rows {
                let number = row as u64;
                let chained = chained.next_if(|(row, _)| *row == number);
                let one = Audited {
                    row: number,
                    kept: nearest(row),
                    apart: apart.next_if(|(row, _)| *row == number).map(|(_, apart)| apart),
                    chained: chained.and_then(|(_, found)| found.best),
                    is_settled: found[row].is_settled,
                };
                counts.add(&one);
                audited(one)?;
            }
        }
        Ok(counts)
    }

    /// What sets removed documents apart from the most similar kept one, in order.
    fn apart(&self, found: &[FoundRow], fetch: &mut FetchRows<'_>) -> Result<Vec<(u64, Apart)>> {
        let (mut suspects, mut apart) = (Suspects::default(), Vec::new());
        if self.guard == Guard::None {
            return Ok(apart);
        }
        for (row, (found, own)) in (0_u64..).zip(found.iter().zip(&self.shingles)) {
            let reaches = found.duplicate(*own).is_some_and(|one| self.reaches(&one));
            if reaches {
                suspects.add_dropped(row | REMOVED, found.of, [*own, found.other, found.shared]);
            }
        }
        let stop = self.stopping.clone();
        let mut judge = Judge::new(self.guard, self.threshold, suspects)
            .pairs_only()
            .threads(self.threads)
            .cancel_if(move || stop.stop.is_due());
        judge.run(&mut |numbers| by_numbers(numbers, fetch), &mut |number, judgement| {
            if let Judgement::Kept { apart: what, .. } = judgement {
                apart.push((number ^ REMOVED, what));
            }
        })?;
        Ok(apart)
    }

    fn reaches(&self, found: &Duplicate) -> bool {
        found.similarity >= self.threshold
    }

    /// A search of one side.
    fn search<'a>(&'a self, index: &'a Index, side: u64) -> NearestSearch<'a> {
        NearestSearch {
            index,
            side,
            shingles: if side == 0 { &self.kept_shingles } else { &self.shingles },
            least: if side == 0 { 0.0 } else { self.threshold },
            threads: self.threads,
            stopping: self.stopping.clone(),
            cache: Cache::default(),
        }
    }

    /// The rows that are judged together.
    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let mut begin = 0;
        std::iter::from_fn(move || {
            let rest = self.shingles.get(begin..).unwrap_or_default();
            let mut shingles = 0;
            let fits = |count: &&u32| {
                let fits = shingles < SHINGLES_MAX;
                shingles += u64::from(**count);
                fits
            };
            let rows = begin..begin + rest.iter().take(TOGETHER).take_while(fits).count();
            begin = rows.end;
            (!rows.is_empty()).then_some(rows)
        })
    }

    fn thresholds(&self) -> Vec<(f64, u64)> {
        let mut all: Vec<f64> = THRESHOLDS.into_iter().chain([self.threshold]).collect();
        all.sort_by(f64::total_cmp);
        all.dedup_by(|one, other| one.total_cmp(other).is_eq());
        all.into_iter().map(|threshold| (threshold, 0)).collect()
    }
}

impl FoundRow {
    fn new(found: &Nearest) -> Self {
        let (of, other, shared) = match found.best {
            Some(Duplicate { of, evidence: Evidence::Shingles { other, shared, .. }, .. }) => {
                (of, other, shared)
            }
            _ => (NONE, 0, 0),
        };
        Self { of, other, shared, is_settled: found.is_settled }
    }

    /// The kept document, if one was found. The removed one has `own` shingles.
    fn duplicate(&self, own: u32) -> Option<Duplicate> {
        (self.of != NONE).then(|| Duplicate::of_counts(self.of, [own, self.other, self.shared]))
    }
}

fn add(index: &Index, shingles: &mut Vec<u32>, signatures: &[Signature]) -> Result<()> {
    for signatures in signatures.chunks(BATCH) {
        let numbered = (shingles.len() as u64..).zip(signatures);
        let batch = numbered.fold(Batch::new(), |batch, (number, one)| batch.insert(number, one));
        index.write(batch)?;
        shingles.extend(signatures.iter().map(Signature::shingle_count));
    }
    Ok(())
}
