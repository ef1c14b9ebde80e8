//! Admission by the documents themselves: equal to brute force, also when several threads admit
//! near-copies at once.

use crate::testing::random::Random;
use crate::{
    Admission, Admit, Alike, Decision, Durability, Error, ErrorKind, Index, Keep, Maintenance,
    Newcomer, Options, Original, Overlap, Params, Shingles, Sketcher,
};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

fn params() -> Params {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64);
    builder.bands(32, 2).build().expect("within the limits")
}

fn index() -> Index {
    let options = Options {
        memtable_bytes_max: 6_000,
        wal_bytes_min: 8 << 10,
        ..Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
    };
    Index::temporary(&params(), options).expect("created")
}

/// A set out of a few families; members of a family share most of their items.
fn original(random: &mut Random, sketcher: &Sketcher) -> Original {
    let (first, length) = (random.below(4) * 1_000, random.pick(&[40, 40, 30, 20]));
    let mut items: Vec<usize> = (first..first + length).collect();
    for _ in 0..random.below(12) {
        items[random.below(length)] = first + 100 + random.below(60);
    }
    sketcher.original_items(items.into_iter().map(|item| item as u64)).expect("not empty")
}

/// The live documents by key.
type Model = BTreeMap<Vec<u8>, Original>;

/// What a test compares of a decision: for each match its key and overlap.
type Matches = Vec<(Vec<u8>, Overlap)>;

#[derive(Debug, PartialEq)]
enum Decided {
    Rejected(Matches),
    Admitted { related: Matches, removed: Matches },
}

/// The keys for which the closures return nothing.
fn is_lost(key: &[u8]) -> bool {
    key.ends_with(b"9")
}

/// Decides by brute force, and applies the decision.
fn by_force(
    model: &mut Model,
    (key, own): (&[u8], &Original),
    (reject, relate): (Alike, Option<f64>),
    (keep, limit): (Keep, usize),
    is_lost: &dyn Fn(&[u8]) -> bool,
) -> (Decided, Vec<Vec<u8>>) {
    let params = params();
    let (mut duplicates, mut related, mut unverified) = (Vec::new(), Vec::new(), Vec::new());
    for (of, other) in model.iter().filter(|(of, _)| *of != key) {
        let (a, b) = (own.signature(), other.signature());
        let bands =
            a.as_bytes().chunks(params.band_bytes()).zip(b.as_bytes().chunks(params.band_bytes()));
        let equal_rows = nearkin_sketch::engine::count_equal_rows(
            a.as_bytes(),
            b.as_bytes(),
            params.lane_bits(),
        );
        let counts = (a.shingle_count(), b.shingle_count());
        let reaches =
            |alike: Alike| alike.for_verification().is_reached(&params, equal_rows, counts);
        let is_candidate = reaches(reject) || relate.is_some_and(|least| reaches(least.into()));
        if !bands.into_iter().take(params.bands()).any(|(a, b)| a == b) || !is_candidate {
            continue;
        }
        if is_lost(of) {
            unverified.push(of.clone());
        } else if let Some(overlap) = reject.overlap(own, other) {
            duplicates.push((of.clone(), overlap));
        } else if let Some(least) = relate
            && own.overlap(other).similarity >= least
        {
            related.push((of.clone(), own.overlap(other)));
        }
    }
    // Stable sorts: ties stay in the order of keys.
    duplicates.sort_by(|a, b| b.1.similarity.total_cmp(&a.1.similarity));
    related.sort_by(|a, b| b.1.similarity.total_cmp(&a.1.similarity));
    related.truncate(limit);
    let is_longer = |of: &(Vec<u8>, Overlap)| of.1.counts.1 < of.1.counts.0;
    let stays = match keep {
        Keep::First => duplicates.is_empty(),
        Keep::Newest => true,
        Keep::Longest => duplicates.iter().all(is_longer),
    };
    if !stays {
        duplicates.truncate(limit);
        return (Decided::Rejected(duplicates), unverified);
    }
    for (of, _) in &duplicates {
        model.remove(of);
    }
    model.insert(key.to_vec(), own.clone());
    (Decided::Admitted { related, removed: duplicates }, unverified)
}

fn decided(admission: Admission) -> (Decided, Vec<Vec<u8>>) {
    let evidence = |matches: Vec<crate::Match>| {
        let one = |found: crate::Match| (found.key, found.overlap.expect("evidence"));
        matches.into_iter().map(one).collect()
    };
    let decided = match admission.decision {
        Decision::Rejected { duplicates } => Decided::Rejected(evidence(duplicates)),
        Decision::Admitted { related, removed, .. } => {
            Decided::Admitted { related: evidence(related), removed: evidence(removed) }
        }
    };
    (decided, admission.unverified)
}

#[test]
fn verified_admissions_equal_brute_force() {
    let (mut rejected, mut replaced, mut unlike) = (0, 0, 0);
    for seed in 1..=30_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let index = index();
        let sketcher = index.sketcher();
        let mut model = Model::new();
        let known = Mutex::new(Model::new());
        for round in 0..40 {
            let reject = match random.below(3) {
                0 => Alike::similar(0.6),
                1 => Alike::contained(0.8),
                _ => Alike::contained(0.7).and_similar(0.4),
            };
            let relate = (random.below(2) == 0).then_some(0.4);
            let keep = random.pick(&[Keep::First, Keep::Newest, Keep::Longest]);
            let limit = random.pick(&[1, 3, usize::MAX]);
            let terms = Admit::at(reject).keep(keep).limit(limit);
            let terms = match relate {
                Some(least) => terms.relate(least),
                None => terms,
            };
            let some = (0..=random.below(3)).map(|_| {
                (format!("k{}", random.below(60)).into_bytes(), original(&mut random, &sketcher))
            });
            let some: Vec<_> = some.collect();
            let newcomers: Vec<_> =
                some.iter().map(|(key, own)| Newcomer::original(key, own)).collect();
            let mut fetch = |key: &[u8]| {
                let known = known.lock().expect("whole");
                Ok::<_, Error>(known.get(key).filter(|_| !is_lost(key)).cloned())
            };
            let admissions =
                index.admit_verified(&newcomers, &mut terms.verify(&mut fetch)).expect("decided");
            // Documents that the same call has admitted are not fetched.
            let mut fresh = BTreeSet::new();
            for ((key, own), admission) in some.iter().zip(admissions) {
                let is_lost = |key: &[u8]| is_lost(key) && !fresh.contains(key);
                let terms = (reject, relate);
                let expected = by_force(&mut model, (key, own), terms, (keep, limit), &is_lost);
                if admission.is_admitted() {
                    fresh.insert(key.clone());
                }
                match &expected.0 {
                    Decided::Rejected(_) => rejected += 1,
                    Decided::Admitted { removed, .. } if !removed.is_empty() => replaced += 1,
                    Decided::Admitted { .. } => unlike += 1,
                }
                assert_eq!(decided(admission), expected, "seed {seed}, round {round}");
            }
            *known.lock().expect("whole") = model.clone();
            match random.below(8) {
                0 => index.flush().expect("flushed"),
                1 => index.compact().expect("compacted"),
                _ => {}
            }
        }
        assert_eq!(index.len(), model.len() as u64);
    }
    assert!(rejected > 200 && replaced > 200 && unlike > 200, "{rejected} {replaced} {unlike}");
}

/// A newcomer of a thread, and its admission.
struct Attempt {
    key: Vec<u8>,
    own: Original,
    admission: Admission,
}

/// Admits newcomers one by one. Each is known to the other threads before.
fn ask(index: &Index, known: &Mutex<Model>, thread: u64, terms: &Admit<'_>) -> Vec<Attempt> {
    let mut random = Random((thread + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut attempts = Vec::new();
    for number in 0..80 {
        let own = original(&mut random, &index.sketcher());
        let key = format!("{thread}-{number}").into_bytes();
        known.lock().expect("whole").insert(key.clone(), own.clone());
        let mut fetch = |key: &[u8]| {
            // Other threads write meanwhile.
            std::thread::yield_now();
            Ok(known.lock().expect("whole").get(key).cloned())
        };
        let mut terms = terms.clone().verify(&mut fetch);
        let admission = loop {
            match index.admit_verified(&[Newcomer::original(&key, &own)], &mut terms) {
                Ok(mut admissions) => break admissions.remove(0),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unsettled),
            }
        };
        attempts.push(Attempt { key, own, admission });
    }
    attempts
}

#[test]
fn verified_admissions_of_threads_equal_brute_force() {
    for keep in [Keep::First, Keep::Longest] {
        let (index, known) = (index(), Mutex::default());
        let (reject, relate) = (Alike::similar(0.6), Some(0.4));
        let terms = Admit::at(reject).relate(0.4).keep(keep);
        let mut attempts: Vec<Attempt> = std::thread::scope(|scope| {
            let (index, known, terms) = (&index, &known, &terms);
            let threads: Vec<_> = (0..4)
                .map(|thread| scope.spawn(move || ask(index, known, thread, terms)))
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
        });
        // Decisions with the same change rest on the same state; the one that wrote comes last.
        attempts.sort_by_key(|attempt| (attempt.admission.change, attempt.admission.is_admitted()));
        let (mut model, mut rejected) = (Model::new(), 0);
        for Attempt { key, own, admission } in attempts {
            rejected += u32::from(!admission.is_admitted());
            let limits = (keep, usize::MAX);
            let expected = by_force(&mut model, (&key, &own), (reject, relate), limits, &|_| false);
            assert_eq!(decided(admission), expected, "{}", key.escape_ascii());
        }
        assert_eq!(index.len(), model.len() as u64);
        assert!(rejected > 50, "{rejected}");
    }
}

/// Sets of 20 items, from `first` on.
fn run(sketcher: &Sketcher, first: u32) -> Original {
    sketcher.original_items(first..first + 20).expect("not empty")
}

#[test]
fn admit_sees_documents_written_during_a_fetch() {
    let index = index();
    let sketcher = index.sketcher();
    let (related, own) = (run(&sketcher, 5), run(&sketcher, 0));
    index.insert("related", related.signature()).expect("inserted");
    let mut fetched = Vec::new();
    let mut fetch = |key: &[u8]| {
        fetched.push(String::from_utf8_lossy(key).into_owned());
        // No lock is held, so this does not block.
        index.insert("copy", own.signature())?;
        Ok(Some(if key == b"copy" { own.clone() } else { related.clone() }))
    };
    let mut terms = Admit::at(0.9).relate(0.5).verify(&mut fetch);
    let newcomers = [Newcomer::original("new", &own)];
    let admissions = index.admit_verified(&newcomers, &mut terms).expect("decided");
    assert!(!admissions[0].is_admitted() && !index.contains("new").expect("read"));
    // Each candidate is fetched once.
    assert_eq!(fetched, ["related", "copy"]);
}

#[test]
fn a_newcomer_that_is_overtaken_each_time_is_not_written() {
    let index = index();
    let sketcher = index.sketcher();
    let (related, own) = (run(&sketcher, 5), run(&sketcher, 0));
    index.insert("0", related.signature()).expect("inserted");
    let mut count = 0;
    let mut fetch = |_: &[u8]| {
        count += 1;
        index.insert(count.to_string(), related.signature())?;
        Ok(Some(related.clone()))
    };
    let mut terms = Admit::at(0.9).relate(0.5).verify(&mut fetch);
    let newcomers = [Newcomer::original("new", &own)];
    let error = index.admit_verified(&newcomers, &mut terms).expect_err("overtaken");
    assert_eq!((error.kind(), index.contains("new").expect("read")), (ErrorKind::Unsettled, false));
    assert_eq!(count, 16);
}

#[test]
fn unverified_candidates_refuse_nothing_and_are_reported() {
    let index = index();
    let sketcher = index.sketcher();
    let own = run(&sketcher, 0);
    for key in ["gone", "stale"] {
        index.insert(key, own.signature()).expect("inserted");
    }
    let mut fetch = |key: &[u8]| Ok((key == b"stale").then(|| run(&sketcher, 3)));
    let mut terms = Admit::at(0.9).keep(Keep::Newest).verify(&mut fetch);
    let unlike = [Newcomer::new("new", own.signature())];
    let error = index.admit_verified(&unlike, &mut terms).expect_err("no document");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let newcomers = [Newcomer::original("new", &own), Newcomer::original("again", &own)];
    let admissions = index.admit_verified(&newcomers, &mut terms).expect("decided");
    for admission in &admissions {
        assert_eq!(admission.unverified, [b"gone".to_vec(), b"stale".to_vec()]);
    }
    let Decision::Admitted { removed, .. } = &admissions[1].decision else { panic!("newest") };
    assert_eq!((removed.len(), removed[0].key.as_slice()), (1, &b"new"[..]));
    assert_eq!(index.len(), 3);
}

#[test]
fn an_admitted_document_counts_only_while_it_is_stored() {
    let index = index();
    let sketcher = index.sketcher();
    let [own, stored, other] = [0, 500, 1_000].map(|first| run(&sketcher, first));
    index.insert("stored", stored.signature()).expect("inserted");
    let mut fetch = |key: &[u8]| {
        if key != b"stored" {
            return Ok(Some(other.clone()));
        }
        // Another thread replaces the first newcomer, which this call has admitted.
        index.insert("first", other.signature())?;
        Ok(Some(stored.clone()))
    };
    let mut terms = Admit::at(0.9).relate(0.5).verify(&mut fetch);
    let (second, third) = (run(&sketcher, 505), other.clone());
    let newcomers = [("first", &own), ("second", &second), ("third", &third)];
    let newcomers = newcomers.map(|(key, original)| Newcomer::original(key, original));
    let admissions = index.admit_verified(&newcomers, &mut terms).expect("decided");
    let admitted: Vec<_> = admissions.iter().map(Admission::is_admitted).collect();
    assert_eq!(admitted, [true, true, false], "{admissions:?}");
}

#[test]
fn a_candidate_of_another_count_is_looked_at_again() {
    let index = index();
    let sketcher = index.sketcher();
    let (related, own) = (run(&sketcher, 5), run(&sketcher, 0));
    index.insert("related", related.signature()).expect("inserted");
    let rows = related.signature().as_bytes();
    let longer = signature_from_parts(&params(), 21, rows.into());
    let mut fetch = |_: &[u8]| {
        index.insert("related", &longer)?;
        Ok(Some(related.clone()))
    };
    let mut terms = Admit::at(0.9).relate(0.5).verify(&mut fetch);
    let newcomers = [Newcomer::original("new", &own)];
    let admissions = index.admit_verified(&newcomers, &mut terms).expect("decided");
    assert_eq!(admissions[0].unverified, [b"related".to_vec()], "it is not what was fetched");
}
