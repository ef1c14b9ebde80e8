//! The summary of an audit, as text or as JSON.

use std::path::PathBuf;

use nearkin::{AuditCounts, Params};
use serde::Serialize;

use super::shown::{AuditedObject, ShownRow};
use super::sides::SideCounts;
use crate::args::audit::Audit;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::output::{self, Output, counted, grouped};

/// What is printed, and shown on the page.
pub(super) struct AuditReport<'a> {
    pub(super) params: &'a Params,
    pub(super) args: &'a Audit,
    pub(super) threshold: f64,
    pub(super) counts: AuditCounts,
    pub(super) sides: &'a SideCounts,
}

#[derive(Serialize)]
struct SummaryObject<'a> {
    kept: u64,
    removed: u64,
    threshold: f64,
    /// Removed rows without a kept one of the threshold.
    wrong: u64,
    /// The same for other thresholds, ascending.
    wrong_at: &'a [(f64, u64)],
    equal: u64,
    chained: u64,
    /// Null if the guard did not look.
    differ_in_numbers: Option<u64>,
    differ_in_rare: Option<u64>,
    unsettled: u64,
    /// Counts of the kept and of the removed rows.
    blank: [u64; 2],
    skipped: [u64; 2],
    same_keys: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_not_in_input: Option<u64>,
    /// As they are shown: a path may be no text.
    page: Option<String>,
    list: Option<String>,
    worst: Vec<AuditedObject<'a>>,
}

impl AuditReport<'_> {
    /// The number of removed rows without a kept one of the threshold.
    pub(super) fn wrong(&self) -> u64 {
        self.counts.wrong_at(self.threshold).unwrap_or(0)
    }

    /// Prints the counts, or one object of JSON.
    pub(super) fn print(
        &self,
        shown: &[ShownRow<'_>],
        reading: &Reading,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let (counts, sides) = (&self.counts, self.sides);
        let kept_not_in_input = (!self.args.all.is_empty()).then_some(sides.unknown);
        if output.json() {
            let shown_path = |path: &PathBuf| path.display().to_string();
            return output.object(&SummaryObject {
                kept: counts.kept,
                removed: counts.removed,
                threshold: self.threshold,
                wrong: self.wrong(),
                wrong_at: &counts.wrong,
                equal: counts.equal,
                chained: counts.chained,
                differ_in_numbers: counts.in_numbers,
                differ_in_rare: counts.in_rare,
                unsettled: counts.unsettled,
                blank: sides.blank,
                skipped: sides.skipped,
                same_keys: sides.same_keys,
                kept_not_in_input,
                page: self.args.page.as_ref().map(shown_path),
                list: self.args.list.as_ref().map(shown_path),
                worst: shown.iter().map(|row| row.object(self.threshold, reading)).collect(),
            });
        }
        let (removed, kept) = (counted(counts.removed, "removed row"), grouped(counts.kept));
        output.line(format_args!("{removed}, compared with {kept} kept"))?;
        for (threshold, wrong) in &counts.wrong {
            let share = 100.0 * *wrong as f64 / counts.removed.max(1) as f64;
            let asked =
                if threshold.total_cmp(&self.threshold).is_eq() { "  <- --threshold" } else { "" };
            let wrong = grouped(*wrong);
            output.line(format_args!(
                "{wrong:>12}  ({share:5.1} %) without a kept row of similarity {threshold}{asked}"
            ))?;
        }
        for (what, count) in self.facts() {
            output.line(format_args!("{:>12}  {what}", grouped(count)))?;
        }
        output.flush()?;
        self.note();
        Ok(())
    }

    /// What there is to say beside that.
    pub(super) fn facts(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.counts;
        let found = [
            ("have the same shingles as a kept row", Some(counts.equal)),
            (
                "below the threshold, and similar to another removed row: chains",
                Some(counts.chained),
            ),
            ("similar to a kept row, but differ in numbers", counts.in_numbers),
            ("similar to a kept row, but differ in rare words", counts.in_rare),
        ];
        found.into_iter().filter_map(|(what, count)| Some((what, count?))).collect()
    }

    /// Says what was not judged, or not for certain.
    fn note(&self) {
        let sides = self.sides;
        let say = |count: u64, what: &str| {
            if count > 0 {
                output::note(format!("{}: {what}", counted(count, "row")));
            }
        };
        let of_input = !self.args.all.is_empty();
        say(sides.blank[1], "removed, with nothing to compare: not judged");
        let unread = if of_input {
            "of the kept ones could not be read: their rows of the input count as removed"
        } else {
            "of the kept ones could not be read: nothing was compared with them"
        };
        say(sides.skipped[0], unread);
        let side = if of_input { "input" } else { "removed ones" };
        say(sides.skipped[1], &format!("of the {side} could not be read: not judged"));
        say(sides.same_keys, "both removed and kept, by their keys: are they two versions?");
        say(sides.unknown, "kept, but not in the input");
        say(
            self.counts.unsettled,
            "too many candidates: a kept row may be more similar than shown",
        );
        if sides.by_text {
            let by = self.args.content_noun();
            output::note(format!("the kept rows have no keys: rows were told by their {by}"));
        }
        for path in [&self.args.page, &self.args.list].into_iter().flatten() {
            output::note(format!("wrote {}", path.display()));
        }
    }
}
