//! Prints the summary after many queries.

use std::path::PathBuf;

use nearkin::Answer;

use crate::args::Query;
use nearkin_input::raw::{Origin, Skipped};
use nearkin_kit::args::conditions::Likeness;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::{self, Output, counted, grouped};

fn queries(count: u64) -> String {
    if count == 1 { "1 query".to_owned() } else { grouped(count) + " queries" }
}

/// Counts for the summary.
#[derive(Default)]
pub(super) struct Tally {
    queries: u64,
    /// Number of queries with at least one match.
    answered: u64,
    /// Number of queries with more matches than `--limit`.
    cut: u64,
    /// Number of queries that did not compare all candidates.
    incomplete: u64,
    /// The largest number of matches of a query.
    found_max: u64,
    skipped: u64,
    files_failed: Vec<PathBuf>,
}

impl Tally {
    pub(super) fn count(&mut self, answer: &Answer) {
        self.queries += 1;
        self.answered += u64::from(answer.found > 0);
        self.cut += u64::from(answer.found > answer.matches.len() as u64);
        self.incomplete += u64::from(!answer.complete);
        self.found_max = self.found_max.max(answer.found);
    }

    pub(super) fn skip(&mut self, skipped: &Skipped) {
        self.skipped += 1;
        if let Origin::File { path, .. } = &skipped.origin
            && !skipped.reason.is_empty()
        {
            self.files_failed.push(path.clone());
        }
    }

    /// Prints how many queries were made and answered.
    pub(super) fn report(
        self,
        args: &Query,
        likeness: &Likeness,
        output: &Output,
    ) -> Result<(), Failure> {
        if self.incomplete > 0 {
            let note = args.note_on_incomplete();
            output::warn(format!("for {} {note}", queries(self.incomplete)));
        }
        if self.cut > 0 {
            output::note(format!(
                "for {} not all matches are shown; --limit {} shows all",
                queries(self.cut),
                self.found_max
            ));
        }
        if !output.json() || self.skipped > 0 {
            output::note(format!(
                "{} asked, {} with matches {}, {} skipped",
                grouped(self.queries),
                grouped(self.answered),
                likeness.or_more(),
                grouped(self.skipped)
            ));
        }
        match self.files_failed.len() {
            0 => Ok(()),
            // The user named these files, so it is an error if one of them cannot be read.
            failed => Err(Failure::new(
                format!("{} could not be read", counted(failed as u64, "file")),
                "check these files; the other queries were answered",
            )),
        }
    }
}
