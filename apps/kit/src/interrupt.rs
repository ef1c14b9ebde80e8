//! Ctrl-C and SIGTERM: the first signal asks the command to stop soon, the second ends the process.
//!
//! All signal handling is here, except for `serve`, which has its own shutdown. Long operations
//! call [`came`] between steps.

use std::io::{self, IsTerminal as _};

use crate::failure::Failure;
use crate::output;
use nearkin_input::interrupt;
pub use nearkin_input::interrupt::came;

/// Exit status after a signal: the one that shells use for SIGINT.
pub const STATUS: u8 = 130;

/// From now on, the first signal only sets the flag that [`came`] reads. Call this only in commands
/// that check the flag; by default, signals end the process.
pub fn listen() {
    on_signal(|| {
        if interrupt::signal() {
            say("exited at once; stored documents are safe, and the same command continues");
            std::process::exit(i32::from(STATUS));
        }
        say("stopping after the work in progress; a second signal exits at once");
        interrupt::end_children();
    });
}

/// From now on, a signal ends the process at once, after printing the advice. For operations that
/// cannot be cancelled.
pub fn end_at_once(advice: String) {
    on_signal(move || {
        say(&format!("interrupted\n  {advice}"));
        std::process::exit(i32::from(STATUS));
    });
}

/// Fails if a signal has arrived.
pub fn check() -> Result<(), Failure> {
    if came() { Err(Failure::interrupted()) } else { Ok(()) }
}

fn on_signal(heard: impl FnMut() + Send + 'static) {
    // Setting the handler fails if the parent process ignores the signal (nohup, background jobs of
    // a script); then we should ignore it, too. Without a handler the system ends the process,
    // which is also safe.
    let _ = ctrlc::try_set_handler(heard);
}

fn say(text: &str) {
    if io::stderr().is_terminal() {
        // The terminal has printed `^C`, and perhaps a progress bar, on the current line.
        output::note_below(text);
    } else {
        output::note(text);
    }
}
