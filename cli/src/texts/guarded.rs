//! Parsers of formats that anybody can write garbage in: on a thread of their own, with a stack
//! that is deep enough, and only for so long.

use std::panic;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::raw::Reason;

/// A parser that takes longer is left alone, and the file skipped.
const TIME_MAX: Duration = Duration::from_secs(30);

/// Address space, not memory: only what is used is taken.
const STACK_BYTES: usize = 256 << 20;

/// The name of the threads, by which their panics are known.
const NAME: &str = "parser";

/// Runs a parser that may panic or not come to an end.
pub(crate) fn guarded(
    format: &str,
    parse: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Result<String, Reason> {
    within(TIME_MAX, format, parse)
}

fn within(
    time_max: Duration,
    format: &str,
    parse: impl FnOnce() -> Result<String, String> + Send + 'static,
) -> Result<String, Reason> {
    let broken = |what: String| Reason::Format(format!("{format}: {what}"));
    let (to_us, result) = sync_channel(1);
    let work = move || {
        // Nobody listens any more only if it took too long.
        let _ = to_us.send(parse());
    };
    let thread = thread::Builder::new().name(NAME.to_owned()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| Reason::Unreadable(error.to_string()))?;
    match result.recv_timeout(time_max) {
        Ok(text) => text.map_err(broken),
        Err(RecvTimeoutError::Timeout) => {
            Err(broken(format!("not read within {} s", time_max.as_secs())))
        }
        Err(RecvTimeoutError::Disconnected) => Err(broken("its parser panicked".to_owned())),
    }
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

    #[test]
    fn a_panic_and_a_hang_are_reasons() {
        silence();
        let reason = guarded("X", || panic!("on garbage")).unwrap_err();
        assert_eq!(reason, Reason::Format("X: its parser panicked".to_owned()));
        let sleeping = || {
            thread::sleep(Duration::from_secs(3));
            Ok(String::new())
        };
        let reason = within(Duration::from_millis(20), "X", sleeping).unwrap_err();
        assert_eq!(reason, Reason::Format("X: not read within 0 s".to_owned()));
        assert_eq!(guarded("X", || Ok("text".to_owned())), Ok("text".to_owned()));
    }
}
