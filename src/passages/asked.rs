//! Queries of an index of fingerprints: which stored texts share a run of words with a text.
//!
//! Fingerprints find candidates; the tables of words decide. Only reads.

use std::collections::BTreeSet;
use std::ops::Range;

use super::cut;
use super::prints::Prints;
use super::shared::{Comparison, Shared, Stretch};
use super::table::{WordTable, foreign};
use super::view::{Contained, PassageAnswer, PassageMatch, PassageView, ratio};
use crate::format::bytes::wide;
use crate::{Alike, Conditions, DocumentView, Error, Result};

/// Number of signatures asked for together, which bounds the memory.
const TOGETHER: usize = 64;

/// The context of one query.
pub(super) struct Asked<'a> {
    view: &'a PassageView,
    prints: &'a Prints,
    conditions: &'a Conditions<'a>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(
        view: &'a PassageView,
        prints: &'a Prints,
        conditions: &'a Conditions<'a>,
    ) -> Self {
        Self { view, prints, conditions }
    }

    pub(super) fn run(&self, text: &str) -> Result<PassageAnswer> {
        let own = self.view.snapshot.params().threshold();
        let contained = least_share(own, self.conditions.check(own)?)?;
        let cut = self.prints.cut(text);
        let own = WordTable::new(&cut.words);
        let own_places = own.places()?;
        let (keys, mut complete) = self.candidates(&self.prints.asked(&cut))?;
        let comparison = Comparison::new(&own, self.prints.run);
        let mut texts = Vec::new();
        for key in keys {
            if self.conditions.stop.is_due() {
                complete = false;
                break;
            }
            let Some((table, payload)) = self.stored(&key)? else { continue };
            let shared = comparison.with(&table, &|| self.conditions.stop.is_due());
            complete &= shared.complete;
            if shared.stretches.is_empty() {
                continue;
            }
            let share = share_of(shared.ours, &own);
            let stored_share = share_of(shared.theirs, &table);
            if share.max(stored_share) < contained {
                continue;
            }
            let stored_share = Some(stored_share);
            let passages = passages(&shared, &own_places, &table.places()?);
            texts.push(Contained { key, payload, share, stored_share, passages });
        }
        let found = wide(texts.len());
        // The sort is stable: texts with equal shares stay sorted by key.
        texts.sort_by(|a, b| b.share.total_cmp(&a.share));
        texts.truncate(self.conditions.limit);
        let (words, change) = (wide(own.counted()), self.view.snapshot.change());
        Ok(PassageAnswer { texts, found, words, complete, change })
    }

    /// The keys of the texts that share a fingerprint, and whether these are all.
    fn candidates(&self, asked: &[crate::Signature]) -> Result<(BTreeSet<Vec<u8>>, bool)> {
        let own = Alike::similar(self.view.snapshot.params().threshold());
        let conditions = self.conditions.of_parts().alike(own);
        let (mut keys, mut complete) = (BTreeSet::new(), true);
        for together in asked.chunks(TOGETHER) {
            let answers = self.view.snapshot.queries(together).conditions(conditions.clone());
            for answer in answers.run()? {
                complete &= answer.complete;
                for matched in answer.matches {
                    let (key, _) = cut::split_key(&matched.key)?;
                    if !keys.contains(key) {
                        keys.insert(key.to_vec());
                    }
                }
            }
        }
        Ok((keys, complete))
    }

    /// The table and the payload of a text. `None` if it does not pass the conditions, or if it is
    /// incomplete (as it may be after a salvage).
    pub(super) fn stored(&self, key: &[u8]) -> Result<Option<(WordTable, Vec<u8>)>> {
        let snapshot = &self.view.snapshot;
        let Some(first) = snapshot.get(cut::inner_key(key, 0))? else { return Ok(None) };
        let (_, payload) = self.view.cutter.split_first(&first.payload)?;
        let seen = DocumentView { key, payload, time: first.time };
        if !self.conditions.pass(seen)? {
            return Ok(None);
        }
        let (part, more, place) = cut::table_of(&first.payload)?;
        let mut bytes = part.to_vec();
        for number in 1..=more {
            let Some(next) = snapshot.get(cut::inner_key(key, number))? else { return Ok(None) };
            bytes.extend_from_slice(&next.payload);
        }
        if wide(bytes.len()) != place.end {
            return Ok(None);
        }
        let words = usize::try_from(place.start).map_err(|_| foreign())?;
        Ok(WordTable::decode(bytes, words).ok().map(|table| (table, payload.to_vec())))
    }
}

/// The least share of the shorter text that is asked for; `own` is the threshold of the index.
pub(super) fn least_share(own: f64, alike: Alike) -> Result<f64> {
    let (threshold, contained) = alike.thresholds();
    let is_own = |threshold: f64| threshold.total_cmp(&own).is_eq();
    if threshold.is_some_and(|one| !is_own(one) && (one > 0.0 || contained.is_none())) {
        return Err(Error::invalid(
            "fingerprints have no threshold: texts share a run of words or not; ask for a share of \
             the shorter text with contained",
        ));
    }
    Ok(contained.unwrap_or(0.0))
}

/// The share of a text's words that are in another, of those that count. A word may be common here
/// and not there, because of its neighbours.
pub(super) fn share_of(words: usize, table: &WordTable) -> f64 {
    ratio(words, table.counted().max(words).max(1))
}

/// The passages, with the places of the words of both texts.
pub(super) fn passages(
    shared: &Shared,
    ours: &[Range<u64>],
    theirs: &[Range<u64>],
) -> Vec<PassageMatch> {
    let bytes = |words: &Range<usize>, places: &[Range<u64>]| {
        let last = words.end.checked_sub(1)?;
        Some(places.get(words.start)?.start..places.get(last)?.end)
    };
    let in_words = |range: &Range<usize>| wide(range.start)..wide(range.end);
    let passage = |one: &Stretch| {
        Some(PassageMatch {
            query: bytes(&one.ours, ours)?,
            stored: bytes(&one.theirs, theirs)?,
            in_words: Some((in_words(&one.ours), in_words(&one.theirs))),
            words: wide(one.words),
            longest: Some(wide(one.longest)),
            similarity: ratio(one.words, one.ours.len().max(one.theirs.len())),
        })
    };
    shared.stretches.iter().filter_map(passage).collect()
}
