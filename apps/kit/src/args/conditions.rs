//! Options for the conditions of a search, for commands that compare documents.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use nearkin::{Alike, Conditions, Params};

use super::lines::ExactGiven;
use super::values::similarity;
use crate::failure::Failure;
use crate::input::opened;
use crate::output;
use crate::time::{self, TimeGiven};

/// Options for which documents a search considers.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SelectionGiven {
    /// Consider only documents whose keys begin with PREFIX: a tenant's part of an index that
    /// several share
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<OsString>,

    /// Consider only documents added or last replaced at TIME or later: a day (2024-12-31) or a
    /// second (2024-12-31T23:59:59Z) in UTC, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time::given)]
    pub after: Option<TimeGiven>,

    /// Consider only documents added or last replaced before TIME
    #[arg(long, value_name = "TIME", value_parser = time::given)]
    pub before: Option<TimeGiven>,
}

impl SelectionGiven {
    /// Refuses times between which no document can be.
    pub fn check(&self) -> Result<(), Failure> {
        match (&self.after, &self.before) {
            (Some(after), Some(before)) if after.ms >= before.ms => Err(Failure::new(
                format!("no document is from --after {} and --before {}", after.text, before.text),
                "give --after an earlier time than --before",
            )),
            _ => Ok(()),
        }
    }

    /// Conditions with this condition of a match, on the selected documents.
    pub fn conditions(&self, alike: Alike) -> Conditions<'static> {
        let mut conditions = Conditions::from(alike);
        if let Some(prefix) = &self.prefix {
            conditions = conditions.prefix(prefix.as_encoded_bytes());
        }
        if let Some(time) = &self.after {
            conditions = conditions.after(time.ms);
        }
        if let Some(time) = &self.before {
            conditions = conditions.before(time.ms);
        }
        conditions
    }
}

/// Options for what a search finds, and how long it may take.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConditionsGiven {
    /// Minimum similarity, 0 to 1 or in percent [default: the index's own]
    #[arg(long, short, value_name = "T", value_parser = similarity)]
    pub threshold: Option<f64>,

    /// Find documents by containment: the larger one contains at least this share of the smaller
    /// one, 0 to 1 or in percent, as estimated from signatures (with --exact: measured on the
    /// documents); --threshold is then 0 unless given
    ///
    /// Half of a document has a similarity of only 0.5 to the whole, and so has a document with as
    /// much boilerplate around it. The index must have been created to find such low similarities,
    /// for example with --threshold 0.4.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub contained: Option<f64>,

    /// Which documents are considered.
    #[command(flatten)]
    pub selection: SelectionGiven,

    /// Stop each search after SPAN, such as 500ms or 2s: `query` then prints what it has found and
    /// warns that matches may be missing, other commands fail [default: never]
    #[arg(long, value_name = "SPAN", value_parser = time::short_span)]
    pub deadline: Option<Duration>,
}

impl ConditionsGiven {
    /// The note on a query that did not compare all candidates. `is_bounded`: the number of
    /// candidates was bounded, too.
    pub fn note_on_incomplete(&self, is_bounded: bool) -> &'static str {
        match (self.deadline, is_bounded) {
            (None, _) => "not all candidates were compared: matches may be missing",
            (Some(_), false) => {
                "the deadline passed: matches may be missing; give more time with --deadline"
            }
            (Some(_), true) => {
                "the deadline passed, or not all candidates were compared: matches may be missing; \
                 give more with --deadline or --max-candidates"
            }
        }
    }

    /// The conditions of a search that begins now, with this condition of a match.
    pub fn conditions(&self, alike: Alike) -> Conditions<'static> {
        let conditions = self.selection.conditions(alike);
        match self.deadline.and_then(|span| Instant::now().checked_add(span)) {
            Some(deadline) => conditions.deadline(deadline),
            None => conditions,
        }
    }
}

/// The conditions on similarity and containment that follow from all options together.
#[derive(Debug, Clone, Copy)]
pub struct Likeness {
    /// The condition for the search in the index.
    pub sought: Alike,
    /// With `--exact`: the condition that the documents themselves must fulfil.
    pub verified: Alike,
    /// With `--exact`: the condition on a pair of documents to connect them in a cluster. Its
    /// minimum similarity is `--at-least`, else `--threshold`, else the index's own (0 with
    /// `--contained`).
    pub connecting: Alike,
    /// Whether the exact comparison may drop matches that the index found.
    pub is_decided_later: bool,
    /// Minimum similarity of the results to print.
    pub threshold: f64,
    /// Minimum containment of the results, if given.
    pub contained: Option<f64>,
}

impl Likeness {
    /// The similarity or containment to search for: the given one, or the index's own threshold.
    /// Warns if the index's bands miss many such documents.
    pub fn for_index(
        params: &Params,
        &ConditionsGiven { threshold, contained, .. }: &ConditionsGiven,
        &ExactGiven { exact: is_exact, at_least, .. }: &ExactGiven,
    ) -> Self {
        let own = params.threshold();
        let asks_for_equality = contained.is_none() && at_least.or(threshold).unwrap_or(own) >= 1.0;
        // Only the documents tell whether they are equal, so with --exact they decide.
        let at_least = if is_exact && asks_for_equality { Some(1.0) } else { at_least };
        if asks_for_equality && !is_exact {
            output::note(opened::equality_is_estimated("--exact compares them"));
        }
        let similarity = at_least.or(threshold);
        match contained {
            Some(contained) => opened::warn_if_contained_are_missed(params, contained),
            None => opened::warn_if_missed(params, similarity),
        }
        let alike = Alike::from_minima(similarity, contained, own);
        let is_decided_later = is_exact && (contained.is_some() || at_least.is_some());
        let sought = match (threshold, contained) {
            // An explicit --threshold alone determines what the index is searched for, even if the
            // exact comparison then applies another minimum (--at-least).
            (Some(threshold), None) => Alike::similar(threshold),
            // Equal documents have equal signatures.
            _ if asks_for_equality => alike,
            _ if is_decided_later => alike.for_verification(),
            _ => alike,
        };
        let verified = if is_decided_later { alike } else { Alike::similar(0.0) };
        let own = if contained.is_some() { 0.0 } else { own };
        let threshold = similarity.unwrap_or(own);
        Self { sought, verified, connecting: alike, is_decided_later, threshold, contained }
    }

    /// What the results are, for a summary: "of estimated similarity 0.7 and above", or "of
    /// similarity 0.7 and above" if the documents decided.
    pub fn and_above(&self) -> String {
        if self.is_decided_later { self.verified.to_string() } else { format!("{:#}", self.sought) }
    }

    /// What matches are: "of estimated similarity 0.7 or more".
    pub fn or_more(&self) -> String {
        let estimated = if self.is_decided_later { "" } else { "estimated " };
        format!("of {estimated}similarity {} or more", self.threshold)
    }
}
