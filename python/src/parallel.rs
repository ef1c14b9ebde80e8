//! Runs work on several threads. They end before the call returns, so a later fork finds no such
//! thread.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};

use crate::interrupt::{self, PAUSE, is_interrupted};
use crate::options::Threads;

/// Number of threads: as given, or one per processor available to this process.
pub(crate) fn threads(given: Option<Threads>) -> usize {
    let found = || thread::available_parallelism().map_or(1, usize::from);
    given.map_or_else(found, |Threads(given)| given)
}

/// Splits `0..count` into ranges of at most `part` numbers and calls `work` for each, on `threads`
/// threads. Returns the results in order. If a signal handler raises, some are missing: then the
/// call of the package raises its exception.
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
        let ranges = (0..parts).map(range);
        return ranges.take_while(|_| !is_interrupted()).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let ended = Arc::new(AtomicBool::new(false));
    let run = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= parts || is_interrupted() {
                return done;
            }
            done.push((number, work(range(number))));
        }
    };
    let (left, caller) = (AtomicUsize::new(threads - 1), thread::current());
    let mut all = thread::scope(|scope| {
        let helper = || {
            let _leaving = Leaving { left: &left, caller: &caller };
            interrupt::help(Arc::clone(&ended));
            run()
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(helper)).collect();
        let mut all = run();
        while left.load(Ordering::Acquire) > 0 {
            if is_interrupted() {
                ended.store(true, Ordering::Relaxed);
            }
            thread::park_timeout(PAUSE);
        }
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, returned)| returned).collect()
}

/// Tells the thread of the call that a helper has ended, even by a panic.
struct Leaving<'a> {
    left: &'a AtomicUsize,
    caller: &'a Thread,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.left.fetch_sub(1, Ordering::Release);
        self.caller.unpark();
    }
}
