//! The last step of admitting: what is known of the candidates becomes a decision, and is written.

use super::conditions::{AdmitTerms, Keep};
use super::{Admission, Decision};
use crate::index::read::Match;
use crate::index::read::candidate::Found;
use crate::index::state::core::{Core, Writer};
use crate::index::state::versions::Snapshot;
use crate::index::write::admit;
use crate::index::write::operation::Operation;
use crate::{Overlap, Result};

/// A document, and the evidence if it was compared with the newcomer.
type Evident = (Found, Option<Overlap>);

/// The candidates of a newcomer, judged.
#[derive(Default)]
pub(super) struct Judged {
    pub(super) duplicates: Vec<Evident>,
    pub(super) related: Vec<Evident>,
    /// Similar, but set apart by the guard.
    pub(super) apart: Vec<Evident>,
    /// The sorted keys of candidates that could not be compared.
    pub(super) unverified: Vec<Vec<u8>>,
    /// Whether all candidates were compared.
    pub(super) complete: bool,
}

impl Judged {
    /// Decides, and writes the newcomer if it is admitted.
    pub(super) fn conclude(
        self,
        core: &Core,
        writer: &mut Writer,
        before: &Snapshot,
        newcomer: &Operation<'_>,
        terms: AdmitTerms,
    ) -> Result<Admission> {
        let change = writer.change;
        let Self { duplicates, related, apart, unverified, complete } = self;
        let matches = |some: &[Evident], limit| matches(before, some, newcomer, terms, limit);
        let apart = matches(&apart, terms.limit)?;
        let decision = if stays(before, newcomer, &duplicates, terms.keep)? {
            let (related, removed) = match terms.keep {
                Keep::All => (duplicates.into_iter().chain(related).collect(), Vec::new()),
                _ => (related, duplicates),
            };
            let removed = matches(&removed, usize::MAX)?;
            let related = matches(&related, terms.limit)?;
            let outcome = admit::write_newcomer(core, writer, newcomer, &removed)?;
            Decision::Admitted { related, outcome, removed }
        } else {
            Decision::Rejected { duplicates: matches(&duplicates, terms.limit)? }
        };
        Ok(Admission { decision, change, complete, unverified, apart })
    }
}

/// Whether the newcomer is admitted.
fn stays(
    before: &Snapshot,
    newcomer: &Operation<'_>,
    duplicates: &[Evident],
    keep: Keep,
) -> Result<bool> {
    match keep {
        Keep::First => Ok(duplicates.is_empty()),
        Keep::Newest | Keep::All => Ok(true),
        Keep::Longest => {
            for (found, overlap) in duplicates {
                let count = match overlap {
                    Some(overlap) => overlap.counts.1,
                    None => before.shingle_count(found.place)?,
                };
                if count >= newcomer.shingle_count() {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// The first `limit` matches: by exact similarity where documents were compared, otherwise by the
/// estimate; ties by key.
fn matches(
    before: &Snapshot,
    some: &[Evident],
    newcomer: &Operation<'_>,
    terms: AdmitTerms,
    limit: usize,
) -> Result<Vec<Match>> {
    let counts = &[newcomer.shingle_count()][..];
    let counts = terms.reject.asks_for_containment().then_some(counts);
    if some.iter().all(|(_, overlap)| overlap.is_none()) {
        let mut found: Vec<Found> = some.iter().map(|(found, _)| *found).collect();
        return before.rank(&mut found, limit, counts);
    }
    let mut matches = Vec::with_capacity(some.len());
    for (found, overlap) in some {
        matches.push(Match { overlap: *overlap, ..before.matched(*found, counts)? });
    }
    let similarity = |one: &Match| one.overlap.map_or(one.similarity, |overlap| overlap.similarity);
    matches.sort_unstable_by(|a, b| {
        similarity(b).total_cmp(&similarity(a)).then_with(|| a.key.cmp(&b.key))
    });
    matches.truncate(limit);
    Ok(matches)
}
