//! What a run has done, in numbers.

use serde::Serialize;

use super::journal::Deed;
use nearkin_kit::output::grouped;

/// What was done.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) trashed: u64,
    pub(super) deleted: u64,
    pub(super) linked: u64,
    pub(super) brought_back: u64,
    /// Empty folders.
    pub(super) folders_removed: u64,
    /// Files that stay, and lines that are not understood.
    pub(super) stayed: u64,
    /// Files that were not there any more, or were links already.
    pub(super) absent: u64,
    /// What the files in the trash take on the disk until it is emptied.
    pub(super) bytes_trashed: u64,
    pub(super) bytes_freed: u64,
    /// Where all of it is listed.
    pub(super) journal: String,
}

impl Tally {
    pub(super) fn add(&mut self, deed: Deed, bytes: u64) {
        match deed {
            Deed::Trash => {
                self.trashed += 1;
                self.bytes_trashed += bytes;
            }
            Deed::Delete => {
                self.deleted += 1;
                self.bytes_freed += bytes;
            }
            Deed::Link => {
                self.linked += 1;
                self.bytes_freed += bytes;
            }
        }
    }

    pub(super) fn text(&self, if_nothing: &str) -> String {
        let numbers = [
            (self.trashed, "moved to the trash"),
            (self.deleted, "deleted"),
            (self.linked, "linked"),
            (self.brought_back, "brought back"),
            (self.folders_removed, "empty folders removed"),
            (self.stayed, "stayed"),
            (self.absent, "already gone or linked"),
        ];
        let parts = numbers.iter().filter(|(number, _)| *number > 0);
        let parts: Vec<_> = parts.map(|(n, what)| format!("{} {what}", grouped(*n))).collect();
        if parts.is_empty() { if_nothing.to_owned() } else { parts.join(", ") }
    }
}
