//! The progress bar: only on a terminal, and only for work that takes longer than a second.
//!
//! The bar uses no colours, so `NO_COLOR` changes nothing.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::interrupt;
use crate::output;

/// Work shorter than this shows no bar.
const SILENT: Duration = Duration::from_secs(1);

/// The unit of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Documents,
}

/// A progress bar; it disappears from the terminal on drop.
pub(crate) struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Progress {
    /// Starts a bar, with the text `doing` to its left.
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
                    // If this fails, only the rate is missing from the bar.
                    let _ = write!(text, "{:.0}/s", state.per_sec());
                });
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(doing);
        Self { bar, started: Instant::now(), shown: AtomicBool::new(false) }
    }

    /// Starts a bar, but keeps it hidden if stdout is a terminal, because it would break up the
    /// results printed there.
    pub(crate) fn unless_results_are_on_the_terminal(
        doing: &'static str,
        unit: Unit,
        total: Option<u64>,
    ) -> Self {
        let progress = Self::start(doing, unit, total);
        progress.shown.store(io::stdout().is_terminal(), Ordering::Relaxed);
        progress
    }

    /// Whether a progress bar would be visible. If not, callers skip work that only serves the bar.
    pub(crate) fn is_visible() -> bool {
        io::stderr().is_terminal() && !output::is_quiet()
    }

    pub(crate) fn reached(&self, done: u64) {
        self.bar.set_position(done);
        if self.started.elapsed() >= SILENT
            && !output::is_quiet()
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            // If stderr is not a terminal, this draw target prints nothing.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Returns a progress callback for a long operation of the library. After a signal such as
    /// Ctrl-C, the callback cancels the operation.
    pub(crate) fn callback(&self) -> impl FnMut(nearkin::Progress) -> ControlFlow<()> + '_ {
        |progress| {
            self.bar.set_length(progress.total);
            self.reached(progress.done);
            if interrupt::came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    /// Prints a note above the bar.
    pub(crate) fn note(&self, text: impl fmt::Display) {
        self.bar.suspend(|| output::note(text));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
