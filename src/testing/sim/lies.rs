//! Lies of the disk: planted bugs that need no hook in product code.
//!
//! While a bug is enabled (see [`crate::testing::planted`]), the disk reports a sync that it did
//! not do, forgets who holds a lock, or removes and writes files on its own. For the rest of the
//! engine that is the same as a caller that does too little, too much, or a right thing too early.

#![cfg_attr(not(test), expect(unused_variables, reason = "bugs are planted in unit tests only"))]

use super::Sim;
use super::handles::Machine;
use super::state::{Id, SimNode, clean};
use crate::catalog;
use crate::format::header::FileHeader;
use crate::format::wal::{RECORDS_BEGIN, RecordBuilder, RecordKind, WalHeader};
use crate::storage::lock::{FolderLock, Lock};
use crate::storage::names::{self, Ending, Names};
use crate::storage::{Storage, parent_of};
use std::io;
use std::path::Path;

const CATALOG: &str = "catalog.redb";

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Whether this is the name of a log, a spare, a segment or a dead file.
fn is_numbered(name: &str) -> bool {
    names::parse(name).is_some()
}

pub(super) fn is_log(name: &str) -> bool {
    matches!(names::parse(name), Some((_, Ending::Wal)))
}

/// What the lies need to know about earlier calls.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// If the last call was a rename: whether the new name is that of a numbered file.
    pub(super) renamed: Option<bool>,
    /// The disk outlived a process, and no log was appended to since.
    pub(super) is_recovering: bool,
}

impl Machine {
    /// Whether a name of the file has this property.
    pub(super) fn is_named(&self, id: Id, is: impl Fn(&str) -> bool) -> bool {
        let mut names = self.disk.live.iter().filter(|(_, node)| **node == SimNode::File(id));
        names.any(|(path, _)| is(name_of(path)))
    }

    /// Whether the sync of a file does nothing.
    pub(super) fn skips_sync(&self, id: Id) -> bool {
        let is_new = |name: &str| name.strip_suffix(".tmp").is_some_and(is_numbered);
        let is_over = |name: &str| ["catalog.redb.tmp", "parameters.tmp"].contains(&name);
        planted!(FileNotSynced, self.is_named(id, is_new), false)
            || planted!(ReplacementNotSynced, self.is_named(id, is_over), false)
            || planted!(ManifestNotSynced, self.is_named(id, names::is_manifest_tmp), false)
            || planted!(WalNotSynced, self.is_named(id, is_log), false)
            || planted!(TailNotFlushed, self.before.is_recovering, false)
    }

    /// Whether the sync of a folder does nothing.
    pub(super) fn skips_sync_dir(&mut self, dir: &Path) -> bool {
        let renamed = self.before.renamed.take();
        let is_mark = |path: &Path| path.extension().is_some_and(|ending| ending == "commit");
        let mut names = self.disk.live.keys().filter(|path| parent_of(path) == dir);
        let is_marked = names.any(|path| is_mark(path));
        planted!(FolderNotSynced, renamed == Some(true), false)
            || planted!(CommitNotSynced, renamed == Some(false), false)
            || planted!(CatalogNotSyncedAtOpen, renamed.is_none() && is_marked, false)
            || planted!(TailNotFlushed, self.before.is_recovering, false)
    }

    /// Whether the files of the folder are not listed: the catalog beside the folder is missing.
    pub(super) fn hides_files(&self, dir: &Path) -> bool {
        let is_orphan = || self.disk.node(&parent_of(dir).join(CATALOG)).is_none();
        planted!(
            SweepWithoutCatalog,
            ["wal", "segments"].contains(&name_of(dir)) && is_orphan(),
            false
        )
    }

    /// Called after a rename.
    pub(super) fn note_rename(&mut self, id: Id, to: &Path) {
        self.before.renamed = Some(is_numbered(name_of(to)));
        planted!(RecordBeforeListed => if is_log(name_of(to)) {
            self.write_record(id);
        });
    }

    /// Writes a record without a change to a new log.
    fn write_record(&mut self, id: Id) {
        let bytes = self.disk.inode(id).live.to_vec();
        let header = bytes.get(FileHeader::BYTES..).and_then(|rest| WalHeader::decode(rest).ok());
        let Some(WalHeader { salt, floor, .. }) = header else { return };
        let mut record = RecordBuilder::new();
        let sealed = record.seal(RecordKind::Idle, floor, RECORDS_BEGIN, salt, RECORDS_BEGIN);
        self.disk.write(id, sealed, RECORDS_BEGIN);
    }
}

impl Sim {
    /// Called before a rename. If it commits a catalog, removes files that only the catalog before
    /// it lists.
    pub(super) fn remove_early(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = planted!(InputsDeletedEarly, Some(Ending::Segment), None);
        let what = planted!(WalRetiredEarly, Some(Ending::Wal), what);
        let Some(ending) = what.filter(|_| name_of(to) == CATALOG) else { return Ok(()) };
        let row = |path| catalog::peek(self, path).ok();
        let (Some(next), Some(now)) = (row(from), row(to)) else { return Ok(()) };
        let listed = |row: &crate::format::catalog::Row| -> Vec<u64> {
            match ending {
                Ending::Wal => row.wal.iter().map(|wal| wal.number).collect(),
                _ => row.segments.iter().map(|entry| entry.number).collect(),
            }
        };
        let kept = listed(&next);
        let names = Names::new(parent_of(to));
        for number in listed(&now).into_iter().filter(|number| !kept.contains(number)) {
            self.remove(&names.numbered(number, ending))?;
        }
        Ok(())
    }

    /// Called when a reader opens the folder: it could ask for the writer now, which is too early.
    pub(crate) fn ask_early(&self, dir: &Path) -> Self {
        let is_free = || !self.shared.peek().folder_locks.contains_key(&clean(dir));
        Self { was_free: planted!(LockAskedEarly, is_free(), false), ..self.clone() }
    }

    /// The lock that a reader gets although a writer holds the folder; `None` if it gets none.
    pub(super) fn share_anyway(&self) -> Option<Lock> {
        (self.was_free || planted!(HorizonIgnored, true, false)).then(|| Lock::new(NoLock))
    }
}

/// A lock that excludes nobody.
struct NoLock;

impl FolderLock for NoLock {
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}
