//! Progress: a bar on a terminal, for work that takes longer than a second; elsewhere a line every
//! ten seconds, so that a log shows that the work goes on.
//!
//! The bar uses no colours, so `NO_COLOR` changes nothing.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use indicatif::{
    HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};

use crate::interrupt;
use crate::output::{self, grouped};

/// Work shorter than this shows no bar.
const SILENT: Duration = Duration::from_secs(1);

/// The variable with the seconds between two lines where there is no terminal; 0 for none.
const HEARTBEAT: &str = "NEARKIN_HEARTBEAT";
const HEARTBEAT_SECONDS: f64 = 10.0;

/// The unit of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Documents.
    Documents,
}

/// A progress bar; it disappears from the terminal on drop.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
    doing: &'static str,
    unit: Unit,
    /// Time between two lines where there is no terminal.
    pause: Option<Duration>,
    /// The number of lines printed so far.
    lines: AtomicU32,
}

impl Progress {
    /// Starts a bar, with the text `doing` to its left.
    pub fn start(doing: &'static str, unit: Unit, total: Option<u64>) -> Self {
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
        let pause = if io::stderr().is_terminal() { None } else { heartbeat() };
        let (started, shown, lines) = (Instant::now(), AtomicBool::new(false), AtomicU32::new(0));
        Self { bar, started, shown, doing, unit, pause, lines }
    }

    /// Starts a bar, but keeps it hidden if stdout is a terminal, because it would break up the
    /// results printed there.
    pub fn unless_results_are_on_the_terminal(
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

    /// Shows the number of units done.
    pub fn reached(&self, done: u64) {
        self.bar.set_position(done);
        self.beat(done);
        if self.started.elapsed() >= SILENT
            && !output::is_quiet()
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            // If stderr is not a terminal, this draw target prints nothing.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Prints how far the work is if there is no terminal and the time has come.
    fn beat(&self, done: u64) {
        let Some(pause) = self.pause else { return };
        let (lines, spent) = (self.lines.load(Ordering::Relaxed), self.started.elapsed());
        if spent < pause * (lines + 1) {
            return;
        }
        // One of several threads prints the line. After a long pause, the lines of it are left out.
        let after = u32::try_from(spent.as_millis() / pause.as_millis().max(1)).unwrap_or(u32::MAX);
        let order = Ordering::Relaxed;
        if self.lines.compare_exchange(lines, after.max(lines + 1), order, order).is_err() {
            return;
        }
        let shown = |count: u64| match self.unit {
            Unit::Bytes => HumanBytes(count).to_string(),
            Unit::Documents => grouped(count),
        };
        let of = match self.bar.length().filter(|total| *total > 0) {
            Some(total) => format!(" of {}", shown(total)),
            None => String::new(),
        };
        let spent = HumanDuration(spent);
        output::note(format!("{}: {}{of} after {spent}", self.doing, shown(done)));
    }

    /// Returns a progress callback for a long operation of the library. After a signal such as
    /// Ctrl-C, the callback cancels the operation.
    pub fn callback(&self) -> impl FnMut(nearkin::Progress) -> ControlFlow<()> + '_ {
        |progress| {
            self.bar.set_length(progress.total);
            self.reached(progress.done);
            if interrupt::came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    /// Prints a note above the bar.
    pub fn note(&self, text: impl fmt::Display) {
        self.bar.suspend(|| output::note(text));
    }

    /// Prints a warning above the bar.
    pub fn warn(&self, text: impl fmt::Display) {
        self.bar.suspend(|| output::warn(text));
    }
}

/// The time between two lines; `None` for no lines.
fn heartbeat() -> Option<Duration> {
    let given = std::env::var(HEARTBEAT).ok().and_then(|given| given.parse().ok());
    let seconds = given.unwrap_or(HEARTBEAT_SECONDS);
    Duration::try_from_secs_f64(seconds).ok().filter(|pause| *pause >= Duration::from_millis(1))
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
