//! The texts of the documents on a page, as far as there is place.
//!
//! Knows how much is read, not where texts lie.

use std::collections::HashMap;

use nearkin::Snapshot;

use super::data::{ClusterShown, Shown, TextShown, TextState};
use crate::failure::Failure;
use crate::interrupt;
use crate::originals::{Originals, TextNow};
use crate::progress::{Progress, Unit};

/// Bytes of one text in the page, at most. The page compares whole texts: what is cut here is not
/// compared.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of all texts, about.
const TEXTS_BYTES_MAX: usize = 12 << 20;

/// Reads texts: first two of each cluster, then a third of each, until there is no more place.
/// Equal ones are kept once. `keys` are those of the documents of each cluster.
pub(super) fn read(
    snapshot: &Snapshot,
    originals: &Originals,
    keys: &[Vec<(Vec<u8>, u64)>],
    clusters: &mut [ClusterShown],
    shown: &mut Shown,
) -> Result<Vec<TextShown>, Failure> {
    let mut texts = Texts::default();
    let progress = Progress::start("reading texts", Unit::Documents, Some(shown.documents));
    let members_max = keys.iter().map(Vec::len).max().unwrap_or(0);
    let mut done = 0;
    for round in 1..members_max {
        let members = if round == 1 { 0..2 } else { round..round + 1 };
        for (keys, cluster) in keys.iter().zip(&mut *clusters) {
            for member in members.clone() {
                let (Some((key, _)), Some(document)) =
                    (keys.get(member), cluster.documents.get_mut(member))
                else {
                    continue;
                };
                if texts.bytes >= TEXTS_BYTES_MAX {
                    return Ok(texts.all);
                }
                interrupt::check()?;
                document.text = texts.text_of(snapshot, originals, key)?;
                match document.text {
                    TextState::At(_) => shown.texts += 1,
                    TextState::Changed => shown.texts_changed += 1,
                    TextState::Missing | TextState::Unknown => shown.texts_missing += 1,
                }
                done += 1;
                progress.reached(done);
            }
        }
    }
    Ok(texts.all)
}

#[derive(Default)]
struct Texts {
    all: Vec<TextShown>,
    bytes: usize,
    /// Where a text is among them, by what is shown of it and the length of the whole.
    places: HashMap<(String, usize), usize>,
}

impl Texts {
    fn text_of(
        &mut self,
        snapshot: &Snapshot,
        originals: &Originals,
        key: &[u8],
    ) -> Result<TextState, Failure> {
        let mut text = match originals.text_now(snapshot, key)? {
            TextNow::Text(text) => text,
            TextNow::Changed => return Ok(TextState::Changed),
            TextNow::Missing => return Ok(TextState::Missing),
        };
        let bytes = text.len();
        let most = TEXT_BYTES_MAX.min(bytes);
        // A letter takes four bytes at most.
        let end =
            (0..4).map(|less| most.saturating_sub(less)).find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        self.bytes += 8;
        let (all, spent) = (&mut self.all, &mut self.bytes);
        let place = self.places.entry((text, bytes)).or_insert_with_key(|(text, bytes)| {
            *spent += text.len();
            all.push(TextShown { text: text.clone(), bytes: *bytes, cut: text.len() < *bytes });
            all.len() - 1
        });
        Ok(TextState::At(*place))
    }
}
