//! What the machine allows: the reads and writes that no design like ours can do without, and
//! nothing else. No index, no answer: a line of the report that misses its target is
//! held against these.

use crate::clock::{Latencies, time};
use crate::made::{BANDS, ROWS, Random};
use crate::options::Options;
use crate::results::{Result, Results, Subject};
use crate::tables::{BATCH, fresh_folder};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::time::Instant;

mod removals;
use removals::removals_alone;

/// Of as many documents as stage `text` has.
pub const REMOVALS_ALONE: &str = "1,000 removals: blocks read and checked, a record synced";

/// Entries that share a word of a directory.
const GROUP: usize = 20;
/// Bytes of a record of one document: signature, key, time, lengths.
const RECORD_BYTES: usize = ROWS + 32;
/// Bytes of a removal: a key, and its length.
const REMOVAL_BYTES: usize = 16;
/// Bands that a hit shares with what it finds, on average: .925 of the rows agree.
const SHARED_BANDS: usize = 9;
const WRITERS: u32 = 8;

pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    let tables = Tables::new(options.ours as usize);
    for _ in 0..options.runs {
        let mut note = |measure: &str, unit: &str, value: f64| {
            let documents = u64::from(options.ours);
            let of = Subject { stage: "limits", engine: "machine", durability: "-", documents };
            results.note(of, measure, unit, value);
        };
        let (miss, hit) = tables.measure(options.queries);
        note("the lines of memory of a miss", "us", miss.quantile_us(0.5));
        note("the lines of memory of a hit", "us", hit.quantile_us(0.5));
        let folder = fresh_folder(options, "limits")?;
        let log = log_alone(&folder.join("log"), options.ours)?;
        note("a log alone, batches of 1,000", "documents/s", log);
        let removals = removals_alone(&folder.join("removals"), options.texts as usize)?;
        note(REMOVALS_ALONE, "ms", removals * 1e3);
        let singles = options.singles * WRITERS;
        let alone = group_commit(&folder.join("one"), 1, options.singles)?;
        note("a log alone, single records, one thread", "1/s", alone);
        let together = group_commit(&folder.join("eight"), WRITERS, singles)?;
        note("a log alone, single records, 8 threads", "1/s", together);
        std::fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

/// As much memory as the bucket tables take, laid out like them, holding nothing of sense.
struct Tables {
    documents: usize,
    /// Per band a word per group.
    directories: Vec<u32>,
    /// Per band and document.
    fingerprints: Vec<u16>,
    ordinals: Vec<u32>,
    signatures: Vec<u8>,
    /// Where a document's key lies, and its time.
    starts: Vec<u32>,
    times: Vec<u64>,
    keys: Vec<u8>,
}

impl Tables {
    fn new(documents: usize) -> Self {
        let mut random = Random(1);
        let mut fill = |count: usize| (0..count).map(|_| random.number()).collect::<Vec<u64>>();
        let signatures = fill(documents * ROWS / 8);
        Self {
            documents,
            directories: fill(BANDS * documents / GROUP).into_iter().map(|n| n as u32).collect(),
            fingerprints: fill(BANDS * documents).into_iter().map(|n| n as u16).collect(),
            ordinals: fill(BANDS * documents).into_iter().map(|n| n as u32).collect(),
            signatures: signatures.into_iter().flat_map(u64::to_le_bytes).collect(),
            starts: fill(documents).into_iter().map(|n| n as u32).collect(),
            times: fill(documents),
            keys: fill(documents * 2).into_iter().map(|n| n as u8).collect(),
        }
    }

    fn measure(&self, count: usize) -> (Latencies, Latencies) {
        let mut random = Random(2);
        let mut seconds = [Vec::new(), Vec::new()];
        // The first round is to warm up.
        for _ in 0..2 {
            for (shared, seconds) in [0, SHARED_BANDS].into_iter().zip(&mut seconds) {
                seconds.clear();
                for _ in 0..count {
                    let asked: [u64; BANDS] = std::array::from_fn(|_| random.number());
                    let start = Instant::now();
                    black_box(self.query(&asked, shared));
                    seconds.push(start.elapsed().as_secs_f64());
                }
            }
        }
        let [miss, hit] = seconds;
        (Latencies::new(miss), Latencies::new(hit))
    }

    /// Reads what a query that shares so many bands with one document has to read, step by step:
    /// what each step reads depends on what the one before has read.
    fn query(&self, asked: &[u64; BANDS], shared: usize) -> u32 {
        let groups = self.documents / GROUP;
        let place = |key: u64, of: usize| ((u128::from(key) * of as u128) >> 64) as usize;
        let mut begins = [0; BANDS];
        for (band, (begin, key)) in begins.iter_mut().zip(asked).enumerate() {
            let group = place(*key, groups);
            // Of the word that was read one bit is used: enough to depend on it.
            let word = self.directories[band * groups + group];
            *begin = band * self.documents + group * GROUP + (word & 1) as usize;
        }
        // First one of each line, so that all are on their way at once.
        let touched = begins.map(|begin| {
            let begin = begin.min(self.last(GROUP));
            self.fingerprints[begin] ^ self.fingerprints[begin + GROUP - 1]
        });
        let mut equal = black_box(touched).into_iter().map(u32::from).sum::<u32>() & 1;
        for (begin, key) in begins.into_iter().zip(asked) {
            let begin = begin.min(self.last(GROUP));
            let group = &self.fingerprints[begin..begin + GROUP];
            equal += group.iter().map(|one| u32::from(*one == *key as u16)).sum::<u32>();
        }
        if shared == 0 {
            return equal;
        }
        let ordinals = begins.map(|begin| self.ordinals[begin.min(self.last(1))]);
        let found: u32 = black_box(&ordinals)[..shared].iter().fold(equal, |sum, one| sum ^ one);
        let found = place(u64::from(found) << 32, self.documents - 1);
        let signature = &self.signatures[found * ROWS..(found + 1) * ROWS];
        let rows: u32 = signature.iter().map(|row| u32::from(*row)).sum();
        let key = (self.starts[found] & 1) as usize + found;
        rows + self.times[found] as u32 + u32::from(self.keys[key])
    }

    fn last(&self, count: usize) -> usize {
        self.fingerprints.len() - count
    }
}

/// Documents per second if each batch of 1,000 is one write of what a log must hold, and a sync.
fn log_alone(path: &Path, documents: u32) -> Result<f64> {
    let batch = vec![7; RECORD_BYTES * BATCH as usize];
    let file = prepared(path, 64 << 20)?;
    let batches = u64::from(documents / BATCH);
    let (seconds, ()) = time(|| {
        for at in 0..batches {
            let offset = at * batch.len() as u64 % ((64 << 20) - batch.len() as u64);
            file.write_all_at(&batch, offset)?;
            file.sync_data()?;
        }
        Ok(())
    })?;
    Ok(batches as f64 * f64::from(BATCH) / seconds)
}

/// A file that is there and full of zeros.
fn prepared(path: &Path, bytes: u64) -> Result<File> {
    let file = File::create(path)?;
    let zeros = vec![0; 1 << 20];
    for at in (0..bytes).step_by(zeros.len()) {
        file.write_all_at(&zeros, at)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Records per second of threads that each append one, and wait until it is synced; one of those
/// who wait syncs for all.
fn group_commit(path: &Path, threads: u32, count: u32) -> Result<f64> {
    let file = prepared(path, 4 << 20)?;
    let log = Log { file, state: Mutex::new(State::default()), woken: Condvar::new() };
    let (seconds, ()) = time(|| {
        std::thread::scope(|scope| {
            let work = || (0..count / threads).try_for_each(|_| log.append());
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|one| one.join().map_err(|_| "panicked")?)
        })
    })?;
    Ok(f64::from(count / threads * threads) / seconds)
}

struct Log {
    file: File,
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    appended: u64,
    synced: u64,
    led: bool,
}

impl Log {
    fn append(&self) -> Result<()> {
        let mut state = self.state.lock().map_err(|_| "poisoned")?;
        self.file.write_all_at(&[1; RECORD_BYTES], state.appended * RECORD_BYTES as u64)?;
        state.appended += 1;
        let mine = state.appended;
        while state.synced < mine {
            if state.led {
                state = self.woken.wait(state).map_err(|_| "poisoned")?;
                continue;
            }
            state.led = true;
            let covered = state.appended;
            drop(state);
            self.file.sync_data()?;
            state = self.state.lock().map_err(|_| "poisoned")?;
            (state.led, state.synced) = (false, covered);
            self.woken.notify_all();
        }
        Ok(())
    }
}
