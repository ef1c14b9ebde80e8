//! Tests deduplication, by the estimate and by exact comparison, against brute force.

use super::*;
use crate::{Durability, ErrorKind, Maintenance, Options, Overlap, Params, Shingles, Sketcher};
use nearkin_sketch::engine::Agreement;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every row is a band of its own, so documents that share a shingle are found, except with
/// probability 2^-30.
fn params() -> Params {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(256);
    builder.bands(256, 1).lane_bits(16).build().unwrap()
}

fn options() -> Options {
    Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
}

type ItemSet = BTreeSet<u32>;

/// Sets, many of which are subsets of others, equal to others, or different from others in a few
/// items.
fn sets(count: u32) -> Vec<ItemSet> {
    let mut state = 5_u64;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from((state >> 33) % u64::from(below)).unwrap()
    };
    let set = |_| {
        let first = random(12) * 100;
        let length = [60, 60, 60, 40, 30, 12][random(6) as usize];
        let from = first + random(3) * 5;
        let mut set: ItemSet = (from..from + length).collect();
        for _ in 0..random(12) {
            set.remove(&(from + random(length)));
            set.insert(10_000 + random(1_000));
        }
        set
    };
    (0..count).map(set).collect()
}

fn overlap(a: &ItemSet, b: &ItemSet) -> Overlap {
    Overlap::of(a.intersection(b).count(), a.len(), b.len())
}

/// Brute force by the definition: among the documents kept before, finds the most similar one that
/// satisfies the condition.
fn by_definition(
    sets: &[ItemSet],
    is_alike: &dyn Fn(Overlap) -> bool,
) -> Vec<Option<(u64, Overlap)>> {
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

fn original(sketcher: &Sketcher, set: &ItemSet) -> Original {
    sketcher.original_items(set.iter().copied()).unwrap()
}

fn decided(
    sets: &[ItemSet],
    alike: Alike,
    together: usize,
    opened_every: usize,
) -> (Vec<Option<(u64, Overlap)>>, bool) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("kept");
    drop(Index::create(&dir, &params(), options()).unwrap());
    let sketcher = Sketcher::new(&params());
    let ranked: Vec<(u64, &ItemSet)> = (0..).zip(sets).collect();
    let mut fetch =
        |rank: u64| Ok(Some(original(&sketcher, &sets[usize::try_from(rank).unwrap()])));
    let (mut found, mut has_gathered) = (Vec::new(), false);
    for some in ranked.chunks(opened_every) {
        let kept = Index::open(&dir, options()).unwrap();
        let mut dedup = Dedup::new(&kept, alike).unwrap();
        for batch in some.chunks(together) {
            let documents =
                batch.iter().map(|(rank, set)| (*rank, original(&sketcher, set))).collect();
            found.extend(dedup.decide_exactly(documents, &mut fetch).unwrap());
            has_gathered |= dedup.crowd.is_some();
        }
        kept.close().unwrap();
    }
    let overlap = |one: Duplicate| {
        let Evidence::Shingles { own, other, shared } = one.evidence else { panic!("{one:?}") };
        let overlap = Overlap::of(shared as usize, own as usize, other as usize);
        assert_eq!(
            (one.similarity, one.containment),
            (overlap.similarity, Some(overlap.containment))
        );
        (one.of, overlap)
    };
    (found.into_iter().map(|one| one.map(overlap)).collect(), has_gathered)
}

/// A condition, and its definition as a function.
type AlikeLaw<'a> = (Alike, &'a dyn Fn(Overlap) -> bool);

#[test]
fn dedup_decisions_equal_those_of_brute_force() {
    let sets = sets(300);
    let similar = |least: f64| move |found: Overlap| found.similarity >= least;
    let contained = |least: f64| move |found: Overlap| found.containment >= least;
    let both = |found: Overlap| found.containment >= 0.9 && found.similarity >= 0.4;
    let laws: [AlikeLaw<'_>; 5] = [
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
            let (found, has_gathered) = decided(&sets, alike, together, opened_every);
            assert_eq!(found, expected, "{alike}, {together} together");
            let asks = alike.asks_for_containment();
            assert!(has_gathered != asks || together == 300, "{alike}, {together} together");
        }
    }
}

/// Pairs whose similarity is just at the threshold are found even if the estimate is below it.
#[test]
fn it_looks_from_three_standard_errors_below() {
    let params = Params::for_threshold(0.7).shingles(Shingles::Items).build().unwrap();
    let alike = Alike::similar(0.7).for_verification();
    let params = Dedup::params(&params, alike).unwrap();
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
            Agreement::compare(one.signature().as_bytes(), other.signature().as_bytes(), 8, 0);
        let estimate = params.similarity(agreement.unwrap().equal_rows());
        below += usize::from(estimate < 0.7);
        documents.extend([(u64::from(number) * 2, one), (u64::from(number) * 2 + 1, other)]);
    }
    let decided =
        Dedup::new(&kept, 0.7).unwrap().decide_exactly(documents, &mut |_| Ok(None)).unwrap();
    let dropped = decided.iter().flatten().count();
    assert!(below > 50 && dropped >= 197, "{below} below, {dropped} dropped");
    assert_eq!(kept.len(), 400 - dropped as u64);
}

/// With few hashes, low similarities can be found only with a lower recall. In that case the search
/// starts at a higher similarity.
#[test]
fn bands_are_as_low_as_the_hashes_allow() {
    let params = Params::for_threshold(0.7).build().unwrap();
    assert_eq!(Dedup::params(&params, 0.7).unwrap(), params);
    let verified = Alike::similar(0.7).for_verification();
    let low = Dedup::params(&params, verified).unwrap();
    assert!((low.threshold() - params.search_threshold(0.7)).abs() < 1e-12);
    assert_eq!(low.signature_id(), params.signature_id());
    let part = Alike::contained(0.6);
    let (needed, low) = (part.similarity_needed(), Dedup::params(&params, part).unwrap());
    assert!(low.threshold() > params.search_threshold(needed) && low.threshold() <= needed);
    assert!(low.candidate_probability(needed) >= 0.95);
    let too_low = Dedup::params(&params, Alike::contained(0.1)).unwrap_err();
    assert!(too_low.to_string().contains("hashes"), "{too_low}");
}

/// If only the threshold is known, bands, width of rows and number of hashes are chosen.
#[test]
fn as_many_hashes_are_chosen_as_the_bands_need() {
    let chosen = |alike: Alike| Dedup::choose(&Params::builder(), alike).unwrap();
    assert_eq!(chosen(Alike::similar(0.7)), Params::builder().build().unwrap());
    assert_eq!(chosen(Alike::similar(0.4)), Params::for_threshold(0.4).build().unwrap());
    for alike in [Alike::similar(0.2), Alike::contained(0.5)] {
        let params = chosen(alike);
        assert_eq!((params.hashes(), params.lane_bits()), (192, 16), "{alike}");
        assert!(params.candidate_probability(0.2) >= 0.95, "{alike}");
    }
    // Hashes that were given stay, and so do bands.
    let error = Dedup::choose(&Params::builder().hashes(128), Alike::contained(0.5)).unwrap_err();
    assert!(error.to_string().contains("148 hashes do"), "{error}");
    let given = Params::builder().bands(20, 4);
    for alike in [Alike::contained(0.8), Alike::similar(0.8).for_verification()] {
        let params = Dedup::choose(&given, alike).unwrap();
        assert_eq!((params.bands(), params.rows_per_band()), (20, 4));
    }
}

/// The rule, by the estimate, from all pairs: an equal band, and the condition.
fn by_estimates(params: &Params, signatures: &[Signature], alike: Alike) -> Vec<Option<u64>> {
    let (mut kept, mut decided) = (Vec::<usize>::new(), Vec::new());
    for (at, one) in signatures.iter().enumerate() {
        let mut best: Option<(u32, usize)> = None;
        for of in &kept {
            let other = &signatures[*of];
            let (a, b) = (one.as_bytes(), other.as_bytes());
            let bands =
                |bytes| <[u8]>::chunks_exact(bytes, params.band_bytes()).take(params.bands());
            let equal_rows = Agreement::compare(a, b, params.lane_bits(), 0).unwrap().equal_rows();
            let counts = (one.shingle_count(), other.shingle_count());
            if bands(a).zip(bands(b)).any(|(a, b)| a == b)
                && alike.is_reached(params, equal_rows, counts)
                && best.is_none_or(|(most, _)| equal_rows > most)
            {
                best = Some((equal_rows, *of));
            }
        }
        if best.is_none() {
            kept.push(at);
        }
        decided.push(best.map(|(_, of)| of as u64));
    }
    decided
}

#[test]
fn by_the_estimate_the_rows_are_those_of_brute_force() {
    let sets = sets(300);
    for alike in
        [Alike::similar(0.5), Alike::contained(0.8), Alike::contained(0.8).and_similar(0.3)]
    {
        let given = Params::builder().shingles(Shingles::Items);
        let params = Dedup::choose(&given, alike).unwrap();
        let sketcher = Sketcher::new(&params);
        let signatures: Vec<Signature> =
            sets.iter().map(|set| sketcher.items(set.iter().copied()).unwrap()).collect();
        let expected = by_estimates(&params, &signatures, alike);
        let dropped = expected.iter().flatten().count();
        assert!((8..280).contains(&dropped), "{alike}: {dropped}");
        for together in [300, 1, 7] {
            let kept = Index::temporary(&params, options()).unwrap();
            let mut found = Vec::new();
            for (number, some) in signatures.chunks(together).enumerate() {
                // Each batch is decided by another handle.
                let mut dedup = Dedup::new(&kept, alike).unwrap();
                let first = (number * together) as u64;
                let ranks: Vec<u64> = (first..first + some.len() as u64).collect();
                // Parts are looked up separately, as several threads do.
                let looked_up = some.chunks(5).map(|part| dedup.look_up(part).unwrap());
                let looked_up: Vec<LookedUp> = looked_up.flatten().collect();
                found.extend(dedup.decide(&ranks, some, &looked_up).unwrap());
            }
            let found: Vec<_> = found.into_iter().map(|one| one.map(|one| one.of)).collect();
            assert_eq!(found, expected, "{alike}, {together} together");
        }
    }
}

#[test]
fn going_back_to_a_checkpoint_repeats_the_decisions() {
    let (sets, alike) = (sets(60), Alike::similar(0.5));
    let sketcher = Sketcher::new(&params());
    let signatures: Vec<Signature> =
        sets.iter().map(|set| sketcher.items(set.iter().copied()).unwrap()).collect();
    let kept = Index::temporary(&params(), options()).unwrap();
    let mut dedup = Dedup::new(&kept, alike).unwrap();
    let decide = |from: u64, dedup: &mut Dedup<'_>| {
        let some = &signatures[usize::try_from(from).unwrap()..];
        let ranks: Vec<u64> = (from..60).collect();
        let found = dedup.look_up(some).unwrap();
        dedup.decide(&ranks, some, &found).unwrap()
    };
    let first = decide(0, &mut dedup);
    let count = kept.len();
    dedup.go_back(25).unwrap();
    assert!(kept.len() < count && !kept.is_empty());
    assert_eq!(decide(25, &mut dedup), first[25..]);
    assert_eq!(kept.len(), count);
    dedup.go_back(0).unwrap();
    assert!(kept.is_empty());
    assert_eq!(decide(0, &mut dedup), first);
}

#[test]
fn a_look_up_is_refused_after_other_documents_were_kept() {
    let kept = Index::temporary(&params(), options()).unwrap();
    let sketcher = kept.sketcher();
    let [a, b] = [0, 100].map(|from: u32| [sketcher.items(from..from + 10).unwrap()]);
    let mut dedup = Dedup::new(&kept, 0.5).unwrap();
    let (of_a, of_b) = (dedup.look_up(&a).unwrap(), dedup.look_up(&b).unwrap());
    assert_eq!(dedup.decide(&[1], &a, &of_a).unwrap(), [None]);
    for wrong in [dedup.decide(&[2], &b, &of_b), dedup.decide(&[2, 3], &b, &of_b)] {
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Invalid);
    }
    let of_b = dedup.look_up(&b).unwrap();
    assert_eq!(dedup.decide(&[1], &b, &of_b).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(dedup.decide(&[2], &b, &of_b).unwrap(), [None]);
}

/// Exactly, only a document that is still the indexed one is a reason to drop another.
#[test]
fn against_an_index_the_documents_decide() {
    let all = sets(200);
    let (archived, incoming) = all.split_at(100);
    let archive = Index::temporary(&params(), options()).unwrap();
    let sketcher = archive.sketcher();
    for (number, set) in (0_u64..).zip(archived) {
        archive.insert(number, original(&sketcher, set).signature()).unwrap();
    }
    let at = |key: &[u8]| usize::try_from(rank_of(key)).unwrap();
    for alike in [Alike::similar(0.5), Alike::contained(0.8)] {
        let against = Against::new(&archive.snapshot(), alike).unwrap();
        let mut dropped = 0;
        for set in incoming {
            let mut expected: Option<(u64, f64)> = None;
            for (number, other) in (0..).zip(archived) {
                let found = overlap(set, other);
                let least = if alike.asks_for_containment() { found.containment } else { 0.0 };
                let is_alike = if alike.asks_for_containment() {
                    least >= 0.8
                } else {
                    found.similarity >= 0.5
                };
                if is_alike && expected.is_none_or(|(_, best)| found.similarity > best) {
                    expected = Some((number, found.similarity));
                }
            }
            dropped += usize::from(expected.is_some());
            let document = original(&sketcher, set);
            let fetch = &mut |key: &[u8]| Ok(Some(original(&sketcher, &archived[at(key)])));
            let verified = against.find_exactly(&document, fetch).unwrap();
            let found = verified.duplicate.map(|one| (one.of.as_u64().unwrap(), one.similarity));
            assert_eq!((found, verified.unread), (expected, 0), "{alike}");
        }
        assert!((8..95).contains(&dropped), "{alike}: {dropped}");
    }
    let against = Against::new(&archive.snapshot(), 0.5).unwrap();
    let copy = original(&sketcher, &archived[7]);
    let by_estimate = against.find(std::slice::from_ref(copy.signature())).unwrap();
    assert!(by_estimate[0].is_some());
    let changed = original(&sketcher, &(0..60).map(|item| item + 50_000).collect());
    for fetched in [None, Some(changed)] {
        let verified = against.find_exactly(&copy, &mut |_| Ok(fetched.clone())).unwrap();
        assert!(verified.duplicate.is_none() && verified.unread > 0);
    }
}

#[test]
fn a_failed_decision_returns_an_error_and_keeps_nothing() {
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
    assert_eq!(kind(dedup.decide_exactly(turned, none)), ErrorKind::Invalid);
    dedup.decide_exactly(vec![made(7, 0)], none).unwrap();
    assert_eq!(kind(dedup.decide_exactly(vec![made(7, 100)], none)), ErrorKind::Invalid);
    // The document of rank 7 was kept by another `Dedup`: it is neither cached nor can it be
    // fetched.
    let mut other = Dedup::new(&kept, 0.5).unwrap();
    let documents = || vec![made(8, 500), made(9, 0)];
    assert_eq!(kind(other.decide_exactly(documents(), none)), ErrorKind::Invalid);
    let failed = &mut |_: u64| Err(Error::invalid("no disk"));
    assert_eq!(other.decide_exactly(documents(), failed).unwrap_err().to_string(), "no disk");
    let foreign = Sketcher::new(&Params::builder().shingles(Shingles::Items).build().unwrap());
    let foreign = vec![(8, foreign.original_items([1]).unwrap())];
    assert_eq!(kind(other.decide_exactly(foreign, none)), ErrorKind::Mismatch);
    assert_eq!(kept.len(), 1);
}

/// A condition that is due after some looks, and the number of looks so far.
fn due_after(looks: usize) -> (impl Fn() -> bool + Send + Sync + 'static, Arc<AtomicUsize>) {
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    (move || counted.fetch_add(1, Ordering::Relaxed) >= looks, seen)
}

#[test]
fn a_cancelled_call_keeps_nothing_and_is_looked_at_within_a_document() {
    let params = Params::for_threshold(0.7).shingles(Shingles::Words(1)).build().unwrap();
    let sketcher = Sketcher::new(&params);
    let text =
        |n: usize| format!("one text of many words that all have in common but for {}", n % 3);
    let crowd = Index::temporary(&params, Options::default()).unwrap();
    let batch = (0..5_000_u64)
        .zip(0..)
        .fold(Batch::new(), |batch, (key, n)| batch.insert(key, &sketcher.text(&text(n)).unwrap()));
    crowd.write(batch).unwrap();
    crowd.flush().unwrap();
    let document = sketcher.original_text(&text(0)).unwrap();
    let signature = std::slice::from_ref(document.signature());
    let kind = |error: Error| error.kind();
    for looks in [0, 5, 20] {
        let (due, seen) = due_after(looks);
        let against = Against::new(&crowd.snapshot(), 0.7).unwrap().cancel_if(due);
        let mut fetch = |_: &[u8]| Ok(Some(document.clone()));
        assert_eq!(against.find(signature).map_err(kind).unwrap_err(), ErrorKind::Cancelled);
        let exactly = against.find_exactly(&document, &mut fetch);
        assert_eq!(exactly.map_err(kind).unwrap_err(), ErrorKind::Cancelled);
        assert!(seen.load(Ordering::Relaxed) <= looks + 4, "it ends soon after it is due");
        let (due, _) = due_after(looks);
        let dedup = Dedup::new(&crowd, 0.7).unwrap().cancel_if(due);
        assert_eq!(dedup.look_up(signature).map_err(kind).unwrap_err(), ErrorKind::Cancelled);
        let found = dedup.look_up_candidates(signature);
        assert_eq!(found.map_err(kind).unwrap_err(), ErrorKind::Cancelled);
    }
    // Decisions: whenever they are cancelled, nothing is kept, and the same ranks can be decided.
    let kept = Index::temporary(&params, Options::default()).unwrap();
    let documents: Vec<(u64, Original)> =
        (0..40).map(|n| (n as u64, sketcher.original_text(&text(n)).unwrap())).collect();
    let signatures: Vec<Signature> =
        documents.iter().map(|(_, one)| one.signature().clone()).collect();
    let ranks: Vec<u64> = (0..40).collect();
    let mut fetch = |rank: u64| Ok(Some(documents[usize::try_from(rank).unwrap()].1.clone()));
    let looked = Dedup::new(&kept, 0.7).unwrap().look_up_candidates(&signatures).unwrap();
    for looks in [0, 1, 30] {
        let (due, _) = due_after(looks);
        let mut dedup = Dedup::new(&kept, 0.7).unwrap().cancel_if(due);
        let decided = dedup.decide(&ranks, &signatures, &looked);
        assert_eq!(decided.map_err(kind).unwrap_err(), ErrorKind::Cancelled);
        let (due, _) = due_after(looks);
        let mut dedup = Dedup::new(&kept, 0.7).unwrap().cancel_if(due);
        let mut fetch_some = |ranks: &[u64]| ranks.iter().map(|rank| fetch(*rank)).collect();
        let decided = dedup.decide_confirmed(&ranks, &signatures, &looked, &mut fetch_some);
        assert_eq!(decided.map_err(kind).unwrap_err(), ErrorKind::Cancelled);
        let (due, _) = due_after(looks);
        let mut dedup = Dedup::new(&kept, 0.7).unwrap().cancel_if(due);
        let decided = dedup.decide_exactly(documents.clone(), &mut fetch);
        assert_eq!(decided.map_err(kind).unwrap_err(), ErrorKind::Cancelled);
        assert_eq!(kept.len(), 0);
    }
    let (due, _) = due_after(usize::MAX);
    let mut dedup = Dedup::new(&kept, 0.7).unwrap().cancel_if(due);
    assert!(dedup.decide(&ranks, &signatures, &looked).unwrap()[0].is_none());
    assert!(!kept.is_empty());
}
