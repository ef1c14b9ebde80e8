//! Concurrent admission: in each crowd of identical documents exactly one is admitted, and every
//! decision equals that of a serial replay in the order of the changes.
//!
//! At full size, with 8 threads and 100,000 documents per thread:
//! `NEARKIN_ADMIT_DOCUMENTS=100000 cargo test --release --test it admit:: -- --nocapture`
#![expect(clippy::print_stderr, reason = "it says how fast it was")]

use crate::support::{Random, Scratch, assert_whole, params, run};
use nearkin::{
    Admission, Admit, Decision, Durability, Index, Keep, Newcomer, Options, Outcome, Signature,
};
use std::collections::BTreeSet;
use std::time::Instant;

const THREADS: u32 = 8;
/// Maximum number of documents per call.
const TOGETHER: u32 = 64;

fn options() -> Options {
    Options::default().memtable_bytes_max(4 << 20).clock(|| 7)
}

/// Runs `THREADS` threads. Each gets its number.
fn threads<T: Send>(act: impl Fn(u32) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || act(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The signature shared by all members of a crowd. Signatures of different crowds are not similar.
fn crowd(number: u32) -> Signature {
    run(number * 1_000, 20)
}

/// All threads try to admit a member of every crowd, each thread in a different order.
fn of_each_crowd_one(crowds: u32) {
    let scratch = Scratch::new();
    let index = Index::create(scratch.dir(), &params(), options()).unwrap();
    let begun = Instant::now();
    let admitted = threads(|thread| {
        let mut random = Random(u64::from(thread));
        let mut next = random.below(crowds);
        // Coprime to all values of `crowds` used here, so that each crowd comes once.
        let step = [7_919, 104_729][random.below(2) as usize];
        let mut admitted = Vec::new();
        let mut left = crowds;
        while left > 0 {
            let count = (1 + random.below(TOGETHER)).min(left);
            left -= count;
            let mut some = Vec::new();
            for _ in 0..count {
                next = (next + step) % crowds;
                some.push((next, format!("{next}-{thread}"), crowd(next)));
            }
            let newcomers: Vec<_> = some.iter().map(|(_, k, s)| Newcomer::new(k, s)).collect();
            let decided = index.admit_all(&newcomers, &Admit::at(0.9)).unwrap();
            for ((number, key, _), admission) in some.iter().zip(decided) {
                match admission.decision {
                    Decision::Admitted { .. } => admitted.push((*number, key.clone())),
                    Decision::Rejected { duplicates, .. } => {
                        assert_eq!(duplicates.len(), 1);
                        let of = String::from_utf8_lossy(&duplicates[0].key).into_owned();
                        assert!(of.starts_with(&format!("{number}-")), "{key} is no {of}");
                    }
                }
            }
        }
        admitted
    });
    let admitted: Vec<_> = admitted.into_iter().flatten().collect();
    let seconds = begun.elapsed().as_secs_f64();
    let offered = f64::from(THREADS * crowds);
    eprintln!("{THREADS} x {crowds} identical: {:.0} decided a second", offered / seconds);
    let numbers: BTreeSet<_> = admitted.iter().map(|(number, _)| *number).collect();
    assert!(numbers.into_iter().eq(0..crowds), "one of each crowd");
    assert_eq!(admitted.len(), crowds as usize, "and not two");
    assert_eq!(index.len(), u64::from(crowds));
    for (number, key) in admitted.iter().take(1_000) {
        assert_eq!(index.get(key).unwrap().unwrap().signature, crowd(*number));
    }
    index.close().unwrap();
}

/// An admission: the request and the decision.
struct Request {
    key: String,
    signature: Signature,
    keep: Keep,
    admission: Admission,
}

impl Request {
    fn has_written(&self) -> bool {
        match &self.admission.decision {
            Decision::Rejected { .. } => false,
            Decision::Admitted { outcome, removed, .. } => {
                *outcome != Outcome::Unchanged || !removed.is_empty()
            }
        }
    }
}

fn terms(keep: Keep) -> Admit<'static> {
    Admit::at(0.8).relate(0.4).keep(keep).limit(3)
}

/// Admits near-copies under keys that threads share. The members of a crowd are runs of items,
/// shifted against each other.
fn ask(index: &Index, thread: u32, documents: u32) -> Vec<Request> {
    let mut random = Random(u64::from(thread) + 100);
    let mut request = Vec::new();
    let mut left = documents;
    while left > 0 {
        let count = (1 + random.below(TOGETHER)).min(left);
        left -= count;
        let keep = [Keep::First, Keep::First, Keep::Newest, Keep::Longest];
        let keep = keep[random.below(4) as usize];
        let mut some = Vec::new();
        for _ in 0..count {
            let key = format!("k{}", random.below(documents));
            let crowd = random.below(documents / 8);
            let (shift, length) = (random.below(20), 30 + random.below(8));
            some.push((key, run(crowd * 1_000 + shift, length)));
        }
        let newcomers: Vec<_> = some.iter().map(|(key, s)| Newcomer::new(key, s)).collect();
        let admissions = index.admit_all(&newcomers, &terms(keep)).unwrap();
        for ((key, signature), admission) in some.into_iter().zip(admissions) {
            request.push(Request { key, signature, keep, admission });
        }
    }
    request
}

fn as_a_serial_replay(documents: u32) {
    let scratch = Scratch::new();
    let index = Index::create(scratch.dir(), &params(), options()).unwrap();
    let begun = Instant::now();
    let request = threads(|thread| ask(&index, thread, documents));
    let mut request: Vec<_> = request.into_iter().flatten().collect();
    let seconds = begun.elapsed().as_secs_f64();
    let count = f64::from(THREADS * documents);
    eprintln!("{THREADS} x {documents} near-copies: {:.0} decided a second", count / seconds);
    // Decisions with the same change number are based on the same state. At most one of them then
    // changed the state, so it comes last.
    request.sort_by_key(|request| (request.admission.change, request.has_written()));
    let serial_scratch = Scratch::new();
    let unsynced = options().durability(Durability::OsBuffer);
    let serial = Index::create(serial_scratch.dir(), &params(), unsynced).unwrap();
    let mut decisions = [0_u32; 3];
    for part in request.chunk_by(|one, other| one.keep == other.keep) {
        for part in part.chunks(1_000) {
            let newcomers: Vec<_> = part
                .iter()
                .map(|request| Newcomer::new(&request.key, &request.signature))
                .collect();
            let replayed = serial.admit_all(&newcomers, &terms(part[0].keep)).unwrap();
            for (request, replayed) in part.iter().zip(replayed) {
                assert_eq!(request.admission, replayed, "{}", request.key);
                decisions[match &replayed.decision {
                    Decision::Rejected { .. } => 0,
                    Decision::Admitted { removed, .. } if removed.is_empty() => 1,
                    Decision::Admitted { .. } => 2,
                }] += 1;
            }
        }
    }
    assert!(decisions.iter().all(|count| *count > documents / 10), "{decisions:?}");
    assert_eq!(index.snapshot().change(), serial.snapshot().change());
    assert_eq!(index.len(), serial.len());
    assert_whole(&index);
    index.close().unwrap();
}

/// Number of documents per thread: a few, or the value of the environment variable.
fn documents() -> u32 {
    std::env::var("NEARKIN_ADMIT_DOCUMENTS").map_or(500, |text| text.parse().unwrap())
}

#[test]
fn of_identical_documents_one_of_each_crowd_is_admitted() {
    of_each_crowd_one(documents());
}

#[test]
fn decisions_of_many_threads_equal_a_serial_replay() {
    as_a_serial_replay(documents());
}
