//! All pairs of similar documents, as a stream.

use crate::Result;
use crate::index::read::answer::{Collapsed, Pair, Progress};
use crate::index::read::clusters::{Twins, unite_twins};
use crate::index::read::conditions::Conditions;
use crate::index::read::forest::{Forest, Numbers};
use crate::index::read::margin::Margin;
use crate::index::read::stop::Stop;
use crate::index::read::sweep::{PlacePair, Sweep};
use crate::index::state::versions::{Place, Snapshot};
use crate::segment::Bits;
use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The stream of all pairs. Its memory does not grow with their number.
pub struct Pairs {
    sweep: Sweep,
    cancel: Cancel,
    /// How many pairs the stream may still return.
    left: usize,
}

/// The condition to end a stream early.
#[derive(Default)]
struct Cancel {
    stop: Stop<'static>,
    /// Whether the stream ended by the condition.
    has_come: bool,
}

impl Cancel {
    /// Checks the condition. Once it was true, the stream has ended.
    fn check(&mut self) -> ControlFlow<()> {
        self.has_come |= self.stop.is_due();
        if self.has_come { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Snapshot {
    /// All pairs of documents that are [`Alike`](crate::Alike) enough (a number is a similarity)
    /// and share a band, each once, in no particular order.
    ///
    /// [`Conditions`] restrict them: both documents of a pair must pass prefix, times and filter,
    /// and `limit` ends the stream after so many pairs. Such a search first asks for each live
    /// document whether it passes, and then compares only those. `deadline` and `cancel_if` end it
    /// with `Cancelled`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # use nearkin::{Index, Options, Params};
    /// use nearkin::Conditions;
    ///
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::temporary(&params, Options::default())?;
    /// let text = index.sketcher().text("the annual report of the harbour authority")?;
    /// for key in ["north/1", "north/2", "south/1"] {
    ///     index.insert(key, &text)?;
    /// }
    /// assert_eq!(index.pairs(0.8)?.count(), 3);
    /// assert_eq!(index.pairs(Conditions::from(0.8).prefix("north/"))?.count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A stream that walks the bucket tables once. It uses some MiB of memory, and 32 bytes for
    /// each document of the largest crowd that shares one band. Its cost is linear in the number of
    /// documents and of pairs that share a band: a crowd of n similar documents costs n^2 / 2
    /// comparisons per shared band.
    ///
    /// # Errors
    ///
    /// `Invalid` (threshold not from 0 to 1, or other [`Conditions`]), `Cancelled`. Later, the
    /// stream may also return `Corrupt` and `Io`.
    pub fn pairs(&self, conditions: impl Into<Conditions<'static>>) -> Result<Pairs> {
        self.refuse_if_closed()?;
        let conditions = conditions.into();
        let alike = conditions.check_of_pairs(self.params())?;
        let mut cancel = Cancel { stop: conditions.stop.clone(), has_come: false };
        let sweep = Sweep::by_conditions(self, alike, &conditions, &mut |_| cancel.check())?;
        Ok(Pairs { sweep, cancel, left: conditions.limit })
    }
}

impl Pairs {
    /// The progress of the stream, in documents.
    pub fn progress(&self) -> Progress {
        self.sweep.progress()
    }

    /// How many of the pairs compared so far reach the threshold, and how many lie just below it.
    pub fn margin(&self) -> Margin {
        self.sweep.margin()
    }

    /// Ends the stream when this returns true: it yields `Cancelled`, and then nothing more.
    /// Useful with a flag that another thread sets, because a search that finds no pair for long
    /// does not return to the caller. `cancel` is called after every 64 comparisons at most; no
    /// lock is held during the call.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # use nearkin::{Index, Options, Params};
    /// use nearkin::ErrorKind;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::temporary(&params, Options::default())?;
    /// # let sketch = index.sketcher();
    /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
    /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
    /// let stop = Arc::new(AtomicBool::new(false));
    /// let flag = Arc::clone(&stop);
    /// let mut pairs = index.pairs(0.8)?.cancel_if(move || flag.load(Ordering::Relaxed));
    /// stop.store(true, Ordering::Relaxed);
    /// assert_eq!(pairs.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    /// assert!(pairs.next().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cancel_if(mut self, cancel: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.cancel.stop.cancel = Some(Arc::new(cancel));
        self
    }

    /// Restarts and returns all pairs, with documents of equal signatures grouped: a crowd of n
    /// copies is reported once instead of n^2 / 2 times.
    ///
    /// Costs one more walk of the first band's table than [`Snapshot::pairs`], but only n log n
    /// comparisons for a crowd of n copies. Uses 4 bytes of memory per document while it runs, and
    /// then one key per crowd. If the condition includes a minimum containment
    /// ([`Alike::contained`](crate::Alike::contained)), the documents of a crowd also have equal
    /// counts of shingles.
    ///
    /// # Errors
    ///
    /// `Cancelled` ([`Pairs::cancel_if`], which applies to the new stream, too), `Corrupt`, `Io`.
    pub fn collapse(self) -> Result<CollapsedPairs> {
        CollapsedPairs::new(&self.sweep, self.cancel, self.left)
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
    if alike.asks_for_containment() {
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
    crowds: HashMap<u32, (Vec<u8>, u64), crate::keyed::RandomState>,
    /// The numbers of the crowds that the stream has not returned yet.
    untold: std::vec::IntoIter<u32>,
    cancel: Cancel,
    /// How many crowds and pairs the stream may still return.
    left: usize,
}

impl CollapsedPairs {
    fn new(sweep: &Sweep, mut cancel: Cancel, left: usize) -> Result<Self> {
        let snapshot = &sweep.snapshot;
        let numbers = Numbers::for_snapshot(snapshot)?;
        let mut forest = Forest::new(numbers.count);
        let go_on = &mut |_| cancel.check();
        let which = Twins::Interchangeable;
        let twins = unite_twins(sweep.restarted(), which, &numbers, &mut forest, go_on)?;
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
        let (sweep, untold) = (sweep.restarted(), untold.into_iter());
        Ok(Self { sweep, numbers, twins, crowds, untold, cancel, left })
    }

    /// The progress of the stream, in documents.
    pub fn progress(&self) -> Progress {
        self.sweep.progress()
    }

    /// How many of the pairs compared so far reach the threshold, and how many lie just below it.
    pub fn margin(&self) -> Margin {
        self.sweep.margin()
    }

    /// The key that represents a document, and the size of its crowd.
    fn crowd_of(&self, place: Place) -> Result<(Vec<u8>, u64)> {
        match self.crowds.get(&self.numbers.number(place)) {
            Some(crowd) => Ok(crowd.clone()),
            None => Ok((self.sweep.snapshot.key(place)?, 1)),
        }
    }

    fn next_pair(&mut self) -> Result<Option<Collapsed>> {
        if self.cancel.has_come {
            return Ok(None);
        }
        let (twins, numbers, cancel) = (&self.twins, &self.numbers, &mut self.cancel);
        let is_twin = |place| twins.is_set(numbers.number(place));
        let Some(found) = self.sweep.next(&is_twin, &mut |_| cancel.check())? else {
            return Ok(None);
        };
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
        self.left = self.left.checked_sub(1)?;
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
        let Self { sweep, cancel, left } = self;
        if cancel.has_come {
            return None;
        }
        *left = left.checked_sub(1)?;
        let pair = sweep.next(&|_| false, &mut |_| cancel.check()).transpose()?;
        Some(pair.and_then(|pair| self.complete(pair)))
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = f.debug_struct("Pairs");
        pairs.field("alike", &self.sweep.alike).field("progress", &self.progress());
        pairs.field("snapshot", &self.sweep.snapshot).finish_non_exhaustive()
    }
}

impl fmt::Debug for CollapsedPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = f.debug_struct("CollapsedPairs");
        pairs.field("crowds", &self.crowds.len()).field("progress", &self.progress());
        pairs.field("snapshot", &self.sweep.snapshot).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::read::sweep::BATCH_PAIRS;
    use crate::index::read::sweep::tests::index;
    use crate::{ErrorKind, Index, Options, Params};
    use nearkin_sketch::engine::signature_from_parts;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Ends a stream when its condition was checked this often.
    fn after(count: usize) -> (Arc<AtomicUsize>, impl Fn() -> bool + Send + Sync + 'static) {
        let checked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&checked);
        (checked, move || counter.fetch_add(1, Ordering::Relaxed) >= count)
    }

    /// The number of items before the end. The stream has to end with `Cancelled`.
    fn count_before_end<T: fmt::Debug>(mut items: impl Iterator<Item = Result<T>>) -> usize {
        for count in 0.. {
            match items.next() {
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    assert_eq!(error.kind(), ErrorKind::Cancelled);
                    assert!(items.next().is_none(), "it goes on after its end");
                    return count;
                }
                None => break,
            }
        }
        panic!("it was not cancelled");
    }

    #[test]
    fn a_stream_ends_when_it_is_cancelled() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let index = index(&dir.path().join("i"));
        let snapshot = index.snapshot();
        let all = snapshot.pairs(0.8).expect("sound").count();
        let (checked, never) = after(usize::MAX);
        assert_eq!(snapshot.pairs(0.8).expect("sound").cancel_if(never).count(), all);
        let checked = checked.load(Ordering::Relaxed);
        assert!(all > 50 && checked > 20, "{all} pairs, checked {checked} times");
        let mut before = 0;
        for count in [0, 1, checked / 2, checked - 1] {
            let (_, due) = after(count);
            let found = count_before_end(snapshot.pairs(0.8).expect("sound").cancel_if(due));
            assert!(before <= found && found <= all, "{before} {found} {all}");
            before = found;
        }
    }

    /// 200 documents that share one band and nothing else: no pair, but 19,900 comparisons.
    #[test]
    fn a_stream_that_finds_nothing_is_cancelled() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let params = Params::builder().hashes(16).bands(4, 4).build().expect("sound");
        let index = Index::create(dir.path().join("i"), &params, Options::default());
        let index = index.expect("a new folder");
        let documents = (0..200_u8).map(|number| {
            let bytes = std::array::from_fn::<_, 16, _>(|at| if at < 4 { 0 } else { number });
            (number, signature_from_parts(&params, 1, Box::new(bytes)))
        });
        for (number, signature) in documents {
            index.insert([number], &signature).expect("a disk with room");
        }
        let (checked, never) = after(usize::MAX);
        assert_eq!(index.pairs(0.9).expect("sound").cancel_if(never).count(), 0);
        assert!(checked.load(Ordering::Relaxed) >= 19_900 / BATCH_PAIRS);
        let (_, due) = after(5);
        assert_eq!(count_before_end(index.pairs(0.9).expect("sound").cancel_if(due)), 0);
    }

    #[test]
    fn a_collapsed_stream_is_cancelled_while_it_begins_and_later() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let index = index(&dir.path().join("i"));
        let pairs = || index.pairs(0.8).expect("sound");
        let (checked, never) = after(usize::MAX);
        let begun = pairs().cancel_if(never).collapse().expect("sound");
        let at_begin = checked.load(Ordering::Relaxed);
        assert!(at_begin > 0);
        let all = begun.count();
        let (_, due) = after(0);
        let error = pairs().cancel_if(due).collapse().expect_err("cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        let (_, due) = after(at_begin + 3);
        assert!(count_before_end(pairs().cancel_if(due).collapse().expect("sound")) < all);
    }
}
