//! Reads the documents on a page again: their texts, up to a size limit, and what a plan says of
//! their files.
//!
//! This module limits how much is kept. It does not know where the texts are stored.

use std::collections::HashMap;

use nearkin::Snapshot;

use super::data::{ClusterShown, Shown, TextShown, TextState};
use super::settings::PageSettings;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::originals::{Originals, TextNow};
use nearkin_kit::output::progress::{Progress, Unit};

/// Maximum size of a text on the page. A longer text is cut, and the page compares only the part
/// that it contains.
pub(super) const TEXT_BYTES_MAX: usize = 1 << 20;
/// Approximate maximum size of all texts together.
const TEXTS_BYTES_MAX: usize = 12 << 20;

/// Reads the documents: first two per cluster, then a third one per cluster, and so on. Keeps texts
/// until the limit is reached; equal ones are stored once. `keys` holds the keys of the documents
/// of each cluster.
pub(super) fn read(
    snapshot: &Snapshot,
    settings: &PageSettings,
    originals: &Originals,
    keys: &[Vec<(Vec<u8>, u64)>],
    (clusters, shown): (&mut [ClusterShown], &mut Shown),
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
                // Beyond the limit, files are read for their line in a plan only.
                let is_wanted = settings.reads_all && document.bytes.is_some();
                if texts.bytes >= TEXTS_BYTES_MAX && !is_wanted {
                    continue;
                }
                settings.check()?;
                let (text, file) = originals.text_and_file(snapshot, key)?;
                document.plan = file.and_then(|file| file.plan);
                match text {
                    TextNow::Text(text) => {
                        document.length = Some(text.chars().count());
                        document.text = texts.place_of(text);
                        shown.texts += u64::from(document.text != TextState::Unknown);
                    }
                    TextNow::Changed => {
                        document.text = TextState::Changed;
                        shown.texts_changed += 1;
                    }
                    TextNow::Missing => {
                        document.text = TextState::Missing;
                        shown.texts_missing += 1;
                    }
                }
                done += 1;
                progress.reached(done);
            }
        }
    }
    Ok(texts.all)
}

#[derive(Default)]
pub(super) struct Texts {
    pub(super) all: Vec<TextShown>,
    bytes: usize,
    /// The position of each text in `all`. A text is identified by its shown part and its full
    /// length.
    places: HashMap<(String, usize), usize>,
}

impl Texts {
    /// Adds a text, if there is room.
    pub(super) fn place_of(&mut self, mut text: String) -> TextState {
        if self.bytes >= TEXTS_BYTES_MAX {
            return TextState::Unknown;
        }
        let bytes = text.len();
        let most = TEXT_BYTES_MAX.min(bytes);
        // Cuts at a character boundary. A character has at most four bytes, so one of these four
        // positions is a boundary.
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
        TextState::At(*place)
    }
}
