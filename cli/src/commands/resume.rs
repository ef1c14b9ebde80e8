//! Checkpoints of `nearkin add` for files of lines: a small file in the index folder, from which
//! the same command continues after an interruption.
//!
//! The checkpoint is written only after the lines it covers are durable, so it never claims more
//! than the index holds. It is written when the run goes on with more lines, or ends early: a run
//! of one batch writes none. If it is lost or torn, lines are read again, which changes nothing.
//! The library ignores the file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nearkin::Index;
use serde::{Deserialize, Serialize};

use nearkin_input::fields::Fields;
use nearkin_input::formats::decode;
use nearkin_input::source::RowOptions;
use nearkin_kit::checkpoint::{self, Identity, InputFile, NoteFolder};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::documents::{Input, Position};
use nearkin_kit::output::{self, grouped};

/// Name of the checkpoint in the index folder.
const NAME: &str = "adding";

/// Checkpoints of other versions are ignored.
const VERSION: u32 = 4;

/// A checkpoint of a run over some files.
#[derive(Serialize, Deserialize)]
struct Note {
    version: u32,
    /// Identity of the index; `folder` is the identity of its folder. If one of them differs,
    /// another index, or a copy, is now at this path, and the checkpoint is ignored.
    index: [u8; 16],
    folder: Identity,
    files: Vec<InputFile>,
    fields: Fields,
    rows: RowOptions,
    /// The encoding of rows that the user names.
    encoding: Option<String>,
    position: Position,
    /// The last change at the time of the checkpoint. If the index has not reached this
    /// change, it was restored to an older state and lacks lines before `position`, so the
    /// checkpoint is ignored.
    change: u64,
}

impl Note {
    /// Where a run over these files goes on: where this one stopped, or where the first file begins
    /// that has changed since, such as a damaged one that was replaced. `None` if that is the
    /// beginning, or if the files are others.
    fn place_in(&self, files: &[InputFile]) -> Option<Position> {
        let pairs = || self.files.iter().zip(files);
        if self.files.len() != files.len() || !pairs().all(|(one, other)| one.path == other.path) {
            return None;
        }
        match pairs().position(|(one, other)| one != other) {
            Some(0) => None,
            Some(file) if file <= self.position.file => {
                Some(Position { file, ..Position::default() })
            }
            _ => Some(self.position),
        }
    }
}

/// Reads and writes the checkpoint of one run.
pub(crate) struct Resume {
    folder: NoteFolder,
    files: Vec<InputFile>,
    fields: Fields,
    rows: RowOptions,
    /// The checkpoint that is not stored yet.
    next: Mutex<Option<Note>>,
}

impl Resume {
    /// Looks for a checkpoint of the same files and moves `input` to its position. Returns `None`
    /// if no checkpoints are possible, because the input does not consist of lines or cannot be
    /// read twice.
    pub(crate) fn find(
        dir: &Path,
        paths: &[PathBuf],
        (fields, rows): (&Fields, &RowOptions),
        index: &Index,
        input: &mut Input,
    ) -> Result<Option<Self>, Failure> {
        let Input::Lines(lines) = input else { return Ok(None) };
        let folder = NoteFolder::identify(dir);
        let path = folder.file(NAME);
        let files = InputFile::all(paths)?;
        let note: Option<Note> = checkpoint::load(&path);
        if let (Some(note), Some(files)) = (&note, &files) {
            let named = |files: &[InputFile]| {
                files.iter().map(|file| file.path.clone()).collect::<Vec<_>>()
            };
            let same = note.version == VERSION
                && note.fields == *fields
                && note.rows == *rows
                && note.encoding.as_deref() == decode::forced_name();
            let here = note.index == index.id() && note.folder == folder.identity;
            let is_durable = note.change <= index.durable_change();
            let position = note.place_in(files).filter(|_| same && here && is_durable);
            if let Some(position) = position {
                let Position { file, line, .. } = position;
                lines.go_to(position)?;
                if let Some(path) = paths.get(file) {
                    let line = grouped(line + 1);
                    output::note(format!("resuming at line {line} of {}", path.display()));
                }
            } else if same && named(&note.files) == named(files) {
                output::note(
                    "the input or the index has changed since the interrupted run: starting from \
                     the beginning",
                );
            }
        }
        checkpoint::remove(&path);
        Ok(files.map(|files| Self {
            folder,
            files,
            fields: fields.clone(),
            rows: rows.clone(),
            next: Mutex::default(),
        }))
    }

    /// All lines before `position` are durable. Stores the checkpoint of the call before.
    pub(crate) fn reached(&self, position: Option<Position>, index: &Index) {
        let Some(position) = position else { return };
        let note = Note {
            version: VERSION,
            index: index.id(),
            folder: self.folder.identity,
            files: self.files.clone(),
            fields: self.fields.clone(),
            rows: self.rows.clone(),
            encoding: decode::forced_name().map(str::to_owned),
            position,
            change: index.snapshot().change(),
        };
        self.store(self.put(Some(note)));
    }

    /// Replaces the checkpoint that is not stored yet, and returns it.
    fn put(&self, note: Option<Note>) -> Option<Note> {
        std::mem::replace(&mut *self.next.lock().unwrap_or_else(PoisonError::into_inner), note)
    }

    fn store(&self, note: Option<Note>) {
        if let Some(note) = note
            && self.folder.is_there()
        {
            // A failure is harmless: without a checkpoint, the next run only has to read more
            // lines.
            let _ = checkpoint::store(&self.folder.file(NAME), &note, false);
        }
    }

    /// Deletes the checkpoint: the run is complete.
    pub(crate) fn finish(&self) {
        self.put(None);
        if self.folder.is_there() {
            checkpoint::remove(&self.folder.file(NAME));
        }
    }
}

impl Drop for Resume {
    /// Stores the last checkpoint of a run that ends early.
    fn drop(&mut self) {
        self.store(self.put(None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_stored_when_the_run_goes_on_or_ends_early() {
        let folder = tempfile::tempdir().unwrap();
        let params = nearkin::Params::for_threshold(0.7).build().unwrap();
        let index = Index::temporary(&params, nearkin::Options::default()).unwrap();
        let resume = || Resume {
            folder: NoteFolder::identify(folder.path()),
            files: Vec::new(),
            fields: Fields::text("id", "text"),
            rows: RowOptions::default(),
            next: Mutex::default(),
        };
        let stored = || {
            let note: Option<Note> = checkpoint::load(&folder.path().join(NAME));
            note.map(|note| note.position.line)
        };
        let at = |line| Some(Position { line, ..Position::default() });
        let one = resume();
        one.reached(at(1), &index);
        assert_eq!(stored(), None, "the run may be complete");
        one.finish();
        drop(one);
        assert_eq!(stored(), None);
        let two = resume();
        two.reached(at(1), &index);
        two.reached(at(2), &index);
        assert_eq!(stored(), Some(1));
        drop(two);
        assert_eq!(stored(), Some(2), "the run ended early");
        resume().finish();
        assert_eq!(stored(), None);
    }
}
