//! Compares the runs of two texts: whether what is rare sets them apart. Defined in
//! `docs/guide/DEDUP.md`.

use super::counts::Counts;

/// A run of words that at most this many documents have is rare.
pub(super) const RARE_DOCUMENTS_MAX: u32 = 4;
/// Two texts are copies if, of their rare runs, they share at least this part.
const SHARED_MIN: f64 = 0.4;
/// A text may have this part of its runs for itself if the other one has nothing for itself: a line
/// that was added.
const ADDED_MAX: f64 = 0.05;
/// A run belongs to a group if as many documents have it as have the runs that two texts share,
/// within these factors.
const GROUP: (f64, f64) = (0.75, 1.25);
/// Where one text has runs of the group, the other one may have this many times as many of its own
/// instead: they are edits of the group's text.
const EDITS: f64 = 1.5;

/// Why a document is not dropped although it is similar to a kept one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Apart {
    /// The two differ in numbers: with [`Guard::Agree`](crate::Guard::Agree) in any, otherwise in
    /// no other word.
    Numbers,
    /// The two differ in what is rare.
    #[non_exhaustive]
    Rare {
        /// Number of rare runs of three words that only the document has.
        own: u32,
        /// Number of rare runs that only the kept one has.
        other: u32,
        /// Number of rare runs that both have.
        shared: u32,
    },
}

/// The number of runs that set two texts apart, from the own runs of both; the one has `runs`.
pub(super) fn alone([own, other]: [f64; 2], runs: usize) -> f64 {
    own.min(other).max(own - ADDED_MAX * runs as f64)
}

/// Whether two texts are copies that share this many rare runs.
pub(super) fn is_copy(shared: f64, alone: f64) -> bool {
    shared >= SHARED_MIN * (2.0 * alone + shared)
}

/// How often the runs of two texts occur.
pub(super) struct Compared {
    /// Runs of the one text, and of the other, that the other lacks: rare ones.
    own: [f64; 2],
    /// The number of documents that have them, of the others that are not rare.
    common: [Vec<u32>; 2],
    /// Rare runs of both texts.
    shared: f64,
    /// The number of documents that have them, of the runs of both texts that are not rare.
    group: Vec<u32>,
    /// Number of runs of the one text.
    runs: usize,
}

impl Compared {
    pub(super) fn new(counts: &Counts, one: &[u64], other: &[u64]) -> Self {
        let mut compared = Self {
            own: [0.0; 2],
            common: [Vec::new(), Vec::new()],
            shared: 0.0,
            group: Vec::new(),
            runs: one.len(),
        };
        let (mut a, mut b) = (one, other);
        loop {
            let (first_a, first_b) = (a.first(), b.first());
            let run = match (first_a, first_b) {
                (Some(one), Some(other)) => *one.min(other),
                (Some(one), None) | (None, Some(one)) => *one,
                (None, None) => return compared,
            };
            let has = [first_a == Some(&run), first_b == Some(&run)];
            a = &a[usize::from(has[0])..];
            b = &b[usize::from(has[1])..];
            if let Some(count) = counts.counted(run) {
                compared.add(count, has);
            }
        }
    }

    fn add(&mut self, count: u32, has: [bool; 2]) {
        let is_rare = count <= RARE_DOCUMENTS_MAX;
        match (has, is_rare) {
            ([true, true], true) => self.shared += 1.0,
            ([true, true], false) => self.group.push(count),
            ([one, _], true) => self.own[usize::from(!one)] += 1.0,
            ([one, _], false) => self.common[usize::from(!one)].push(count),
        }
    }

    /// Number of runs of a text that belong to the group and are missing in the other text.
    fn of_group(&mut self, at: usize) -> f64 {
        if self.group.is_empty() {
            return 0.0;
        }
        let count = self.group.len();
        let mut quartile = |part: usize| *self.group.select_nth_unstable(count * part / 4).1;
        let (low, high) = (quartile(1), quartile(3));
        let least = (f64::from(low) * GROUP.0).max(f64::from(RARE_DOCUMENTS_MAX));
        let most = f64::from(high) * GROUP.1;
        let belongs = |count: &&u32| f64::from(**count) > least && f64::from(**count) <= most;
        self.common[at].iter().filter(belongs).count() as f64
    }

    pub(super) fn apart(mut self) -> Option<Apart> {
        // An edit of the group's text has runs of its own in place of the group's.
        // Whole runs: one word in place of which there are two lacks three and has five.
        let own = (self.own[0] - (EDITS * self.of_group(1)).ceil()).max(0.0);
        let other = (self.own[1] - (EDITS * self.of_group(0)).ceil()).max(0.0);
        let is_copy = is_copy(self.shared, alone([own, other], self.runs));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let count = |value: f64| value as u32;
        let [own, other] = self.own.map(count);
        (!is_copy).then_some(Apart::Rare { own, other, shared: count(self.shared) })
    }
}
