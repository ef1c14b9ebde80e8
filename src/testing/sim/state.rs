//! The state of the simulated disk: live state, durable state, and the operations in between.
//!
//! Files and names are separate: an [`Inode`] has bytes, [`NodesByPath`] maps paths to inodes. Both
//! have a live side, a durable side, and a log of the operations between the two.

use super::content::{FileContent, Patch};
use crate::storage::parent_of;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

pub(super) type Id = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SimNode {
    File(Id),
    Folder,
}

/// All names by absolute path. The root is not listed: it is always a folder.
pub(super) type NodesByPath = BTreeMap<PathBuf, SimNode>;

#[derive(Debug, Clone, Default)]
pub(super) struct SimState {
    pub(super) inodes: BTreeMap<Id, Inode>,
    pub(super) live: NodesByPath,
    pub(super) durable: NodesByPath,
    /// The name operations that lead from `durable` to `live`.
    pub(super) names_log: Vec<Logged<NameOp>>,
    next_id: Id,
    next_seq: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    pub(super) live: FileContent,
    pub(super) durable: FileContent,
    /// The data operations that lead from `durable` to `live`.
    pub(super) log: Vec<Logged<DataOp>>,
    /// Number of open handles. They keep a file that has lost its name.
    pub(super) handles: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Logged<Op> {
    /// Index of the operation among all operations on this disk.
    pub(super) seq: u64,
    pub(super) op: Op,
    pub(super) standing: Standing,
}

/// The sync state of an operation in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Not synced: the next sync makes it durable.
    Pending,
    /// A sync failed. The system considers the bytes clean, so no later sync writes them.
    Doomed,
    /// Durable, but kept in the log because it follows a lost operation.
    Fixed,
}

#[derive(Debug, Clone)]
pub(super) enum DataOp {
    Write(Patch),
    Resize(u64),
}

#[derive(Debug, Clone)]
pub(super) enum NameOp {
    Link { path: PathBuf, node: SimNode },
    Unlink { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, node: SimNode },
}

/// Normalises a path. Relative paths start at the root.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => cleaned.push(name),
            Component::ParentDir => {
                cleaned.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    cleaned
}

pub(super) fn node_in(names: &NodesByPath, path: &Path) -> Option<SimNode> {
    if path == Path::new("/") { Some(SimNode::Folder) } else { names.get(path).copied() }
}

impl SimState {
    pub(super) fn node(&self, path: &Path) -> Option<SimNode> {
        node_in(&self.live, path)
    }

    pub(super) fn inode(&self, id: Id) -> &Inode {
        self.inodes.get(&id).expect("a named or open file has an inode")
    }

    pub(super) fn inode_mut(&mut self, id: Id) -> &mut Inode {
        self.inodes.get_mut(&id).expect("a named or open file has an inode")
    }

    pub(super) fn link(&mut self, path: PathBuf, node: SimNode) {
        self.live.insert(path.clone(), node);
        self.log_name(NameOp::Link { path, node });
    }

    pub(super) fn create_file(&mut self, path: PathBuf) -> Id {
        let id = self.add_inode(Inode::default());
        self.link(path, SimNode::File(id));
        id
    }

    pub(super) fn add_inode(&mut self, inode: Inode) -> Id {
        let id = self.next_id;
        self.next_id += 1;
        self.inodes.insert(id, inode);
        id
    }

    pub(super) fn unlink(&mut self, path: PathBuf) {
        self.live.remove(&path);
        self.log_name(NameOp::Unlink { path });
    }

    pub(super) fn rename(&mut self, from: PathBuf, to: PathBuf, node: SimNode) {
        self.live.remove(&from);
        self.live.insert(to.clone(), node);
        self.log_name(NameOp::Rename { from, to, node });
    }

    pub(super) fn write(&mut self, id: Id, data: &[u8], offset: u64) {
        let patch = Patch::new(data, offset);
        let inode = self.inode_mut(id);
        inode.live.apply(&patch, patch.range());
        self.log_data(id, DataOp::Write(patch));
    }

    pub(super) fn resize(&mut self, id: Id, bytes: u64) {
        self.inode_mut(id).live.resize(bytes);
        self.log_data(id, DataOp::Resize(bytes));
    }

    pub(super) fn sync(&mut self, id: Id) {
        let inode = self.inode_mut(id);
        if inode.log.iter().any(|logged| logged.standing == Standing::Doomed) {
            for logged in &mut inode.log {
                if logged.standing == Standing::Pending {
                    logged.standing = Standing::Fixed;
                }
            }
        } else {
            inode.log.clear();
            inode.durable = inode.live.clone();
        }
    }

    pub(super) fn sync_failed(&mut self, id: Id) {
        for logged in &mut self.inode_mut(id).log {
            if logged.standing == Standing::Pending {
                logged.standing = Standing::Doomed;
            }
        }
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) {
        let folders = self.synced_with(dir);
        let within = |path: &Path| folders.contains(parent_of(path));
        for mut logged in std::mem::take(&mut self.names_log) {
            match logged.op {
                NameOp::Link { path, node } if within(&path) => {
                    self.durable.insert(path, node);
                }
                NameOp::Unlink { path } if within(&path) => {
                    self.durable.remove(&path);
                }
                NameOp::Rename { from, to, node } if within(&to) => {
                    self.durable.insert(to, node);
                    if within(&from) {
                        self.durable.remove(&from);
                    } else {
                        logged.op = NameOp::Unlink { path: from };
                        self.names_log.push(logged);
                    }
                }
                op => {
                    logged.op = op;
                    self.names_log.push(logged);
                }
            }
        }
        self.forget_unreachable();
    }

    /// The folders that a sync of `dir` makes durable: `dir`, and the folders into which names were
    /// moved from it, because an old name must not disappear durably before the new name is
    /// durable.
    fn synced_with(&self, dir: &Path) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::from([dir.to_path_buf()]);
        let mut count = 0;
        while count < folders.len() {
            count = folders.len();
            for logged in &self.names_log {
                if let NameOp::Rename { from, to, .. } = &logged.op
                    && folders.contains(parent_of(from))
                {
                    folders.insert(parent_of(to).to_path_buf());
                }
            }
        }
        folders
    }

    /// Closes a handle to a file.
    pub(super) fn close(&mut self, id: Id) {
        let inode = self.inode_mut(id);
        inode.handles -= 1;
        if inode.handles == 0 {
            self.forget_unreachable();
        }
    }

    /// Bytes in use: the total length of all files that have a name or an open handle.
    pub(super) fn used(&self) -> u64 {
        let named = ids_of(self.live.values());
        let counts = |id: &Id, inode: &Inode| named.contains(id) || inode.handles > 0;
        let used = self.inodes.iter().filter(|(id, inode)| counts(id, inode));
        used.map(|(_, inode)| inode.live.bytes()).sum()
    }

    /// Drops the files that have no handle and that no power cut can bring back.
    pub(super) fn forget_unreachable(&mut self) {
        let mut kept = ids_of(self.live.values());
        kept.extend(ids_of(self.durable.values()));
        kept.extend(ids_of(self.names_log.iter().filter_map(|logged| match &logged.op {
            NameOp::Link { node, .. } | NameOp::Rename { node, .. } => Some(node),
            NameOp::Unlink { .. } => None,
        })));
        self.inodes.retain(|id, inode| inode.handles > 0 || kept.contains(id));
    }

    fn log_name(&mut self, op: NameOp) {
        let seq = self.tick();
        self.names_log.push(Logged { seq, op, standing: Standing::Pending });
    }

    fn log_data(&mut self, id: Id, op: DataOp) {
        let seq = self.tick();
        self.inode_mut(id).log.push(Logged { seq, op, standing: Standing::Pending });
    }

    fn tick(&mut self) -> u64 {
        self.next_seq += 1;
        self.next_seq
    }
}

fn ids_of<'a>(nodes: impl Iterator<Item = &'a SimNode>) -> BTreeSet<Id> {
    nodes.filter_map(|node| if let SimNode::File(id) = node { Some(*id) } else { None }).collect()
}
