//! Documents made again from their lines, which are in the input or in the ledger.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use nearkin::{Details, Error, Original, Sketcher};

use super::held::Held;
use super::ledger::{Entry, Ledger};
use nearkin_input::fields::Fields;
use nearkin_input::raw::{Origin, Raw, Skipped};
use nearkin_kit::input::content::Reading;
use nearkin_kit::scratch::read_exact_at;

/// Maximum number of input files that are open at a time.
const FILES_MAX: usize = 64;

/// Maximum size of a line of which several documents are held with what can set them apart.
const WHOLE_BYTES_MAX: u32 = 1 << 20;

/// Makes documents again, and holds those that are needed again.
pub(super) struct Remade {
    reading: Reading,
    /// The input files; stdin is its copy.
    files: Vec<PathBuf>,
    open: Mutex<HashMap<u32, Arc<File>>>,
    held: Held,
}

impl Remade {
    pub(super) fn new(sketcher: Sketcher, fields: &Fields, files: Vec<PathBuf>) -> Self {
        let (open, held) = (Mutex::default(), Held::default());
        Self { reading: Reading::new(sketcher, fields.clone()), files, open, held }
    }

    pub(super) fn sketcher(&self) -> &Sketcher {
        self.reading.sketcher()
    }

    /// The document of a line.
    pub(super) fn original(&self, line: Bytes) -> nearkin::Result<Original> {
        self.reading.original(raw(line)).map(|(_, document)| document).map_err(again)
    }

    /// The document of a line, with what can set it apart.
    pub(super) fn detailed(&self, line: Bytes) -> nearkin::Result<Original> {
        self.reading.detailed(raw(line)).map(|(_, document)| document).map_err(again)
    }

    /// The text of a line that may be wrong; `None` for a set.
    pub(super) fn text(&self, line: Bytes) -> Option<String> {
        self.reading.text(raw(line)).ok().map(|(_, text)| text)
    }

    fn file(&self, number: u32) -> io::Result<Arc<File>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&number) {
            return Ok(Arc::clone(file));
        }
        if open.len() >= FILES_MAX {
            open.clear();
        }
        let file = Arc::new(File::open(self.files.get(number as usize).ok_or_else(changed)?)?);
        open.insert(number, Arc::clone(&file));
        Ok(file)
    }
}

/// Documents by the numbers of their lines.
#[derive(Clone, Copy)]
pub(super) struct Documents<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) remade: &'a Remade,
}

impl Documents<'_> {
    /// The line of an entry, as it was read.
    pub(super) fn line(self, entry: &Entry) -> io::Result<Bytes> {
        let line = match entry.at {
            Some(at) => {
                let file = self.remade.file(entry.file)?;
                read_exact_at(&file, at, entry.line_bytes as usize)?
            }
            None => self.ledger.line(entry)?,
        };
        Ok(line.into())
    }

    pub(super) fn line_of(self, number: u64) -> io::Result<Bytes> {
        self.line(&self.ledger.head(number)?)
    }

    /// The document of a line.
    pub(super) fn original(self, line: io::Result<Bytes>) -> nearkin::Result<Original> {
        self.remade.original(line.map_err(Error::other)?)
    }

    /// The document of a line, from the line; unless it is large, with what can set it apart.
    pub(super) fn whole(self, number: u64) -> nearkin::Result<Original> {
        let entry = self.ledger.head(number).map_err(Error::other)?;
        let line = self.line(&entry);
        if entry.line_bytes > WHOLE_BYTES_MAX {
            return self.original(line);
        }
        let line = line.map_err(Error::other)?;
        self.remade.detailed(line)
    }

    /// The document of a line, which is held for the judgement. `make` makes it.
    pub(super) fn held(
        self,
        number: u64,
        make: impl FnOnce() -> nearkin::Result<Original>,
    ) -> nearkin::Result<Original> {
        if let Some(document) = self.remade.held.get(number) {
            return Ok(document);
        }
        let document = make()?;
        self.remade.held.put(number, &document);
        Ok(document)
    }

    /// The document of a line, with what can set it apart.
    pub(super) fn detailed(self, number: u64) -> nearkin::Result<Original> {
        let Remade { reading, held, .. } = self.remade;
        let found = held.get(number);
        if let Some(document) = found.as_ref().filter(|found| found.details().is_some()) {
            return Ok(document.clone());
        }
        let raw = raw(self.line_of(number).map_err(Error::other)?);
        let document = match found {
            Some(document) => {
                let (_, text) = reading.text(raw).map_err(again)?;
                reading.sketcher().with_details(document, &text)
            }
            None => reading.detailed(raw).map_err(again)?.1,
        };
        held.put(number, &document);
        Ok(document)
    }

    /// Calls `look` with the texts of two lines; `None` for sets.
    pub(super) fn texts<T>(
        self,
        lines: &[(u64, Entry); 2],
        look: impl FnOnce(&str, &str) -> T,
    ) -> io::Result<Option<T>> {
        let (mut held, mut read) = ([None, None], [None, None]);
        for (at, (number, entry)) in lines.iter().enumerate() {
            held[at] = self.remade.held.get(*number).filter(|one| one.details().is_some());
            if held[at].is_none() {
                let text = self.remade.reading.text(raw(self.line(entry)?));
                read[at] = text.ok().map(|(_, text)| text);
            }
        }
        let text = |at: usize| match &held[at] {
            Some(document) => document.details().map(Details::text),
            None => read[at].as_deref(),
        };
        let (Some(here), Some(there)) = (text(0), text(1)) else { return Ok(None) };
        Ok(Some(look(here, there)))
    }
}

fn raw(line: Bytes) -> Raw {
    let origin = Origin::Line { file: "".into(), file_number: 0, number: 0, at: None };
    Raw { origin, body: Ok(line) }
}

/// The error for a line that could be read before.
fn again(_: Skipped) -> Error {
    Error::other(changed())
}

fn changed() -> io::Error {
    io::Error::other("the input has changed since it was read")
}
