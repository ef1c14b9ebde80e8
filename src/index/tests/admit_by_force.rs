//! The model of admission by the documents themselves: texts, conditions, and the decisions of
//! brute force.

use crate::index::write::admit::verify::COMPARED_MAX;
use crate::testing::random::Random;
use crate::{
    Admission, Admit, Alike, Decision, Guard, Index, Keep, Newcomer, Original, Overlap, Params,
    Shingles, Sketcher,
};
use std::collections::BTreeMap;

pub(super) fn params() -> Params {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Words(1)).hashes(64);
    builder.bands(32, 2).build().expect("within the limits")
}

/// A word; each tenth is a number.
fn word(item: usize) -> String {
    if item % 10 == 3 {
        return item.to_string();
    }
    item.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

pub(super) fn text_of(items: impl IntoIterator<Item = usize>) -> String {
    items.into_iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A document and its text.
#[derive(Clone)]
pub(super) struct Doc {
    pub(super) original: Original,
    pub(super) text: String,
}

/// A text out of a few families; members of a family share most of their words. Some differ in
/// numbers only.
pub(super) fn doc(random: &mut Random, sketcher: &Sketcher) -> Doc {
    let (first, length) = (random.below(4) * 1_000, random.pick(&[40, 40, 30, 20]));
    let mut items: Vec<usize> = (first..first + length).collect();
    let only_numbers = random.below(3) == 0;
    for _ in 0..random.below(12) {
        let at = random.below(length);
        let other = first + 100 + 10 * random.below(6);
        match items[at] % 10 {
            3 => items[at] = other + 3,
            digit if !only_numbers => items[at] = other + digit,
            _ => {}
        }
    }
    let text = text_of(items);
    Doc { original: sketcher.detailed_text(&text).expect("not empty"), text }
}

/// Whether two texts differ, but not if all neighbouring numbers count as one and the same.
fn differ_only_in_numbers(one: &str, other: &str) -> bool {
    let without = |text: &str| {
        let is_number = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
        let words = text.split(' ').map(|word| if is_number(word) { "#" } else { word });
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.dedup_by(|a, b| a == b && a == "#");
        words
    };
    one != other && without(one) == without(other)
}

/// The live documents by key.
pub(super) type Model = BTreeMap<Vec<u8>, Doc>;

/// What a test compares of a decision: for each match its key and overlap.
pub(super) type Matches = Vec<(Vec<u8>, Option<Overlap>)>;

#[derive(Debug, PartialEq)]
pub(super) enum Decided {
    Rejected(Matches),
    Admitted { related: Matches, removed: Matches },
}

/// A decision, what could not be compared, what the guard set apart, and whether all candidates
/// were looked at.
pub(super) type Whole = (Decided, Vec<Vec<u8>>, Matches, bool);

/// The conditions of a test.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) reject: Alike,
    pub(super) relate: Option<f64>,
    pub(super) keep: Keep,
    pub(super) limit: usize,
    /// Whether candidates that cannot be compared decide by the estimate.
    pub(super) or_by_estimate: bool,
    pub(super) at_threshold: bool,
    pub(super) guard: Guard,
}

impl Rules {
    pub(super) fn new(reject: Alike, relate: Option<f64>, keep: Keep, limit: usize) -> Self {
        let (or_by_estimate, at_threshold, guard) = (false, false, Guard::None);
        Self { reject, relate, keep, limit, or_by_estimate, at_threshold, guard }
    }

    pub(super) fn draw(random: &mut Random) -> Self {
        let reject = match random.below(3) {
            0 => Alike::similar(0.6),
            1 => Alike::contained(0.8),
            _ => Alike::contained(0.7).and_similar(0.4),
        };
        let relate = (random.below(2) == 0).then_some(0.4);
        let keep = random.pick(&[Keep::First, Keep::Newest, Keep::Longest]);
        let mut rules = Self::new(reject, relate, keep, random.pick(&[1, 3, usize::MAX]));
        rules.or_by_estimate = random.below(2) == 0;
        rules.at_threshold = random.below(2) == 0;
        rules.guard = random.pick(&[Guard::None, Guard::Numbers]);
        rules
    }

    pub(super) fn admit(&self) -> Admit<'static> {
        let terms = Admit::at(self.reject).keep(self.keep).limit(self.limit);
        match self.relate {
            Some(least) => terms.relate(least),
            None => terms,
        }
    }

    pub(super) fn decide(
        &self,
        index: &Index,
        some: &[(Vec<u8>, Doc)],
        fetch: &mut crate::Fetch<'_>,
    ) -> Vec<Admission> {
        let newcomers: Vec<_> =
            some.iter().map(|(key, own)| Newcomer::original(key, &own.original).time(1)).collect();
        let mut terms = self.admit().verify(fetch).guard(self.guard);
        if self.or_by_estimate {
            terms = terms.or_by_estimate();
        }
        if self.at_threshold {
            terms = terms.search_at_threshold();
        }
        index.admit_verified(&newcomers, &mut terms).expect("decided")
    }
}

/// A document that the signatures find.
struct Likely {
    of: Vec<u8>,
    equal_rows: u32,
    /// Whether the estimate reaches what is asked of a duplicate: of the search, and as it decides.
    may_be_duplicate: bool,
    is_estimated: bool,
}

/// The candidates that are looked at, in the order of keys, and whether those are all.
fn candidates(model: &Model, (key, own): (&[u8], &Doc), rules: &Rules) -> (Vec<Likely>, bool) {
    let params = params();
    let mut found = Vec::new();
    for (of, other) in model.iter().filter(|(of, _)| *of != key) {
        let (a, b) = (own.original.signature(), other.original.signature());
        let bands =
            a.as_bytes().chunks(params.band_bytes()).zip(b.as_bytes().chunks(params.band_bytes()));
        let (rows, lane_bits) = ((a.as_bytes(), b.as_bytes()), params.lane_bits());
        let equal_rows = nearkin_sketch::engine::count_equal_rows(rows.0, rows.1, lane_bits);
        let counts = (a.shingle_count(), b.shingle_count());
        let reaches = |alike: Alike| {
            let alike = if rules.at_threshold { alike } else { alike.for_verification() };
            alike.is_reached(&params, equal_rows, counts)
        };
        let may_be_duplicate = reaches(rules.reject);
        let is_candidate = may_be_duplicate || rules.relate.is_some_and(|it| reaches(it.into()));
        if bands.into_iter().take(params.bands()).any(|(a, b)| a == b) && is_candidate {
            let is_estimated = rules.reject.is_reached(&params, equal_rows, counts);
            found.push(Likely { of: of.clone(), equal_rows, may_be_duplicate, is_estimated });
        }
    }
    let most = rules.limit.max(COMPARED_MAX);
    if !rules.at_threshold || rules.keep != Keep::First || found.len() <= most {
        return (found, true);
    }
    // Stable: ties stay in the order of keys.
    found.sort_by_key(|found| std::cmp::Reverse((found.may_be_duplicate, found.equal_rows)));
    found.truncate(most);
    found.sort_by(|a, b| a.of.cmp(&b.of));
    (found, false)
}

/// Decides by brute force, and applies the decision.
pub(super) fn by_force(
    model: &mut Model,
    (key, own): (&[u8], &Doc),
    rules: &Rules,
    is_lost: &dyn Fn(&[u8]) -> bool,
) -> Whole {
    let params = params();
    let Rules { reject, relate, keep, limit, .. } = *rules;
    let (mut duplicates, mut related, mut apart) = (Vec::new(), Vec::new(), Vec::new());
    let mut unverified = Vec::new();
    let (found, complete) = candidates(model, (key, own), rules);
    for Likely { of, equal_rows, is_estimated, .. } in found {
        let other = &model[&of];
        let is_related = |similarity| relate.is_some_and(|least| similarity >= least);
        if is_lost(&of) {
            unverified.push(of.clone());
            let similarity = params.similarity(equal_rows);
            if rules.or_by_estimate && is_estimated {
                duplicates.push((of, None, similarity));
            } else if rules.or_by_estimate && is_related(similarity) {
                related.push((of, None, similarity));
            }
            continue;
        }
        let overlap = own.original.overlap(&other.original);
        let exact = (of, Some(overlap), overlap.similarity);
        let is_alike = reject.overlap(&own.original, &other.original).is_some();
        let is_guarded = rules.guard == Guard::Numbers;
        if !is_alike {
            related.extend(is_related(overlap.similarity).then_some(exact));
        } else if is_guarded && differ_only_in_numbers(&own.text, &other.text) {
            related.extend(is_related(overlap.similarity).then_some(exact.clone()));
            apart.push(exact);
        } else {
            duplicates.push(exact);
        }
    }
    let other_count = |of: &Vec<u8>| model[of].original.signature().shingle_count();
    let is_longer = |(of, ..): &(Vec<u8>, Option<Overlap>, f64)| {
        other_count(of) < own.original.signature().shingle_count()
    };
    let stays = match keep {
        Keep::First => duplicates.is_empty(),
        Keep::Newest | Keep::All => true,
        Keep::Longest => duplicates.iter().all(is_longer),
    };
    let sorted = |mut some: Vec<(Vec<u8>, Option<Overlap>, f64)>, limit| -> Matches {
        // A stable sort: ties stay in the order of keys.
        some.sort_by(|a, b| b.2.total_cmp(&a.2));
        some.truncate(limit);
        some.into_iter().map(|(of, overlap, _)| (of, overlap)).collect()
    };
    let apart = sorted(apart, limit);
    if !stays {
        return (Decided::Rejected(sorted(duplicates, limit)), unverified, apart, complete);
    }
    if keep == Keep::All {
        related.append(&mut duplicates);
        // Ties stay in the order of keys.
        related.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let removed = sorted(duplicates, usize::MAX);
    for (of, _) in &removed {
        model.remove(of);
    }
    model.insert(key.to_vec(), own.clone());
    (Decided::Admitted { related: sorted(related, limit), removed }, unverified, apart, complete)
}

pub(super) fn decided(admission: Admission) -> Whole {
    let evidence = |matches: Vec<crate::Match>| {
        matches.into_iter().map(|found| (found.key, found.overlap)).collect()
    };
    let decided = match admission.decision {
        Decision::Rejected { duplicates } => Decided::Rejected(evidence(duplicates)),
        Decision::Admitted { related, removed, .. } => {
            Decided::Admitted { related: evidence(related), removed: evidence(removed) }
        }
    };
    (decided, admission.unverified, evidence(admission.apart), admission.complete)
}
