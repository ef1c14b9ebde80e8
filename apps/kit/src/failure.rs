//! The error of a command, as a person reads it: what happened, the cause, and what to do.
//!
//! This module does not print; `main` does, through `output`.

use std::fmt;
use std::io;
use std::path::Path;

use nearkin::{Error, ErrorKind};

/// Why a command did not finish its task.
#[derive(Debug)]
pub struct Failure {
    message: String,
    /// Advice on what to do next; empty if the message is enough.
    advice: String,
    kind: FailureKind,
}

/// Failures that callers treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    Error,
    /// The reader of stdout has closed the pipe.
    BrokenPipe,
    /// A signal interrupted the command.
    Interrupted,
    /// Stored data of the index are damaged.
    Damage,
    /// The input is in another format than the options say: a retry would fail again.
    WrongInput,
    /// A file of the input is damaged.
    DamagedInput,
    /// The input changed while it was read.
    ChangedInput,
}

impl Failure {
    /// A failure with a message, and advice on what to do next; the advice may be empty.
    pub fn new(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { message: message.into(), advice: advice.into(), kind: FailureKind::Error }
    }

    /// An I/O error while reading a path that the user gave.
    pub fn reading(name: &Path, error: &io::Error) -> Self {
        nearkin_input::Error::reading(name, error).into()
    }

    /// An I/O error while writing a path that the user gave.
    pub fn writing(name: &Path, error: &io::Error) -> Self {
        let message = format!("cannot write {}: {error}", name.display());
        Self::new(message, advice_on_writing(error.kind()))
    }

    /// Results could not be printed. A closed pipe has its own kind, because it is not an error.
    pub fn printing(error: &io::Error) -> Self {
        Self {
            message: format!("cannot print the results: {error}"),
            advice: String::new(),
            kind: match error.kind() {
                io::ErrorKind::BrokenPipe => FailureKind::BrokenPipe,
                _ => FailureKind::Error,
            },
        }
    }

    /// A signal ended the command before its work was done.
    pub fn interrupted() -> Self {
        Self {
            message: "interrupted".to_owned(),
            advice: "run the same command again to continue".to_owned(),
            kind: FailureKind::Interrupted,
        }
    }

    /// Marks the failure as caused by input in another format than the options say.
    #[must_use]
    pub fn of_wrong_input(self) -> Self {
        Self { kind: FailureKind::WrongInput, ..self }
    }

    /// Whether the input is in another format than the options say.
    pub fn is_of_wrong_input(&self) -> bool {
        self.kind == FailureKind::WrongInput
    }

    /// The input changed while it was read.
    pub fn changed_input() -> Self {
        let failure = Self::new(
            "the input changed while it was read",
            "run the command again: it starts from the beginning",
        );
        Self { kind: FailureKind::ChangedInput, ..failure }
    }

    /// Whether the input changed while it was read.
    pub fn is_of_changed_input(&self) -> bool {
        self.kind == FailureKind::ChangedInput
    }

    /// Whether a file of the input is damaged.
    pub fn is_of_damaged_input(&self) -> bool {
        self.kind == FailureKind::DamagedInput
    }

    /// Whether stored data of an index are damaged.
    pub fn is_damage(&self) -> bool {
        self.kind == FailureKind::Damage
    }

    /// The message without the advice.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next; empty if the message is enough.
    pub fn advice(&self) -> &str {
        &self.advice
    }

    /// Whether the reader of stdout has closed the pipe.
    pub fn is_broken_pipe(&self) -> bool {
        self.kind == FailureKind::BrokenPipe
    }

    /// Whether a signal interrupted the command.
    pub fn is_interruption(&self) -> bool {
        self.kind == FailureKind::Interrupted
    }

    /// Replaces the advice if a signal caused the failure.
    #[must_use]
    pub fn advise_if_interrupted(self, advice: &str) -> Self {
        if self.is_interruption() { self.advise(advice) } else { self }
    }

    /// Adds the advice for an interruption of a command that only prints: nothing is stored, so the
    /// next run starts from the beginning.
    #[must_use]
    pub fn on_results(self) -> Self {
        self.advise_if_interrupted("the results are incomplete; run the command again")
    }

    /// Replaces the advice.
    #[must_use]
    pub fn advise(mut self, advice: &str) -> Self {
        advice.clone_into(&mut self.advice);
        self
    }

    /// Says how far the command got: puts this text in front of the advice.
    #[must_use]
    pub fn after(mut self, reached: &str) -> Self {
        self.advice = if self.advice.is_empty() {
            reached.to_owned()
        } else {
            format!("{reached}\n{}", self.advice)
        };
        self
    }
}

impl From<nearkin_input::Error> for Failure {
    fn from(error: nearkin_input::Error) -> Self {
        let kind = match (error.damage().is_some(), error.is_of_wrong_input()) {
            (true, _) => FailureKind::DamagedInput,
            (false, true) => FailureKind::WrongInput,
            (false, false) => FailureKind::Error,
        };
        let (message, advice) = error.into_parts();
        Self { message, advice, kind }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let advice = match error.kind() {
            // Operations are cancelled by the tool's own callbacks after a signal, or by
            // --deadline.
            ErrorKind::Cancelled | ErrorKind::Locked if nearkin_input::interrupt::came() => {
                return Self::interrupted();
            }
            ErrorKind::Cancelled => {
                let message = "the deadline passed: the results are incomplete";
                return Self::new(message, "give more time with --deadline");
            }
            ErrorKind::Corrupt => {
                "`nearkin verify INDEX` lists damage, `nearkin salvage INDEX NEW` saves the rest"
            }
            ErrorKind::Unsupported => "use a newer version of nearkin",
            ErrorKind::Unsettled => "run the command again",
            ErrorKind::Io => advice_on_io(&error),
            ErrorKind::Unknown | ErrorKind::Poisoned => {
                "run the command again: it continues from what is stored"
            }
            ErrorKind::Closed => "run the command again on the right folder",
            _ => "",
        };
        let kind = if error.kind() == ErrorKind::Corrupt {
            FailureKind::Damage
        } else {
            FailureKind::Error
        };
        Self { kind, ..Self::new(error.full_message(), advice) }
    }
}

/// Advice for an I/O error of the library.
fn advice_on_io(error: &Error) -> &'static str {
    match error.io_kind().map_or("", advice_on_writing) {
        "" => "fix the cause and run the command again",
        advice => advice,
    }
}

/// Advice for a failed write; empty if the error kind suggests none.
fn advice_on_writing(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space and run the command again; stored documents are safe"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check its permissions, or choose another place"
        }
        io::ErrorKind::NotFound => "create its folder first, or choose another place",
        io::ErrorKind::IsADirectory => "it is a folder; give a file in it",
        io::ErrorKind::AlreadyExists => "a file has that name: choose another",
        _ => "",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_interruption() { "" } else { "error: " };
        write!(f, "{prefix}{}", self.message)?;
        for line in self.advice.lines() {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}
