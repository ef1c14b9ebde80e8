//! How far `nearkin add` has come in files of lines: a note in the index's folder, so that the
//! same command goes on there after it was interrupted.
//!
//! Written only after what it counts is durable, so it never runs ahead of the index; lost or
//! torn, lines are read again, which changes nothing. The engine knows nothing of it.

use std::path::{Path, PathBuf};

use nearkin::Index;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, Identity, InputFile, NoteFolder};
use crate::failure::Failure;
use crate::input::{Input, Position};
use crate::lines::Fields;
use crate::output::{self, grouped};

/// The note's name in the folder of the index.
const NAME: &str = "adding";

/// Notes of another version are no notes.
const VERSION: u32 = 2;

/// Where a run over some files is.
#[derive(Serialize, Deserialize)]
struct Note {
    version: u32,
    /// Identity of the index and of its folder: another index, or a copy, may take the place
    /// of either while a run goes on.
    index: [u8; 16],
    folder: Identity,
    files: Vec<InputFile>,
    fields: Fields,
    position: Position,
    /// The last change that was durable by then: an index that has gone back to an older state
    /// does not hold what was read before the position.
    change: u64,
}

/// Keeps the note of one run.
pub(crate) struct Resume {
    folder: NoteFolder,
    files: Vec<InputFile>,
    fields: Fields,
}

impl Resume {
    /// Looks for the note of a run over the same files, and lets `input` go on from there. None
    /// where there can be no note: not lines, or from where they cannot be read twice.
    pub(crate) fn find(
        dir: &Path,
        paths: &[PathBuf],
        fields: &Fields,
        index: &Index,
        input: &mut Input,
    ) -> Result<Option<Self>, Failure> {
        let Input::Lines(lines) = input else { return Ok(None) };
        let folder = NoteFolder::of(dir);
        let path = folder.file(NAME);
        let files = InputFile::all(paths)?;
        let note: Option<Note> = checkpoint::load(&path);
        if let (Some(note), Some(files)) = (&note, &files) {
            let named = |files: &[InputFile]| {
                files.iter().map(|file| file.path.clone()).collect::<Vec<_>>()
            };
            let same = note.version == VERSION && note.fields == *fields;
            let here = note.index == index.id() && note.folder == folder.identity;
            if same && here && note.files == *files && note.change <= index.durable_change() {
                let Position { file, line, .. } = note.position;
                lines.go_to(note.position)?;
                if let Some(path) = paths.get(file) {
                    let line = grouped(line + 1);
                    output::note(format!("resuming at line {line} of {}", path.display()));
                }
            } else if same && named(&note.files) == named(files) {
                output::note(
                    "the input or the index has changed since the run that was interrupted: \
                     starting from the beginning",
                );
            }
        }
        checkpoint::remove(&path);
        Ok(files.map(|files| Self { folder, files, fields: fields.clone() }))
    }

    /// Notes that all before a position is durable.
    pub(crate) fn reached(&self, position: Option<Position>, index: &Index) {
        let Some(position) = position else { return };
        let note = Note {
            version: VERSION,
            index: index.id(),
            folder: self.folder.identity,
            files: self.files.clone(),
            fields: self.fields.clone(),
            position,
            change: index.durable_change(),
        };
        if self.folder.is_there() {
            // Without it the next run reads more, no worse.
            let _ = checkpoint::store(&self.folder.file(NAME), &note, false);
        }
    }

    /// The run has come to its end: it is not to be gone on with.
    pub(crate) fn finish(&self) {
        if self.folder.is_there() {
            checkpoint::remove(&self.folder.file(NAME));
        }
    }
}
