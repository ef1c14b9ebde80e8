//! Judges a deduplication by comparing all documents with each other, exactly. Uses nothing of the
//! library, as an independent check.

use std::collections::HashMap;

/// Maximum number of documents that are all compared with each other. Among more, only those that
/// share a rare element are compared, which finds the same pairs.
const ALL_MAX: usize = 2_500;
/// Maximum number of documents for which both ways are taken, and must find the same pairs.
const CHECKED_MAX: usize = 600;

/// Tolerance of comparisons of two fractions.
const EPSILON: f64 = 1e-9;

/// Number of elements that two sorted sets share.
pub(crate) fn shared(a: &[u64], b: &[u64]) -> usize {
    shared_at_least(a, b, 0).unwrap_or_default()
}

/// The same, or `None` if it is below `least`: stops as soon as that is certain.
fn shared_at_least(mut a: &[u64], mut b: &[u64], least: usize) -> Option<usize> {
    let mut shared = 0;
    while let ([first, rest @ ..], [next, others @ ..]) = (a, b) {
        if shared + a.len().min(b.len()) < least {
            return None;
        }
        shared += usize::from(first == next);
        (a, b) = match first.cmp(next) {
            std::cmp::Ordering::Less => (rest, b),
            std::cmp::Ordering::Equal => (rest, others),
            std::cmp::Ordering::Greater => (a, others),
        };
    }
    (shared >= least).then_some(shared)
}

/// The Jaccard similarity, if it is at least `least`.
fn similarity_at_least(a: &[u64], b: &[u64], least: f64) -> Option<f64> {
    let all = (a.len() + b.len()) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    let needed = (all * least / (1.0 + least) - EPSILON).ceil().max(0.0) as usize;
    let shared = shared_at_least(a, b, needed)? as f64;
    let similarity = if all == 0.0 { 1.0 } else { shared / (all - shared) };
    (similarity >= least - EPSILON).then_some(similarity)
}

/// What a deduplication did. Similarities are those of the deduplicated shingles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) removed: usize,
    /// Number of removed documents that are similar to no kept document.
    pub(crate) wrong: usize,
    /// Number of pairs of similar documents that are both kept.
    pub(crate) missed: usize,
    /// Number of documents of the largest cluster, including the kept one; 0 if it is not known.
    pub(crate) largest: usize,
    /// The least similarity of a removed document to the kept document most similar to it.
    pub(crate) least: f64,
}

/// Judges a deduplication. `kept_for` has the kept document for each document: itself, if it is
/// kept; `usize::MAX` if it is not known. Sets are sorted. Two documents are similar if their
/// similarity is at least `threshold`.
pub(crate) fn judge(sets: &[&[u64]], kept_for: &[usize], threshold: f64) -> Verdict {
    let is_kept = |at: usize| kept_for[at] == at;
    let mut sizes = vec![0; sets.len()];
    for kept in kept_for {
        if let Some(size) = sizes.get_mut(*kept) {
            *size += 1;
        }
    }
    if kept_for.contains(&usize::MAX) {
        sizes.clear();
    }
    let (mut missed, mut is_justified) = (0, vec![false; sets.len()]);
    for (one, other) in similar_pairs(sets, threshold) {
        missed += usize::from(is_kept(one) && is_kept(other));
        is_justified[one] |= is_kept(other);
        is_justified[other] |= is_kept(one);
    }
    let removed: Vec<usize> = (0..sets.len()).filter(|at| !is_kept(*at)).collect();
    let wrong: Vec<usize> = removed.iter().copied().filter(|at| !is_justified[*at]).collect();
    let best = |at: &usize| {
        let others = (0..sets.len()).filter(|other| is_kept(*other));
        others.fold(0.0, |best: f64, other| {
            similarity_at_least(sets[*at], sets[other], best).map_or(best, |found| found.max(best))
        })
    };
    let least = wrong.iter().map(best).fold(threshold, f64::min);
    let largest = sizes.into_iter().max().unwrap_or_default();
    Verdict { removed: removed.len(), wrong: wrong.len(), missed, largest, least }
}

/// All pairs with at least this similarity.
fn similar_pairs(sets: &[&[u64]], threshold: f64) -> Vec<(usize, usize)> {
    if sets.len() > ALL_MAX {
        return pairs_with_a_rare_element(sets, threshold);
    }
    let mut pairs = Vec::new();
    for (one, set) in sets.iter().enumerate() {
        let is_similar =
            |other: &usize| similarity_at_least(set, sets[*other], threshold).is_some();
        pairs.extend((0..one).filter(is_similar).map(|other| (other, one)));
    }
    if sets.len() <= CHECKED_MAX {
        let mut others = pairs_with_a_rare_element(sets, threshold);
        pairs.sort_unstable();
        others.sort_unstable();
        assert_eq!(pairs, others, "both ways find the same pairs");
    }
    pairs
}

/// The same pairs. Two similar sets share at least `threshold` times the n elements of either one,
/// so they share one of the n - `threshold` n + 1 rarest elements of each.
fn pairs_with_a_rare_element(sets: &[&[u64]], threshold: f64) -> Vec<(usize, usize)> {
    let mut number: HashMap<u64, u32> = HashMap::new();
    for element in sets.iter().copied().flatten() {
        *number.entry(*element).or_default() += 1;
    }
    let mut with: HashMap<u64, Vec<usize>> = HashMap::new();
    let (mut pairs, mut seen_by) = (Vec::new(), vec![usize::MAX; sets.len()]);
    for (one, set) in sets.iter().enumerate() {
        let mut elements = set.to_vec();
        elements.sort_unstable_by_key(|element| (number[element], *element));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive")]
        let needed = (set.len() as f64 * threshold - EPSILON).ceil().max(1.0) as usize;
        elements.truncate(set.len() + 1 - needed.min(set.len()));
        for element in elements {
            let others = with.entry(element).or_default();
            for &other in &*others {
                if std::mem::replace(&mut seen_by[other], one) != one
                    && similarity_at_least(sets[other], set, threshold).is_some()
                {
                    pairs.push((other, one));
                }
            }
            others.push(one);
        }
    }
    pairs
}
