//! Connected components of documents. Works like the sweep, but does not compare documents that
//! are already in the same component.
//!
//! A new document of a bucket is first compared with one document of each component in the
//! bucket. In a crowd, this comparison usually succeeds and settles the matter. If it fails, the
//! new document is compared with the other documents of the component, so it is declared separate
//! only after all of them.

use super::alike::Alike;
use super::forest::{Forest, Numbers};
use super::sweep::{RangeEntry, Sweep};
use crate::format::bytes::wide;
use crate::index::read::answer::Progress;
use crate::index::read::margin::Margin;
use crate::index::state::versions::{Place, Snapshot};
use crate::{Error, ErrorKind, Result};
use nearkin_sketch::engine::{Agreement, first_shared_band};
use std::ops::ControlFlow;

/// Number of entries that are handled, or pairs that are compared, between two progress reports.
const REPORT: usize = 1 << 12;
/// Prefetch distance for signatures, in entries.
const AHEAD: usize = 16;
/// Minimum number of documents in a bucket that is pruned.
const PRUNE_MIN: usize = small!(connect::PRUNE_MIN, 64);

/// What [`connect`] did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connected {
    /// Pairs compared, each as often as it was.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests bound the cost of a crowd"))]
    pub(super) compared: u64,
    /// How often a document reached the threshold with a component, or came just below it with all
    /// documents of the component that it met. Pairs would not do: a document that reaches the
    /// threshold with one document of a crowd is compared with no other, and one that comes close
    /// is compared with all.
    pub(super) margin: Margin,
}

/// Decides whether a pair that the signatures make connects its documents.
pub(super) type Confirm<'a> = dyn FnMut(Place, Place) -> Result<bool> + 'a;

/// Unites all documents that are connected by pairs, except skipped ones. With `confirm`, each pair
/// is confirmed at most once.
pub(super) fn connect(
    mut sweep: Sweep,
    numbers: &Numbers,
    forest: &mut Forest,
    skipped: &dyn Fn(Place) -> bool,
    mut confirm: Option<&mut Confirm<'_>>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Connected> {
    let snapshot = sweep.snapshot.clone();
    let mut bucket = Bucket::new(&snapshot, sweep.alike);
    let (mut band, mut reported) = (0, 0);
    while sweep.collect(skipped)? {
        if sweep.band != band {
            band = sweep.band;
            bucket.clear();
            bucket.band = band;
        }
        for (at, entry) in sweep.complete().iter().enumerate() {
            if let Some(ahead) = sweep.neighbour(at + AHEAD) {
                snapshot.prefetch_signature(ahead);
            }
            if bucket.is_reached_by(*entry) || sweep.meets_next(at) {
                bucket.meet(*entry, numbers, forest, confirm.as_deref_mut())?;
            }
            let is_due = at % REPORT == 0 || bucket.compared - reported >= wide(REPORT);
            if is_due {
                reported = bucket.compared;
                if progress(sweep.progress()).is_break() {
                    return Err(cancelled());
                }
            }
        }
    }
    Ok(Connected { compared: bucket.compared, margin: bucket.margin })
}

pub(super) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the search for clusters was cancelled")
}

/// The documents of a band whose ranges of keys reach the current position of the sweep, by
/// component.
struct Bucket<'a> {
    snapshot: &'a Snapshot,
    alike: Alike,
    equal_rows_min: u32,
    /// As in [`Sweep`].
    equal_rows_near: u32,
    band: usize,
    components: Vec<Component>,
    /// The number of documents.
    members: usize,
    /// The bucket is pruned when it reaches this number of documents.
    members_max: usize,
    /// The largest BandKey in any range of the bucket.
    reached: u64,
    /// Pairs compared so far.
    compared: u64,
    margin: Margin,
}

/// Documents of one component in the bucket.
struct Component {
    /// The number of one of its documents.
    number: u32,
    members: Vec<BucketMember>,
}

/// A document compared with those of a component.
#[derive(Default)]
struct ComponentComparison {
    /// Whether one of them is a pair with it.
    is_like: bool,
    /// The number of comparisons.
    count: u64,
    /// Whether one of them comes just below the threshold, and this is the first band that the two
    /// share.
    is_near: bool,
}

#[derive(Clone, Copy)]
struct BucketMember {
    key_last: u64,
    place: Place,
}

impl<'a> Bucket<'a> {
    fn new(snapshot: &'a Snapshot, alike: Alike) -> Self {
        let params = snapshot.params();
        Self {
            snapshot,
            alike,
            equal_rows_min: alike.equal_rows_min(params),
            equal_rows_near: Margin::equal_rows_min(alike, params),
            band: 0,
            components: Vec::new(),
            members: 0,
            members_max: PRUNE_MIN,
            reached: 0,
            compared: 0,
            margin: Margin::default(),
        }
    }

    fn is_reached_by(&self, entry: RangeEntry) -> bool {
        self.members > 0 && entry.key_first <= self.reached
    }

    fn clear(&mut self) {
        self.components.clear();
        (self.members, self.members_max, self.reached) = (0, PRUNE_MIN, 0);
    }

    /// Unites the next document with all similar documents of the bucket, and adds it to the
    /// bucket.
    fn meet(
        &mut self,
        entry: RangeEntry,
        numbers: &Numbers,
        forest: &mut Forest,
        mut confirm: Option<&mut Confirm<'_>>,
    ) -> Result<()> {
        if !self.is_reached_by(entry) {
            self.clear();
        } else if self.members >= self.members_max {
            self.prune(entry.key_first);
        }
        let number = numbers.number(entry.place);
        let mut own: Option<usize> = None;
        let mut at = 0;
        while let Some(component) = self.components.get(at) {
            let is_one = forest.root(number) == forest.root(component.number);
            if !is_one {
                let compared = self.compare(entry, component, confirm.as_deref_mut())?;
                self.compared += compared.count;
                let only_near = compared.is_near && !compared.is_like;
                self.margin.just_below += u64::from(only_near);
                self.margin.reached += u64::from(compared.is_like);
                if !compared.is_like {
                    at += 1;
                    continue;
                }
                forest.unite(number, component.number);
            }
            match own {
                Some(own) => {
                    let mut joined = self.components.swap_remove(at);
                    self.components[own].members.append(&mut joined.members);
                }
                None => {
                    own = Some(at);
                    at += 1;
                }
            }
        }
        let own = own.unwrap_or_else(|| {
            self.components.push(Component { number, members: Vec::new() });
            self.components.len() - 1
        });
        let member = BucketMember { key_last: entry.key_last, place: entry.place };
        self.components[own].members.push(member);
        self.members += 1;
        self.reached = self.reached.max(entry.key_last);
        Ok(())
    }

    /// Compares the document of an entry with those of a component, up to the first that it is a
    /// pair with. The first comparison usually succeeds, so the signatures of the other documents
    /// are prefetched only if it fails.
    fn compare(
        &self,
        entry: RangeEntry,
        component: &Component,
        mut confirm: Option<&mut Confirm<'_>>,
    ) -> Result<ComponentComparison> {
        let mut compared = ComponentComparison::default();
        let params = self.snapshot.params();
        let (rows, lane_bits) = (params.rows_per_band(), params.lane_bits());
        let last = params.bands() - 1;
        let own = self.snapshot.signature_bytes(entry.place)?;
        for (at, member) in component.members.iter().enumerate() {
            if let Some(ahead) = component.members.get(at + AHEAD).filter(|_| at > 0) {
                self.snapshot.prefetch_signature(ahead.place);
            }
            if member.key_last < entry.key_first {
                continue;
            }
            let other = self.snapshot.signature_bytes(member.place)?;
            compared.count += 1;
            let agreement = Agreement::compare(&own, &other, lane_bits, self.equal_rows_near);
            let Some(agreement) = agreement else { continue };
            let Some(band) = first_shared_band(&agreement, last, rows) else { continue };
            let equal_rows = agreement.equal_rows();
            if equal_rows < self.equal_rows_min {
                compared.is_near |= band == self.band;
            } else if self.snapshot.is_pair(self.alike, (entry.place, member.place), equal_rows)? {
                compared.is_like = match confirm.as_deref_mut() {
                    None => true,
                    // In an earlier band that the two share, the pair was refused.
                    Some(_) if band != self.band => false,
                    Some(confirm) => confirm(entry.place, member.place)?,
                };
                if compared.is_like {
                    break;
                }
            }
        }
        Ok(compared)
    }

    /// Drops the documents whose ranges end before a key; no later document can overlap them.
    fn prune(&mut self, key_first: u64) {
        for component in &mut self.components {
            component.members.retain(|member| member.key_last >= key_first);
        }
        self.components.retain(|component| !component.members.is_empty());
        self.members = self.components.iter().map(|component| component.members.len()).sum();
        self.members_max = (2 * self.members).max(PRUNE_MIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::read::sweep::tests::{index, pairs};
    use nearkin_sketch::engine::signature_from_parts;

    fn go_on(_: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Compares the components with those of the sweep over all pairs, for ranges of every width.
    #[test]
    fn components_equal_those_of_all_pairs() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = index(&folder.path().join("x.nearkin"));
        let snapshot = index.snapshot();
        let numbers = Numbers::for_snapshot(&snapshot).expect("few documents");
        for threshold in [0.5, 0.7, 0.9] {
            let mut all = Forest::new(numbers.count);
            let pairs = pairs(&snapshot, threshold, 0);
            for (a, b, _) in &pairs {
                all.unite(numbers.number(*a), numbers.number(*b));
            }
            let expected = all.members();
            assert!(expected.len() > 300, "{}", expected.len());
            for cut in [0, 1, 7, 13, 17, 19] {
                let mut forest = Forest::new(numbers.count);
                let mut sweep = Sweep::new(&snapshot, threshold.into());
                sweep.cut = cut;
                let connected = connect(sweep, &numbers, &mut forest, &|_| false, None, &mut go_on);
                connected.expect("sound files");
                assert_eq!(forest.members(), expected, "{threshold}, in 2^{cut} ranges");
            }
        }
    }

    /// `c` joins the components of `a` and `b`. `d` shares a band with all three but is similar to
    /// `b` alone. Test: `d` is united with them only if `b` is still in the bucket, whichever of
    /// the two components absorbed the other.
    #[test]
    fn documents_of_absorbed_components_stay_in_the_bucket() {
        let params = crate::Params::builder().hashes(16).bands(4, 3).lane_bits(8).build();
        let params = params.expect("sound parameters");
        // Rows 0 to 2 are the band that all four share.
        let a = [9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        let b = [9, 9, 9, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];
        let c = [9, 9, 9, 1, 1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1];
        let d = [9, 9, 9, 2, 2, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 3];
        for (case, documents) in [[a, b, c, d], [b, a, c, d]].into_iter().enumerate() {
            let folder = tempfile::tempdir().expect("a folder");
            let dir = folder.path().join("x.nearkin");
            let index = crate::Index::create(&dir, &params, crate::Options::default());
            let index = index.expect("created");
            for (key, lanes) in documents.iter().enumerate() {
                let lanes = lanes.to_vec().into_boxed_slice();
                let signature = signature_from_parts(&params, 1, lanes);
                index.insert((key as u64).to_le_bytes(), &signature).expect("inserted");
            }
            let snapshot = index.snapshot();
            let numbers = Numbers::for_snapshot(&snapshot).expect("few documents");
            let mut forest = Forest::new(numbers.count);
            // The threshold requires nine equal rows of sixteen. Only `b` and `c` share another
            // band.
            let sweep = Sweep::new(&snapshot, 0.56.into());
            connect(sweep, &numbers, &mut forest, &|_| false, None, &mut go_on)
                .expect("sound files");
            assert_eq!(forest.members().len(), 4, "case {case}: all are one component");
        }
    }

    /// No pair is counted twice, and no other ones than those of the sweep over all pairs.
    #[test]
    fn a_margin_counts_at_most_the_pairs_that_there_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = index(&folder.path().join("x.nearkin"));
        let snapshot = index.snapshot();
        let numbers = Numbers::for_snapshot(&snapshot).expect("few documents");
        let mut just_below = 0;
        for threshold in [0.5, 0.7, 0.9] {
            let mut stream = snapshot.pairs(threshold).expect("a threshold");
            assert!(stream.by_ref().all(|pair| pair.is_ok()));
            let all = stream.margin();
            let mut forest = Forest::new(numbers.count);
            let sweep = Sweep::new(&snapshot, threshold.into());
            let connected = connect(sweep, &numbers, &mut forest, &|_| false, None, &mut go_on);
            let margin = connected.expect("sound files").margin;
            assert!((1..=all.reached).contains(&margin.reached), "{margin:?} of {all:?}");
            assert!(margin.just_below <= all.just_below, "{margin:?} of {all:?}");
            just_below += margin.just_below;
        }
        assert!(just_below > 0);
    }

    /// A crowd of similar documents costs about as many comparisons as it has documents, and no
    /// more if documents confirm each pair.
    #[test]
    fn a_crowd_is_not_compared_with_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = index(&folder.path().join("x.nearkin"));
        let sketcher = index.sketcher();
        let mut batch = crate::Batch::new();
        for at in 0..2_000_u64 {
            let text = (0..200).map(|item| format!("item {item}")).chain([format!("own {at}")]);
            let items: Vec<String> = text.collect();
            batch = batch.insert(at, &sketcher.text(&items.join(" ")).expect("not empty"));
        }
        index.write(batch).expect("a disk with room");
        for is_exact in [false, true] {
            let snapshot = index.snapshot();
            let numbers = Numbers::for_snapshot(&snapshot).expect("few documents");
            let mut forest = Forest::new(numbers.count);
            let sweep = Sweep::new(&snapshot, 0.5.into());
            let mut confirmed = 0;
            let mut confirm = |_, _| {
                confirmed += 1;
                Ok(true)
            };
            let confirm: Option<&mut Confirm<'_>> =
                if is_exact { Some(&mut confirm) } else { None };
            let compared = connect(sweep, &numbers, &mut forest, &|_| false, confirm, &mut go_on);
            let compared = compared.expect("sound files").compared;
            assert_eq!((1_999..20_000).contains(&confirmed), is_exact, "{confirmed} confirmed");
            assert!(compared < 20_000, "{compared} pairs were compared");
            let members = forest.members();
            let largest = members.chunk_by(|one, next| one.0 == next.0).map(<[_]>::len).max();
            assert_eq!(largest, Some(2_000), "the crowd is one component");
            index.compact().expect("a disk with room");
        }
    }
}
