//! Runs work on several threads. They end before the call returns, so a later fork finds no such
//! thread.

use crate::options::Threads;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Number of threads: as given, or one per processor available to this process.
pub(crate) fn threads(given: Option<Threads>) -> usize {
    let found = || thread::available_parallelism().map_or(1, usize::from);
    given.map_or_else(found, |Threads(given)| given)
}

/// Splits `0..count` into ranges of at most `part` numbers and calls `work` for each, on `threads`
/// threads. Returns the results in order.
pub(crate) fn in_parts<R: Send>(
    threads: usize,
    count: usize,
    part: usize,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let part = part.max(1);
    let parts = count.div_ceil(part);
    let range = |number: usize| number * part..count.min((number + 1) * part);
    let threads = threads.min(parts);
    if threads <= 1 {
        return (0..parts).map(|number| work(range(number))).collect();
    }
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= parts {
                return done;
            }
            done.push((number, work(range(number))));
        }
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut all = run();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, returned)| returned).collect()
}
