//! Which documents take part in a judgement.

use std::fmt;

/// Maximum number of documents that are fetched together.
const DOCUMENTS: usize = 1_024;
/// Number of shingles at which no further document is fetched with others. Bounds the memory: those
/// that these were dropped for are fetched, too.
const SHINGLES_MAX: u64 = 2 << 20;

/// A document that takes part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suspect {
    pub(super) rank: u64,
    /// The document that it was dropped for; `None`: it is kept.
    pub(super) of: Option<u64>,
    /// Number of its shingles.
    shingles: u32,
}

/// The documents that a [`Judge`](crate::Judge) looks at: those that were dropped for a document
/// with other shingles, and those they were dropped for. What has equal shingles takes no part,
/// because a crowd of equal documents would make its own words frequent. The order in which
/// documents are added has no influence. Memory: 64 bytes for each dropped document.
#[derive(Clone, Default)]
pub struct Suspects {
    all: Vec<Suspect>,
}

impl fmt::Debug for Suspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suspects").field("added", &self.all.len()).finish_non_exhaustive()
    }
}

impl Suspects {
    /// Adds a document that was dropped for the one of the rank `of`. The counts are the shingles
    /// of the two, and those that both have, as in [`Evidence`](crate::Evidence).
    pub fn add_dropped(&mut self, rank: u64, of: u64, [own, other, shared]: [u32; 3]) {
        if own != shared || other != shared {
            self.add(rank, Some(of), own);
            self.add(of, None, other);
        }
    }

    /// Adds a document with the number of its shingles: one that an estimate found to be like the
    /// one of the rank `of`, which is added by itself, or one that is kept.
    pub fn add(&mut self, rank: u64, of: Option<u64>, shingles: u32) {
        self.all.push(Suspect { rank, of, shingles });
    }

    /// Each document once, in order of rank, and the number of their shingles.
    pub(super) fn sorted(self) -> (Vec<Suspect>, u64) {
        let Self { mut all } = self;
        all.sort_unstable_by_key(|suspect| (suspect.rank, suspect.of.is_none(), suspect.of));
        all.dedup_by_key(|suspect| suspect.rank);
        let shingles = all.iter().map(|suspect| u64::from(suspect.shingles)).sum();
        (all, shingles)
    }
}

/// Splits into parts that fit into memory.
pub(super) fn together(mut rest: &[Suspect]) -> impl Iterator<Item = &[Suspect]> {
    std::iter::from_fn(move || {
        let mut shingles = 0;
        let fits = |suspect: &&Suspect| {
            let fits = shingles < SHINGLES_MAX;
            shingles += u64::from(suspect.shingles);
            fits
        };
        let count = rest.iter().take(DOCUMENTS).take_while(fits).count();
        let some;
        (some, rest) = rest.split_at(count);
        (count > 0).then_some(some)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_takes_part_once_and_equal_ones_do_not() {
        let mut suspects = Suspects::default();
        suspects.add_dropped(7, 2, [9, 9, 9]);
        suspects.add_dropped(5, 3, [4, 6, 4]);
        suspects.add_dropped(4, 3, [5, 6, 5]);
        suspects.add(8, Some(5), 1);
        suspects.add(5, None, 4);
        let (all, shingles) = suspects.sorted();
        let found: Vec<_> = all.iter().map(|one| (one.rank, one.of)).collect();
        assert_eq!(found, [(3, None), (4, Some(3)), (5, Some(3)), (8, Some(5))]);
        assert_eq!(shingles, 6 + 5 + 4 + 1);
    }

    #[test]
    fn many_or_large_ones_are_not_fetched_together() {
        let sizes = |count: u64, shingles: u32| {
            let mut suspects = Suspects::default();
            (0..count).for_each(|rank| suspects.add(rank, None, shingles));
            together(&suspects.sorted().0).map(<[_]>::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(2_050, 9), [1_024, 1_024, 2]);
        assert_eq!(sizes(5, 3 << 19), [2, 2, 1]);
        assert_eq!(sizes(2, u32::MAX), [1, 1]);
        assert!(sizes(0, 9).is_empty());
    }
}
