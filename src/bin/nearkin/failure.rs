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
    broken_pipe: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { message: message.into(), advice: advice.into(), broken_pipe: false }
    }

    /// The operating system refused to read what the user named.
    pub(crate) fn reading(name: &Path, error: &io::Error) -> Self {
        Self::new(format!("cannot read {}: {error}", name.display()), "")
    }

    /// Results could not be printed. A closed pipe is told apart: it is no error.
    pub(crate) fn printing(error: &io::Error) -> Self {
        Self {
            message: format!("cannot print the results: {error}"),
            advice: String::new(),
            broken_pipe: error.kind() == io::ErrorKind::BrokenPipe,
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
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
            ErrorKind::Corrupt => "`nearkin verify INDEX` lists all damage",
            ErrorKind::Unsupported => "use a newer version of nearkin",
            ErrorKind::Unsettled => "run the command again",
            ErrorKind::Io => "remove the cause and run the command again",
            ErrorKind::Unknown | ErrorKind::Poisoned => {
                "run the command again: it sees what was written and goes on from there"
            }
            _ => "",
        };
        Self::new(with_causes(&error), advice)
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
        write!(f, "error: {}", self.message)?;
        for line in self.advice.lines() {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}
