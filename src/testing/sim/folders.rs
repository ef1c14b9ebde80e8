//! What other processes do to the folders of an open handle: move and remove them.
//!
//! Moving or removing a folder is durable immediately. A power cut that undid it would leave a
//! state that other runs test anyway.

use super::Sim;
use super::handles::{Holders, Machine, SharedMachine};
use super::state::{Id, NameOp, NodesByPath, SimNode, clean};
use crate::storage::lock::{FolderLock, Lock, LockLost};
use crate::storage::parent_of;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

impl Sim {
    /// Resolves a path. A path below a held folder leads to where that folder is now.
    pub(super) fn place(&self, machine: &Machine, path: &Path) -> io::Result<PathBuf> {
        for (root, number) in self.held.iter().rev() {
            if let Ok(rest) = path.strip_prefix(root) {
                let Some(now) = &machine.held[*number] else {
                    return Err(io::ErrorKind::NotFound.into());
                };
                return Ok(clean(&now.join(rest)));
            }
        }
        Ok(clean(path))
    }

    /// Moves a folder, as another process would. Nothing may exist at `to`.
    pub(crate) fn move_folder(&self, from: &Path, to: &Path) {
        let mut machine = self.shared.peek();
        let (from, to) = (clean(from), clean(to));
        assert!(machine.disk.node(&to).is_none(), "there is something already");
        let moved = |path: &PathBuf| match path.strip_prefix(&from) {
            Ok(rest) => clean(&to.join(rest)),
            Err(_) => path.clone(),
        };
        machine.disk.rename_all(moved);
        for place in machine.held.iter_mut().flatten() {
            *place = moved(place);
        }
        let locks = std::mem::take(&mut machine.folder_locks);
        machine.folder_locks = locks.into_iter().map(|(at, held)| (moved(&at), held)).collect();
    }

    /// Removes a folder and its content, as another process would.
    pub(crate) fn remove_folder(&self, dir: &Path) {
        let mut machine = self.shared.peek();
        let dir = clean(dir);
        machine.disk.forget_names(|path| path.starts_with(&dir));
        for place in &mut machine.held {
            place.take_if(|place| place.starts_with(&dir));
        }
        machine.folder_locks.retain(|at, _| !at.starts_with(&dir));
    }

    /// Removes a file durably, as another process would.
    pub(crate) fn remove_file(&self, path: &Path) {
        let path = clean(path);
        self.shared.peek().disk.forget_names(|name| *name == path);
    }

    /// Wraps the lock of a file that was just locked.
    pub(super) fn locked(&self, mut machine: MutexGuard<'_, Machine>, path: &Path, id: Id) -> Lock {
        machine.disk.inode_mut(id).handles += 1;
        drop(machine);
        Lock::new(SimLock { sim: self.clone(), path: path.to_path_buf(), id })
    }
}

impl super::state::SimState {
    fn rename_all(&mut self, moved: impl Fn(&PathBuf) -> PathBuf) {
        for names in [&mut self.live, &mut self.durable] {
            *names =
                std::mem::take(names).iter().map(|(path, node)| (moved(path), *node)).collect();
        }
        for logged in &mut self.names_log {
            match &mut logged.op {
                NameOp::Link { path, .. } | NameOp::Unlink { path } => *path = moved(path),
                NameOp::Rename { from, to, .. } => (*from, *to) = (moved(from), moved(to)),
            }
        }
    }

    fn forget_names(&mut self, gone: impl Fn(&PathBuf) -> bool) {
        let keep = |names: &mut NodesByPath| names.retain(|path, _: &mut SimNode| !gone(path));
        keep(&mut self.live);
        keep(&mut self.durable);
        self.names_log.retain(|logged| match &logged.op {
            NameOp::Link { path, .. } | NameOp::Unlink { path } => !gone(path),
            NameOp::Rename { from, to, .. } => !gone(from) && !gone(to),
        });
        self.forget_unreachable();
    }
}

fn release<K: Ord + std::borrow::Borrow<Q>, Q: Ord + ?Sized>(
    locks: &mut BTreeMap<K, Holders>,
    of: &Q,
) {
    match locks.get_mut(of) {
        Some(Holders::Many(count)) if *count > 1 => *count -= 1,
        _ => drop(locks.remove(of)),
    }
}

struct SimLock {
    sim: Sim,
    path: PathBuf,
    id: Id,
}

impl SimLock {
    fn shared(&self) -> &Arc<SharedMachine> {
        &self.sim.shared
    }
}

impl FolderLock for SimLock {
    fn check(&self) -> io::Result<()> {
        planted!(LockNotChecked => return Ok(()));
        let machine = self.shared().peek();
        match self.sim.place(&machine, &self.path).ok().and_then(|at| machine.disk.node(&at)) {
            Some(SimNode::File(id)) if id == self.id => Ok(()),
            Some(_) => Err(LockLost::Replaced.into()),
            None => Err(LockLost::Removed.into()),
        }
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut machine = self.shared().peek();
        release(&mut machine.locks, &self.id);
        if let Ok(place) = self.sim.place(&machine, &self.path) {
            release(&mut machine.folder_locks, parent_of(&place));
        }
        machine.disk.close(self.id);
    }
}
