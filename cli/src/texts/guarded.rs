//! Parsers of formats that anybody can write garbage in: on a thread of their own, with a stack
//! that is deep enough, and only for so much time of a processor.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::raw::Reason;

/// A parser that takes more time of a processor is abandoned, and the file skipped. Not time by
/// the clock: on a busy machine a sound file would be given up.
const PROCESSOR_TIME_MAX: Duration = Duration::from_secs(30);

/// The limit by the clock where the system does not say what a thread takes.
const CLOCK_TIME_MAX: Duration = Duration::from_secs(600);

/// How often a running parser's time is looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// Address space, not memory: only what is used is taken.
const STACK_BYTES: usize = 256 << 20;

/// The name of the threads, by which their panics are known.
const NAME: &str = "parser";

/// Parsers that were abandoned and still run.
static ABANDONED: AtomicUsize = AtomicUsize::new(0);

/// Runs a parser that may panic or not come to an end.
pub(crate) fn guarded(
    format: &str,
    parse: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Result<String, Reason> {
    within(PROCESSOR_TIME_MAX, format, parse)
}

/// How many parsers were abandoned and keep a core busy.
pub(crate) fn abandoned() -> usize {
    ABANDONED.load(Ordering::Relaxed)
}

fn within(
    time_max: Duration,
    format: &str,
    parse: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Result<String, Reason> {
    let failed = |what: String| Reason::Failed(format!("{format}: {what}"));
    let (to_us, result) = sync_channel(1);
    let (to_watch, clock) = sync_channel(1);
    let state = Arc::new(AtomicU8::new(RUNNING));
    let end = End(Arc::clone(&state));
    let work = move || {
        let _end = end;
        // The receiver is dropped only if parsing took too long.
        let _ = to_watch.send(processor_clock());
        let _ = to_us.send(parse());
    };
    let thread = thread::Builder::new().name(NAME.to_owned()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| failed(format!("no thread for its parser: {error}")))?;
    let clock = clock.recv().ok().flatten();
    let began = Instant::now();
    loop {
        match result.recv_timeout(PAUSE) {
            Ok(text) => return text.map_err(failed),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed("its parser panicked".to_owned()));
            }
        }
        let taken = clock.as_deref().and_then(processor_time);
        let (is_over, what) = match taken {
            Some(taken) => (taken > time_max, "s of processor time"),
            None => (began.elapsed() > CLOCK_TIME_MAX, "s"),
        };
        if is_over {
            abandon(&state);
            let limit = if taken.is_some() { time_max } else { CLOCK_TIME_MAX };
            return Err(failed(format!("not read within {} {what}", limit.as_secs())));
        }
    }
}

/// What a parser's thread does.
const RUNNING: u8 = 0;
const LEFT_ALONE: u8 = 1;
const ENDED: u8 = 2;

/// Counts a parser as abandoned, unless it has come to its end in the meantime.
fn abandon(state: &AtomicU8) {
    ABANDONED.fetch_add(1, Ordering::SeqCst);
    if state.swap(LEFT_ALONE, Ordering::SeqCst) == ENDED {
        ABANDONED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Notes the end of a parser's thread when it is dropped there.
struct End(Arc<AtomicU8>);

impl Drop for End {
    fn drop(&mut self) {
        if self.0.swap(ENDED, Ordering::SeqCst) == LEFT_ALONE {
            ABANDONED.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The file in which Linux says what the calling thread takes. None elsewhere.
fn processor_clock() -> Option<PathBuf> {
    let thread = fs::read_link("/proc/thread-self").ok()?;
    Some(PathBuf::from("/proc").join(thread).join("schedstat"))
}

/// How long a thread ran on a processor. None if that is not known.
fn processor_time(clock: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(clock).ok()?;
    // Nanoseconds on a processor, nanoseconds waiting for one, how often. All zero where the
    // system does not count them.
    let nanoseconds: u64 = stat.split_whitespace().next()?.parse().ok()?;
    (nanoseconds > 0).then(|| Duration::from_nanos(nanoseconds))
}

/// Keeps panics of these threads off the terminal.
pub(crate) fn silence() {
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().name() != Some(NAME) {
            shown(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::sync::atomic::AtomicBool;

    /// Keeps the processor busy until it had so much of it, as told by the system, or is stopped.
    fn burn(time: Duration, stop: &AtomicBool) {
        let clock = processor_clock().unwrap();
        while !stop.load(Ordering::Relaxed) && processor_time(&clock).unwrap_or_default() < time {
            (0..100_000_u64).for_each(|number| {
                black_box(number);
            });
        }
    }

    #[test]
    fn a_panic_is_a_reason() {
        silence();
        let reason = guarded("X", || panic!("on garbage")).unwrap_err();
        assert_eq!(reason, Reason::Failed("X: its parser panicked".to_owned()));
        assert_eq!(guarded("X", || Ok("text".to_owned())), Ok("text".to_owned()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_hang_is_a_reason_and_a_busy_machine_is_none() {
        let stop = Arc::new(AtomicBool::new(false));
        let others: Vec<_> = (0..12)
            .map(|_| {
                let stop = Arc::clone(&stop);
                thread::spawn(move || burn(Duration::from_secs(100), &stop))
            })
            .collect();
        // By the clock it takes longer than it may: it has a small share of the processors.
        let (began, time_max) = (Instant::now(), Duration::from_secs(1));
        let parse = || {
            burn(Duration::from_millis(500), &AtomicBool::new(false));
            Ok("text".to_owned())
        };
        assert_eq!(within(time_max, "X", parse), Ok("text".to_owned()));
        assert!(began.elapsed() > time_max, "the machine was not busy: {:?}", began.elapsed());
        let (before, stop_it) = (abandoned(), Arc::clone(&stop));
        let hanging = move || {
            burn(Duration::from_secs(100), &stop_it);
            Ok(String::new())
        };
        let reason = within(Duration::from_millis(300), "X", hanging).unwrap_err();
        let expected = "X: not read within 0 s of processor time".to_owned();
        assert_eq!(reason, Reason::Failed(expected));
        assert!(abandoned() > before);
        stop.store(true, Ordering::Relaxed);
        for other in others {
            other.join().unwrap();
        }
        while abandoned() > before {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
