//! The limits of the machine: programs without an index and without answers, which do only the
//! reads and writes that no similar design can avoid. If a figure misses its target, the report
//! compares it with the limit, too.

use crate::clock::{by_turns, time};
use crate::made::ROWS;
use crate::options::Options;
use crate::results::{Result, Results, Subject};
use crate::tables::{BATCH, fresh_folder};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Condvar, Mutex};

mod lines;
mod removals;
pub use lines::Tables;
use removals::removals_alone;

/// Measured in stage `tables`, in turn with the queries. (`LINES_OF_HIT` is also measured in stage
/// `limits`, at the largest size.)
pub const LINES_OF_MISS: &str = "the lines of memory of a miss";
pub const LINES_OF_HIT: &str = "the lines of memory of a hit";
/// Measured in stage `tables`, with a cold page cache.
pub const BLOCKS_OF_MISS: &str = "the blocks of a miss, cold cache";
pub const LINES_ON_ONE: &str = "the lines of memory of hits, one thread";
pub const LINES_ON_TWO: &str = "the lines of memory of hits, two threads";
pub const OPENED: &str = "files opened and mapped, blocks of a hit read and checked";
/// Measured with as many documents as stage `text` uses.
pub const REMOVALS_ALONE: &str = "1,000 removals: blocks read and checked, a record synced";

/// Bytes per record of one document: signature, key, time and lengths.
const RECORD_BYTES: usize = ROWS + 32;
/// Bytes per removal: a key and its length.
const REMOVAL_BYTES: usize = 16;
const WRITERS: u32 = 8;
/// How many times in a row a syncing thread yields without a new record arriving, before it gives
/// up waiting.
const PATIENCE: u32 = 64;

pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    let folder = fresh_folder(options, "lines")?;
    let tables = Tables::new(&folder.join("tables"), options.ours as usize)?;
    let large = match options.large as usize {
        0 => None,
        documents => Some(Tables::new(&folder.join("large"), documents)?),
    };
    for _ in 0..options.runs {
        if let Some(large) = &large {
            let documents = u64::from(options.large);
            let of = Subject { stage: "limits", engine: "machine", durability: "-", documents };
            let hits = large.ask(options.queries, true);
            results.note(of, LINES_OF_HIT, "us", hits.quantile_us(0.5));
            results.note(of, OPENED, "ms", large.opened()? * 1e3);
        }
        let mut note = |measure: &str, unit: &str, value: f64| {
            let documents = u64::from(options.ours);
            let of = Subject { stage: "limits", engine: "machine", durability: "-", documents };
            results.note(of, measure, unit, value);
        };
        note(OPENED, "ms", tables.opened()? * 1e3);
        let [one, two] = by_turns(|threads| Ok(tables.rate(threads, options.queries)))?;
        note(LINES_ON_ONE, "1/s", one);
        note(LINES_ON_TWO, "1/s", two);
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
    Ok(std::fs::remove_dir_all(folder)?)
}

/// Documents per second if each batch of 1,000 is one write of the necessary log bytes, followed by
/// a sync.
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

/// Creates a file of zeros with at least this length. It is written in pieces of 64 KiB: for each
/// record appended later, the system walks the whole piece that contains it, so large pieces would
/// be slow.
pub fn prepared(path: &Path, bytes: u64) -> Result<File> {
    let file = File::create(path)?;
    let zeros = vec![0; 64 << 10];
    for at in (0..bytes).step_by(zeros.len()) {
        file.write_all_at(&zeros, at)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Records per second. Each of several threads appends a record and waits until it is synced; one
/// of the waiting threads syncs for all.
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
    /// Number of records that were synced by the last sync or waited when it ended. The next sync
    /// waits until as many have been appended again.
    expected: u64,
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
            // The other threads were woken together with this one, and will soon append their next
            // records: yields to them, so that one sync covers these records, too.
            let mut patience = PATIENCE;
            while state.appended - state.synced < state.expected && patience > 0 {
                let before = state.appended;
                drop(state);
                std::thread::yield_now();
                state = self.state.lock().map_err(|_| "poisoned")?;
                patience = if state.appended > before { PATIENCE } else { patience - 1 };
            }
            let covered = state.appended;
            drop(state);
            self.file.sync_data()?;
            state = self.state.lock().map_err(|_| "poisoned")?;
            state.expected = state.appended - state.synced;
            (state.led, state.synced) = (false, covered);
            drop(state);
            self.woken.notify_all();
            state = self.state.lock().map_err(|_| "poisoned")?;
        }
        Ok(())
    }
}
