//! How much one document must contain of the other, for commands that compare documents.

use nearkin::Alike;

use super::lines::ExactGiven;
use super::values::similarity;

/// How much of the smaller of two documents the larger one must contain.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ContainedGiven {
    /// Find documents of which the larger one contains at least so much of the smaller one, 0 to 1
    /// or in percent, as far as signatures tell (with --exact, by the documents themselves); then
    /// --threshold is 0 unless it is given
    ///
    /// Half of a document is similar to the whole to 0.5 only, and so is one with as much
    /// boilerplate around it. The index must have been made for such similarities: with
    /// --threshold 0.4, for instance.
    #[arg(long, value_name = "C", value_parser = similarity)]
    pub(crate) contained: Option<f64>,
}

/// What makes documents alike, of all options that say so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likeness {
    /// What is looked for in the index.
    pub(crate) sought: Alike,
    /// What the documents themselves must reach, with `--exact`.
    pub(crate) verified: Alike,
    /// The same without regard to where a threshold is: what connects clusters.
    pub(crate) connecting: Alike,
    /// Whether less than all that is found may reach that.
    pub(crate) is_decided_later: bool,
    /// The least similarity of what is printed.
    pub(crate) threshold: f64,
    /// What must be contained.
    pub(crate) contained: Option<f64>,
}

impl Likeness {
    /// The likeness that the options ask for; `own` is the threshold of the index.
    pub(crate) fn of(
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
            // Given by hand: from there, whatever the documents must reach.
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
