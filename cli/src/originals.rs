//! Where the documents of an index can be read again: files by their paths, lines by their keys.
//!
//! Knows how to find a document by its key, not what is done with it.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "writes temporary files, never the index's"
)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nearkin::{Exact, Original, Overlap, Signature, Snapshot};

use crate::args::ExactGiven;
use crate::content::Reading;
use crate::failure::Failure;
use crate::files;
use crate::guess::Spelling;
use crate::lines::Lines;
use crate::raw::{self, Origin, Raw};
use crate::skips;
use crate::source::{self, Source};

/// Documents kept at hand: pairs name the same ones again and again.
const KEPT_MAX: usize = 1_024;

/// The documents of an index, to be read again.
pub(crate) struct Originals {
    reading: Reading,
    files: Vec<PathBuf>,
    /// Where the line of each key is. The last one counts, as it does for `add`.
    lines: HashMap<Vec<u8>, Place>,
    kept: Mutex<HashMap<Vec<u8>, Option<Arc<Original>>>>,
    /// Kept as long as `files` names them.
    _scratch: Vec<Scratch>,
}

/// Where a line is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The number of its file.
    file: u32,
    /// Its length, with its end; `u32::MAX` stands for more.
    bytes: u32,
    at: u64,
}

/// The text of a stored document, as it is found now.
pub(crate) enum TextNow {
    /// Still the one that was indexed.
    Text(String),
    /// Another text has the key now.
    Changed,
    Missing,
}

/// A file among the temporary ones, gone when this is dropped.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// The lines of a source, unpacked.
    fn of(mut source: Source) -> Result<Self, Failure> {
        let base = std::env::temp_dir();
        let (scratch, mut file) = (0_u32..)
            .find_map(|attempt| {
                let path = base.join(format!("nearkin-from-{}-{attempt}", std::process::id()));
                match File::create_new(&path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                    created => Some(created.map(|file| (Self { path }, file))),
                }
            })
            .unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
            .map_err(|error| unpacking(&source.name, &error))?;
        io::copy(&mut source.reader, &mut file).map_err(|error| unpacking(&source.name, &error))?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left of it lies among temporary files.
        let _ = fs::remove_file(&self.path);
    }
}

fn unpacking(name: &str, error: &io::Error) -> Failure {
    Failure::new(
        format!("cannot unpack {name} to {}: {error}", std::env::temp_dir().display()),
        "set TMPDIR to a folder with more free space, or unpack it before",
    )
}

impl Originals {
    /// Looks through the files of lines, if there are any: takes a key and 24 bytes for each.
    /// What is packed is unpacked to a file among the temporary ones, to be read from any place.
    pub(crate) fn new(reading: Reading, given: &ExactGiven) -> Result<Self, Failure> {
        let (mut lines, mut files, mut scratch) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, path) in given.from.iter().enumerate() {
            if files::length(path)?.is_none() {
                return Err(Failure::new(
                    format!("{} cannot be read twice", path.display()),
                    "--from needs a file on disk",
                ));
            }
            let source = source::open(path, &reading.columns())?;
            if source.plain {
                files.push(path.clone());
            } else {
                let unpacked = Scratch::of(source)?;
                files.push(unpacked.path.clone());
                scratch.push(unpacked);
            }
            let mut file = open(&files[number], 0)?.named(&path.display().to_string());
            let mut counted = skips::Lines::default();
            loop {
                let at = file.bytes_read();
                let Some(raw) = file.next()? else { break };
                counted.read += 1;
                if let Some(key) = reading.key(&raw) {
                    let bytes = u32::try_from(file.bytes_read() - at).unwrap_or(u32::MAX);
                    let file = u32::try_from(number).unwrap_or(u32::MAX);
                    lines.insert(key, Place { file, bytes, at });
                } else {
                    counted.skipped += 1;
                    counted.bad += 1;
                }
            }
            skips::judge(counted, false, &reading, Spelling::From)?;
        }
        Ok(Self { reading, files, lines, kept: Mutex::default(), _scratch: scratch })
    }

    /// The document with a key; none if it cannot be read, or no longer be compared.
    pub(crate) fn fetch(&self, key: &[u8]) -> Option<Original> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(key) {
            return known.as_deref().cloned();
        }
        let original = self.read(key).map(Arc::new);
        let mut kept = kept();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key.to_vec(), original.clone());
        original.as_deref().cloned()
    }

    /// The signature that the document with a key has now, and its text: of a set its items,
    /// sorted, one a line. None as with [`Originals::fetch`].
    pub(crate) fn text(&self, key: &[u8]) -> Option<(Signature, String)> {
        let (name, signature, text) = self.reading.signed_text(self.raw(key)?).ok()?;
        (name == key).then_some((signature, text))
    }

    /// The text of a document, if it is still the one that was indexed. Without that check a page
    /// would show any file that bears the name of a document: the writer of the document must
    /// have had the text.
    pub(crate) fn text_now(&self, snapshot: &Snapshot, key: &[u8]) -> nearkin::Result<TextNow> {
        let Some((signature, text)) = self.text(key) else { return Ok(TextNow::Missing) };
        let is_other = |stored: Signature| {
            stored.as_bytes() != signature.as_bytes()
                || stored.shingle_count() != signature.shingle_count()
        };
        let changed = snapshot.signature(key)?.is_none_or(is_other);
        Ok(if changed { TextNow::Changed } else { TextNow::Text(text) })
    }

    /// How many bytes the file or the line of a document has, read or not.
    pub(crate) fn bytes(&self, key: &[u8]) -> Option<u64> {
        if self.files.is_empty() {
            return fs::metadata(raw::path_of(key))
                .ok()
                .filter(fs::Metadata::is_file)
                .map(|data| data.len());
        }
        self.lines.get(key).map(|place| u64::from(place.bytes))
    }

    fn read(&self, key: &[u8]) -> Option<Original> {
        let (name, original) = self.reading.original(self.raw(key)?).ok()?;
        (name == key).then_some(original)
    }

    fn raw(&self, key: &[u8]) -> Option<Raw> {
        if self.files.is_empty() {
            let path = raw::path_of(key);
            // A pipe would be waited for, without end.
            if !fs::metadata(&path).is_ok_and(|data| data.is_file()) {
                return None;
            }
            let body = files::read(&path);
            return Some(Raw { origin: Origin::File { path, name: key.to_vec() }, body });
        }
        let Place { file, at, .. } = self.lines.get(key)?;
        open(self.files.get(*file as usize)?, *at).and_then(|mut lines| lines.next()).ok()?
    }
}

fn open(path: &Path, at: u64) -> Result<Lines, Failure> {
    // Numbers of lines are not said here.
    Lines::open_at(path, &[], (0, at))
}

/// What was found, as a cell of a table.
pub(crate) fn cell(exact: Exact) -> String {
    match exact {
        Exact::Similarity(similarity) | Exact::Contained(Overlap { similarity, .. }) => {
            format!("{similarity:.3}")
        }
        Exact::Stale => "stale".to_owned(),
        Exact::Missing => "missing".to_owned(),
        // Such a row is not printed; and no other kind is known here.
        _ => "-".to_owned(),
    }
}

/// How much one contains of the other, as a cell of a table.
pub(crate) fn contained_cell(exact: Option<Exact>) -> String {
    match exact {
        Some(Exact::Contained(overlap)) => format!("{:.3}", overlap.containment),
        _ => String::new(),
    }
}

/// What was found, as fields of an object.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct ExactFields {
    /// The Jaccard similarity of the documents themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
    /// How much of the smaller one the larger one contains, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_contained: Option<f64>,
    /// A document has changed since it was indexed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// A document could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    missing: bool,
}

impl ExactFields {
    pub(crate) fn of(exact: Option<Exact>) -> Self {
        let (similarity, contained) = match exact {
            Some(Exact::Similarity(similarity)) => (Some(similarity), None),
            Some(Exact::Contained(overlap)) => {
                (Some(overlap.similarity), Some(overlap.containment))
            }
            _ => (None, None),
        };
        Self {
            exact: similarity,
            exact_contained: contained,
            stale: exact == Some(Exact::Stale),
            missing: exact == Some(Exact::Missing),
        }
    }
}
