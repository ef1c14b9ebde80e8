//! Texts of stored documents that are at hand: of documents seen lately, in the lines of the input,
//! in the files given by `--from`, and in files whose paths are keys.
//!
//! This module finds a document by its key. The library compares documents.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use nearkin::{Index, Original, Shingles};

use crate::args::Admit;
use nearkin_input::fields::Fields;
use nearkin_input::files;
use nearkin_input::source::RowOptions;
use nearkin_kit::args::lines::ExactGiven;
use nearkin_kit::args::machine;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::input::shards;
use nearkin_kit::output;

/// Maximum total size of the documents that are held in memory.
const RECENT_BYTES_MAX: usize = 64 << 20;

/// Where the documents of an index can be found.
pub(super) struct TextsAtHand<'a> {
    index: &'a Index,
    recent: RecentDocuments,
    /// The lines of the input. Scanned when a document is looked for the first time.
    input: InputLines,
    /// The files of `--from`, or files whose paths are keys.
    others: Option<Originals>,
}

/// The lines of the input, which can be read once more.
enum InputLines {
    None,
    Unread(Vec<PathBuf>, Fields, RowOptions),
    Scanned(Box<Originals>),
}

impl<'a> TextsAtHand<'a> {
    pub(super) fn new(index: &'a Index, fields: &Fields, args: &Admit) -> Result<Self, Failure> {
        let params = index.params();
        // Sets are in no files.
        let has_others = !args.from.is_empty() || params.shingles() != Shingles::Items;
        let others = if has_others {
            let from = ExactGiven::of_texts(&args.from, &args.from_fields);
            Some(from.originals(params, index.sketcher(), &args.lines.rows)?)
        } else {
            None
        };
        // Stdin and pipes cannot be read twice.
        let is_file = |path: &PathBuf| files::length(path).is_ok_and(|length| length.is_some());
        let mut lines = shards::expand(&args.lines.jsonl)?;
        lines.retain(is_file);
        let input = if lines.is_empty() {
            InputLines::None
        } else {
            InputLines::Unread(lines, fields.clone(), args.lines.row_options())
        };
        Ok(Self { index, recent: RecentDocuments::default(), input, others })
    }

    /// The document that is stored under a key, if its text is at hand.
    pub(super) fn fetch(&mut self, key: &[u8]) -> nearkin::Result<Option<Original>> {
        let Some(stored) = self.index.signature(key)? else { return Ok(None) };
        let is_stored = |document: &Original| document.signature().as_bytes() == stored.as_bytes();
        if let Some(document) = self.recent.get(key).filter(|document| is_stored(document)) {
            return Ok(Some(document.clone()));
        }
        let found = self.sources().find_map(|source| source.detailed(key).filter(&is_stored));
        if let Some(document) = &found {
            self.recent.put(key, document);
        }
        Ok(found)
    }

    /// A document under a key, whether it is still stored or not.
    pub(super) fn seen(&mut self, key: &[u8]) -> Option<Original> {
        let recent = self.recent.get(key).cloned();
        recent.or_else(|| self.sources().find_map(|source| source.detailed(key)))
    }

    /// Remembers the document of a newcomer that is stored now.
    pub(super) fn remember(&mut self, key: &[u8], document: &Original) {
        self.recent.put(key, document);
    }

    fn sources(&mut self) -> impl Iterator<Item = &Originals> {
        self.input.scan(self.index);
        let input = match &self.input {
            InputLines::Scanned(lines) => Some(&**lines),
            InputLines::None | InputLines::Unread(..) => None,
        };
        input.into_iter().chain(&self.others)
    }
}

impl InputLines {
    fn scan(&mut self, index: &Index) {
        let Self::Unread(paths, fields, options) = self else { return };
        let reading = Reading::new(index.sketcher(), fields.clone());
        *self = match Originals::new(reading, paths, options) {
            Ok(originals) => Self::Scanned(Box::new(originals)),
            Err(failure) => {
                output::warn(format_args!(
                    "cannot read {} a second time, so the estimate decides on its earlier lines: \
                     {}",
                    paths.first().map_or(Path::new(""), PathBuf::as_path).display(),
                    failure.message()
                ));
                Self::None
            }
        };
    }
}

/// The documents that were used last, in memory.
#[derive(Default)]
struct RecentDocuments {
    documents: HashMap<Vec<u8>, Original>,
    /// The keys, in the order in which they came.
    order: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl RecentDocuments {
    fn get(&self, key: &[u8]) -> Option<&Original> {
        self.documents.get(key)
    }

    fn put(&mut self, key: &[u8], document: &Original) {
        self.bytes += size(document);
        if let Some(before) = self.documents.insert(key.to_vec(), document.clone()) {
            self.bytes -= size(&before);
        } else {
            self.order.push_back(key.to_vec());
        }
        while self.bytes > machine::memory_part(16, RECENT_BYTES_MAX) {
            let Some(oldest) = self.order.pop_front() else { break };
            if let Some(document) = self.documents.remove(&oldest) {
                self.bytes -= size(&document);
            }
        }
    }
}

/// About as many bytes as a document takes in memory.
fn size(document: &Original) -> usize {
    let details = document.details().map_or(0, nearkin::Details::bytes);
    256 + document.signature().as_bytes().len() + size_of_val(document.shingle_hashes()) + details
}
