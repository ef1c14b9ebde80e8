//! A simulated disk, for tests: what a power cut, a kill or a failing call leaves behind.
//!
//! [`Sim`] keeps what programs see apart from what is durable, for bytes and for names, with a log
//! of the operations in between, and makes from them the disks that a power cut could leave. It
//! knows nothing of what is in the files.
//!
//! What is assumed of the medium:
//! - Synced bytes stay, whatever is written beside them; a sector of 512 bytes that was synced
//!   holds, after an overwrite that was not, the old bytes or the new ones (powersafe overwrites).
//! - `File::sync` makes bytes and length durable, never the name. `sync_dir` makes the names in
//!   one folder durable, never bytes, nor the folder's own name.
//! - A name is whole: it leads to the file of before, of after, or of any change in between.
//! - A length that is set is set at once; one that grows by a write may stop on the way.
//! - A rename never loses the file: its old name goes only where its new one came.
//!
//! What is not assumed: any order of operations that no sync separates, lengths that fit the
//! bytes, or zeros where nothing was ever synced. Dropping a write but keeping a later one to the
//! same sector is more than most disks do; a program that survives it survives them.
#![cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "fuzz targets need less than the tests")
)]

mod content;
mod crash;
mod fault;
mod folders;
mod handles;
mod random;
mod state;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod redb_tests;
#[cfg(test)]
mod tests;

pub(crate) use fault::{Fault, Moment, Visit, What};

use super::Counters;
use content::Content;
use handles::{Machine, Shared};
use state::{Inode, Names, Node, State, clean};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A disk that can lose its power. Clones are the same disk.
///
/// Every path lies below its root: `/`, which is `.` too, and which always exists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sim {
    shared: Arc<Shared>,
    /// The folders that this handle of the disk holds: by which path, and which of the machine's.
    held: Vec<(PathBuf, usize)>,
}

impl Sim {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn of(disk: State, capacity: Option<u64>) -> Self {
        let machine = Machine { disk, capacity, ..Machine::default() };
        Self { shared: Shared::new(machine), held: Vec::new() }
    }

    /// Operations so far that change the disk or what is durable of it (create, write, resize,
    /// rename, remove, sync, folders too), the failed ones included.
    pub(crate) fn ops(&self) -> u64 {
        self.shared.peek().ops
    }

    /// Cuts the power when `op` operations were made: every later call, reads too, fails.
    pub(crate) fn power_cut_at(&self, op: u64) {
        self.shared.peek().cut = Some(op);
    }

    /// Whether the power was cut, or the process killed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.peek().stopped().is_some()
    }

    /// Kills the process: the disk goes on as the next process sees it, with everything the
    /// system accepted and nothing more of it durable. Locks are released, and every call on this
    /// disk and its handles fails from now on. The new one counts from zero, has no fault and no
    /// cut planned, and keeps the capacity. After a cut it is a kill at that operation.
    pub(crate) fn kill(&self) -> Self {
        let mut machine = self.shared.peek();
        machine.killed = true;
        let mut disk = machine.disk.clone();
        for inode in disk.inodes.values_mut() {
            inode.handles = 0;
        }
        disk.forget_unreachable();
        Self::of(disk, machine.capacity)
    }

    /// Exactly `count` disks that a power cut at this moment could leave, all their content
    /// durable: the systematic ones first (see [`crash`]), the rest drawn from `seed`. The disk
    /// itself goes on undisturbed.
    pub(crate) fn crash_states(&self, seed: u64, count: usize) -> impl Iterator<Item = Self> {
        let machine = self.shared.peek();
        let capacity = machine.capacity;
        let crash = crash::Crash::new(machine.disk.clone());
        drop(machine);
        let plans = crash.plans(seed, count);
        plans.into_iter().map(move |plan| Self::of(crash.state(&plan), capacity))
    }

    /// How many operations a power cut could undo. At zero all crash states are equal.
    pub(crate) fn unsynced(&self) -> usize {
        crash::Crash::new(self.shared.peek().disk.clone()).unit_count()
    }

    /// Plans a failure; several may be planned.
    pub(crate) fn fail(&self, fault: Fault) {
        self.shared.peek().faults.plan(fault);
    }

    /// Has somebody come by at this moment from now on, until `visit` is content:
    /// another thread's doings, at a place known beforehand. `None`: nobody.
    pub(crate) fn visit_syncs(&self, visitor: Option<(Moment, Visit)>) {
        self.shared.peek().visitor.0 = visitor;
    }

    /// How many calls failed as planned.
    pub(crate) fn faults_fired(&self) -> u64 {
        self.shared.peek().faults.fired()
    }

    /// Makes the disk so small that its files' lengths together never exceed `bytes`. Removed
    /// files count while a handle is open.
    pub(crate) fn set_capacity(&self, bytes: u64) {
        self.shared.peek().capacity = Some(bytes);
    }

    /// Makes it a file system without locks.
    pub(crate) fn take_locks_away(&self) {
        self.shared.peek().without_locks = true;
    }

    pub(crate) fn counters(&self) -> Counters {
        self.shared.peek().counters
    }

    /// Every file there is, by absolute path. Works on a stopped disk too.
    pub(crate) fn snapshot_of_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let machine = self.shared.peek();
        let bytes = |node: &Node| match node {
            Node::Folder => None,
            Node::File(id) => Some(machine.disk.inode(*id).live.to_vec()),
        };
        let files = machine.disk.live.iter();
        files.filter_map(|(path, node)| Some((path.clone(), bytes(node)?))).collect()
    }

    /// Plants `bytes` as the durable content of a file, making it and its folders if need be.
    /// Behind everybody's back: counted nowhere, never failing.
    pub(crate) fn overwrite(&self, path: &Path, bytes: &[u8]) {
        let mut machine = self.shared.peek();
        let path = clean(path);
        let content = Content::of(bytes);
        if let Some(Node::File(id)) = machine.disk.node(&path) {
            let handles = machine.disk.inode(id).handles;
            let durable = content.clone();
            *machine.disk.inode_mut(id) = Inode { live: content, durable, log: vec![], handles };
            return;
        }
        let durable = content.clone();
        let id = machine.disk.add_inode(Inode { live: content, durable, ..Inode::default() });
        let mut plant = |path: &Path, node| {
            let add = |names: &mut Names| *names.entry(path.to_path_buf()).or_insert(node);
            let disk = &mut machine.disk;
            assert_eq!(add(&mut disk.live), node, "{} is something else", path.display());
            add(&mut disk.durable);
        };
        plant(&path, Node::File(id));
        for folder in path.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
            plant(folder, Node::Folder);
        }
    }
}

/// Why every call on a disk fails: the source of the `io::Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    PowerCut,
    Killed,
}

impl Stopped {
    /// Whether this is why a call failed.
    pub(crate) fn is_in(self, error: &io::Error) -> bool {
        let source = error.get_ref().and_then(|source| source.downcast_ref::<Self>());
        source == Some(&self)
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PowerCut => "simulated power cut",
            Self::Killed => "simulated kill: this disk goes on in another process",
        })
    }
}

impl std::error::Error for Stopped {}
