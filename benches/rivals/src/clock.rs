//! Latencies and rates.

use crate::engines::Reader;
use crate::made::Signature;
use crate::results::{Result, median};
use std::sync::Barrier;
use std::time::Instant;

/// Number of passes of each thread over all its queries, after one warm-up pass.
const ROUNDS: usize = 3;

/// Latencies of one kind of operation, in seconds.
#[derive(Debug, Clone, Default)]
pub struct Latencies {
    sorted: Vec<f64>,
}

impl Latencies {
    pub fn new(mut seconds: Vec<f64>) -> Self {
        seconds.sort_unstable_by(f64::total_cmp);
        Self { sorted: seconds }
    }

    /// The latency, in microseconds, that a fraction `share` of all latencies do not exceed.
    pub fn quantile_us(&self, share: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let at = ((self.sorted.len() as f64 * share).ceil() as usize).saturating_sub(1);
        self.sorted.get(at.min(last)).map_or(f64::NAN, |seconds| seconds * 1e6)
    }
}

/// Runs `work` and measures its time in seconds.
pub fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let start = Instant::now();
    let done = work()?;
    Ok((start.elapsed().as_secs_f64(), done))
}

/// Runs all queries one after another and times each. Also returns the number of matches.
pub fn queries(reader: &mut dyn Reader, queries: &[Signature]) -> Result<(Latencies, u64)> {
    reader.stage(queries)?;
    let mut seconds = Vec::with_capacity(queries.len());
    let mut found = Vec::new();
    let mut matches = 0;
    for at in 0..queries.len() {
        found.clear();
        let start = Instant::now();
        reader.query(at, &mut found)?;
        seconds.push(start.elapsed().as_secs_f64());
        matches += found.len() as u64;
    }
    Ok((Latencies::new(seconds), matches))
}

/// Number of turns when two measurements alternate.
const TURNS: usize = 5;

/// The median rates with one thread and with two. The two are measured in turn, so that both see
/// the same machine state.
pub fn by_turns(mut rate: impl FnMut(usize) -> Result<f64>) -> Result<[f64; 2]> {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (threads, rates) in (1..).zip(&mut rates) {
            rates.push(rate(threads)?);
        }
    }
    Ok(rates.map(|rates| median(&rates)))
}

/// Queries per second of several concurrent readers. Each runs on its own thread and gets its own
/// queries in one call.
pub fn query_rate(readers: Vec<Box<dyn Reader + '_>>, shares: &[&[Signature]]) -> Result<f64> {
    let count: usize = shares.iter().map(|share| share.len()).sum();
    let mut ready = Vec::new();
    for (mut reader, share) in readers.into_iter().zip(shares) {
        reader.stage(share)?;
        ready.push((reader, share.len()));
    }
    // The clock starts when all threads are ready: starting the last one takes milliseconds, which
    // is as long as all queries of the fastest engine take.
    let together = Barrier::new(ready.len() + 1);
    let mut start = Instant::now();
    let work = |(mut reader, count): (Box<dyn Reader + '_>, usize)| -> Result<()> {
        let warmed = reader.query_all(count).map(drop);
        together.wait();
        warmed?;
        (0..ROUNDS).try_for_each(|_| reader.query_all(count).map(drop))
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ready.into_iter().map(|one| scope.spawn(move || work(one))).collect();
        together.wait();
        start = Instant::now();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a query panicked")?)
    })?;
    Ok((ROUNDS * count) as f64 / start.elapsed().as_secs_f64())
}
