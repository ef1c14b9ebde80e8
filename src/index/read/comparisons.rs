//! Measures how many comparisons a query costs, on a sample of the stored documents, and decides
//! whether the band tables have degenerated to a scan of the index.

use crate::Result;
use crate::index::read::scratch::SearchScratch;
use crate::index::read::search::Search;
use crate::index::state::versions::{Place, Snapshot};

/// Maximum number of stored documents that the sample queries with.
const QUERIES_MAX: u64 = small!(comparisons::QUERIES_MAX, 64);
/// Maximum number of candidates: per query, and of all queries together.
const CANDIDATES_MAX: usize = small!(comparisons::CANDIDATES_MAX, 10_000);
const CANDIDATES_OF_ALL_MAX: u64 = small!(comparisons::CANDIDATES_OF_ALL_MAX, 100_000);
/// Maximum number of documents examined to find a live one for a query. If all of them are dead,
/// the sample has one query less.
const DEAD_MAX: u32 = small!(comparisons::DEAD_MAX, 1_000);
/// Minimum average number of dissimilar candidates per query for which [`Comparisons::is_scan`]
/// makes a prediction for a larger index.
const IN_VAIN_MIN: f64 = 10.0;

/// How many comparisons queries at the index's own threshold cost: see
/// [`Snapshot::sample_comparisons`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Comparisons {
    /// Live documents of the index.
    pub documents: u64,
    /// Stored documents that were queried with, evenly spaced.
    pub queries: u64,
    /// Other documents that these queries were compared with: those that share a band.
    pub compared: u64,
    /// The compared documents whose similarity is below the index's threshold.
    pub in_vain: u64,
    /// Whether a query had more candidates than the sample compares. The averages are then lower
    /// bounds.
    pub is_cut: bool,
}

impl Comparisons {
    /// Band tables count as a scan if each query compares more dissimilar documents than this per
    /// million stored documents.
    pub const IN_VAIN_PER_MILLION_MAX: f64 = 1_000.0;

    /// The average number of documents that a query compares.
    pub fn compared_per_query(&self) -> f64 {
        self.compared as f64 / self.queries.max(1) as f64
    }

    /// The average number of dissimilar documents that a query compares.
    pub fn in_vain_per_query(&self) -> f64 {
        self.in_vain as f64 / self.queries.max(1) as f64
    }

    /// Whether the band tables are in effect a scan: so many bands are equal by chance that queries
    /// are slow, and become slower as the index grows. To avoid it, use more rows per band, a
    /// higher threshold or longer shingles. (Similar documents do not count: a crowd is not a
    /// scan.)
    ///
    /// False if the index is too small to tell.
    pub fn is_scan(&self) -> bool {
        let in_vain = self.in_vain_per_query();
        let in_a_million = in_vain * (1e6 / self.documents.max(1) as f64).max(1.0);
        in_vain >= IN_VAIN_MIN && in_a_million > Self::IN_VAIN_PER_MILLION_MAX
    }
}

impl Snapshot {
    /// Queries with a sample of the stored documents, and counts the documents that these queries
    /// compare.
    ///
    /// The cost is bounded: 64 queries, and about 100,000 comparisons at most.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`, `Closed`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// use nearkin::{Batch, Index, Options, Params, Shingles};
    ///
    /// // Each text has half of its words in common with each other text.
    /// let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build()?;
    /// let index = Index::create(folder.path().join("x.nearkin"), &params, Options::default())?;
    /// let sketcher = index.sketcher();
    /// let mut batch = Batch::new();
    /// for at in 0..200 {
    ///     let text = format!("Invoice of today for {at}a {at}b {at}c {at}d");
    ///     batch = batch.insert(text.clone(), &sketcher.text(&text)?);
    /// }
    /// index.write(batch)?;
    /// let comparisons = index.snapshot().sample_comparisons()?;
    /// assert!(comparisons.is_scan(), "{comparisons:?}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn sample_comparisons(&self) -> Result<Comparisons> {
        self.refuse_if_closed()?;
        let equal_rows_min = self.params().equal_rows_min(self.params().threshold());
        let mut sum = Comparisons { documents: self.len(), ..Comparisons::default() };
        let mut scratch = SearchScratch::take();
        for place in self.spaced_places(QUERIES_MAX) {
            if sum.compared >= CANDIDATES_OF_ALL_MAX {
                break;
            }
            let Some(place) = self.live_from(place)? else { continue };
            let signature = self.signature_bytes(place)?;
            let mut search = Search::new(self, &mut scratch).bounded(CANDIDATES_MAX);
            search.run(&[&signature], 0)?;
            sum.is_cut |= search.is_cut(0);
            let others = search.found().iter().filter(|found| found.place != place);
            for found in others {
                sum.compared += 1;
                sum.in_vain += u64::from(found.equal_rows < equal_rows_min);
            }
            sum.queries += 1;
        }
        scratch.keep();
        Ok(sum)
    }

    /// The first live document at `place` or shortly after it, in the same source.
    fn live_from(&self, place: Place) -> Result<Option<Place>> {
        let end = self.document_count(place.source).min(place.ordinal.saturating_add(DEAD_MAX));
        for ordinal in place.ordinal..end {
            let next = Place { ordinal, ..place };
            if self.is_live(next)? {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// At most `count` places, evenly spaced over all sources.
    fn spaced_places(&self, count: u64) -> Vec<Place> {
        let sources = 0..=self.state.segments.len();
        let counts: Vec<u32> = sources.map(|source| self.document_count(source)).collect();
        let total: u64 = counts.iter().copied().map(u64::from).sum();
        let count = count.min(total);
        let (mut places, mut source, mut first) = (Vec::new(), 0, 0);
        for nth in 0..count {
            let number = nth * total / count;
            while number - first >= u64::from(counts[source]) {
                first += u64::from(counts[source]);
                source += 1;
            }
            let ordinal = u32::try_from(number - first).unwrap_or(u32::MAX);
            places.push(Place { source, ordinal });
        }
        places
    }
}
