//! The counts and checkpoints of `nearkin add`, for documents and for passages.

use std::collections::BTreeMap;
use std::fmt;

use nearkin::{Batch, Index, Outcome};
use serde::Serialize;

use super::resume::Resume;
use nearkin_input::raw::{Reason, Skipped};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::documents::Position;
use nearkin_kit::input::doubts::Doubts;
use nearkin_kit::output::{counted, grouped};

/// The checkpoint of a run, and whether skipped documents are errors.
pub(crate) struct Safe<'a> {
    pub(crate) resume: Option<&'a Resume>,
    /// Treat the first document that would be skipped as an error.
    pub(crate) strict: bool,
}

impl Safe<'_> {
    /// Records that everything before a position of the input is durable.
    pub(crate) fn reached(&self, position: Option<Position>, index: &Index) {
        if let Some(resume) = self.resume {
            resume.reached(position, index);
        }
    }

    /// Records that the whole input is durable.
    pub(crate) fn finish(&self) {
        if let Some(resume) = self.resume {
            resume.finish();
        }
    }
}

/// Counts of a run by outcome.
#[derive(Debug, Default, Serialize)]
pub(crate) struct AddCounts {
    inserted: u64,
    /// Includes documents replaced by a later document of the same run.
    replaced: u64,
    unchanged: u64,
    /// Documents that were removed because their text is blank now.
    #[serde(skip_serializing_if = "is_zero")]
    emptied: u64,
    skipped: u64,
    /// With `--ttl`: documents older than the TTL, removed at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expired: Option<u64>,
    #[serde(flatten)]
    pub(crate) doubts: Doubts,
    #[serde(skip)]
    kinds: BTreeMap<&'static str, u64>,
}

impl AddCounts {
    /// Writes a batch, unless it is empty, and counts its outcomes. Its removes are of documents
    /// whose text is blank now: one that is not stored was skipped.
    pub(crate) fn write(&mut self, index: &Index, batch: Batch) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        self.count(&index.write(batch)?.outcomes);
        Ok(())
    }

    /// Counts a document whose text is blank now by the outcome of its removal.
    pub(crate) fn count_blank(&mut self, outcome: Outcome) {
        if outcome == Outcome::Removed {
            self.emptied += 1;
        } else {
            self.skip_as(&Reason::Empty);
        }
    }

    pub(crate) fn count(&mut self, outcomes: &[Outcome]) {
        let count = |outcome| outcomes.iter().filter(|one| **one == outcome).count() as u64;
        self.inserted += count(Outcome::Inserted);
        // `Superseded`: a later document of the same batch replaced this one. It counts as
        // replaced, so that the totals do not depend on where batches end: if a batch had ended
        // between the two documents, this one would have counted as inserted and the later one as
        // replaced.
        self.replaced += count(Outcome::Replaced) + count(Outcome::Superseded);
        self.unchanged += count(Outcome::Unchanged);
        for blank in outcomes {
            if matches!(blank, Outcome::Removed | Outcome::Missing) {
                self.count_blank(*blank);
            }
        }
    }

    /// Counts table rows without a usable key or item.
    pub(crate) fn skip_rows(&mut self, rows: u64) {
        if rows > 0 {
            self.skipped += rows;
            self.kinds.insert("bad row", rows);
        }
    }

    pub(crate) fn skip(&mut self, skipped: &Skipped) {
        self.skip_as(&skipped.reason);
    }

    fn skip_as(&mut self, reason: &Reason) {
        self.skipped += 1;
        *self.kinds.entry(reason.kind()).or_default() += 1;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl fmt::Display for AddCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inserted, replaced, unchanged, emptied, skipped, expired, kinds, .. } = self;
        let inserted = counted(*inserted, "document");
        write!(f, "{inserted} inserted, {} replaced, ", grouped(*replaced))?;
        write!(f, "{} unchanged, ", grouped(*unchanged))?;
        if *emptied > 0 {
            write!(f, "{} emptied, ", grouped(*emptied))?;
        }
        write!(f, "{} skipped", grouped(*skipped))?;
        if !kinds.is_empty() {
            let kinds: Vec<_> =
                kinds.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count))).collect();
            write!(f, " ({})", kinds.join(", "))?;
        }
        match expired {
            Some(expired) => write!(f, "; {} expired", counted(*expired, "document")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin_input::raw::Origin;

    #[test]
    fn the_summary_says_what_was_skipped_and_why() {
        let mut counts = AddCounts { inserted: 1_200, replaced: 3, ..AddCounts::default() };
        assert_eq!(
            counts.to_string(),
            "1,200 documents inserted, 3 replaced, 0 unchanged, 0 skipped"
        );
        for reason in [Reason::Empty, Reason::TooLarge, Reason::Empty] {
            counts.skip(&Skipped::new(
                Origin::Line { file: "l".into(), file_number: 0, number: 1, at: None },
                reason,
            ));
        }
        assert!(counts.to_string().ends_with("3 skipped (2 empty, 1 too large)"), "{counts}");
        assert_eq!(
            serde_json::to_string(&counts).unwrap(),
            r#"{"inserted":1200,"replaced":3,"unchanged":0,"skipped":3}"#
        );
    }
}
