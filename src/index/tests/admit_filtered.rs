//! Admission with the caller's conditions: tenants, deadlines, limits. The model covers the rest.

use super::copies::{self, DIR, disk, options, params};
use crate::testing::sim::Sim;
use crate::{
    Admit, Alike, Batch, Decision, Edit, ErrorKind, Index, Keep, Newcomer, Outcome, Params,
    Shingles, Signature,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

fn index() -> Index {
    Index::create_on(disk(&Sim::new()), Path::new(DIR), &params(), options()).expect("created")
}

fn signature(value: u8) -> Signature {
    copies::signature(&params(), value)
}

fn of_south(key: &[u8], _: &[u8]) -> bool {
    key.starts_with(b"south/")
}

#[test]
fn a_document_hidden_by_the_filter_is_not_replaced() {
    let index = index();
    index.insert_with_payload("shared", &signature(1), "of north").expect("inserted");
    let south = Admit::at(0.9).filter(|_, payload: &[u8]| payload == b"of south");
    let before = index.snapshot().change();
    let mine = signature(2);
    let newcomers =
        [Newcomer::new("before", &mine).payload("of south"), Newcomer::new("shared", &mine)];
    let refused = index.admit_all(&newcomers, &south).expect_err("hidden");
    assert_eq!(refused.kind(), ErrorKind::Exists);
    assert!(refused.to_string().contains("\"shared\""), "{refused}");
    let stored = index.get("shared").expect("read").expect("there");
    assert_eq!((&stored.payload[..], stored.signature), (&b"of north"[..], signature(1)));
    assert_eq!(index.snapshot().change(), before + 1, "the one before it is stored");
    // Its own key is no duplicate if it passes, and may be replaced.
    index.set_payload("shared", "of south").expect("set");
    let twice = index.admit("shared", &signature(3), &south).expect("decided");
    let Decision::Admitted { outcome, .. } = twice.decision else { panic!("its own key") };
    assert_eq!(outcome, Outcome::Replaced);
}

#[test]
fn a_filter_may_use_the_index_and_sees_writes_of_others() {
    let index = index();
    index.insert("south/1", &signature(1)).expect("inserted");
    let calls = AtomicUsize::new(0);
    let south = Admit::at(0.9).keep(Keep::Newest).filter(|key, payload| {
        // The first document is written anew during the first look at it.
        if calls.fetch_add(1, Ordering::Relaxed) == 0 {
            index.set_payload("south/1", "new").expect("no lock is held");
            index.insert("south/2", &signature(1)).expect("no lock is held");
        }
        of_south(key, payload)
    });
    let admission = index.admit("south/3", &signature(1), &south).expect("decided");
    let Decision::Admitted { removed, .. } = admission.decision else { panic!("newest") };
    assert_eq!(removed.len(), 2);
    assert_eq!(calls.load(Ordering::Relaxed), 3, "south/1 twice, as its payload changed");
    assert_eq!(index.len(), 1);
}

#[test]
fn a_hidden_document_that_gets_the_key_of_the_newcomer_meanwhile_is_not_replaced() {
    let index = index();
    index.insert("south/1", &signature(1)).expect("inserted");
    let calls = AtomicUsize::new(0);
    let south = Admit::at(0.9).keep(Keep::Newest).filter(|_, payload: &[u8]| {
        if calls.fetch_add(1, Ordering::Relaxed) == 0 {
            let taken = index.insert_with_payload("south/2", &signature(7), "of north");
            taken.expect("no lock is held");
        }
        payload != b"of north"
    });
    let refused = index.admit("south/2", &signature(1), &south).expect_err("hidden");
    assert_eq!(refused.kind(), ErrorKind::Exists);
    let stored = index.get("south/2").expect("read").expect("there");
    assert_eq!((&stored.payload[..], stored.signature), (&b"of north"[..], signature(7)));
    assert!(index.contains("south/1").expect("read"));
}

/// Only its time changes: it is removed and stored again.
#[test]
fn a_document_whose_time_changes_meanwhile_is_looked_at_again() {
    let index = index();
    let same = signature(1);
    let store_at = |time: u64| {
        index.remove("old").expect("no lock is held");
        let edit = Edit::insert("old", &same).time(time);
        index.write(Batch::from_iter([edit])).expect("no lock is held");
    };
    for (first, second, is_admitted) in [(10, 90, false), (90, 10, true)] {
        store_at(first);
        let calls = AtomicUsize::new(0);
        let recent = Admit::at(0.9).filter_document(|seen| {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                store_at(second);
            }
            seen.time >= 50
        });
        let admission = index.admit("new", &same, &recent).expect("decided");
        assert_eq!(admission.is_admitted(), is_admitted, "at {first}, then at {second}");
        assert_eq!(calls.load(Ordering::Relaxed), 2, "at {first}, then at {second}");
    }
}

#[test]
fn an_unsettled_admission_is_an_error_and_writes_nothing() {
    let index = index();
    index.insert("a", &signature(1)).expect("inserted");
    let calls = AtomicUsize::new(0);
    let admit = Admit::at(0.9).filter(|_, _| {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        index.set_payload("a", number.to_string().as_bytes()).expect("no lock is held");
        true
    });
    let error = index.admit("b", &signature(1), &admit).expect_err("it never rests");
    assert_eq!(error.kind(), ErrorKind::Unsettled);
    assert!(!index.contains("b").expect("read"));
}

#[test]
fn a_condition_that_stops_an_admission_leaves_nothing_undecided() {
    let index = index();
    index.insert("a", &signature(1)).expect("inserted");
    let past = Admit::at(0.9).deadline(Instant::now());
    let cancelled = Admit::at(0.9).cancel_if(|| true);
    for admit in [past, cancelled] {
        for value in [1, 2] {
            let error = index.admit("b", &signature(value), &admit).expect_err("stopped");
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
    }
    assert_eq!(index.len(), 1);
    let later = Instant::now() + Duration::from_secs(3_600);
    let in_time = Admit::at(0.9).deadline(later).cancel_if(|| false);
    assert!(!index.admit("b", &signature(1), &in_time).expect("decided").is_admitted());
    assert!(index.admit("b", &signature(2), &in_time).expect("decided").is_admitted());
}

#[test]
fn fewer_candidates_are_told() {
    let index = index();
    for number in 0..9_u8 {
        index.insert([number], &signature(1)).expect("inserted");
    }
    let all = index.admit("x", &signature(1), &Admit::at(0.9)).expect("decided");
    assert!(all.complete && !all.is_admitted());
    for filtered in [false, true] {
        let limited = Admit::at(0.9).max_candidates(3);
        let limited = if filtered { limited.filter(|_, _| true) } else { limited };
        let some = index.admit("x", &signature(1), &limited).expect("decided");
        assert!(!some.complete && !some.is_admitted());
    }
}

/// Threads of two tenants admit copies at once: within a tenant only one copy stays, and the other
/// tenant changes nothing.
#[test]
fn tenants_at_once_are_decided_as_if_each_were_alone() {
    let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build().expect("sound");
    let index =
        Index::create_on(disk(&Sim::new()), Path::new(DIR), &params, options()).expect("created");
    let texts: Vec<String> = (0..8)
        .map(|text| {
            (0..12).map(|word| (text * 12 + word).to_string()).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let admitted = Mutex::new(BTreeMap::<(usize, usize), usize>::new());
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (index, texts, admitted) = (&index, &texts, &admitted);
            scope.spawn(move || {
                let tenant = thread % 2;
                let prefix = format!("{tenant}/");
                let mine = Admit::at(Alike::similar(0.9))
                    .filter(|key: &[u8], _: &[u8]| key.starts_with(prefix.as_bytes()));
                for (number, text) in texts.iter().enumerate().cycle().take(40) {
                    let signature = index.sketcher().text(text).expect("a text");
                    let key = format!("{prefix}{thread}-{number}");
                    let admission = loop {
                        match index.admit(&key, &signature, &mine) {
                            Ok(admission) => break admission,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsettled),
                        }
                    };
                    let Decision::Admitted { outcome, .. } = admission.decision else { continue };
                    if outcome == Outcome::Inserted {
                        *admitted.lock().expect("whole").entry((tenant, number)).or_default() += 1;
                    }
                }
            });
        }
    });
    let admitted = admitted.into_inner().expect("whole");
    assert!(admitted.values().all(|count| *count == 1), "{admitted:?}");
    assert_eq!((admitted.len(), index.len()), (16, 16));
}

#[test]
fn a_condition_to_stop_does_not_disturb_the_decision() {
    let index = index();
    index.insert("first", &signature(1)).expect("inserted");
    let plain = Admit::at(0.95).relate(0.9);
    // Whenever it is asked, another thread has just written a document like the newcomer.
    let asked = AtomicUsize::new(0);
    let stopping = plain.clone().cancel_if(|| {
        let key = format!("written meanwhile {}", asked.fetch_add(1, Ordering::Relaxed));
        index.insert(&key, &signature(1)).expect("no lock is held");
        false
    });
    let admitted = index.admit("newcomer", &signature(1), &stopping).expect("decided");
    let Decision::Rejected { duplicates } = admitted.decision else { panic!("a copy") };
    assert!(asked.load(Ordering::Relaxed) > 0);
    // All that were written before the decision count.
    assert_eq!(duplicates.len(), 1 + asked.load(Ordering::Relaxed));
    // The decision is that without the condition.
    let Decision::Rejected { duplicates: others } =
        index.admit("newcomer", &signature(1), &plain).expect("decided").decision
    else {
        panic!("a copy")
    };
    assert_eq!(duplicates, others);
    let stopped = index.admit("newcomer", &signature(1), &plain.cancel_if(|| true));
    assert_eq!(stopped.expect_err("stopped").kind(), ErrorKind::Cancelled);
    assert!(!index.contains("newcomer").expect("read"));
}
