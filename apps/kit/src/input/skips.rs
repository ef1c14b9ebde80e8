//! Names and counts the skipped documents of a run, and compares their number with the total. If
//! most lines are unusable, the options do not fit the input, and the run must not look like a
//! success.

use std::collections::BTreeMap;

use super::content::Reading;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::output::progress::Progress;
use crate::output::{self, counted, grouped};
use nearkin_input::guess::Spelling;
use nearkin_input::raw::{self, Origin, Reason, Skipped};

/// The run stops after this many lines if all of them are malformed.
const GIVE_UP: u64 = 1_000;

/// Maximum number of skipped documents to name per kind of reason without `--verbose`.
const NAMED_MAX: u64 = 5;

/// The skipped documents so far, counted.
#[derive(Debug, Default)]
pub struct Skips {
    lenient: bool,
    lines: LineCounts,
    /// Lines that could not be read: malformed or too large.
    unreadable: u64,
    /// Files of lines that could not be read to their end.
    damaged: u64,
    /// Files that were read; blank ones count, too.
    files_read: u64,
    /// Files that could not be read as texts.
    files_skipped: u64,
    /// For each kind of reason: the number of documents skipped, and how many of them were named.
    kinds: BTreeMap<&'static str, (u64, u64)>,
}

/// Counts of lines: read, skipped, malformed.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineCounts {
    /// Number of lines read.
    pub read: u64,
    /// Number of lines skipped.
    pub skipped: u64,
    /// Lines skipped because they are malformed, and not because the document is empty or too
    /// large.
    pub bad: u64,
}

impl LineCounts {
    /// Whether the options must be wrong: all lines were skipped, or more than half of them are
    /// malformed.
    fn are_wrong(self) -> bool {
        self.read > 0 && (self.skipped == self.read || self.bad > self.read / 2)
    }
}

impl Skips {
    /// `lenient`: accept any number of unusable lines.
    pub fn new(lenient: bool) -> Self {
        Self { lenient, ..Self::default() }
    }

    /// Counts the lines of a chunk. Unless `lenient` is set, fails if at least `GIVE_UP` lines
    /// were read so far and all of them are malformed.
    pub fn count<T>(
        &mut self,
        chunk: &[Result<T, Skipped>],
        reading: &Reading,
    ) -> Result<(), Failure> {
        let lines = &mut self.lines;
        for one in chunk {
            let skipped = one.as_ref().err();
            lines.read += u64::from(skipped.is_none_or(is_line));
            lines.skipped += u64::from(skipped.is_some_and(is_line));
            lines.bad += u64::from(skipped.is_some_and(|one| is_line(one) && is_bad(one)));
            let is_unreadable =
                |one| is_line(one) && (is_bad(one) || one.reason == Reason::TooLarge);
            self.unreadable += u64::from(skipped.is_some_and(is_unreadable));
            self.damaged += u64::from(skipped.is_some_and(is_damaged));
            if skipped.is_none_or(|one| one.reason.is_empty()) {
                self.files_read += 1;
            } else {
                self.files_skipped += u64::from(skipped.is_some_and(|one| !is_line(one)));
            }
        }
        if lines.read >= GIVE_UP && lines.bad == lines.read { self.judge(reading) } else { Ok(()) }
    }

    /// Names the skipped documents. Those beyond the limit are only counted, and [`Skips::finish`]
    /// prints their number.
    pub fn note(&mut self, skipped: &[Skipped], progress: &Progress) {
        for run in raw::runs(skipped) {
            let (all, named) = self.kinds.entry(run[0].reason.kind()).or_default();
            *all += run.len() as u64;
            // What a damaged file held is lost: each one is named.
            if *named < NAMED_MAX || output::is_verbose() || is_damaged(&run[0]) {
                *named += run.len() as u64;
                progress.note(raw::note(run));
            }
        }
    }

    /// Prints how many documents were skipped without being named.
    pub fn finish(&mut self) {
        for (kind, (all, named)) in std::mem::take(&mut self.kinds) {
            if all > named {
                let more = grouped(all - named);
                output::note(format!("skipped {more} more: {kind} (--verbose names them)"));
            }
        }
    }

    /// At the end of the input: fails if all lines were skipped, or more than half were malformed.
    pub fn judge(&self, reading: &Reading) -> Result<(), Failure> {
        judge(self.lines, self.lenient, reading, Spelling::Lines)
    }

    /// How a run that succeeded ends.
    pub fn ended(&self) -> Ended {
        // A script that names the wrong folder must notice.
        if self.files_skipped > 0 && self.files_read == 0 && !self.lenient {
            output::note("no file was read (status 3; --lenient: status 0)");
            return Ended::Skipped;
        }
        ended(self.unreadable, self.damaged, self.lenient)
    }
}

/// How a run ends that skipped this number of unreadable lines, and the rest of this number of
/// damaged files: a script must notice that they are missing. How much a damaged file held is
/// unknown, so `lenient` does not accept that in silence.
pub fn ended(unreadable: u64, damaged: u64, lenient: bool) -> Ended {
    if damaged > 0 {
        output::note(format!(
            "{} could not be read to the end (status 3)",
            counted(damaged, "damaged file")
        ));
        return Ended::Skipped;
    }
    if unreadable == 0 || lenient {
        return Ended::Well;
    }
    output::note(format!(
        "{} could not be read (status 3; --lenient: status 0)",
        counted(unreadable, "line")
    ));
    Ended::Skipped
}

fn is_line(skipped: &Skipped) -> bool {
    matches!(skipped.origin, Origin::Line { .. })
}

fn is_damaged(skipped: &Skipped) -> bool {
    matches!(skipped.reason, Reason::Damaged(_))
}

fn is_bad(skipped: &Skipped) -> bool {
    matches!(skipped.reason, Reason::BadLine(_) | Reason::BadKey(_))
}

/// Fails if all lines were skipped, or more than half were malformed. The advice lists the fields
/// that the lines do have.
pub fn judge(
    lines: LineCounts,
    lenient: bool,
    reading: &Reading,
    spelling: Spelling,
) -> Result<(), Failure> {
    if lenient || !lines.are_wrong() {
        return Ok(());
    }
    let first = reading.first_fault();
    let why = first.as_ref().map_or_else(String::new, |first| format!(": {}", first.why));
    let read = counted(lines.read, "line");
    let message = match lines.skipped {
        skipped if skipped == lines.read => format!("none of {read} could be used{why}"),
        skipped => format!("{} of {read} could not be used{why}", grouped(skipped)),
    };
    let mut advice = String::new();
    if let Some(first) = &first
        && let Some(guess) = &first.guess
    {
        advice = format!("{} line {} has the fields {}", first.file, first.number, guess.fields());
        match guess.options(spelling) {
            options if options.is_empty() => {}
            options => advice.extend([": ", &options, "?"]),
        }
    }
    let last = match spelling {
        // Without a line that can be used, nothing would be done.
        Spelling::Lines if lines.skipped == lines.read => "",
        Spelling::Lines => "give --lenient to skip any number of lines",
        Spelling::From => "give the same files that the documents were added from",
    };
    if !advice.is_empty() && !last.is_empty() {
        advice.push('\n');
    }
    advice.push_str(last);
    Err(Failure::new(message, advice).of_wrong_input())
}

/// For `--strict`: returns the documents before the first skipped one, and an error for that one.
pub fn strictly<T>(
    strict: bool,
    mut chunk: Vec<Result<T, Skipped>>,
) -> (Vec<Result<T, Skipped>>, Result<(), Failure>) {
    let Some(first) = chunk.iter().position(Result::is_err).filter(|_| strict) else {
        return (chunk, Ok(()));
    };
    let skipped = chunk.drain(first..).next().and_then(Result::err);
    (chunk, skipped.map_or(Ok(()), |one| Err(stopped_at(&one))))
}

/// The error of `--strict` for a skipped document.
pub fn stopped_at(skipped: &Skipped) -> Failure {
    Failure::new(
        skipped.to_string().replacen("skipped", "--strict: stopped at", 1),
        "fix or remove the line, or drop --strict to skip such lines",
    )
}
