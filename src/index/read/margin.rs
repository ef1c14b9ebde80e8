//! Counts the pairs just below a threshold beside those that reach it.

use crate::Params;
use crate::index::read::alike::Alike;

/// How many compared pairs reach a minimum similarity, and how many lie just below it, by the
/// estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Margin {
    /// Pairs that reach the minimum.
    pub reached: u64,
    /// Pairs that miss it by at most [`Margin::WIDTH`].
    pub just_below: u64,
}

impl Margin {
    /// Pairs that miss the minimum similarity by at most this much are just below it: two standard
    /// errors of a signature of 128 rows.
    pub const WIDTH: f64 = 0.08;

    /// Fewer pairs just below the threshold than this are no sign of anything.
    const JUST_BELOW_MIN: u64 = 100;

    /// Whether more pairs lie just below the threshold than reach it.
    pub fn is_blurred(&self) -> bool {
        self.just_below >= Self::JUST_BELOW_MIN && self.just_below > self.reached
    }

    /// The minimum number of equal rows of a pair that is counted.
    pub(super) fn equal_rows_min(alike: Alike, params: &Params) -> u32 {
        if alike.asks_for_containment() || alike.is_verified() {
            return alike.equal_rows_min(params);
        }
        params.equal_rows_min((alike.least() - Self::WIDTH).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::read::sweep::tests::{index, pairs};

    /// The counts of a stream that has ended equal those of the pairs themselves.
    #[test]
    fn a_margin_counts_each_pair_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let index = index(&folder.path().join("x.nearkin"));
        let snapshot = index.snapshot();
        let params = snapshot.params();
        let all = pairs(&snapshot, 0.0, 0);
        for threshold in [0.02, 0.5, 0.56, 0.8, 1.0] {
            let mut stream = snapshot.pairs(threshold).expect("a threshold");
            assert_eq!(stream.margin(), Margin::default(), "nothing is compared yet");
            let count = stream.by_ref().flatten().count();
            let least = params.equal_rows_min(threshold);
            let near = params.equal_rows_min((threshold - Margin::WIDTH).max(0.0));
            let just_below = all.iter().filter(|pair| (near..least).contains(&pair.2)).count();
            let margin = Margin { reached: count as u64, just_below: just_below as u64 };
            assert_eq!(stream.margin(), margin, "{threshold}");
        }
        let mut verified = snapshot.pairs(Alike::similar(0.56).for_verification()).expect("sound");
        assert!(verified.by_ref().count() > 0);
        assert_eq!(verified.margin().just_below, 0, "the documents decide");
    }

    #[test]
    fn few_pairs_are_no_sign() {
        let is_blurred = |reached, just_below| Margin { reached, just_below }.is_blurred();
        assert!(is_blurred(99, 100) && is_blurred(0, 100));
        assert!(!is_blurred(0, 99) && !is_blurred(100, 100) && !is_blurred(6_000, 5_000));
    }
}
