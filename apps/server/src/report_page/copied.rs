//! The page of an index of fingerprints: which texts share passages, both texts beside each other.
//!
//! The pairs are those of the whole index. The parts that the page shows are bounded here.

use std::collections::HashMap;

use nearkin::passages::{PassageMatch, PassageView};
use nearkin::{Conditions, Snapshot};
use serde::Serialize;

use super::data::{TextShown, TextState};
use super::gather::key_shown;
use super::page;
use super::settings::PageSettings;
use super::texts::{TEXT_BYTES_MAX, Texts};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::output::progress::{Progress, Unit};

/// Approximate number of passages on a page: pairs with more are left out.
const PASSAGES_MAX: usize = 100_000;

/// The data of the page, as its script reads it.
#[derive(Serialize)]
pub(crate) struct CopiedData {
    title: String,
    /// Time at which the page was made, in milliseconds UTC.
    made: u64,
    /// Number of the last change that the page reflects.
    change: u64,
    version: &'static str,
    params: String,
    /// Number of words of a run that is found for certain.
    run: usize,
    pub(crate) totals: CopiedTotals,
    pub(crate) shown: CopiedShown,
    documents: Vec<CopiedText>,
    /// The pairs with the longest runs first, as `nearkin pairs` prints them.
    pairs: Vec<CopiedTexts>,
    texts: Vec<TextShown>,
    /// The way from the page to the files whose paths are relative keys; see `links.rs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<String>,
}

/// Counts over the whole index.
#[derive(Serialize)]
pub(crate) struct CopiedTotals {
    pub texts: u64,
    pub pairs: u64,
    /// Number of pairs whose longest run stands out.
    pub(crate) stand_out: u64,
    /// Number of pairs that were not compared to the end.
    pub(crate) incomplete: u64,
}

/// How much of it the page shows.
#[derive(Default, Serialize)]
pub(crate) struct CopiedShown {
    pub pairs: u64,
    pub texts: u64,
    /// Number of texts that have changed since they were indexed, and of those that were not
    /// found.
    pub(crate) texts_changed: u64,
    pub(crate) texts_missing: u64,
    /// Whether texts were asked for, and the maximum number of bytes shown of each.
    texts_asked: bool,
    text_bytes_max: usize,
}

#[derive(Serialize)]
struct CopiedText {
    key: String,
    /// Whether the document is a file that the page can link to.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    file: bool,
    #[serde(skip_serializing_if = "TextState::is_unknown")]
    text: TextState,
}

/// Two texts that share passages. `a` and `b` are indices into the list of documents.
#[derive(Serialize)]
struct CopiedTexts {
    a: usize,
    b: usize,
    share_of_a: f64,
    share_of_b: f64,
    words: u64,
    longest: u64,
    stands_out: bool,
    complete: bool,
    passages: Vec<SharedPassage>,
}

/// A passage: its bytes and its words in both texts, begin and end, and how many words are equal.
#[derive(Serialize)]
struct SharedPassage {
    a: [u64; 2],
    b: [u64; 2],
    a_words: [u64; 2],
    b_words: [u64; 2],
    words: u64,
    longest: u64,
}

/// A finished page, and the data shown on it.
pub(crate) struct CopiedPage {
    pub html: String,
    pub data: CopiedData,
}

/// Makes the page for a snapshot of an index of fingerprints. With `originals`, the page also
/// shows the texts, if the settings say so.
///
/// Costs memory for the words and fingerprints of all texts, and for the page, whose size is
/// bounded; of the pairs, only those of the page are held.
pub(crate) fn make(
    snapshot: &Snapshot,
    settings: &PageSettings,
    originals: Option<&Originals>,
) -> Result<CopiedPage, Failure> {
    let view = PassageView::new(snapshot)?;
    let texts = view.count_texts()?;
    let shown_max = Conditions::default().limit(settings.clusters_max);
    let found = view.counted_pairs(&shown_max.cancel_if(settings.is_stopped()))?;
    let totals = CopiedTotals {
        texts,
        pairs: found.found,
        stand_out: found.stand_out,
        incomplete: found.incomplete,
    };
    let mut keys = Keys::default();
    let mut shown_pairs = Vec::with_capacity(found.pairs.len());
    let mut passages = 0;
    for pair in &found.pairs {
        settings.check()?;
        let mut shared = view.shared(&pair.a, &pair.b)?;
        shared.sort_by_key(|one| one.query.start);
        passages += shared.len();
        if passages > PASSAGES_MAX && !shown_pairs.is_empty() {
            break;
        }
        shown_pairs.push(CopiedTexts {
            a: keys.number(&pair.a),
            b: keys.number(&pair.b),
            share_of_a: pair.share_of_a,
            share_of_b: pair.share_of_b,
            words: pair.words,
            longest: pair.longest,
            stands_out: pair.stands_out,
            complete: pair.complete,
            passages: shared.iter().filter_map(passage).collect(),
        });
    }
    let mut shown = CopiedShown {
        pairs: shown_pairs.len() as u64,
        texts_asked: originals.is_some() && settings.texts,
        text_bytes_max: TEXT_BYTES_MAX,
        ..CopiedShown::default()
    };
    let mut texts = Texts::default();
    let documents = keys.documents(&view, settings, originals, &mut texts, &mut shown)?;
    let params = snapshot.params();
    let data = CopiedData {
        title: settings.title.clone(),
        made: settings.made,
        change: snapshot.change(),
        version: env!("CARGO_PKG_VERSION"),
        params: opened::describe(params),
        run: params.passages().map_or(0, nearkin::Windows::window),
        totals,
        shown,
        documents,
        pairs: shown_pairs,
        texts: texts.all,
        files: settings.links.base.clone(),
    };
    Ok(CopiedPage { html: page::COPIED.html(&data)?, data })
}

fn passage(of: &PassageMatch) -> Option<SharedPassage> {
    let (a, b) = of.in_words.clone()?;
    Some(SharedPassage {
        a: [of.query.start, of.query.end],
        b: [of.stored.start, of.stored.end],
        a_words: [a.start, a.end],
        b_words: [b.start, b.end],
        words: of.words,
        longest: of.longest?,
    })
}

/// The keys of the texts on the page, numbered in the order of the pairs.
#[derive(Default)]
struct Keys {
    all: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, usize>,
}

impl Keys {
    fn number(&mut self, key: &[u8]) -> usize {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        self.numbers.insert(key.to_vec(), self.all.len());
        self.all.push(key.to_vec());
        self.all.len() - 1
    }

    /// The documents with these keys, and their texts, as far as there is room.
    fn documents(
        &self,
        view: &PassageView,
        settings: &PageSettings,
        originals: Option<&Originals>,
        texts: &mut Texts,
        shown: &mut CopiedShown,
    ) -> Result<Vec<CopiedText>, Failure> {
        let progress =
            Progress::start("reading texts", Unit::Documents, Some(self.all.len() as u64));
        let mut documents = Vec::with_capacity(self.all.len());
        for key in &self.all {
            settings.check()?;
            let name = key_shown(key);
            let has_file = originals.is_some_and(|originals| originals.file(key).is_some());
            let text = match originals.filter(|_| settings.texts) {
                Some(originals) => text_of(view, originals, key, texts)?,
                None => TextState::Unknown,
            };
            match text {
                TextState::At(_) => shown.texts += 1,
                TextState::Changed => shown.texts_changed += 1,
                TextState::Missing => shown.texts_missing += 1,
                TextState::Unknown => {}
            }
            let file = settings.links.reach(key, &name) && has_file;
            documents.push(CopiedText { key: name, file, text });
            progress.reached(documents.len() as u64);
        }
        Ok(documents)
    }
}

/// The text of a document, if it is still the indexed one. The check protects files: see
/// [`Originals::text_now`].
fn text_of(
    view: &PassageView,
    originals: &Originals,
    key: &[u8],
    texts: &mut Texts,
) -> Result<TextState, Failure> {
    let Some(text) = originals.text_alone(key) else { return Ok(TextState::Missing) };
    Ok(match view.cutter().prepare(key, &text, None) {
        Ok(prepared) if view.holds(&prepared)? => texts.place_of(text),
        _ => TextState::Changed,
    })
}
