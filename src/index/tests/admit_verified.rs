//! Admission by the documents themselves: equal to brute force, also when several threads admit
//! near-copies at once.

use super::admit_by_force::{Decided, Doc, Model, Rules, by_force, decided, doc, params, text_of};
use crate::testing::random::Random;
use crate::{
    Admission, Admit, Alike, Decision, Durability, Error, ErrorKind, Guard, Index, Keep,
    Maintenance, Newcomer, Options, Original, Sketcher,
};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeSet;
use std::sync::Mutex;

fn index() -> Index {
    let options = Options {
        memtable_bytes_max: 6_000,
        wal_bytes_min: 8 << 10,
        ..Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
    };
    Index::temporary(&params(), options).expect("created")
}

/// The keys for which the closures return nothing.
fn is_lost(key: &[u8]) -> bool {
    key.ends_with(b"9")
}

#[test]
fn verified_admissions_equal_brute_force() {
    let (mut rejected, mut replaced, mut unlike) = (0, 0, 0);
    let (mut estimated, mut apart, mut cut) = (0, 0, 0);
    for seed in 1..=30_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let index = index();
        let sketcher = index.sketcher();
        let mut model = Model::new();
        let known = Mutex::new(Model::new());
        for round in 0..40 {
            let rules = Rules::draw(&mut random);
            let some = (0..=random.below(3)).map(|_| {
                (format!("k{}", random.below(60)).into_bytes(), doc(&mut random, &sketcher))
            });
            let some: Vec<_> = some.collect();
            let mut fetch = |key: &[u8]| {
                let known = known.lock().expect("whole");
                let found = known.get(key).filter(|_| !is_lost(key));
                Ok::<_, Error>(found.map(|doc| doc.original.clone()))
            };
            let admissions = rules.decide(&index, &some, &mut fetch);
            // Documents that the same call has admitted are not fetched.
            let mut fresh = BTreeSet::new();
            for ((key, own), admission) in some.iter().zip(admissions) {
                let is_lost = |key: &[u8]| is_lost(key) && !fresh.contains(key);
                let expected = by_force(&mut model, (key, own), &rules, &is_lost);
                if admission.is_admitted() {
                    fresh.insert(key.clone());
                }
                let (by_force, _, kept_apart, is_whole) = &expected;
                cut += u32::from(!is_whole);
                apart += u32::from(!kept_apart.is_empty());
                match by_force {
                    Decided::Rejected(of) => {
                        rejected += 1;
                        estimated += u32::from(of.iter().all(|(_, overlap)| overlap.is_none()));
                    }
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
    assert!(estimated > 10 && apart > 50 && cut > 10, "{estimated} {apart} {cut}");
}

/// What decisions by the estimate have in common, with and without `verify`.
fn without_evidence(mut admission: Admission) -> Admission {
    admission.unverified.clear();
    admission.complete = true;
    admission
}

#[test]
fn without_documents_the_estimate_decides_as_it_does_alone() {
    let (mut rejected, mut replaced) = (0, 0);
    for at_threshold in [true, false] {
        let mut random = Random(7);
        let (verified, plain) = (index(), index());
        for round in 0..300 {
            let rules = Rules { or_by_estimate: true, at_threshold, ..Rules::draw(&mut random) };
            let key = format!("k{}", random.below(60)).into_bytes();
            // One at a time: what the same call has admitted is at hand.
            let some = [(key, doc(&mut random, &verified.sketcher()))];
            let mut admissions = rules.decide(&verified, &some, &mut |_| Ok(None));
            let newcomer = Newcomer::original(&some[0].0, &some[0].1.original).time(1);
            let alone = plain.admit_one(&newcomer, &rules.admit()).expect("decided");
            match &alone.decision {
                Decision::Rejected { .. } => rejected += 1,
                Decision::Admitted { removed, .. } => replaced += removed.len(),
            }
            assert_eq!(without_evidence(admissions.remove(0)), alone, "round {round}");
        }
        assert_eq!(verified.len(), plain.len());
    }
    assert!(rejected > 50 && replaced > 50, "{rejected} {replaced}");
}

#[test]
fn rare_words_are_no_guard_of_single_documents() {
    let index = index();
    let own = run(&index.sketcher(), 0);
    let mut fetch = |_: &[u8]| Ok(None);
    let mut terms = Admit::at(0.9).verify(&mut fetch).guard(Guard::Rare);
    let error = index.admit_verified(&[Newcomer::original("new", &own)], &mut terms);
    let error = error.expect_err("nothing is counted");
    assert_eq!((error.kind(), index.len()), (ErrorKind::Invalid, 0));
    assert!(error.to_string().contains("use Guard::Numbers"), "{error}");
}

/// A newcomer of a thread, and its admission.
struct Attempt {
    key: Vec<u8>,
    own: Doc,
    admission: Admission,
}

/// Admits newcomers one by one. Each is known to the other threads before.
fn ask(index: &Index, known: &Mutex<Model>, thread: u64, terms: &Admit<'_>) -> Vec<Attempt> {
    let mut random = Random((thread + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut attempts = Vec::new();
    for number in 0..80 {
        let own = doc(&mut random, &index.sketcher());
        let key = format!("{thread}-{number}").into_bytes();
        known.lock().expect("whole").insert(key.clone(), own.clone());
        let mut fetch = |key: &[u8]| {
            // Other threads write meanwhile.
            std::thread::yield_now();
            Ok(known.lock().expect("whole").get(key).map(|doc| doc.original.clone()))
        };
        let mut terms = terms.clone().verify(&mut fetch);
        let newcomer = Newcomer::original(&key, &own.original);
        let admission = loop {
            match index.admit_verified(std::slice::from_ref(&newcomer), &mut terms) {
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
        let rules = Rules::new(Alike::similar(0.6), Some(0.4), keep, usize::MAX);
        let terms = rules.admit();
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
            let expected = by_force(&mut model, (&key, &own), &rules, &|_| false);
            assert_eq!(decided(admission), expected, "{}", key.escape_ascii());
        }
        assert_eq!(index.len(), model.len() as u64);
        assert!(rejected > 50, "{rejected}");
    }
}

/// A text of 20 words, from `first` on.
fn run(sketcher: &Sketcher, first: usize) -> Original {
    sketcher.original_text(&text_of(first..first + 20)).expect("not empty")
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
