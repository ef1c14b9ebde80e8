//! The error of reading, as a person reads it: what happened, and what to do.

use std::fmt;
use std::io;
use std::path::Path;

/// Why input cannot be read.
#[derive(Debug)]
pub struct Error {
    message: String,
    /// Advice on what to do next; empty if the message is enough.
    advice: String,
    is_of_wrong_input: bool,
    /// What is wrong with the content of a file, without the name and the place.
    damage: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, advice: impl Into<String>) -> Self {
        let (is_of_wrong_input, damage) = (false, None);
        Self { message: message.into(), advice: advice.into(), is_of_wrong_input, damage }
    }

    /// The error for a file whose content cannot be read, or not behind this number of lines.
    pub fn damaged(name: impl fmt::Display, lines: Option<u64>, why: impl fmt::Display) -> Self {
        let place = lines.map_or_else(String::new, |lines| format!(" after line {lines}"));
        Self::new(format!("cannot read {name}{place}: {why}"), "").of_damage(why.to_string())
    }

    /// An I/O error while reading a path that the user gave.
    pub fn reading(name: &Path, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "check the path and the current directory",
            io::ErrorKind::PermissionDenied => "check its permissions",
            io::ErrorKind::IsADirectory => "name a file in it",
            _ => "",
        };
        Self::new(format!("cannot read {}: {error}", name.display()), advice)
    }

    /// The error if the system refuses a thread.
    pub fn no_thread(error: impl fmt::Display) -> Self {
        Self::new(
            format!("cannot start a thread: {error}"),
            "raise the limits of threads and memory (`ulimit -u`, `ulimit -v`), or use \
             --threads 1",
        )
    }

    /// Names a file in the message as the user knows it.
    #[must_use]
    pub fn with_name(mut self, path: &Path, name: &str) -> Self {
        self.message = self.message.replace(&path.display().to_string(), name);
        self
    }

    /// Marks the error as caused by input in another format than the options say.
    pub(crate) fn of_wrong_input(self) -> Self {
        Self { is_of_wrong_input: true, ..self }
    }

    /// Whether the input is in another format than the options say, so that a retry fails again.
    pub fn is_of_wrong_input(&self) -> bool {
        self.is_of_wrong_input
    }

    /// Marks the error as caused by what one file holds, and says what that is: other files can
    /// still be read.
    pub(crate) fn of_damage(self, what: impl Into<String>) -> Self {
        Self { damage: Some(what.into()), ..self }
    }

    /// Why what a file holds cannot be read, in part or at all, without the name and the place:
    /// only another file of that name helps. `None` for other errors.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The result of opening a file; if `lenient`, `None` for a damaged one, which is named when
    /// its rows are read.
    pub fn sound<T>(opened: Result<T, Self>, lenient: bool) -> Result<Option<T>, Self> {
        match opened {
            Err(error) if lenient && error.damage.is_some() => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The message and the advice on what to do next, which may be empty.
    pub fn into_parts(self) -> (String, String) {
        (self.message, self.advice)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
