//! Why a command failed, as a person reads it: what happened, the cause, and what to do next.
//!
//! Does not print; `main` does, through `output`.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::Path;

use nearkin::{Error, ErrorKind};

/// The end of a command that did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// What to do next; empty when the message says it.
    advice: String,
    kind: Kind,
}

/// What sets a failure apart from an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    /// Nobody reads the results any more.
    BrokenPipe,
    /// The user has told the command to end.
    Interrupted,
    /// The input is not what it was taken for: the same command would fail again.
    WrongInput,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { message: message.into(), advice: advice.into(), kind: Kind::Error }
    }

    /// The operating system refused to read what the user named.
    pub(crate) fn reading(name: &Path, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "is the name right, and the folder that you are in?",
            io::ErrorKind::PermissionDenied => "see its permissions, and who you are to the system",
            io::ErrorKind::IsADirectory => "name a file in it",
            _ => "",
        };
        Self::new(format!("cannot read {}: {error}", name.display()), advice)
    }

    /// The operating system refused to write what the user named.
    pub(crate) fn writing(name: &Path, error: &io::Error) -> Self {
        let message = format!("cannot write {}: {error}", name.display());
        Self::new(message, advice_on_writing(error.kind()))
    }

    /// Results could not be printed. A closed pipe is told apart: it is no error.
    pub(crate) fn printing(error: &io::Error) -> Self {
        Self {
            message: format!("cannot print the results: {error}"),
            advice: String::new(),
            kind: match error.kind() {
                io::ErrorKind::BrokenPipe => Kind::BrokenPipe,
                _ => Kind::Error,
            },
        }
    }

    /// A signal came, and the command ended before its work was done.
    pub(crate) fn interrupted() -> Self {
        Self {
            message: "interrupted".to_owned(),
            advice: "run the same command again to go on".to_owned(),
            kind: Kind::Interrupted,
        }
    }

    /// The same, of an input that is not what it was taken for.
    pub(crate) fn of_wrong_input(self) -> Self {
        Self { kind: Kind::WrongInput, ..self }
    }

    pub(crate) fn is_of_wrong_input(&self) -> bool {
        self.kind == Kind::WrongInput
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.kind == Kind::BrokenPipe
    }

    pub(crate) fn is_interruption(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// Replaces the advice if this is an interruption.
    pub(crate) fn advise_if_interrupted(self, advice: &str) -> Self {
        if self.is_interruption() { self.advise(advice) } else { self }
    }

    /// Replaces the advice by one that fits better.
    pub(crate) fn advise(mut self, advice: &str) -> Self {
        advice.clone_into(&mut self.advice);
        self
    }

    /// Says in front of the advice how far the command came.
    pub(crate) fn after(mut self, reached: &str) -> Self {
        self.advice = if self.advice.is_empty() {
            reached.to_owned()
        } else {
            format!("{reached}\n{}", self.advice)
        };
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let advice = match error.kind() {
            // Only our callbacks cancel anything, and only on a signal.
            ErrorKind::Cancelled => return Self::interrupted(),
            ErrorKind::Corrupt => {
                "`nearkin verify INDEX` lists damage, `nearkin salvage INDEX NEW` saves the rest"
            }
            ErrorKind::Unsupported => "use a newer version of nearkin",
            ErrorKind::Unsettled => "run the command again",
            ErrorKind::Io => advice_on_io(&error),
            ErrorKind::Unknown | ErrorKind::Poisoned => {
                "run the command again: it sees what was written and goes on from there"
            }
            ErrorKind::Closed => "run the command again, on the folder that is meant",
            _ => "",
        };
        Self::new(with_causes(&error), advice)
    }
}

/// By what the operating system said.
fn advice_on_io(error: &Error) -> &'static str {
    match error.io_kind().map_or("", advice_on_writing) {
        "" => "remove the cause and run the command again",
        advice => advice,
    }
}

/// What to do where something could not be written; nothing if that is not known.
fn advice_on_writing(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space there and run the command again; nothing that was written is lost"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "this place cannot be written to: make it so, or choose another"
        }
        io::ErrorKind::NotFound => "make its folder first, or choose another place",
        io::ErrorKind::IsADirectory => "it is a folder: name a file in it",
        io::ErrorKind::AlreadyExists => "a file has that name: choose another",
        _ => "",
    }
}

/// The message of an error and of all that caused it.
pub(crate) fn with_causes(error: &Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
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
