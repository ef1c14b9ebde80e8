//! All pairs of similar documents, as a stream.

use crate::Result;
use crate::index::read::alike::Alike;
use crate::index::read::answer::{Collapsed, Pair, Progress};
use crate::index::read::clusters::{Twins, unite_twins};
use crate::index::read::forest::{Forest, Numbers};
use crate::index::read::sweep::{PlacePair, Sweep};
use crate::index::state::versions::{Place, Snapshot};
use crate::segment::Bits;
use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;

/// The stream of all pairs. Its memory does not grow with their number.
pub struct Pairs {
    sweep: Sweep,
}

impl Snapshot {
    /// All pairs of documents that are [`Alike`] enough (a number is a similarity) and share a
    /// band, each once, in no particular order.
    ///
    /// A stream that walks the bucket tables once. It uses some MiB of memory, and 32 bytes for
    /// each document of the largest crowd that shares one band. Its cost is linear in the number of
    /// documents and of pairs that share a band: a crowd of n similar documents costs n^2 / 2
    /// comparisons per shared band.
    ///
    /// # Errors
    ///
    /// `Invalid` (threshold not from 0 to 1). Later, the stream may return `Corrupt` and `Io`.
    pub fn pairs(&self, alike: impl Into<Alike>) -> Result<Pairs> {
        self.refuse_if_closed()?;
        Ok(Pairs { sweep: Sweep::new(self, alike.into().check()?) })
    }
}

impl Pairs {
    /// The progress of the stream, in documents.
    pub fn progress(&self) -> Progress {
        self.sweep.progress()
    }

    /// Restarts and returns all pairs, with documents of equal signatures grouped: a crowd of n
    /// copies is reported once instead of n^2 / 2 times.
    ///
    /// Costs one more walk of the first band's table than [`Snapshot::pairs`], but only n log n
    /// comparisons for a crowd of n copies. Uses 4 bytes of memory per document while it runs, and
    /// then one key per crowd. If the condition includes a minimum containment
    /// ([`Alike::contained`]), the documents of a crowd also have equal counts of shingles.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`.
    pub fn collapse(self) -> Result<CollapsedPairs> {
        CollapsedPairs::new(&self.sweep.snapshot, self.sweep.alike)
    }

    fn complete(&self, pair: PlacePair) -> Result<Pair> {
        let snapshot = &self.sweep.snapshot;
        let keys = (snapshot.key(pair.a)?, snapshot.key(pair.b)?);
        pair_of(&self.sweep, keys, pair)
    }
}

/// A pair of two keys given in any order.
fn pair_of(sweep: &Sweep, (one, other): (Vec<u8>, Vec<u8>), found: PlacePair) -> Result<Pair> {
    let Sweep { snapshot, alike, .. } = sweep;
    let PlacePair { a, b, equal_rows } = found;
    let mut containment = None;
    if alike.asks_for_counts() {
        let counts = (snapshot.shingle_count(a)?, snapshot.shingle_count(b)?);
        containment = snapshot.params().containment(equal_rows, counts.0, counts.1);
    }
    let (a, b) = if one < other { (one, other) } else { (other, one) };
    let similarity = snapshot.params().similarity(equal_rows);
    Ok(Pair { a, b, equal_rows, similarity, containment })
}

/// The stream of all pairs with documents of equal signatures grouped: first the crowds, then the
/// pairs.
pub struct CollapsedPairs {
    sweep: Sweep,
    numbers: Numbers,
    /// All documents of each crowd except its representative.
    twins: Bits,
    /// Smallest key and size of each crowd. The map is keyed by the number of the crowd's
    /// representative.
    crowds: HashMap<u32, (Vec<u8>, u64), ahash::RandomState>,
    /// The numbers of the crowds that the stream has not returned yet.
    untold: std::vec::IntoIter<u32>,
}

impl CollapsedPairs {
    fn new(snapshot: &Snapshot, alike: Alike) -> Result<Self> {
        let numbers = Numbers::of(snapshot)?;
        let mut forest = Forest::new(numbers.count);
        let go_on = &mut |_| ControlFlow::Continue(());
        let which = (alike, Twins::Interchangeable);
        let twins = unite_twins(snapshot, which, &numbers, &mut forest, go_on)?;
        let mut crowds: HashMap<_, (Vec<u8>, u64), _> = HashMap::default();
        let mut untold = Vec::new();
        for (root, number) in forest.members() {
            let key = snapshot.key(numbers.place(number))?;
            let (smallest, count) = crowds.entry(root).or_insert_with(|| {
                untold.push(root);
                (key.clone(), 0)
            });
            *count += 1;
            if key < *smallest {
                *smallest = key;
            }
        }
        let (sweep, untold) = (Sweep::new(snapshot, alike), untold.into_iter());
        Ok(Self { sweep, numbers, twins, crowds, untold })
    }

    /// The progress of the stream, in documents.
    pub fn progress(&self) -> Progress {
        self.sweep.progress()
    }

    /// The key that represents a document, and the size of its crowd.
    fn crowd_of(&self, place: Place) -> Result<(Vec<u8>, u64)> {
        match self.crowds.get(&self.numbers.number(place)) {
            Some(crowd) => Ok(crowd.clone()),
            None => Ok((self.sweep.snapshot.key(place)?, 1)),
        }
    }

    fn next_pair(&mut self) -> Result<Option<Collapsed>> {
        let (twins, numbers) = (&self.twins, &self.numbers);
        let is_twin = |place| twins.is_set(numbers.number(place));
        let go_on = &mut |_| ControlFlow::Continue(());
        let Some(found) = self.sweep.next(&is_twin, go_on)? else { return Ok(None) };
        let (one, one_count) = self.crowd_of(found.a)?;
        let (other, other_count) = self.crowd_of(found.b)?;
        let (a_count, b_count) =
            if one < other { (one_count, other_count) } else { (other_count, one_count) };
        let pair = pair_of(&self.sweep, (one, other), found)?;
        Ok(Some(Collapsed::Pair { pair, a_count, b_count }))
    }
}

impl Iterator for CollapsedPairs {
    type Item = Result<Collapsed>;

    fn next(&mut self) -> Option<Self::Item> {
        let crowd = self.untold.next().and_then(|number| self.crowds.get(&number));
        if let Some((key, count)) = crowd {
            return Some(Ok(Collapsed::Crowd { key: key.clone(), count: *count }));
        }
        self.next_pair().transpose()
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        let go_on = &mut |_| ControlFlow::Continue(());
        let pair = self.sweep.next(&|_| false, go_on).transpose()?;
        Some(pair.and_then(|pair| self.complete(pair)))
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = f.debug_struct("Pairs");
        pairs.field("alike", &self.sweep.alike).field("progress", &self.progress());
        pairs.field("snapshot", &self.sweep.snapshot).finish()
    }
}

impl fmt::Debug for CollapsedPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = f.debug_struct("CollapsedPairs");
        pairs.field("crowds", &self.crowds.len()).field("progress", &self.progress());
        pairs.field("snapshot", &self.sweep.snapshot).finish_non_exhaustive()
    }
}
