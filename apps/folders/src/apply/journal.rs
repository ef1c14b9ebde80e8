//! The journal beside a plan: what is about to happen, and what was done, a line for each. So an
//! interrupted run continues, and what is in the trash can come back.

#![expect(clippy::disallowed_types, reason = "writes the user's files, never the index's")]

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use nearkin_kit::failure::Failure;
use nearkin_kit::plan::{FileIdentity, name};
use nearkin_kit::scratch;

/// The first line of every journal; the number is that of the format.
const HEAD: &str = "nearkin-journal 1";

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Trash,
    Delete,
    Link,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The next call moves, removes or links the file.
    Begin,
    Done,
    /// It stays, for the reason in the last column.
    Stays,
    /// It came back from the trash.
    Back,
}

const DEEDS: [(Deed, &str); 3] =
    [(Deed::Trash, "trash"), (Deed::Delete, "delete"), (Deed::Link, "link")];

const PHASES: [(Phase, &str); 4] = [
    (Phase::Begin, "begin"),
    (Phase::Done, "done"),
    (Phase::Stays, "stays"),
    (Phase::Back, "back"),
];

fn word<T: Copy + PartialEq>(words: &[(T, &'static str)], value: T) -> &'static str {
    words.iter().find(|(one, _)| *one == value).map_or("", |(_, word)| word)
}

fn value<T: Copy>(words: &[(T, &str)], word: &str) -> Option<T> {
    words.iter().find(|(_, one)| *one == word).map(|(value, _)| *value)
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalEntry {
    pub(super) phase: Phase,
    pub(super) deed: Deed,
    /// What the file takes on the disk.
    pub(super) bytes: u64,
    /// How the file at `place` is recognised.
    pub(super) identity: FileIdentity,
    pub(super) path: PathBuf,
    /// Where the file is in the meantime, or in the trash; the reason of a file that stays.
    pub(super) place: PathBuf,
}

impl JournalEntry {
    fn line(&self) -> String {
        let Self { phase, deed, bytes, identity, path, place } = self;
        let (phase, deed) = (word(&PHASES, *phase), word(&DEEDS, *deed));
        let (path, place) = (name::encode(path), name::encode(place));
        format!("{phase}\t{deed}\t{bytes}\t{identity}\t{path}\t{place}\n")
    }

    fn read(line: &str) -> Option<Self> {
        let parts: Vec<_> = line.split('\t').collect();
        let [phase, deed, bytes, identity, path, place] = parts[..] else { return None };
        Some(Self {
            phase: value(&PHASES, phase)?,
            deed: value(&DEEDS, deed)?,
            bytes: bytes.parse().ok()?,
            identity: FileIdentity::from_text(identity)?,
            path: name::decode(path)?,
            place: name::decode(place)?,
        })
    }
}

/// The journal of a plan, locked.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    /// What earlier runs wrote.
    entries: Vec<JournalEntry>,
}

impl Journal {
    /// Opens the journal of a plan, or creates it.
    pub(super) fn open(plan: &Path) -> Result<Self, Failure> {
        let mut path = plan.as_os_str().to_owned();
        path.push(".journal");
        let path = PathBuf::from(path);
        let failed = |error: io::Error| Failure::writing(&path, &error);
        let mut options = File::options();
        let mut file = scratch::no_follow(options.read(true).append(true).create(true))
            .open(&path)
            .map_err(failed)?;
        // Not every file system has locks.
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let message = format!("{} is in use: this plan is being applied", path.display());
            return Err(Failure::new(message, "wait for the other run to end"));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines();
        // The first line may be cut after a power loss.
        if lines.next().is_some_and(|line| !HEAD.starts_with(line)) {
            return Err(Failure::new(
                format!("{} exists and was not written by `nearkin apply`", path.display()),
                "copy the plan to another folder, and apply it there",
            ));
        }
        let entries = lines.filter_map(JournalEntry::read).collect();
        let mut journal = Self { file, path, entries };
        if text.is_empty() {
            journal.append(&format!("{HEAD}\n"))?;
        } else if !text.ends_with('\n') {
            journal.append("\n")?;
        }
        Ok(journal)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, line: &str) -> Result<(), Failure> {
        self.file.write_all(line.as_bytes()).map_err(|error| {
            Failure::writing(&self.path, &error).advise(
                "nothing more was done; free some space, or copy the plan and its journal to \
                 another disk and apply it there",
            )
        })
    }

    /// Writes a line. It is there before anything else happens.
    pub(super) fn write(&mut self, entry: JournalEntry) -> Result<(), Failure> {
        self.append(&entry.line())?;
        self.entries.push(entry);
        Ok(())
    }

    /// Notes that an empty folder was removed.
    pub(super) fn note_folder(&mut self, path: &Path) -> Result<(), Failure> {
        self.append(&format!("done\tfolder\t0\t-\t{}\t\n", name::encode(path)))
    }

    pub(super) fn sync(&self) -> Result<(), Failure> {
        self.file.sync_all().map_err(|error| Failure::writing(&self.path, &error))
    }

    /// What was begun and has no end.
    pub(super) fn unfinished(&self) -> Vec<JournalEntry> {
        let mut open: BTreeMap<&Path, &JournalEntry> = BTreeMap::new();
        for entry in &self.entries {
            let path = entry.path.as_path();
            // A reason in place of the place is no end: the file may be there all the same.
            let is_end = open.get(path).is_some_and(|begun| begun.place == entry.place);
            match entry.phase {
                Phase::Begin => open.insert(path, entry),
                _ if is_end => open.remove(path),
                _ => None,
            };
        }
        open.into_values().cloned().collect()
    }

    /// What is in the trash, the last first.
    pub(super) fn trashed(&self) -> Vec<JournalEntry> {
        let mut there = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let file = (&entry.path, &entry.place);
            match (entry.phase, entry.deed) {
                (Phase::Done, Deed::Trash) => drop(there.insert(file, at)),
                (Phase::Back, _) => drop(there.remove(&file)),
                _ => {}
            }
        }
        let mut there: Vec<usize> = there.into_values().collect();
        there.sort_unstable();
        there.into_iter().rev().map(|at| self.entries[at].clone()).collect()
    }
}
