//! The progress bar: on a terminal only, and only of what takes longer than a second.
//!
//! Knows how far something is, not what it is. Uses no colours, so `NO_COLOR` changes nothing.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::interrupt;
use crate::output;

/// What takes less time shows nothing.
const SILENT: Duration = Duration::from_secs(1);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Documents,
}

/// One bar; it is gone from the terminal when this is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// Starts to count; `doing` stands before the bar.
    pub(crate) fn start(doing: &'static str, unit: Unit, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match (unit, total) {
            (Unit::Bytes, Some(_)) => {
                "{msg} [{bar:30}] {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            (Unit::Bytes, None) => "{msg} {spinner} {bytes}, {bytes_per_sec}",
            (Unit::Documents, Some(_)) => {
                "{msg} [{bar:30}] {human_pos} of {human_len}, {rate}, {eta} left"
            }
            (Unit::Documents, None) => "{msg} {spinner} {human_pos}, {rate}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            let style =
                style.with_key("rate", |state: &ProgressState, text: &mut dyn fmt::Write| {
                    // A bar without its rate is still a bar.
                    let _ = write!(text, "{:.0}/s", state.per_sec());
                });
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(doing);
        Self { bar, started: Instant::now(), shown: AtomicBool::new(false) }
    }

    /// One that never shows: for results that appear on the same terminal, one after the other,
    /// and would be torn apart by a bar.
    pub(crate) fn unless_results_are_on_the_terminal(
        doing: &'static str,
        unit: Unit,
        total: Option<u64>,
    ) -> Self {
        let progress = Self::start(doing, unit, total);
        progress.shown.store(io::stdout().is_terminal(), Ordering::Relaxed);
        progress
    }

    /// Whether anybody can see a bar: work that only serves it can be left out otherwise.
    pub(crate) fn is_visible() -> bool {
        io::stderr().is_terminal() && !output::is_quiet()
    }

    pub(crate) fn reached(&self, done: u64) {
        self.bar.set_position(done);
        if self.started.elapsed() >= SILENT
            && !output::is_quiet()
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            // Draws nothing if stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// A callback for the library's long operations, which a signal breaks off.
    pub(crate) fn callback(&self) -> impl FnMut(nearkin::Progress) -> ControlFlow<()> + '_ {
        |progress| {
            self.bar.set_length(progress.total);
            self.reached(progress.done);
            if interrupt::came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    /// Tells the user something above the bar.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        self.bar.suspend(|| output::note(text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
