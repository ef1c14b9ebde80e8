//! What a run passes over: named, counted, and held against how much there was. An input of which
//! most lines are of no use was not what it was taken for, and must not look like success.

use std::collections::BTreeMap;

use crate::content::Reading;
use crate::failure::Failure;
use crate::guess::Spelling;
use crate::output::{self, counted, grouped};
use crate::progress::Progress;
use crate::raw::{self, Origin, Reason, Skipped};

/// After so many lines of which none is of use, no more is read.
const GIVE_UP: u64 = 1_000;

/// Skipped inputs named per kind without `--verbose`.
const NAMED_MAX: u64 = 5;

/// What was passed over so far.
#[derive(Debug, Default)]
pub(crate) struct Skips {
    lenient: bool,
    lines: Lines,
    /// By the kind of reason: all of them, and those that were named.
    kinds: BTreeMap<&'static str, (u64, u64)>,
}

/// Lines that were read, and of them those that were of no use.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lines {
    pub(crate) read: u64,
    pub(crate) skipped: u64,
    /// Skipped because they are not as they should be: not what is empty or too large.
    pub(crate) bad: u64,
}

impl Lines {
    /// Whether so many are of no use that the command was told wrongly what they are.
    fn are_wrong(self) -> bool {
        self.read > 0 && (self.skipped == self.read || self.bad > self.read / 2)
    }
}

impl Skips {
    /// With `lenient`, any number of lines may be of no use.
    pub(crate) fn new(lenient: bool) -> Self {
        Self { lenient, ..Self::default() }
    }

    /// Counts a chunk. An error if nothing was of use so far, and enough was seen.
    pub(crate) fn count<T>(
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
        }
        if lines.read >= GIVE_UP && lines.bad == lines.read { self.judge(reading) } else { Ok(()) }
    }

    /// Names what was skipped, or counts it to be told at the end.
    pub(crate) fn note(&mut self, skipped: &[Skipped], progress: &Progress) {
        for run in raw::runs(skipped) {
            let (all, named) = self.kinds.entry(run[0].reason.kind()).or_default();
            *all += run.len() as u64;
            if *named < NAMED_MAX || output::is_verbose() {
                *named += run.len() as u64;
                progress.note(raw::note(run));
            }
        }
    }

    /// Tells how many more there were than those that were named.
    pub(crate) fn finish(&mut self) {
        for (kind, (all, named)) in std::mem::take(&mut self.kinds) {
            if all > named {
                let more = grouped(all - named);
                output::note(format!("skipped {more} more: {kind} (--verbose names them)"));
            }
        }
    }

    /// At the end of an input: an error if most of its lines were of no use.
    pub(crate) fn judge(&self, reading: &Reading) -> Result<(), Failure> {
        judge(self.lines, self.lenient, reading, Spelling::Lines)
    }
}

fn is_line(skipped: &Skipped) -> bool {
    matches!(skipped.origin, Origin::Line { .. })
}

fn is_bad(skipped: &Skipped) -> bool {
    matches!(skipped.reason, Reason::BadLine(_) | Reason::BadKey(_))
}

/// An error if most lines were of no use; it says what they have instead.
pub(crate) fn judge(
    lines: Lines,
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
        advice.push('\n');
    }
    advice.push_str(match spelling {
        Spelling::Lines => "if that is meant, --lenient passes over any number of lines",
        Spelling::From => "these must be the lines that the documents were added from",
    });
    Err(Failure::new(message, advice).of_wrong_input())
}
