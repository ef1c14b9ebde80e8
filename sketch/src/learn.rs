//! Finds the shingles that many documents share.
//!
//! Counts exactly while the documents fit into the bound, and otherwise those of a sample. The
//! sample is chosen by the documents' content, so the result depends neither on their order nor on
//! how threads share them.

use std::collections::BTreeMap;
use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::numbers::wide;
use super::original::Original;
use super::sketcher::Sketcher;
use crate::{Common, Error, Params, Result};

/// Maximum number of shingle hashes that are kept, with [`OVERHEAD`] for each document: 64 MiB.
const KEPT_MAX: usize = 8 << 20;
/// What a document takes beside its hashes, in hashes.
const OVERHEAD: usize = 8;
/// Maximum number of counted shingles of a document: those with the smallest hashes.
const OF_DOCUMENT_MAX: usize = 1 << 17;

/// Counts in how many documents each shingle occurs, and lists those that many documents share.
///
/// Documents with the same shingles count once. Counts are exact while the documents have at most
/// eight million shingles in all; beyond that, they are those of a sample of at least some three
/// million. (A share of 5 % of 5,000 sampled documents has a standard error of 0.3 %.) The result
/// does not depend on the order of the documents, nor on how they were spread over learners before
/// [`CommonLearner::merge`].
///
/// ```
/// # use nearkin_sketch as nearkin;
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{CommonLearner, Params, Sketcher};
///
/// let params = Params::for_threshold(0.7).build()?;
/// let mut learner = CommonLearner::new(&params)?;
/// for number in 0..100 {
///     learner.add_text(&format!("report {number} sent by the weather service of the county"))?;
/// }
/// let params = params.to_builder().common(learner.common(0.05)?).build()?;
/// let sketcher = Sketcher::new(&params);
/// // Only "report 7 sent" and "7 sent by" are left.
/// let text = sketcher.text("report 7 sent by the weather service of the county")?;
/// assert_eq!(text.shingle_count(), 2);
/// # Ok(())
/// # }
/// ```
pub struct CommonLearner {
    sketcher: Sketcher,
    signature_id: u64,
    shingle_id: u64,
    /// The kept documents by the hash of their shingle hashes.
    kept: BTreeMap<u64, Box<[u64]>>,
    /// What `kept` takes, in hashes.
    size: usize,
    /// Only documents whose hash has as many leading zeros are kept.
    zeros: u32,
    size_max: usize,
}

/// A shingle that many documents share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommonShingle {
    /// The hash of the shingle.
    pub hash: u64,
    /// In how many of the counted documents it occurs.
    pub documents: u64,
}

impl fmt::Debug for CommonLearner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommonLearner({} documents)", self.kept.len())
    }
}

impl CommonLearner {
    /// A shingle is only listed if at least as many documents have it, whatever the share.
    pub const DOCUMENTS_MIN: u64 = 10;

    /// A learner for lists that fit these parameters. Their own list has no effect.
    ///
    /// # Errors
    ///
    /// `Invalid` for parameters of windows of words, and of an external scheme: they take no list.
    pub fn new(params: &Params) -> Result<Self> {
        // Whether parameters take a list is their own decision.
        params.to_builder().common(Common::from_hashes([0])?).build()?;
        let plain = params.of_shingles()?;
        Ok(Self {
            sketcher: Sketcher::new(&plain),
            signature_id: plain.signature_id(),
            shingle_id: plain.shingle_id(),
            kept: BTreeMap::new(),
            size: 0,
            zeros: 0,
            size_max: KEPT_MAX,
        })
    }

    /// Makes the documents for [`CommonLearner::add`], in other threads for instance.
    pub fn sketcher(&self) -> Sketcher {
        self.sketcher.clone()
    }

    /// Counts the shingles of a text. A blank text is not counted.
    ///
    /// # Errors
    ///
    /// `Invalid` if the parameters are for items.
    pub fn add_text(&mut self, text: &str) -> Result<()> {
        match self.sketcher.original_text(text) {
            Ok(document) => self.add(&document),
            Err(error) if error.kind() == crate::ErrorKind::Empty => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Counts the shingles of a document made by [`CommonLearner::sketcher`].
    ///
    /// # Errors
    ///
    /// `Invalid` if another sketcher made it.
    pub fn add(&mut self, document: &Original) -> Result<()> {
        if document.signature().id() != self.signature_id {
            return Err(Error::invalid("the document was not made by the learner's sketcher"));
        }
        let hashes = document.shingle_hashes();
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        let id = xxh3_64(&bytes);
        if id.leading_zeros() >= self.zeros {
            self.keep(id, hashes.get(..OF_DOCUMENT_MAX).unwrap_or(hashes).into());
        }
        Ok(())
    }

    /// Adds what another learner for the same parameters has counted.
    ///
    /// # Errors
    ///
    /// `Invalid` if the parameters differ.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        if other.signature_id != self.signature_id {
            return Err(Error::invalid("learners for different parameters cannot be merged"));
        }
        self.thin_to(other.zeros);
        for (id, hashes) in other.kept {
            if id.leading_zeros() >= self.zeros {
                self.keep(id, hashes);
            }
        }
        Ok(())
    }

    fn keep(&mut self, id: u64, hashes: Box<[u64]>) {
        let size = hashes.len() + OVERHEAD;
        if self.kept.insert(id, hashes).is_none() {
            self.size += size;
        }
        while self.size > self.size_max {
            self.thin_to(self.zeros + 1);
        }
    }

    /// Drops the documents whose hashes have fewer leading zeros.
    fn thin_to(&mut self, zeros: u32) {
        if zeros <= self.zeros {
            return;
        }
        self.zeros = zeros;
        let dropped = match 1_u64.checked_shl(64 - zeros) {
            Some(end) => self.kept.split_off(&end),
            None => std::mem::take(&mut self.kept),
        };
        self.size -= dropped.values().map(|hashes| hashes.len() + OVERHEAD).sum::<usize>();
    }

    /// The number of different documents that were counted: those of the sample, if there is one.
    pub fn documents(&self) -> u64 {
        wide(self.kept.len())
    }

    /// Whether only a sample of the documents was counted.
    pub fn is_sample(&self) -> bool {
        self.zeros > 0
    }

    /// The shingles that at least this share of the documents have (and at least
    /// [`CommonLearner::DOCUMENTS_MIN`] documents), the most frequent ones first, at most
    /// [`Common::HASHES_MAX`].
    ///
    /// # Errors
    ///
    /// `Invalid` unless the share is above 0, at most 1.
    pub fn shingles(&self, share: f64) -> Result<Vec<CommonShingle>> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::invalid(format!(
                "the share of documents that makes a shingle common must be above 0, at most 1, \
                 not {share}"
            )));
        }
        let mut all: Vec<u64> = self.kept.values().flatten().copied().collect();
        all.sort_unstable();
        let documents = self.documents() as f64;
        let reaches =
            |count: u64| count >= Self::DOCUMENTS_MIN && count as f64 >= share * documents - 1e-9;
        let shingles = all
            .chunk_by(|a, b| a == b)
            .filter_map(|equal| Some((*equal.first()?, wide(equal.len()))))
            .filter(|(_, count)| reaches(*count));
        let mut shingles: Vec<CommonShingle> =
            shingles.map(|(hash, documents)| CommonShingle { hash, documents }).collect();
        shingles.sort_unstable_by_key(|one| (std::cmp::Reverse(one.documents), one.hash));
        shingles.truncate(Common::HASHES_MAX);
        Ok(shingles)
    }

    /// The list of [`CommonLearner::shingles`], `None` if there are none.
    ///
    /// # Errors
    ///
    /// `Invalid` unless the share is above 0, at most 1.
    pub fn common(&self, share: f64) -> Result<Option<Common>> {
        let shingles = self.shingles(share)?;
        if shingles.is_empty() {
            return Ok(None);
        }
        let list = Common::from_hashes(shingles.iter().map(|one| one.hash))?;
        Ok(Some(list.made_for(self.shingle_id)))
    }
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
