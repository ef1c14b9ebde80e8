//! Reads the documents of an index again from their sources: files by their paths, lines and
//! members of archives by their keys.
//!
//! This module finds a document by its key. It does not know what the document is used for.

#![expect(clippy::disallowed_types, reason = "reads temporary files, never the index's")]

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use nearkin::{Exact, Original, Overlap, Signature, SimilarityText, Snapshot};
use xxhash_rust::xxh3::xxh3_128;

use super::content::Reading;
use super::kept::KeptDocuments;
use super::members::MemberFiles;
use super::shards;
use super::skips;
use crate::failure::Failure;
use crate::file_state::{self, FileState};
use crate::plan::{self, Fate, FileIdentity, PlannedFile};
use crate::scratch::{self, ReadAt};
use nearkin_input::Error;
use nearkin_input::files;
use nearkin_input::guess::Spelling;
use nearkin_input::inside::Inside;
use nearkin_input::lines::Lines;
use nearkin_input::on_disk;
use nearkin_input::raw::{self, Origin, Raw, Reason, Skipped};
use nearkin_input::records::Records;
use nearkin_input::source::{self, RowOptions};

/// Where the documents of an index can be read again.
pub struct Originals {
    reading: Reading,
    files: Vec<(LineFile, Arc<str>)>,
    /// The folder that files must lie in, if there is one.
    inside: Option<Inside>,
    /// Where the line of each key is. If a key occurs twice, the last line counts, as for `add`.
    lines: HashMap<Vec<u8>, LinePlace>,
    damaged: Vec<Skipped>,
    members: MemberFiles,
    kept: KeptDocuments,
}

/// Where a line is.
#[derive(Debug, Clone, Copy)]
struct LinePlace {
    /// Index of its file in `files`.
    file: u32,
    /// Length including the line end; lengths above `u32::MAX` are stored as `u32::MAX`.
    bytes: u32,
    at: u64,
    /// The number of the line, or of the row that became it, in the user's file.
    number: u64,
}

/// The current text of a stored document.
pub enum TextNow {
    /// The text that was indexed.
    Text(String),
    /// The key now leads to a different text.
    Changed,
    /// The document cannot be read.
    Missing,
}

/// The file of a stored document.
#[derive(Debug)]
pub struct DocumentFile {
    /// Its length.
    pub bytes: u64,
    /// Time of modification, in milliseconds since 1970.
    pub modified: i64,
    /// The line of the file in a plan, after the first word. Only where its text is the one that
    /// was indexed, and no link has the name.
    pub plan: Option<String>,
}

/// A file of lines that can be read at any offset.
enum LineFile {
    /// The user's own file.
    Plain(PathBuf),
    /// The lines of a compressed file or a table, in a temporary file without a name.
    Unpacked(Arc<File>),
}

impl LineFile {
    /// Copies the lines of a file to a temporary file, uncompressed; rows become lines. Also
    /// returns the number of each in the user's file.
    fn unpacked(
        mut records: Records,
        name: &str,
        damaged: &mut Vec<Skipped>,
    ) -> Result<(Self, Vec<u64>), Failure> {
        let failed = |error: io::Error| unpacking(name, &error);
        let mut file = BufWriter::new(scratch::file().map_err(failed)?);
        let mut numbers = Vec::new();
        while let Some(raw) = records.next()? {
            let line = match raw.body {
                Ok(line) => line,
                Err(reason @ Reason::Damaged(_)) => {
                    damaged.push(Skipped::new(raw.origin, reason));
                    continue;
                }
                // A line that is too large has no document.
                Err(_) => continue,
            };
            if let Origin::Line { number, .. } = raw.origin {
                numbers.push(number);
            }
            file.write_all(&line).and_then(|()| file.write_all(b"\n")).map_err(failed)?;
        }
        let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok((Self::Unpacked(Arc::new(file)), numbers))
    }

    fn open(&self, at: u64) -> Result<Lines, Failure> {
        match self {
            // The number of the line is unknown, and only messages would name it: 0 stands in.
            Self::Plain(path) => Ok(Lines::from_source(source::open_at(path, None, at)?, (0, at))),
            Self::Unpacked(file) => {
                Ok(Lines::new("", Box::new(ReadAt { file: Arc::clone(file), at })))
            }
        }
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
    /// Scans these files, if any, and records the position of each key's line.
    /// Anything but a plain file of JSON lines (a compressed file, Parquet, a table) is first
    /// converted to lines in a temporary file, because lines must be readable at any offset.
    pub fn new(reading: Reading, from: &[PathBuf], options: &RowOptions) -> Result<Self, Failure> {
        let wanted = reading.wanted();
        let (mut lines, mut files, mut damaged) = (HashMap::new(), Vec::new(), Vec::new());
        for (number, path) in shards::expand(from)?.iter().enumerate() {
            if files::length(path)?.is_none() {
                return Err(Failure::new(
                    format!("{} is not a regular file, so it cannot be read twice", path.display()),
                    "save it to a file, and give that with --from",
                ));
            }
            let name: Arc<str> = path.display().to_string().into();
            let is_plain = Error::sound(source::is_plain(path, options), options.lenient)?;
            let (lines_of, numbers) = if is_plain == Some(true) {
                (LineFile::Plain(path.clone()), Vec::new())
            } else {
                let records = Records::open(path, options, Some(&wanted))?;
                LineFile::unpacked(records, &name, &mut damaged)?
            };
            let mut numbers = numbers.into_iter();
            let mut file = lines_of.open(0)?.named(&name);
            files.push((lines_of, name));
            let mut counted = skips::LineCounts::default();
            loop {
                let at = file.bytes_read();
                let Some(mut raw) = file.next()? else { break };
                let mut place = 0;
                if let Origin::Line { number, .. } = &mut raw.origin {
                    *number = numbers.next().unwrap_or(*number);
                    place = *number;
                }
                counted.read += 1;
                if let Some(key) = reading.key(&raw) {
                    let bytes = u32::try_from(file.bytes_read() - at).unwrap_or(u32::MAX);
                    let file = u32::try_from(number).unwrap_or(u32::MAX);
                    lines.insert(key, LinePlace { file, bytes, at, number: place });
                } else {
                    counted.skipped += 1;
                    counted.bad += 1;
                }
            }
            skips::judge(counted, false, &reading, Spelling::From)?;
        }
        let (members, kept) = (MemberFiles::default(), KeptDocuments::default());
        Ok(Self { reading, files, inside: None, lines, damaged, members, kept })
    }

    /// The damaged files, of which only what stands before the damage was read.
    pub(crate) fn damaged(&self) -> &[Skipped] {
        &self.damaged
    }

    /// Reads files only below this folder, and at each call anew: a server outlives what it has
    /// read. Relative keys are relative to the folder.
    #[must_use]
    pub fn only_inside(mut self, folder: Inside) -> Self {
        self.inside = Some(folder);
        self
    }

    /// The document with this key. Returns `None` if it cannot be read, or if it no longer has
    /// content that can be compared.
    pub fn fetch(&self, key: &[u8]) -> Option<Original> {
        if self.inside.is_some() {
            return self.read(key);
        }
        self.kept.get_or_read(key, |_| true, || self.read(key))
    }

    /// Like [`Originals::fetch`], with what can set a text apart from a similar one.
    pub fn fetch_detailed(&self, key: &[u8]) -> Option<Original> {
        if self.inside.is_some() {
            return self.detailed(key);
        }
        let has_details = |known: &Original| known.details().is_some();
        self.kept.get_or_read(key, has_details, || self.detailed(key))
    }

    /// The document with this key, with what can set a text apart from a similar one. Not cached.
    /// `None` in the same cases as for [`Originals::fetch`].
    pub fn detailed(&self, key: &[u8]) -> Option<Original> {
        let (name, original) = self.reading.detailed(self.raw(key)?).ok()?;
        (name == key).then_some(original)
    }

    /// The current signature and text of the document with this key; for a set, the text is its
    /// sorted items, one per line. Returns `None` in the same cases as [`Originals::fetch`].
    pub fn text(&self, key: &[u8]) -> Option<(Signature, String)> {
        self.text_of(key, self.raw(key)?)
    }

    /// The text that has this key now; `None` in the same cases as [`Originals::fetch`]. For an
    /// index whose signatures are not of whole texts.
    pub fn text_alone(&self, key: &[u8]) -> Option<String> {
        let (name, text) = self.reading.text(self.raw(key)?).ok()?;
        (name == key).then_some(text)
    }

    fn text_of(&self, key: &[u8], raw: Raw) -> Option<(Signature, String)> {
        let (name, signature, text) = self.reading.signed_text(raw).ok()?;
        (name == key).then_some((signature, text))
    }

    /// The text of a document, if it is still the indexed text. The check protects files: without
    /// it, anyone who can insert a document named like a file could see that file's content on the
    /// report page.
    pub fn text_now(&self, snapshot: &Snapshot, key: &[u8]) -> nearkin::Result<TextNow> {
        self.text_in(snapshot, key, self.raw(key))
    }

    /// The text of a document, as [`Originals::text_now`] returns it, and its file, if it is one.
    pub fn text_and_file(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
    ) -> nearkin::Result<(TextNow, Option<DocumentFile>)> {
        let before = self.state(key);
        let raw = self.raw(key);
        let sum = raw.as_ref().and_then(|raw| Some(xxh3_128(raw.body.as_ref().ok()?)));
        let unchanged = before.is_some() && before == self.state(key);
        let text = self.text_in(snapshot, key, raw)?;
        let file = before.map(|state| {
            let is_so = unchanged && matches!(text, TextNow::Text(_));
            let plan = if is_so { self.plan_fields(key, &state, sum) } else { None };
            DocumentFile { plan, ..DocumentFile::of(&state) }
        });
        Ok((text, file))
    }

    /// The file of a document, unread. `None` if it is not one.
    pub fn file(&self, key: &[u8]) -> Option<DocumentFile> {
        self.state(key).map(|state| DocumentFile::of(&state))
    }

    fn text_in(
        &self,
        snapshot: &Snapshot,
        key: &[u8],
        raw: Option<Raw>,
    ) -> nearkin::Result<TextNow> {
        let Some((signature, text)) = raw.and_then(|raw| self.text_of(key, raw)) else {
            return Ok(TextNow::Missing);
        };
        let is_other = |stored: Signature| {
            stored.as_bytes() != signature.as_bytes()
                || stored.shingle_count() != signature.shingle_count()
        };
        let changed = snapshot.signature(key)?.is_none_or(is_other);
        Ok(if changed { TextNow::Changed } else { TextNow::Text(text) })
    }

    /// The bytes that are freed if only the first of these documents stays, and the number of the
    /// other documents whose size is known. A file counts with what it takes on the disk, and only
    /// if no other name of it stays.
    pub fn freed(&self, keys: &[Vec<u8>]) -> (u64, u64) {
        let Some((kept, others)) = keys.split_first() else { return (0, 0) };
        if !self.files.is_empty() {
            let lines = others.iter().filter_map(|key| self.lines.get(key));
            let lengths: Vec<_> = lines.map(|place| u64::from(place.bytes)).collect();
            return (lengths.iter().sum(), lengths.len() as u64);
        }
        let kept = self.metadata(kept).and_then(|(path, metadata)| on_disk::id(&path, &metadata));
        let mut known = 0;
        let mut files: HashMap<_, (Metadata, Vec<PathBuf>)> = HashMap::new();
        for (number, key) in others.iter().enumerate() {
            let Some((path, metadata)) = self.metadata(key) else { continue };
            known += 1;
            let id = on_disk::id(&path, &metadata);
            if id.is_none() || id != kept {
                // Where files have no identity, each path is a file of its own.
                let file = (id, if id.is_none() { number } else { 0 });
                files.entry(file).or_insert_with(|| (metadata, Vec::new())).1.push(path);
            }
        }
        let freed = |(metadata, paths): &(Metadata, Vec<PathBuf>)| {
            on_disk::freed(metadata, paths.iter().map(PathBuf::as_path))
        };
        (files.values().map(freed).fold(0, u64::saturating_add), known)
    }

    fn read(&self, key: &[u8]) -> Option<Original> {
        let (name, original) = self.reading.original(self.raw(key)?).ok()?;
        (name == key).then_some(original)
    }

    fn raw(&self, key: &[u8]) -> Option<Raw> {
        if self.files.is_empty() {
            let body = match self.open(key) {
                Some(file) => files::read_open(file).map(Bytes::from),
                None => Ok(self.members.read(key, |container| self.open(container))?),
            };
            let (path, name) = (raw::path_of(key), key.to_vec());
            return Some(Raw { origin: Origin::File { path, name }, body });
        }
        let LinePlace { file, at, number, .. } = self.lines.get(key)?;
        let (lines, name) = self.files.get(*file as usize)?;
        let mut raw = lines.open(*at).ok()?.next().ok()??;
        if let Origin::Line { file, number: of_line, .. } = &mut raw.origin {
            (*file, *of_line) = (Arc::clone(name), *number);
        }
        Some(raw)
    }

    /// Opens a regular file.
    fn open(&self, key: &[u8]) -> Option<File> {
        match &self.inside {
            Some(inside) => inside.open(key),
            // Opening a pipe could block forever.
            None => {
                let path = raw::path_of(key);
                fs::metadata(&path)
                    .is_ok_and(|data| data.is_file())
                    .then(|| File::open(path).ok())?
            }
        }
    }

    /// The state of a document's file. `None` if documents are lines, or it is not there.
    fn state(&self, key: &[u8]) -> Option<FileState> {
        let (path, metadata) = self.metadata(key).filter(|_| self.files.is_empty())?;
        Some(FileState::from_metadata(&path, &metadata))
    }

    /// The line of a document's file in a plan, after its first word. A relative key stays
    /// relative, so that the line names no folder that the key does not name. `None` if the name is
    /// a link, or leads elsewhere by one.
    fn plan_fields(&self, key: &[u8], state: &FileState, sum: Option<u128>) -> Option<String> {
        let folder = match &self.inside {
            Some(inside) => inside.folder().to_owned(),
            None => std::env::current_dir().and_then(fs::canonicalize).ok()?,
        };
        let key = raw::path_of(key);
        let whole = plan::below(&folder, &key);
        let real = whole.canonicalize().ok().filter(|_| !whole.is_symlink())?;
        let identity = FileIdentity::of(state).lasting(file_state::has_lasting_inodes(&real));
        let path = if key.is_absolute() {
            real
        } else if real == whole {
            key
        } else {
            real.strip_prefix(&folder).ok()?.to_owned()
        };
        let (bytes, fate) = (state.bytes, Fate::Keep);
        Some(PlannedFile { line: 0, fate, bytes, path, identity, sum }.fields())
    }

    /// The path of a document, and the metadata of its file; `None` if it is not a file.
    fn metadata(&self, key: &[u8]) -> Option<(PathBuf, Metadata)> {
        let path = match &self.inside {
            Some(inside) => inside.path(key)?,
            None => raw::path_of(key),
        };
        let metadata = fs::metadata(&path).ok().filter(Metadata::is_file)?;
        Some((path, metadata))
    }
}

impl DocumentFile {
    fn of(state: &FileState) -> Self {
        let modified = i64::try_from(state.modified.div_euclid(1_000_000)).unwrap_or(i64::MAX);
        Self { bytes: state.bytes, modified, plan: None }
    }
}

/// An exact similarity as a table cell.
pub fn cell(exact: Exact) -> String {
    match exact {
        Exact::Similarity(similarity) | Exact::Contained(Overlap { similarity, .. }) => {
            SimilarityText::Exact(similarity).to_string()
        }
        Exact::Stale => "stale".to_owned(),
        Exact::Missing => "missing".to_owned(),
        // `Below` is never printed, because such matches are dropped. The enum may also get new
        // variants.
        _ => "-".to_owned(),
    }
}

/// An exact containment as a table cell.
pub fn contained_cell(exact: Option<Exact>) -> String {
    match exact {
        Some(Exact::Contained(overlap)) => SimilarityText::Exact(overlap.containment).to_string(),
        _ => String::new(),
    }
}

/// Fields of a JSON object for an exact comparison.
#[derive(Debug, Default, serde::Serialize)]
pub struct ExactFields {
    /// The exact Jaccard similarity of the documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<f64>,
    /// Exact containment of the smaller document in the larger one, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact_contained: Option<f64>,
    /// Whether a document has changed since it was indexed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Whether a document could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl ExactFields {
    /// The fields for the result of a comparison.
    pub fn new(exact: Option<Exact>) -> Self {
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
