//! Options about containment, for commands that compare documents.

use nearkin::{Alike, Params};

use super::lines::ExactGiven;
use super::values::similarity;
use crate::input::opened;

/// Options for the minimum containment of the smaller of two documents in the larger one.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ContainedGiven {
    /// Find documents by containment: the larger one contains at least this share of the smaller
    /// one, 0 to 1 or in percent, as estimated from signatures (with --exact: measured on the
    /// documents); --threshold is then 0 unless given
    ///
    /// Half of a document has a similarity of only 0.5 to the whole, and so has a document with as
    /// much boilerplate around it. The index must have been created to find such low similarities,
    /// for example with --threshold 0.4.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub contained: Option<f64>,
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
        threshold: Option<f64>,
        contained: ContainedGiven,
        exact: Option<&ExactGiven>,
    ) -> Self {
        let at_least = exact.and_then(|exact| exact.at_least);
        match contained.contained {
            Some(contained) => opened::warn_if_contained_are_missed(params, contained),
            None => opened::warn_if_missed(params, at_least.or(threshold)),
        }
        Self::from_options(params.threshold(), threshold, contained, exact)
    }

    /// Combines the options. `own` is the threshold of the index.
    fn from_options(
        own: f64,
        threshold: Option<f64>,
        contained: ContainedGiven,
        exact: Option<&ExactGiven>,
    ) -> Self {
        let contained = contained.contained;
        let at_least = exact.and_then(|exact| exact.at_least);
        let is_exact = exact.is_some_and(|exact| exact.exact);
        let similarity = at_least.or(threshold);
        let alike = match contained {
            Some(contained) => Alike::contained(contained).and_similar(similarity.unwrap_or(0.0)),
            None => Alike::similar(similarity.unwrap_or(own)),
        };
        let is_decided_later = is_exact && (contained.is_some() || at_least.is_some());
        let sought = match (threshold, contained) {
            // An explicit --threshold alone determines what the index is searched for, even if the
            // exact comparison then applies another minimum (--at-least).
            (Some(threshold), None) => Alike::similar(threshold),
            _ if is_decided_later => alike.for_verification(),
            _ => alike,
        };
        let verified = if is_decided_later { alike } else { Alike::similar(0.0) };
        let own = if contained.is_some() { 0.0 } else { own };
        let threshold = similarity.unwrap_or(own);
        Self { sought, verified, connecting: alike, is_decided_later, threshold, contained }
    }
}
