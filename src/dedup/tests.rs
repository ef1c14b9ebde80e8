//! Tests deduplication by exact comparison, against brute force.

use super::*;
use crate::{Durability, ErrorKind, Maintenance, Options, Shingles, Sketcher};
use std::collections::BTreeSet;

/// Every row is a band of its own, so documents that share a shingle are found, except with
/// probability 2^-30.
fn params() -> Params {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(256);
    builder.bands(256, 1).lane_bits(16).build().unwrap()
}

fn options() -> Options {
    Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
}

type Set = BTreeSet<u32>;

/// Sets, many of which are subsets of others, equal to others, or different from others in a few
/// items.
fn sets(count: u32) -> Vec<Set> {
    let mut state = 5_u64;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from((state >> 33) % u64::from(below)).unwrap()
    };
    let set = |_| {
        let first = random(12) * 100;
        let length = [60, 60, 60, 40, 30, 12][random(6) as usize];
        let from = first + random(3) * 5;
        let mut set: Set = (from..from + length).collect();
        for _ in 0..random(12) {
            set.remove(&(from + random(length)));
            set.insert(10_000 + random(1_000));
        }
        set
    };
    (0..count).map(set).collect()
}

fn overlap(a: &Set, b: &Set) -> Overlap {
    Overlap::of(a.intersection(b).count(), a.len(), b.len())
}

/// Brute force by the definition: among the documents kept before, finds the most similar one that
/// satisfies the condition.
fn by_definition(sets: &[Set], is_alike: &dyn Fn(Overlap) -> bool) -> Vec<Option<(u64, Overlap)>> {
    let mut kept: Vec<usize> = Vec::new();
    let mut decided = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        let mut best: Option<(u64, Overlap)> = None;
        for of in &kept {
            let found = overlap(set, &sets[*of]);
            let more = best.is_none_or(|(_, best)| found.similarity > best.similarity);
            if is_alike(found) && more {
                best = Some((*of as u64, found));
            }
        }
        if best.is_none() {
            kept.push(at);
        }
        decided.push(best);
    }
    decided
}

fn original(sketcher: &Sketcher, set: &Set) -> Original {
    sketcher.original_items(set.iter().copied()).unwrap()
}

fn decided(
    sets: &[Set],
    alike: Alike,
    together: usize,
    opened_every: usize,
) -> Vec<Option<(u64, Overlap)>> {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("kept");
    drop(Index::create(&dir, &params(), options()).unwrap());
    let sketcher = Sketcher::new(&params());
    let ranked: Vec<(u64, &Set)> = (0..).zip(sets).collect();
    let mut fetch =
        |rank: u64| Ok(Some(original(&sketcher, &sets[usize::try_from(rank).unwrap()])));
    let mut found = Vec::new();
    for some in ranked.chunks(opened_every) {
        let kept = Index::open(&dir, options()).unwrap();
        let mut dedup = Dedup::new(&kept, alike).unwrap();
        for few in some.chunks(together) {
            let documents =
                few.iter().map(|(rank, set)| (*rank, original(&sketcher, set))).collect();
            found.extend(dedup.decide(documents, &mut fetch).unwrap());
        }
        kept.close().unwrap();
    }
    found.into_iter().map(|one| one.map(|one| (one.of, one.overlap))).collect()
}

/// A condition, and its definition as a function.
type Law<'a> = (Alike, &'a dyn Fn(Overlap) -> bool);

#[test]
fn what_is_dropped_and_for_what_is_that_of_brute_force() {
    let sets = sets(300);
    let similar = |least: f64| move |found: Overlap| found.similarity >= least;
    let contained = |least: f64| move |found: Overlap| found.containment >= least;
    let both = |found: Overlap| found.containment >= 0.9 && found.similarity >= 0.4;
    let laws: [Law<'_>; 5] = [
        (Alike::similar(0.5), &similar(0.5)),
        (Alike::similar(0.8), &similar(0.8)),
        (Alike::contained(0.8), &contained(0.8)),
        (Alike::contained(1.0), &contained(1.0)),
        (Alike::contained(0.9).and_similar(0.4), &both),
    ];
    for (alike, is_alike) in laws {
        let expected = by_definition(&sets, is_alike);
        let dropped = expected.iter().flatten().count();
        assert!((8..280).contains(&dropped), "{alike}: {dropped}");
        for (together, opened_every) in [(300, 300), (1, 300), (7, 61)] {
            let found = decided(&sets, alike, together, opened_every);
            assert_eq!(found, expected, "{alike}, {together} together");
        }
    }
}

/// Pairs whose similarity is just at the threshold are found even if the estimate is below it.
#[test]
fn it_looks_from_three_standard_errors_below() {
    let params = Params::for_threshold(0.7).shingles(Shingles::Items).build().unwrap();
    let params = Dedup::params(&params, 0.7).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kept = Index::create(folder.path().join("kept"), &params, options()).unwrap();
    let sketcher = kept.sketcher();
    // Each pair has 100 items, of which 70 are shared.
    let pair = |number: u32| {
        let items = |from: u32| (from..from + 85).map(move |item| number * 1_000 + item);
        [sketcher.original_items(items(0)), sketcher.original_items(items(15))].map(Result::unwrap)
    };
    let (mut documents, mut below) = (Vec::new(), 0);
    for number in 0..200 {
        let [one, other] = pair(number);
        let agreement =
            Agreement::of(one.signature().as_bytes(), other.signature().as_bytes(), 8, 0);
        let estimate = params.similarity(agreement.unwrap().equal_rows());
        below += usize::from(estimate < 0.7);
        documents.extend([(u64::from(number) * 2, one), (u64::from(number) * 2 + 1, other)]);
    }
    let decided = Dedup::new(&kept, 0.7).unwrap().decide(documents, &mut |_| Ok(None)).unwrap();
    let dropped = decided.iter().flatten().count();
    assert!(below > 50 && dropped >= 197, "{below} below, {dropped} dropped");
    assert_eq!(kept.len(), 400 - dropped as u64);
}

/// With few hashes, low similarities can be found only with a lower recall. In that case the search
/// starts at a higher similarity.
#[test]
fn bands_are_as_low_as_the_hashes_allow() {
    let params = Params::for_threshold(0.7).build().unwrap();
    let low = Dedup::params(&params, 0.7).unwrap();
    assert!((low.threshold() - params.search_threshold(0.7)).abs() < 1e-12);
    assert_eq!(low.signature_id(), params.signature_id());
    let part = Alike::contained(0.6);
    let (needed, low) = (part.similarity_needed(), Dedup::params(&params, part).unwrap());
    assert!(low.threshold() > params.search_threshold(needed) && low.threshold() <= needed);
    assert!(low.candidate_probability(needed) >= 0.95);
    let too_low = Dedup::params(&params, Alike::contained(0.1)).unwrap_err();
    assert!(too_low.to_string().contains("hashes"), "{too_low}");
}

#[test]
fn what_cannot_be_decided_is_an_error_and_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Index::create(folder.path().join("kept"), &params(), options()).unwrap();
    let sketcher = kept.sketcher();
    let made = |rank: u64, from: u32| (rank, sketcher.original_items(from..from + 10).unwrap());
    let none = &mut |_: u64| Ok(None);
    let kind = |decided: Result<Vec<Option<Duplicate>>>| decided.unwrap_err().kind();
    for wrong in [-0.1, 1.1, f64::NAN] {
        assert!(Dedup::new(&kept, wrong).is_err());
        assert!(Dedup::params(&params(), Alike::contained(wrong)).is_err());
    }
    let mut dedup = Dedup::new(&kept, 0.5).unwrap();
    let turned = vec![made(4, 0), made(4, 100)];
    assert_eq!(kind(dedup.decide(turned, none)), ErrorKind::Invalid);
    dedup.decide(vec![made(7, 0)], none).unwrap();
    assert_eq!(kind(dedup.decide(vec![made(7, 100)], none)), ErrorKind::Invalid);
    // The document of rank 7 was kept by another `Dedup`: it is neither cached nor can it be
    // fetched.
    let mut other = Dedup::new(&kept, 0.5).unwrap();
    let documents = || vec![made(8, 500), made(9, 0)];
    assert_eq!(kind(other.decide(documents(), none)), ErrorKind::Invalid);
    let failed = &mut |_: u64| Err(Error::invalid("no disk"));
    assert_eq!(other.decide(documents(), failed).unwrap_err().to_string(), "no disk");
    let foreign = Sketcher::new(&Params::builder().shingles(Shingles::Items).build().unwrap());
    let foreign = vec![(8, foreign.original_items([1]).unwrap())];
    assert_eq!(kind(other.decide(foreign, none)), ErrorKind::Mismatch);
    assert_eq!(kept.len(), 1);
}
