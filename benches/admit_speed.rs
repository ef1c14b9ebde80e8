//! Speed of admitting documents compared with inserting them.
//!
//! `cargo bench --bench admit_speed -- DIR [DOCUMENTS [BATCH]]`. DIR must not exist; three indexes
//! are created in it: filled by inserts, by admitting, and by admitting with `Admit::verify`, whose
//! closure finds the documents in memory. A signature has 128 rows of 8 bits, in 17 bands of 5. One
//! document in ten is a near-copy of an earlier one and is rejected. Besides the wall-clock time,
//! the benchmark prints the CPU time of the thread, which is less sensitive to other load.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use nearkin::{Admission, Admit, Batch, Index, Newcomer, Options, Original, Params, Shingles};

/// Items per document.
const ITEMS: u64 = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let dir = args.next().ok_or("which directory?")?;
    let mut number = |default| args.next().map_or(Ok(default), |text| text.parse::<usize>());
    let (documents, batch) = (number(200_000)?, number(1_000)?);
    let params = Params::for_threshold(0.7).shingles(Shingles::Items).build()?;
    let create = |name| Index::create(Path::new(&dir).join(name), &params, Options::default());
    let (inserting, admitting) = (create("insert.nearkin")?, create("admit.nearkin")?);
    let verifying = create("verify.nearkin")?;
    let made = originals(&inserting, documents)?;
    let keys: Vec<String> = (0..documents).map(|at| format!("doc-{at:010}")).collect();

    let clock = Clock::start();
    for (keys, signatures) in keys.chunks(batch).zip(made.chunks(batch)) {
        let pairs = keys.iter().zip(signatures);
        inserting
            .write(pairs.fold(Batch::new(), |batch, (key, s)| batch.insert(key, s.signature())))?;
    }
    clock.report("insert", documents);
    let terms = Admit::at(0.9).limit(1);
    let mut admitted = 0;
    let clock = Clock::start();
    for (keys, signatures) in keys.chunks(batch).zip(made.chunks(batch)) {
        let pairs = keys.iter().zip(signatures);
        let newcomers: Vec<_> = pairs.map(|(key, s)| Newcomer::new(key, s.signature())).collect();
        let admissions = admitting.admit_all(&newcomers, &terms)?;
        admitted += admissions.iter().filter(|one| Admission::is_admitted(one)).count();
    }
    clock.report("admit", documents);
    println!("{admitted} of {documents} admitted");
    let known: HashMap<&[u8], &Original> = keys.iter().map(String::as_bytes).zip(&made).collect();
    let (mut verified, mut fetched) = (0, 0_u64);
    let mut fetch = |key: &[u8]| {
        fetched += 1;
        Ok(known.get(key).map(|original| (*original).clone()))
    };
    let clock = Clock::start();
    for (keys, originals) in keys.chunks(batch).zip(made.chunks(batch)) {
        let pairs = keys.iter().zip(originals);
        let newcomers: Vec<_> = pairs.map(|(key, o)| Newcomer::original(key, o)).collect();
        let admissions =
            verifying.admit_verified(&newcomers, &mut terms.clone().verify(&mut fetch))?;
        verified += admissions.iter().filter(|one| Admission::is_admitted(one)).count();
    }
    clock.report("admit, verified", documents);
    println!("{verified} of {documents} admitted, {fetched} documents fetched");
    Ok(())
}

fn originals(index: &Index, documents: usize) -> Result<Vec<Original>, nearkin::Error> {
    let sketcher = index.sketcher();
    let like = |at: u64| if at % 10 == 9 { at / 2 } else { at };
    let items = |at: u64| (0..ITEMS).map(move |item| i128::from(like(at) * ITEMS + item));
    (0..documents).zip(0..).map(|(_, at)| sketcher.original_items(items(at))).collect()
}

struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), cpu: thread_seconds() }
    }

    fn report(&self, what: &str, count: usize) {
        let wall = self.wall.elapsed().as_secs_f64();
        let cpu = thread_seconds() - self.cpu;
        let count = count as f64;
        println!(
            "{what}: {:.0}/s ({wall:.3} s; CPU of this thread {cpu:.3} s, {:.0} ns each)",
            count / wall,
            cpu / count * 1e9,
        );
    }
}

/// CPU time of this thread in seconds.
fn thread_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
