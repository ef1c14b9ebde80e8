//! Prints the decisions on newcomers, and counts them.

use std::fmt;

use nearkin::{Admission, Alike, Decision, Exact, Keep, Match, SimilarityText};
use serde::Serialize;

use super::deciding::{AdmitJudge, ReadNewcomer};
use crate::commands::match_object::MatchObject;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::originals::ExactFields;
use nearkin_kit::output::differences::Differences;
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, table, visible};

#[derive(Serialize)]
struct AdmissionObject<'a> {
    key: JsonBytes<'a>,
    decision: &'a str,
    duplicates: Vec<AdmitMatchObject<'a>>,
    related: Vec<AdmitMatchObject<'a>>,
    removed: Vec<AdmitMatchObject<'a>>,
    /// Similar documents that differ from this one only in numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    apart: Vec<AdmitMatchObject<'a>>,
    /// Number of the last change before the decision. The decision takes this change and all
    /// earlier ones into account.
    change: u64,
    /// The document has so few distinct shingles that unrelated texts of the same kind look like
    /// copies.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repetitive: bool,
}

/// A match, with the exact values and the words that differ if the texts were compared.
#[derive(Serialize)]
struct AdmitMatchObject<'a> {
    #[serde(flatten)]
    found: MatchObject<'a>,
    #[serde(flatten)]
    exact: ExactFields,
    #[serde(flatten)]
    differences: Option<Differences>,
}

/// The conditions under which decisions are printed.
#[derive(Clone, Copy)]
pub(super) struct AdmitPrinting {
    /// The condition of a duplicate.
    pub(super) alike: Alike,
    pub(super) repetitive: bool,
}

pub(super) fn print(
    document: &ReadNewcomer,
    admission: &Admission,
    deciding: &mut AdmitJudge<'_>,
    AdmitPrinting { alike, repetitive }: AdmitPrinting,
    output: &mut Output,
) -> Result<(), Failure> {
    let none: &[Match] = &[];
    let (duplicates, related, removed) = match &admission.decision {
        Decision::Rejected { duplicates, .. } => (&duplicates[..], none, none),
        Decision::Admitted { related, removed, .. } => (none, &related[..], &removed[..]),
    };
    let decision = admission.decision.as_str();
    if output.json() {
        let mut objects = |matches| objects(matches, document, deciding, alike);
        return output.object(&AdmissionObject {
            key: JsonBytes(&document.name),
            decision,
            duplicates: objects(duplicates),
            related: objects(related),
            removed: objects(removed),
            apart: objects(&admission.apart),
            change: admission.change,
            repetitive,
        });
    }
    let mut line = format!("{decision:<9}  {}", visible(&document.name));
    for (what, matches) in [
        ("duplicate of", duplicates),
        ("instead of", removed),
        ("related to", related),
        ("but for numbers like", &admission.apart),
    ] {
        let names: Vec<_> = matches.iter().map(named).collect();
        if !names.is_empty() {
            line.extend(["  ", what, " ", &names.join(", ")]);
        }
    }
    if repetitive {
        line.push_str("  (repetitive)");
    }
    output.line(line)
}

fn objects<'m>(
    matches: &'m [Match],
    document: &ReadNewcomer,
    deciding: &mut AdmitJudge<'_>,
    alike: Alike,
) -> Vec<AdmitMatchObject<'m>> {
    let object = |found: &'m Match| {
        let by_containment = alike.asks_for_containment();
        let exact = found.overlap.map(|overlap| {
            if by_containment {
                Exact::Contained(overlap)
            } else {
                Exact::Similarity(overlap.similarity)
            }
        });
        AdmitMatchObject {
            found: MatchObject::new(found),
            exact: ExactFields::new(exact),
            differences: deciding.differences(document, found),
        }
    };
    matches.iter().map(object).collect()
}

/// A match with its similarity. Says of an estimate that it is one.
fn named(found: &Match) -> String {
    let values = match (found.overlap, found.containment) {
        (Some(overlap), None) => SimilarityText::Exact(overlap.similarity).to_string(),
        (Some(overlap), Some(_)) => {
            let (similarity, contained) = (overlap.similarity, overlap.containment);
            format!(
                "{}, contained {}",
                SimilarityText::Exact(similarity),
                SimilarityText::Exact(contained)
            )
        }
        (None, None) => format!("estimated {}", found.similarity_text()),
        (None, Some(_)) => {
            let contained = table::contained(found.containment);
            format!("estimated {}, contained {contained}", found.similarity_text())
        }
    };
    format!("{} ({values})", visible(&found.key))
}

/// Counts of a run by decision.
#[derive(Debug, Default)]
pub(super) struct AdmitCounts {
    admitted: u64,
    replaced: u64,
    unchanged: u64,
    rejected: u64,
    pub(super) skipped: u64,
    /// Duplicates replaced by an admitted document.
    removed: u64,
    /// With `--ttl`: documents older than the TTL, removed at the end.
    pub(super) expired: u64,
    /// Rejections and replacements for which no text was compared.
    by_estimate: u64,
    /// Documents that differ from a similar one only in numbers, and were admitted.
    apart: u64,
}

impl AdmitCounts {
    pub(super) fn count(&mut self, admission: &Admission) {
        let count = match admission.decision.as_str() {
            "rejected" => &mut self.rejected,
            "replaced" => &mut self.replaced,
            "unchanged" => &mut self.unchanged,
            _ => &mut self.admitted,
        };
        *count += 1;
        let is_estimate = |found: &Match| found.overlap.is_none();
        match &admission.decision {
            Decision::Admitted { removed, .. } => {
                self.removed += removed.len() as u64;
                self.by_estimate +=
                    removed.iter().filter(|found| is_estimate(found)).count() as u64;
                self.apart += u64::from(!admission.apart.is_empty());
            }
            Decision::Rejected { duplicates, .. } => {
                self.by_estimate += u64::from(duplicates.iter().all(is_estimate));
            }
        }
    }

    /// Notes on what the decisions rest on, if documents were compared.
    pub(super) fn note_reasons(&self, keep: Keep) {
        if self.by_estimate > 0 {
            let what = if keep == Keep::First { "rejections" } else { "rejections and removals" };
            let all = grouped(self.rejected + self.removed);
            output::note(format_args!(
                "{} of {all} {what} rest on the estimate: the stored texts are not at hand; --from \
                 FILE names them",
                grouped(self.by_estimate)
            ));
        }
        if self.apart > 0 {
            let (differ, them) =
                if self.apart == 1 { ("differs", "it") } else { ("differ", "them") };
            output::note(format_args!(
                "{} {differ} from a stored one in numbers: not rejected; --guard none rejects \
                 {them}",
                counted(self.apart, "document")
            ));
        }
    }
}

impl fmt::Display for AdmitCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { admitted, replaced, unchanged, rejected, skipped, removed, expired, .. } = *self;
        write!(f, "{} admitted, {} replaced, ", counted(admitted, "document"), grouped(replaced))?;
        write!(f, "{} unchanged, {} rejected, ", grouped(unchanged), grouped(rejected))?;
        write!(f, "{} skipped", grouped(skipped))?;
        if removed > 0 {
            write!(f, "; {} removed", counted(removed, "duplicate"))?;
        }
        if expired > 0 {
            write!(f, "; {} expired", counted(expired, "document"))?;
        }
        Ok(())
    }
}
