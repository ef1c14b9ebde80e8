//! A simulated disk for tests: power cuts, kills and failing calls.
//!
//! [`Sim`] keeps what programs see apart from what is durable, both for bytes and for names, with a
//! log of the operations in between. From these it derives the disks that a power cut could leave.
//!
//! Assumptions about the medium:
//! - Synced bytes stay, whatever is written beside them. After an unsynced overwrite, a synced
//!   sector of 512 bytes holds the old bytes or the new ones (powersafe overwrites).
//! - `File::sync` makes bytes and length durable, never the name. `sync_dir` makes the names in
//!   one folder durable, never bytes, nor the folder's own name.
//! - Name operations are atomic: after a power cut, a name refers to the old file, the new one, or
//!   one that it referred to in between.
//! - Setting a length is atomic. If a write extends a file, a power cut may leave any length in
//!   between.
//! - A rename never loses the file: the old name disappears only after the new one exists.
//!
//! Not assumed: an order of operations without a sync between them, lengths that match the bytes,
//! or zeros in ranges that were never synced. The simulation may drop a write and keep a later one
//! to the same sector: most disks are less harsh.
#![cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "fuzz targets need less than the tests")
)]

mod content;
mod crash;
mod fault;
mod folders;
mod handles;
mod lies;
mod random;
mod state;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod tests;

pub(crate) use fault::{Fault, FaultKind, Moment, Visit};

use crate::storage::Counters;
use content::FileContent;
use handles::{Machine, SharedMachine};
use state::{Inode, NodesByPath, SimNode, SimState, clean};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A disk that can lose its power. Clones refer to the same disk.
///
/// All paths lie below the root, which is written `/` or `.` and always exists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sim {
    shared: Arc<SharedMachine>,
    /// Held folders of this handle: the original path, and the index into `Machine::held`.
    held: Vec<(PathBuf, usize)>,
    /// Whether no writer held the folder when [`Sim::ask_early`] looked.
    was_free: bool,
}

impl Sim {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn with_disk(disk: SimState, capacity: Option<u64>) -> Self {
        let machine = Machine { disk, capacity, ..Machine::default() };
        Self { shared: SharedMachine::new(machine), ..Self::default() }
    }

    /// Number of operations so far that change the disk or its durable state (create, write,
    /// resize, rename, remove, sync, also of folders), including failed ones.
    pub(crate) fn ops(&self) -> u64 {
        self.shared.peek().ops
    }

    /// Cuts the power after `op` operations: all later calls fail, including reads.
    pub(crate) fn power_cut_at(&self, op: u64) {
        self.shared.peek().cut = Some(op);
    }

    /// Whether the power was cut, or the process killed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.peek().stopped().is_some()
    }

    /// Kills the process and returns the disk as the next process sees it: with all accepted
    /// writes, although those that were not durable still are not. Locks are released, and all
    /// calls on this disk and its handles fail from now on. The new disk counts its operations from
    /// zero, has no planned fault or cut, and keeps the capacity. If the power was cut before, the
    /// process counts as killed at the operation of the cut.
    pub(crate) fn kill(&self) -> Self {
        let mut machine = self.shared.peek();
        machine.killed = true;
        let mut disk = machine.disk.clone();
        for inode in disk.inodes.values_mut() {
            inode.handles = 0;
        }
        disk.forget_unreachable();
        let next = Self::with_disk(disk, machine.capacity);
        next.shared.peek().keeps_mapped = machine.keeps_mapped;
        next.shared.peek().before.is_recovering = true;
        next
    }

    /// Returns exactly `count` disks that a power cut at this moment could leave. All their content
    /// is durable. The systematic ones come first (see [`crash`]), then random ones from `seed`.
    /// The disk itself is not affected.
    pub(crate) fn crash_states(&self, seed: u64, count: usize) -> impl Iterator<Item = Self> {
        let machine = self.shared.peek();
        let capacity = machine.capacity;
        let crash = crash::Crash::new(machine.disk.clone());
        drop(machine);
        let plans = crash.plans(seed, count);
        plans.into_iter().map(move |plan| Self::with_disk(crash.state(&plan), capacity))
    }

    /// Number of operations that a power cut could undo. If it is zero, all crash states are equal.
    pub(crate) fn unsynced(&self) -> usize {
        crash::Crash::new(self.shared.peek().disk.clone()).unit_count()
    }

    /// Plans a failure. Several may be planned.
    pub(crate) fn fail(&self, fault: Fault) {
        self.shared.peek().faults.plan(fault);
    }

    /// Plans a visit, which stands for another thread or process: `visit` is called whenever an
    /// operation reaches this moment (for example, before a sync), until it returns true. `None`
    /// cancels the plan.
    pub(crate) fn visit_syncs(&self, visitor: Option<(Moment, Visit)>) {
        self.shared.peek().visitor.0 = visitor;
    }

    /// Number of calls that failed as planned.
    pub(crate) fn faults_fired(&self) -> u64 {
        self.shared.peek().faults.fired()
    }

    /// Limits the total length of all files to `bytes`. A removed file counts for as long as a
    /// handle to it is open.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.shared.peek().capacity = Some(bytes);
    }

    /// Makes the file system refuse locks.
    pub(crate) fn take_locks_away(&self) {
        self.shared.peek().without_locks = true;
    }

    /// Makes the file system refuse memory maps.
    #[cfg(unix)]
    pub(crate) fn take_maps_away(&self) {
        self.shared.peek().without_maps = true;
    }

    /// Makes the file system refuse to remove a file that is mapped, as Windows does.
    pub(crate) fn keep_mapped_files(&self) {
        self.shared.peek().keeps_mapped = true;
    }

    pub(crate) fn counters(&self) -> Counters {
        self.shared.peek().counters
    }

    /// All files by absolute path. Also works on a stopped disk.
    pub(crate) fn snapshot_of_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let machine = self.shared.peek();
        let bytes = |node: &SimNode| match node {
            SimNode::Folder => None,
            SimNode::File(id) => Some(machine.disk.inode(*id).live.to_vec()),
        };
        let files = machine.disk.live.iter();
        files.filter_map(|(path, node)| Some((path.clone(), bytes(node)?))).collect()
    }

    /// Sets the durable content of a file, and creates the file and its folders if needed. Not
    /// counted as an operation; never fails.
    pub(crate) fn overwrite(&self, path: &Path, bytes: &[u8]) {
        let mut machine = self.shared.peek();
        let path = clean(path);
        let content = FileContent::from_bytes(bytes);
        if let Some(SimNode::File(id)) = machine.disk.node(&path) {
            let handles = machine.disk.inode(id).handles;
            let durable = content.clone();
            *machine.disk.inode_mut(id) = Inode { live: content, durable, log: vec![], handles };
            return;
        }
        let durable = content.clone();
        let id = machine.disk.add_inode(Inode { live: content, durable, ..Inode::default() });
        let mut plant = |path: &Path, node| {
            let add = |names: &mut NodesByPath| *names.entry(path.to_path_buf()).or_insert(node);
            let disk = &mut machine.disk;
            assert_eq!(add(&mut disk.live), node, "{} is something else", path.display());
            add(&mut disk.durable);
        };
        plant(&path, SimNode::File(id));
        for folder in path.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
            plant(folder, SimNode::Folder);
        }
    }
}

/// The source of the `io::Error` of every call on a stopped disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskStopped {
    PowerCut,
    Killed,
}

impl DiskStopped {
    /// Whether `self` is the cause of an error.
    pub(crate) fn is_in(self, error: &io::Error) -> bool {
        let source = error.get_ref().and_then(|source| source.downcast_ref::<Self>());
        source == Some(&self)
    }
}

impl fmt::Display for DiskStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PowerCut => "simulated power cut",
            Self::Killed => "simulated kill: this disk goes on in another process",
        })
    }
}

impl std::error::Error for DiskStopped {}
