//! Admission, case by case; the model and the crash campaign cover the rest.

use super::copies::{DIR, disk, options, params, signature};
use crate::index::write::operation::Operation;
use crate::index::write::plan::key_hashes;
use crate::index::write::write_path;
use crate::testing::planted::{Bug, Planted};
use crate::testing::sim::Sim;
use crate::{
    Admission, Admit, Decision, ErrorKind, Index, Keep, Match, Newcomer, Outcome, Signature,
};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeSet;
use std::path::Path;

fn index(sim: &Sim) -> Index {
    Index::create_on(disk(sim), Path::new(DIR), &params(), options()).expect("created")
}

/// A signature with `16 - changed` rows equal to [`signature`]`(value)`.
fn near(value: u8, changed: usize, shingles: u32) -> Signature {
    let mut bytes = vec![value; 16];
    bytes[16 - changed..].fill(value + 100);
    signature_from_parts(&params(), shingles, bytes.into_boxed_slice())
}

fn keys(matches: &[Match]) -> Vec<&str> {
    matches.iter().map(|found| std::str::from_utf8(&found.key).expect("text")).collect()
}

fn rejected(decision: &Decision) -> Vec<&str> {
    match decision {
        Decision::Rejected { duplicates } => keys(duplicates),
        Decision::Admitted { .. } => panic!("{decision:?}"),
    }
}

/// The related keys, the outcome, and the removed keys of a decision that admits.
fn admitted(decision: &Decision) -> (Vec<&str>, Outcome, Vec<&str>) {
    match decision {
        Decision::Admitted { related, outcome, removed } => {
            (keys(related), *outcome, keys(removed))
        }
        Decision::Rejected { .. } => panic!("{decision:?}"),
    }
}

#[test]
fn a_rejection_writes_nothing_and_an_admission_one_change() {
    let index = index(&Sim::new());
    let terms = Admit::at(0.9).relate(0.5);
    let first = index.admit("a", &near(1, 0, 5), &terms).expect("decided");
    assert_eq!(admitted(&first.decision), (vec![], Outcome::Inserted, vec![]));
    assert_eq!((first.change, index.snapshot().change()), (0, 1));

    let copy = index.admit("b", &near(1, 1, 5), &terms).expect("decided");
    assert_eq!(rejected(&copy.decision), ["a"]);
    assert_eq!((copy.change, index.snapshot().change()), (1, 1));
    assert!(!index.contains("b").expect("read"));

    let like = index.admit("c", &near(1, 4, 5), &terms).expect("decided");
    assert_eq!(admitted(&like.decision), (vec!["a"], Outcome::Inserted, vec![]));
    assert_eq!((like.change, index.snapshot().change()), (1, 2));
}

#[test]
fn of_a_stream_each_sees_those_before() {
    let sim = Sim::new();
    let index = index(&sim);
    index.insert("old", &near(9, 0, 5)).expect("inserted");
    let signatures: Vec<_> = (0..40).map(|at| near(at / 4, 0, 5)).collect();
    let keys: Vec<_> = (0..40).map(|at| format!("{at:02}")).collect();
    let newcomers: Vec<_> =
        keys.iter().zip(&signatures).map(|(k, s)| Newcomer::new(k, s)).collect();
    let before = sim.counters().syncs;
    let admissions = index.admit_all(&newcomers, &Admit::at(0.9)).expect("decided");
    assert_eq!(sim.counters().syncs - before, 1, "one sync for all");
    for (at, admission) in admissions.iter().enumerate() {
        match (at / 4, at % 4) {
            (9, _) => assert_eq!(rejected(&admission.decision), ["old"]),
            (_, 0) => drop(admitted(&admission.decision)),
            (crowd, _) => {
                assert_eq!(rejected(&admission.decision), [format!("{:02}", crowd * 4)]);
            }
        }
    }
    assert_eq!((index.len(), index.snapshot().change()), (10, 10), "each is a change of its own");
    assert!(index.admit_all(&[], &Admit::at(0.9)).expect("nothing to do").is_empty());
}

/// Admits newcomers that depend on each other in every way: by similarity, by their keys, and by
/// removals. The logs are small enough to fill up during the test. Each call admits `together`
/// newcomers.
fn admitted_by(together: usize, keep: Keep) -> Vec<Admission> {
    let sim = Sim::new();
    let mut options = options();
    (options.wal_bytes_min, options.wal_bytes_max) = (8 << 10, 16 << 10);
    options.tier_segments_max = 1_000;
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options).expect("created");
    let mut state = 9_u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) % bound
    };
    let mut newcomers = Vec::new();
    for _ in 0..1_500 {
        let (key, value) = (below(200), u8::try_from(below(80)).expect("small"));
        let changed = [0, 0, 1, 4, 9][usize::try_from(below(5)).expect("small")];
        let shingles = u32::try_from(below(9)).expect("small");
        newcomers.push((format!("{key}"), near(value, changed, shingles)));
    }
    let terms = Admit::at(0.9).relate(0.5).keep(keep);
    let mut admissions = Vec::new();
    for some in newcomers.chunks(together) {
        let some: Vec<_> = some.iter().map(|(key, s)| Newcomer::new(key, s)).collect();
        admissions.extend(index.admit_all(&some, &terms).expect("decided"));
    }
    let found = index.verify().expect("verified");
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    assert!(index.stats().expect("read").segments > 1, "no log was full");
    admissions
}

#[test]
fn newcomers_of_one_call_are_decided_as_if_one_by_one() {
    for keep in [Keep::First, Keep::Newest, Keep::Longest, Keep::All] {
        let one_by_one = admitted_by(1, keep);
        for together in [2, 7, 64, 65, 1_500] {
            assert!(admitted_by(together, keep) == one_by_one, "{keep:?}, {together} together");
        }
    }
}

#[test]
fn terms_out_of_their_range_are_refused() {
    let index = index(&Sim::new());
    let good = signature(&params(), 1);
    for terms in [Admit::at(1.1), Admit::at(-0.1), Admit::at(0.5).relate(0.6), Admit::at(f64::NAN)]
    {
        let refused = index.admit("a", &good, &terms).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{terms:?}");
    }
    // If one newcomer is invalid, none is admitted.
    let newcomers = [Newcomer::new("a", &good), Newcomer::new("", &good)];
    let refused = index.admit_all(&newcomers, &Admit::at(0.5)).expect_err("refused");
    assert_eq!((refused.kind(), index.len()), (ErrorKind::Invalid, 0));
}

/// A first caller has written a document but not synced it; a second caller is rejected because of
/// this document; then the power fails. Returns how many of the disks that the power cut could
/// leave lack the document.
fn copies_lost() -> usize {
    let sim = Sim::new();
    let index = index(&sim);
    index.insert("old", &near(5, 0, 5)).expect("inserted");
    let good = signature(&params(), 1);
    let first = Operation::Insert {
        key: b"a",
        payload: None,
        time: 7,
        shingle_count: 3,
        signature: good.as_bytes(),
        is_decided: false,
    };
    let hashes = key_hashes(&index.core.params, &[first]);
    let written =
        write_path::write_locked(&index.core, &mut index.core.writer(), &[first], &hashes);
    assert_eq!(written.expect("written").change, 2);
    let copy = index.admit("b", &good, &Admit::at(0.9)).expect("decided");
    assert_eq!((rejected(&copy.decision), copy.change), (vec!["a"], 2));
    let survives = |disk: Sim| {
        let index = Index::open_on(super::copies::disk(&disk), Path::new(DIR), options());
        index.expect("it opens").contains("a").expect("read")
    };
    sim.crash_states(3, 64).filter(|disk| !survives(disk.clone())).count()
}

#[test]
fn a_power_cut_after_a_rejection_never_loses_both_copies() {
    assert_eq!(copies_lost(), 0);
}

#[test]
fn a_rejection_that_does_not_wait_is_caught() {
    let _planted = Planted::new(Bug::RejectionNotAwaited);
    assert!(copies_lost() > 0);
}

/// Admits two rounds of 24 dissimilar newcomers: each newcomer of the second round replaces one of
/// the first, and each round is one call. After a power cut anywhere, every decision on the disk
/// must come with all decisions before it.
#[test]
fn of_a_run_that_was_cut_a_prefix_is_left() {
    let sim = Sim::new();
    let options = options().durability(crate::Durability::OsBuffer);
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params(), options).expect("created");
    let terms = Admit::at(0.8).keep(Keep::Newest);
    let (mut live, mut states) = (BTreeSet::new(), vec![BTreeSet::new()]);
    index.sync().expect("synced");
    for round in 0..2 {
        let newcomer = |at: u8| (format!("{round}-{at:02}"), near(at * 4 + 1, round, 1));
        let some: Vec<(String, Signature)> = (0..24).map(newcomer).collect();
        let new: Vec<_> = some.iter().map(|(key, one)| Newcomer::new(key, one)).collect();
        let admissions = index.admit_all(&new, &terms).expect("decided");
        for (admission, (key, _)) in admissions.iter().zip(&some) {
            let (_, _, removed) = admitted(&admission.decision);
            assert!(removed.iter().all(|key| live.remove(*key)), "{removed:?}");
            live.insert(key.clone());
            states.push(live.clone());
        }
    }
    assert_eq!(live.len(), 24);
    let mut lengths = BTreeSet::new();
    for cut in sim.crash_states(7, 1_000) {
        let index =
            Index::open_on(disk(&cut), Path::new(DIR), super::copies::options()).expect("opens");
        let key = |stored: crate::Result<crate::Document>| {
            String::from_utf8(stored.expect("read").key).expect("text")
        };
        let found: BTreeSet<String> = index.snapshot().iter().map(key).collect();
        let length = states.iter().position(|state| *state == found);
        lengths.insert(length.unwrap_or_else(|| panic!("no prefix: {found:?}")));
    }
    assert!(lengths.len() > 2, "runs were cut within: {lengths:?}");
}

#[test]
fn a_newcomer_with_too_many_duplicates_replaces_none() {
    let small = options().batch_bytes_max(1 << 10);
    let index = Index::create_on(disk(&Sim::new()), Path::new(DIR), &params(), small);
    let index = index.expect("created");
    let long = |number: u8| format!("{number}{}", "k".repeat(300));
    for number in 0..4 {
        index.insert(long(number), &near(1, 0, 5)).expect("inserted");
    }
    let terms = Admit::at(0.9).keep(Keep::Newest);
    let refused = index.admit("new", &near(1, 0, 5), &terms).expect_err("a long record");
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    assert_eq!((index.len(), index.contains("new").expect("read")), (4, false));
    for number in 0..2 {
        index.remove(long(number)).expect("removed");
    }
    index.admit("new", &near(1, 0, 5), &terms).expect("two are few enough");
    assert_eq!(index.len(), 1);
}
