//! Measures Nearkin alone: features without a rival, and targets that do not depend on rivals.

use crate::clock::{Latencies, queries, time};
use crate::engines::{Engine, Kind, Nearkin, key, threshold};
use crate::machine::{Peak, anonymous_bytes, disk_bytes};
use crate::made::{self, Signature};
use crate::options::Options;
use crate::results::{Result, Results, Subject};
use crate::tables::{BATCH, fresh_folder, load};
use nearkin::{Durability, Maintenance};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const WRITERS: u32 = 8;
const MIB: f64 = (1 << 20) as f64;

pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    for run in 0..options.runs {
        let folder = fresh_folder(options, "ours")?;
        let mut one = Ours { options, results: &mut *results, folder };
        one.syncs()?;
        one.crash()?;
        one.large_index()?;
        eprintln!("run {} done", run + 1);
        std::fs::remove_dir_all(&one.folder)?;
    }
    Ok(())
}

struct Ours<'a> {
    options: &'a Options,
    results: &'a mut Results,
    folder: PathBuf,
}

impl Ours<'_> {
    fn note(&mut self, measure: &str, unit: &str, value: f64) {
        let of = Subject {
            stage: "ours",
            engine: "nearkin",
            durability: Kind::Nearkin.durability(),
            documents: u64::from(self.options.ours),
        };
        self.results.note(of, measure, unit, value);
    }

    /// Measures in turn: syncs of the bare disk, single inserts of one thread, and in every third
    /// turn those of eight threads.
    fn syncs(&mut self) -> Result<()> {
        let folder = self.folder.join("syncs");
        let index = Nearkin::open(&folder)?;
        let (turn, singles) = (self.options.singles / 3, self.options.singles);
        let together = singles;
        let sketched = staged(0, 1 + turn * TURNS + together * WRITERS * (TURNS / 3))?;
        let insert = |range: &[(u32, nearkin::Signature)]| -> Result<()> {
            for (document, signature) in range {
                index.index.insert(key(*document), signature)?;
            }
            Ok(())
        };
        let (first, rest) = sketched.split_at(1);
        // This creates a log, which is not part of the measurement.
        insert(first)?;
        let (alone, rest) = rest.split_at((turn * TURNS) as usize);
        let mut bare = BareLog::create(&folder.join("limit"), turn * TURNS)?;
        let mut of_eight = rest.chunks_exact((together * WRITERS) as usize);
        let mut seconds = [0.0; 3];
        for (nth, part) in alone.chunks_exact(turn as usize).enumerate() {
            seconds[0] += time(|| part.iter().try_for_each(|_| bare.append()))?.0;
            seconds[1] += time(|| insert(part))?.0;
            if nth % 3 > 0 {
                continue;
            }
            let parts = of_eight.next().ok_or("as many as are staged")?.chunks(together as usize);
            let all = time(|| {
                std::thread::scope(|scope| {
                    let threads: Vec<_> = parts.map(|part| scope.spawn(|| insert(part))).collect();
                    threads.into_iter().try_for_each(|one| one.join().map_err(|_| "panicked")?)
                })
            });
            seconds[2] += all?.0;
        }
        bare.remove()?;
        let rate = |seconds: f64| f64::from(turn * TURNS) / seconds;
        self.note("syncs of 256 appended bytes", "1/s", rate(seconds[0]));
        self.note("single inserts, one thread", "documents/s", rate(seconds[1]));
        let rate = f64::from(together * WRITERS * (TURNS / 3)) / seconds[2];
        self.note("single inserts, 8 threads", "documents/s", rate);
        Box::new(index).close()
    }

    /// Measures reopening after a process ended without closing the index, with a memtable as full
    /// as possible.
    fn crash(&mut self) -> Result<()> {
        let folder = self.folder.join("crash");
        let (held, all) = fill_memtable(&folder)?;
        let hit = made::hits(1, all);
        let (seconds, engine) = time(|| {
            let engine = Nearkin::open(&folder)?;
            queries(&mut *engine.reader()?, &hit)?;
            Ok(engine)
        })?;
        self.note("documents in a full memtable", "documents", f64::from(held));
        self.note("reopen after a kill, full memtable", "ms", seconds * 1e3);
        Box::new(engine).close()
    }

    /// Runs the measurements on one large index, in sequence.
    fn large_index(&mut self) -> Result<()> {
        let folder = self.folder.join("large");
        std::fs::create_dir_all(&folder)?;
        self.unmerged(&folder)?;
        let mut engine = Nearkin::open(&folder)?;
        let (seconds, ()) = time(|| engine.settle())?;
        self.note("compact", "s", seconds);
        self.pairs(&engine)?;
        let idle = self.hits(&engine)?;
        self.note("hit p50, compacted", "us", idle.quantile_us(0.5));
        self.note("hit p99, idle", "us", idle.quantile_us(0.99));
        self.dead(engine, &folder, idle.quantile_us(0.5))?;
        self.busy(&folder)
    }

    fn hits(&self, engine: &Nearkin) -> Result<Latencies> {
        let hits = made::hits(self.options.queries, self.options.ours / 5 * 4);
        queries(&mut *engine.reader()?, &hits)?;
        Ok(queries(&mut *engine.reader()?, &hits)?.0)
    }

    /// A bulk load without compaction: measures the number of segments, and what each of them costs
    /// a query.
    fn unmerged(&mut self, folder: &Path) -> Result<()> {
        let never = nearkin::Options::default().tier_segments_max(usize::MAX);
        let mut engine = Nearkin::open_with(folder, never)?;
        let seconds = load(&mut engine, self.options.ours, BATCH)?;
        let rate = f64::from(self.options.ours) / seconds;
        self.note("insert, no compaction", "documents/s", rate);
        engine.index.flush()?;
        let segments = engine.index.stats()?.segments as f64;
        let misses = made::misses(self.options.queries);
        queries(&mut *engine.reader()?, &misses)?;
        let missed = queries(&mut *engine.reader()?, &misses)?.0.quantile_us(0.5);
        let hit = self.hits(&engine)?.quantile_us(0.5);
        self.note("segments after a load without compaction", "segments", segments);
        self.note("hit p50, without compaction", "us", hit);
        self.note("miss p50, without compaction", "us", missed);
        self.note("miss p50 per segment, without compaction", "us", missed / segments);
        Box::new(engine).close()
    }

    fn pairs(&mut self, engine: &Nearkin) -> Result<()> {
        let threshold = threshold(engine.index.params());
        let peak = Peak::start();
        let before = anonymous_bytes();
        let (seconds, count) = time(|| {
            let mut count = 0_u64;
            for pair in engine.index.pairs(threshold)? {
                pair?;
                count += 1;
            }
            Ok(count)
        })?;
        self.note("pairs at 0.7", "s", seconds);
        self.note("pairs found", "pairs", count as f64);
        self.note("memory of the process with pairs", "MiB", peak.bytes() as f64 / MIB);
        drop(peak);
        let peak = Peak::start();
        let (seconds, count) = time(|| Ok(engine.index.clusters(threshold)?.count()))?;
        self.note("clusters at 0.7", "s", seconds);
        self.note("clusters found", "clusters", count as f64);
        self.note("memory of the process with clusters", "MiB", peak.bytes() as f64 / MIB);
        let grown = peak.bytes().saturating_sub(before) as f64;
        self.note("memory that pairs and clusters add", "MiB", grown / MIB);
        Ok(())
    }

    /// Removes the last fifth, queries the rest, and compacts.
    fn dead(&mut self, mut engine: Nearkin, folder: &Path, before_us: f64) -> Result<()> {
        let documents = self.options.ours;
        let full = disk_bytes(folder)? as f64;
        let removed: Vec<u32> = (documents / 5 * 4 + 1..documents).collect();
        let (seconds, ()) =
            time(|| removed.chunks(BATCH as usize).try_for_each(|batch| engine.remove(batch)))?;
        self.note("removals, batches of 1,000", "documents/s", removed.len() as f64 / seconds);
        engine.index.flush()?;
        let dead = engine.index.stats()?.dead as f64 / f64::from(documents);
        let after_us = self.hits(&engine)?.quantile_us(0.5);
        self.note("dead while queried", "%", dead * 100.0);
        self.note("hit p50 with a fifth dead", "us", after_us);
        self.note("hit p50 with a fifth dead, against none", "times", after_us / before_us);
        engine.settle()?;
        Box::new(engine).close()?;
        let left = disk_bytes(folder)? as f64;
        self.note("disk after removing a fifth and compacting", "%", left / full * 100.0);
        Ok(())
    }

    /// The reference for the next measurement, in which the queried index is written. Here another
    /// thread writes to a copy of the queried index instead, in the same way. The two indexes share
    /// the machine and, until the copy writes new files, the file pages, but no lock and no
    /// memtable.
    fn beside(&mut self, engine: &Nearkin) -> Result<()> {
        let folder = self.folder.join("another");
        std::fs::create_dir_all(&folder)?;
        engine.index.backup(folder.join("index"))?;
        let another = Nearkin::open(&folder)?;
        let (latencies, _) = self.while_written(engine, &another)?;
        let p99 = latencies.quantile_us(0.99);
        self.note("hit p99 beside a writer of another index", "us", p99);
        Box::new(another).close()?;
        Ok(std::fs::remove_dir_all(folder)?)
    }

    /// Queries one index while a thread inserts into the other at full speed. Returns the latencies
    /// of the queries and of the batches.
    fn while_written(
        &self,
        queried: &Nearkin,
        written: &Nearkin,
    ) -> Result<(Latencies, Latencies)> {
        let stored = self.options.ours / 5 * 4;
        let hits = made::hits(self.options.queries, stored);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| write_on(written, self.options.ours, stored / 2, &done));
            let mut seconds = Vec::new();
            while !done.load(Ordering::Relaxed) {
                seconds.extend(ask_each_anew(queried, &hits, &done)?);
            }
            let stalls = writer.join().map_err(|_| "the writer panicked")??;
            Ok((Latencies::new(seconds), stalls))
        })
    }

    /// Queries while one thread writes to the same index, with merges running.
    fn busy(&mut self, folder: &Path) -> Result<()> {
        let engine = Nearkin::open(folder)?;
        self.beside(&engine)?;
        let (latencies, stalls) = self.while_written(&engine, &engine)?;
        self.note("hit p50 while a writer runs", "us", latencies.quantile_us(0.5));
        self.note("hit p99 while a writer runs", "us", latencies.quantile_us(0.99));
        self.note("longest wait of the writer", "ms", stalls.quantile_us(1.0) / 1e3);
        self.note("p50 of the writer's batches", "ms", stalls.quantile_us(0.5) / 1e3);
        Box::new(engine).close()
    }
}

/// Inserts new documents, and returns the time of each batch.
fn write_on(engine: &Nearkin, first: u32, count: u32, done: &AtomicBool) -> Result<Latencies> {
    let mut seconds = Vec::new();
    let outcome = (first..first + count).step_by(BATCH as usize).try_for_each(|first| {
        let mut batch = nearkin::Batch::new();
        for (document, signature) in staged(first, BATCH)? {
            batch = batch.insert(key(document), &signature);
        }
        seconds.push(time(|| Ok(engine.index.write(batch)?))?.0);
        Result::Ok(())
    });
    done.store(true, Ordering::Relaxed);
    outcome.map(|()| Latencies::new(seconds))
}

/// Runs queries, each on the newest state, until `done`.
fn ask_each_anew(engine: &Nearkin, hits: &[Signature], done: &AtomicBool) -> Result<Vec<f64>> {
    let params = engine.index.params();
    let threshold = threshold(params);
    let mut seconds = Vec::new();
    for rows in hits {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let query = nearkin::Signature::from_bytes(params, rows, 200)?;
        let start = Instant::now();
        engine.index.query(&query).threshold(threshold).run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

fn staged(first: u32, count: u32) -> Result<Vec<(u32, nearkin::Signature)>> {
    let params = crate::engines::params()?;
    let one = |document| {
        let rows = made::document(document);
        Ok((document, nearkin::Signature::from_bytes(&params, &rows, 200)?))
    };
    (first..first + count).map(one).collect()
}

/// Fills a memtable until it is one or two batches short of full, and returns without closing the
/// index. The log starts short and grows with use, so the first memtables are flushed half full and
/// do not count. Returns the number of documents in the last memtable, and the number of documents
/// in the whole index.
fn fill_memtable(folder: &Path) -> Result<(u32, u32)> {
    let options = nearkin::Options::default().durability(Durability::OsBuffer);
    let mut engine = Nearkin::open_with(folder, options.maintenance(Maintenance::Inline))?;
    let (mut all, mut held, mut most) = (0, 0, 0);
    let mut full = false;
    while !full || held + 2 * BATCH < most {
        engine.stage(all, &made::documents(all, BATCH))?;
        engine.insert()?;
        all += BATCH;
        let now = u32::try_from(engine.index.stats()?.memtable_documents)?;
        if now < held {
            full = held <= most + 2 * BATCH && held + 2 * BATCH >= most;
            most = most.max(held);
        }
        held = now;
    }
    engine.index.sync()?;
    Ok((held, all))
}

/// Number of turns, in each of which bare syncs and single inserts are measured. The two alternate,
/// because the disk's speed varies within seconds.
const TURNS: u32 = 15;

/// Appends 256 bytes and syncs, again and again, to an existing file of zeros: no log on this disk
/// can be faster.
struct BareLog {
    file: File,
    path: PathBuf,
    end: u64,
}

impl BareLog {
    fn create(path: &Path, appends: u32) -> Result<Self> {
        let file = prepared(path, 256 * u64::from(appends))?;
        Ok(Self { file, path: path.to_path_buf(), end: 0 })
    }

    fn append(&mut self) -> Result<()> {
        self.file.write_all_at(&[1; 256], self.end)?;
        self.end += 256;
        Ok(self.file.sync_data()?)
    }

    fn remove(self) -> Result<()> {
        drop(self.file);
        Ok(std::fs::remove_file(self.path)?)
    }
}

/// Creates a file of zeros with at least this length. It is written in pieces of 64 KiB: for each
/// record appended later, the system walks the whole piece that contains it, so large pieces would
/// be slow.
fn prepared(path: &Path, bytes: u64) -> Result<File> {
    let file = File::create(path)?;
    let zeros = vec![0; 64 << 10];
    for at in (0..bytes).step_by(zeros.len()) {
        file.write_all_at(&zeros, at)?;
    }
    file.sync_all()?;
    Ok(file)
}
