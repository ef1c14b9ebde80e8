//! Decides on newcomers: by the documents where they are at hand, otherwise by the estimate.
//!
//! The library decides; this module lends it the documents.

use nearkin::{
    Admission, Decision, Guard, Index, Match, Newcomer, Original, Scheme, Signature, Variety,
};

use super::at_hand::TextsAtHand;
use crate::args::Admit;
use nearkin_input::fields::Fields;
use nearkin_input::raw::{Raw, Skipped};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::output::differences::Differences;

/// How newcomers are decided on.
pub(super) struct AdmitJudge<'a> {
    index: &'a Index,
    terms: nearkin::Admit<'static>,
    /// `None`: by the estimate alone.
    by_texts: Option<ByTexts<'a>>,
}

struct ByTexts<'a> {
    texts: TextsAtHand<'a>,
    guard: Guard,
    /// Whether candidates are searched below the thresholds.
    is_exact: bool,
}

/// A newcomer.
pub(super) struct ReadNewcomer {
    pub(super) name: Vec<u8>,
    content: NewcomerContent,
    /// Only for a text.
    variety: Option<Variety>,
}

enum NewcomerContent {
    Sketched(Signature),
    Whole(Original),
}

impl ReadNewcomer {
    /// Reads a document: all of it, or its signature only.
    pub(super) fn new(reading: &Reading, raw: Raw, by_texts: bool) -> Result<Self, Skipped> {
        if by_texts {
            let (name, original, variety) = reading.detailed_varied(raw)?;
            return Ok(Self { name, content: NewcomerContent::Whole(original), variety });
        }
        let (Sketched { name, signature, .. }, variety) = reading.sketch_varied(raw)?;
        Ok(Self { name, content: NewcomerContent::Sketched(signature), variety })
    }

    /// The variety of a text with so few distinct shingles that unrelated texts look like copies.
    pub(super) fn repetitive(&self, least: f64) -> Option<Variety> {
        self.variety.filter(|variety| variety.is_too_small(least))
    }

    fn newcomer(&self) -> Newcomer<'_> {
        match &self.content {
            NewcomerContent::Sketched(signature) => Newcomer::new(&self.name, signature),
            NewcomerContent::Whole(original) => Newcomer::original(&self.name, original),
        }
    }
}

impl<'a> AdmitJudge<'a> {
    pub(super) fn new(
        index: &'a Index,
        terms: nearkin::Admit<'static>,
        fields: &Fields,
        args: &Admit,
    ) -> Result<Self, Failure> {
        let is_external = matches!(index.params().scheme(), Scheme::External(_));
        if is_external && (args.exact || args.guard.is_some()) {
            return Err(Failure::new(
                format!("{} signatures come from another program", index.params().scheme()),
                "drop --exact and --guard: only that program can compare the documents",
            ));
        }
        let by_texts = if args.estimate || is_external {
            None
        } else {
            let default = if args.contained.is_some() { Guard::None } else { Guard::Agree };
            let texts = TextsAtHand::new(index, fields, args)?;
            let guard = args.guard.unwrap_or(default);
            Some(ByTexts { texts, guard, is_exact: args.exact })
        };
        Ok(Self { index, terms, by_texts })
    }

    /// Whether documents are compared, not only signatures.
    pub(super) fn is_by_texts(&self) -> bool {
        self.by_texts.is_some()
    }

    pub(super) fn decide(&mut self, documents: &[ReadNewcomer]) -> nearkin::Result<Vec<Admission>> {
        let newcomers: Vec<_> = documents.iter().map(ReadNewcomer::newcomer).collect();
        let Some(ByTexts { texts, guard, is_exact }) = &mut self.by_texts else {
            return self.index.admit_all(&newcomers, &self.terms);
        };
        let mut fetch = |key: &[u8]| texts.fetch(key);
        let terms = self.terms.clone().verify(&mut fetch).or_by_estimate().guard(*guard);
        let mut terms = if *is_exact { terms } else { terms.search_at_threshold() };
        let admissions = self.index.admit_verified(&newcomers, &mut terms)?;
        for (document, admission) in documents.iter().zip(&admissions) {
            if let NewcomerContent::Whole(original) = &document.content
                && matches!(admission.decision, Decision::Admitted { .. })
            {
                texts.remember(&document.name, original);
            }
        }
        Ok(admissions)
    }

    /// What sets a newcomer apart from a document that it was compared with; `None` if the two were
    /// not compared, or are no texts.
    pub(super) fn differences(
        &mut self,
        document: &ReadNewcomer,
        found: &Match,
    ) -> Option<Differences> {
        let (Some(by_texts), NewcomerContent::Whole(own)) = (&mut self.by_texts, &document.content)
        else {
            return None;
        };
        let overlap = found.overlap?;
        // Another document may be stored under this key since.
        let other = by_texts.texts.seen(&found.key)?;
        if own.overlap(&other) != overlap {
            return None;
        }
        let (here, there) = (own.details()?.text(), other.details()?.text());
        Some(Differences::between(&self.index.sketcher(), here, there))
    }
}
