//! Reads the documents of an index again from their sources: files by their paths, lines by their
//! keys.
//!
//! This module finds a document by its key. It does not know what the document is used for.

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

use bytes::Bytes;
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

/// Maximum number of cached documents. The cache helps because pairs name the same documents
/// repeatedly.
const KEPT_MAX: usize = 1_024;

/// Where the documents of an index can be read again.
pub(crate) struct Originals {
    reading: Reading,
    files: Vec<PathBuf>,
    /// Where the line of each key is. If a key occurs twice, the last line counts, as for `add`.
    lines: HashMap<Vec<u8>, Place>,
    kept: Mutex<HashMap<Vec<u8>, Option<Arc<Original>>>>,
    /// Held because `files` contains the paths of these temporary files.
    _scratch: Vec<Scratch>,
}

/// Where a line is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Index of its file in `files`.
    file: u32,
    /// Length including the line end; lengths above `u32::MAX` are stored as `u32::MAX`.
    bytes: u32,
    at: u64,
}

/// The current text of a stored document.
pub(crate) enum TextNow {
    /// The text that was indexed.
    Text(String),
    /// The key now leads to a different text.
    Changed,
    Missing,
}

/// A temporary file, deleted on drop.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Copies the uncompressed lines of a source to a temporary file.
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
        // If this fails, the file stays in the system's temporary folder.
        let _ = fs::remove_file(&self.path);
    }
}

fn unpacking(name: &str, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => {
            "set TMPDIR to a folder with more free space, or decompress the file first"
        }
        _ => "check that the file is complete, or decompress it first",
    };
    Failure::new(
        format!("cannot decompress {name} to {}: {error}", std::env::temp_dir().display()),
        advice,
    )
}

impl Originals {
    /// Scans the files given with `--from`, if any, and records the position of each key's line.
    /// Anything but a plain file of JSON lines (a compressed file, Parquet, a table) is first
    /// converted to lines in a temporary file, because lines must be readable at any offset.
    pub(crate) fn new(reading: Reading, given: &ExactGiven) -> Result<Self, Failure> {
        let (mut lines, mut files, mut scratch) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, path) in given.from.iter().enumerate() {
            if files::length(path)?.is_none() {
                return Err(Failure::new(
                    format!("{} is not a regular file, so it cannot be read twice", path.display()),
                    "save it to a file, and give that with --from",
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
            let mut counted = skips::LineCounts::default();
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

    /// The document with this key. Returns `None` if it cannot be read, or if it no longer has
    /// content that can be compared.
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

    /// The current signature and text of the document with this key; for a set, the text is its
    /// sorted items, one per line. Returns `None` in the same cases as [`Originals::fetch`].
    pub(crate) fn text(&self, key: &[u8]) -> Option<(Signature, String)> {
        let (name, signature, text) = self.reading.signed_text(self.raw(key)?).ok()?;
        (name == key).then_some((signature, text))
    }

    /// The text of a document, if it is still the indexed text. The check protects files: without
    /// it, anyone who can insert a document named like a file could see that file's content on the
    /// report page.
    pub(crate) fn text_now(&self, snapshot: &Snapshot, key: &[u8]) -> nearkin::Result<TextNow> {
        let Some((signature, text)) = self.text(key) else { return Ok(TextNow::Missing) };
        let is_other = |stored: Signature| {
            stored.as_bytes() != signature.as_bytes()
                || stored.shingle_count() != signature.shingle_count()
        };
        let changed = snapshot.signature(key)?.is_none_or(is_other);
        Ok(if changed { TextNow::Changed } else { TextNow::Text(text) })
    }

    /// Size of the file or line of a document, without reading it.
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
            // Reading a pipe could block forever.
            if !fs::metadata(&path).is_ok_and(|data| data.is_file()) {
                return None;
            }
            let body = files::read(&path).map(Bytes::from);
            return Some(Raw { origin: Origin::File { path, name: key.to_vec() }, body });
        }
        let Place { file, at, .. } = self.lines.get(key)?;
        open(self.files.get(*file as usize)?, *at).and_then(|mut lines| lines.next()).ok()?
    }
}

fn open(path: &Path, at: u64) -> Result<Lines, Failure> {
    // The number of the line is unknown, and only messages would name it: 0 stands in for it.
    Lines::open_at(path, &[], (0, at))
}

/// An exact similarity as a table cell.
pub(crate) fn cell(exact: Exact) -> String {
    match exact {
        Exact::Similarity(similarity) | Exact::Contained(Overlap { similarity, .. }) => {
            format!("{similarity:.3}")
        }
        Exact::Stale => "stale".to_owned(),
        Exact::Missing => "missing".to_owned(),
        // `Below` is never printed, because such matches are dropped. The enum may also get new
        // variants.
        _ => "-".to_owned(),
    }
}

/// An exact containment as a table cell.
pub(crate) fn contained_cell(exact: Option<Exact>) -> String {
    match exact {
        Some(Exact::Contained(overlap)) => format!("{:.3}", overlap.containment),
        _ => String::new(),
    }
}

/// Fields of a JSON object for an exact comparison.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct ExactFields {
    /// The exact Jaccard similarity of the documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
    /// Exact containment of the smaller document in the larger one, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_contained: Option<f64>,
    /// Whether a document has changed since it was indexed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// Whether a document could not be read.
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
