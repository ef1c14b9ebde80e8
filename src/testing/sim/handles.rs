//! Implements the storage traits on the simulated state: handles, locks, counters.
//!
//! `state` changes files and names; this module checks permissions and injects faults.

use super::content::{FileContent, at};
use super::fault::{Call, FaultKind, Faults, Moment, Visitor};
use super::lies::{Before, is_log};
use super::state::{Id, SimNode, SimState, clean};
use super::{DiskStopped, Sim};
use crate::format::bytes::wide;
use crate::storage::lock::Lock;
use crate::storage::{Counters, DirEntry, File, Map, OpenMode, Storage, parent_of};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The disk and the process that uses it.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a simulated machine")]
pub(super) struct Machine {
    pub(super) disk: SimState,
    pub(super) faults: Faults,
    pub(super) counters: Counters,
    pub(super) capacity: Option<u64>,
    pub(super) ops: u64,
    pub(super) cut: Option<u64>,
    pub(super) killed: bool,
    /// Locks on files, by inode, not by name.
    pub(super) locks: BTreeMap<Id, Holders>,
    /// Locks on folders, by current path.
    pub(super) folder_locks: BTreeMap<PathBuf, Holders>,
    /// Current path of each held folder; `None` if it was removed.
    pub(super) held: Vec<Option<PathBuf>>,
    pub(super) visitor: Visitor,
    /// Whether the file system does not support locks.
    pub(super) without_locks: bool,
    /// Whether the file system does not support memory maps.
    #[cfg(unix)]
    pub(super) without_maps: bool,
    /// Whether a mapped file cannot be removed, as on Windows.
    pub(super) keeps_mapped: bool,
    /// The maps that may still live.
    pub(super) maps: Vec<(Id, Weak<Vec<u8>>)>,
    /// Whether a call has failed since the disk stopped.
    pub(super) is_down: bool,
    /// Earlier calls, as far as planted bugs depend on them.
    pub(super) before: Before,
}

impl Machine {
    /// Fails if the file system does not support memory maps.
    fn check_maps(&self) -> io::Result<()> {
        #[cfg(unix)]
        if self.without_maps {
            return Err(crate::storage::map::no_maps());
        }
        Ok(())
    }
}

/// The holders of a lock: one exclusive holder, or the number of shared holders.
#[derive(Debug)]
pub(super) enum Holders {
    One,
    Many(u32),
}

#[derive(Debug, Default)]
pub(super) struct SharedMachine {
    machine: Mutex<Machine>,
}

impl SharedMachine {
    pub(super) fn new(machine: Machine) -> Arc<Self> {
        Arc::new(Self { machine: Mutex::new(machine) })
    }

    /// Locks the machine, even a stopped one. Poisoning is ignored, so that the message of a panic
    /// elsewhere is shown instead.
    pub(super) fn peek(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the visit planned for this moment, without holding the lock. If the power is cut during
    /// a sync, the visit comes before the cut.
    fn visit(&self, moment: Moment) {
        let mut machine = self.peek();
        let waiting = machine.visitor.0.take_if(|(awaited, _)| *awaited == moment);
        let Some((_, mut visit)) = waiting else { return };
        let (ops, is_down) = (machine.ops, machine.is_down);
        let cut = machine.cut.take_if(|cut| *cut <= ops && !is_down);
        drop(machine);
        let is_over = visit();
        let mut machine = self.peek();
        machine.cut = cut.or(machine.cut);
        if !is_over {
            machine.visitor.0.get_or_insert((moment, visit));
        }
    }

    /// Locks the machine. Fails if it is stopped.
    fn enter(&self) -> io::Result<MutexGuard<'_, Machine>> {
        let mut machine = self.peek();
        match machine.stopped() {
            Some(stopped) => {
                machine.is_down = true;
                Err(io::Error::other(stopped))
            }
            None => Ok(machine),
        }
    }
}

impl Machine {
    pub(super) fn stopped(&self) -> Option<DiskStopped> {
        match self.cut {
            _ if self.killed => Some(DiskStopped::Killed),
            Some(cut) if self.ops >= cut => Some(DiskStopped::PowerCut),
            _ => None,
        }
    }

    fn refuse_locks(&self) -> io::Result<()> {
        if self.without_locks { Err(io::ErrorKind::Unsupported.into()) } else { Ok(()) }
    }

    /// Counts a call before its effect, and returns an error if it is planned to fail.
    fn step(&mut self, call: Call) -> Result<(), FaultKind> {
        self.ops += u64::from(call.changes_state());
        self.faults.strike(call)
    }

    fn folder(&self, path: &Path) -> io::Result<()> {
        match self.disk.node(path) {
            Some(SimNode::Folder) => Ok(()),
            Some(SimNode::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn file(&self, path: &Path) -> io::Result<Id> {
        match self.disk.node(path) {
            Some(SimNode::File(id)) => Ok(id),
            Some(SimNode::Folder) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Creates the file at `path`, or empties it.
    fn create(&mut self, path: PathBuf) -> io::Result<Id> {
        self.folder(parent_of(&path))?;
        match self.disk.node(&path) {
            Some(SimNode::Folder) => Err(io::ErrorKind::IsADirectory.into()),
            Some(SimNode::File(id)) => {
                self.step(Call::Create)?;
                if self.disk.inode(id).live.bytes() > 0 {
                    self.disk.resize(id, 0);
                }
                Ok(id)
            }
            None => {
                self.step(Call::Create)?;
                Ok(self.disk.create_file(path))
            }
        }
    }

    /// The length to which the file can grow before the disk is full.
    fn room(&self, id: Id) -> u64 {
        match self.capacity {
            None => u64::MAX,
            Some(capacity) => {
                let free = capacity.saturating_sub(self.disk.used());
                self.disk.inode(id).live.bytes().saturating_add(free)
            }
        }
    }
}

impl Storage for Sim {
    fn check_map(&self, _: &Path) -> io::Result<()> {
        self.shared.peek().check_maps()
    }

    fn hold(&self, dir: &Path) -> io::Result<Arc<dyn Storage>> {
        let mut machine = self.shared.enter()?;
        let place = self.place(&machine, dir)?;
        machine.folder(&place)?;
        machine.step(Call::Open)?;
        planted!(FolderNotHeld => return Ok(Arc::new(self.clone())));
        machine.held.push(Some(place));
        let number = machine.held.len() - 1;
        drop(machine);
        let mut held = self.clone();
        held.held.push((dir.to_path_buf(), number));
        Ok(Arc::new(held))
    }

    fn is_at(&self, dir: &Path) -> io::Result<bool> {
        let machine = self.shared.enter()?;
        let now = clean(dir);
        Ok(self.place(&machine, dir).is_ok_and(|held| held == now)
            || machine.disk.node(&now).is_none())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        let mut machine = self.shared.enter()?;
        let dir = self.place(&machine, dir)?;
        if machine.disk.node(&dir).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        machine.folder(parent_of(&dir))?;
        machine.step(Call::CreateDir)?;
        machine.disk.link(dir, SimNode::Folder);
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut machine = self.shared.enter()?;
        let dir = self.place(&machine, dir)?;
        machine.folder(&dir)?;
        machine.step(Call::List)?;
        if machine.hides_files(&dir) {
            return Ok(Vec::new());
        }
        let names = machine.disk.live.iter().filter(|(path, _)| parent_of(path) == dir);
        let entries = names.map(|(path, node)| DirEntry {
            name: path.file_name().expect("a cleaned path").to_string_lossy().into_owned(),
            is_dir: *node == SimNode::Folder,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut machine = self.shared.enter()?;
        machine.before.renamed = None;
        let path = self.place(&machine, path)?;
        let id = if mode == OpenMode::Create {
            machine.create(path)?
        } else {
            let id = machine.file(&path)?;
            machine.step(Call::Open)?;
            id
        };
        machine.disk.inode_mut(id).handles += 1;
        let writable = mode != OpenMode::Read;
        Ok(Arc::new(SimFile { shared: Arc::clone(&self.shared), id, writable }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.remove_early(from, to)?;
        let mut machine = self.shared.enter()?;
        let (from, to) = (self.place(&machine, from)?, self.place(&machine, to)?);
        let id = machine.file(&from)?;
        machine.folder(parent_of(&to))?;
        if machine.disk.node(&to) == Some(SimNode::Folder) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        machine.step(Call::Rename)?;
        // POSIX: a rename between two names of the same file does nothing.
        if machine.disk.node(&to) != Some(SimNode::File(id)) {
            machine.disk.rename(from, to.clone(), SimNode::File(id));
        }
        machine.note_rename(id, &to);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let machine = self.shared.enter()?;
        let is_taken = machine.disk.node(&self.place(&machine, to)?).is_some();
        if planted!(ManifestReplaced, false, is_taken) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        drop(machine);
        self.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.shared.enter()?;
        let path = self.place(&machine, path)?;
        let id = machine.file(&path)?;
        machine.step(Call::Remove)?;
        machine.maps.retain(|(_, map)| map.strong_count() > 0);
        if machine.keeps_mapped && machine.maps.iter().any(|(mapped, _)| *mapped == id) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        machine.disk.unlink(path);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut machine = self.shared.enter()?;
        let dir = self.place(&machine, dir)?;
        machine.folder(&dir)?;
        machine.counters.syncs += 1;
        machine.step(Call::SyncDir)?;
        if !machine.skips_sync_dir(&dir) {
            machine.disk.sync_dir(&dir);
        }
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        let mut machine = self.shared.enter()?;
        let place = self.place(&machine, path)?;
        let id = if machine.disk.node(&place).is_none() {
            machine.create(place)?
        } else {
            machine.step(Call::Lock)?;
            machine.file(&place)?
        };
        machine.refuse_locks()?;
        let folder = parent_of(&self.place(&machine, path)?).to_path_buf();
        if machine.locks.contains_key(&id) || machine.folder_locks.contains_key(&folder) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        machine.locks.insert(id, Holders::One);
        machine.folder_locks.insert(folder, Holders::One);
        Ok(self.locked(machine, path, id))
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Lock> {
        let mut machine = self.shared.enter()?;
        if let Some(lock) = self.share_anyway() {
            return Ok(lock);
        }
        let place = self.place(&machine, path)?;
        let folder = parent_of(&place).to_path_buf();
        if matches!(machine.folder_locks.get(&folder), Some(Holders::One)) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let id = machine.file(&place)?;
        machine.refuse_locks()?;
        let share = |holders: &mut Holders| match holders {
            Holders::One => Err(io::Error::from(io::ErrorKind::WouldBlock)),
            Holders::Many(count) => {
                *count += 1;
                Ok(())
            }
        };
        share(machine.locks.entry(id).or_insert(Holders::Many(0)))?;
        share(machine.folder_locks.entry(folder).or_insert(Holders::Many(0)))?;
        Ok(self.locked(machine, path, id))
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.shared.visit(Moment::BeforeLink);
        let mut machine = self.shared.enter()?;
        let (from, to) = (self.place(&machine, from)?, self.place(&machine, to)?);
        let id = machine.file(&from)?;
        machine.folder(parent_of(&to))?;
        if machine.disk.node(&to).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        machine.step(Call::Rename)?;
        machine.disk.link(to, SimNode::File(id));
        Ok(())
    }

    fn counters(&self) -> Counters {
        self.shared.peek().counters
    }
}

struct SimFile {
    shared: Arc<SharedMachine>,
    id: Id,
    writable: bool,
}

impl SimFile {
    fn enter_writable(&self) -> io::Result<MutexGuard<'_, Machine>> {
        if !self.writable {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        self.shared.enter()
    }

    fn content(&self, machine: &Machine) -> FileContent {
        machine.disk.inode(self.id).live.clone()
    }
}

impl File for SimFile {
    fn bytes(&self) -> io::Result<u64> {
        let mut machine = self.shared.enter()?;
        machine.step(Call::Length)?;
        Ok(machine.disk.inode(self.id).live.bytes())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut machine = self.shared.enter()?;
        machine.counters.bytes_read += wide(buffer.len());
        machine.step(Call::Read)?;
        if !machine.disk.inode(self.id).live.read(buffer, offset) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let mut machine = self.enter_writable()?;
        machine.counters.bytes_written += wide(buffer.len());
        let (mut count, mut result) = match machine.step(Call::Write) {
            Ok(()) => (buffer.len(), Ok(())),
            Err(FaultKind::ShortWrite) => (buffer.len() / 2, Err(FaultKind::ShortWrite)),
            Err(what) => (0, Err(what)),
        };
        // On a full disk, as much is written as fits, like on a real one.
        let fits = machine.room(self.id).saturating_sub(offset);
        if wide(count) > fits {
            (count, result) = (at(fits), Err(FaultKind::Enospc));
        }
        if count > 0 {
            machine.disk.write(self.id, &buffer[..count], offset);
        }
        if machine.before.is_recovering && machine.is_named(self.id, is_log) {
            machine.before.is_recovering = false;
        }
        planted!(FullIsSuccess => if result == Err(FaultKind::Enospc)
            && machine.is_named(self.id, is_log)
        {
            result = Ok(());
        });
        Ok(result?)
    }

    /// Checks that the range was written. A successful call has no other effect here: unsynced
    /// bytes may become durable at any time anyway.
    fn start_writing(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let mut machine = self.enter_writable()?;
        let length = machine.disk.inode(self.id).live.bytes();
        assert!(bytes > 0 && offset + bytes <= length, "bytes that were not written");
        let result = machine.step(Call::StartWriting);
        if result.is_err() {
            machine.disk.sync_failed(self.id);
        }
        Ok(result?)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        let mut machine = self.enter_writable()?;
        machine.step(Call::Resize)?;
        if bytes > machine.room(self.id) {
            return Err(FaultKind::Enospc.into());
        }
        machine.disk.resize(self.id, bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.shared.visit(Moment::BeforeSync);
        let mut machine = self.shared.enter()?;
        machine.counters.syncs += 1;
        let result = machine.step(Call::Sync);
        match result {
            Ok(()) if machine.skips_sync(self.id) => {}
            Ok(()) => machine.disk.sync(self.id),
            Err(_) => machine.disk.sync_failed(self.id),
        }
        drop(machine);
        if result.is_ok() {
            self.shared.visit(Moment::AfterSync);
        }
        Ok(result?)
    }

    fn map(&self) -> io::Result<Map> {
        let mut machine = self.shared.enter()?;
        machine.step(Call::Map)?;
        machine.check_maps()?;
        let content = Arc::new(self.content(&machine).to_vec());
        machine.maps.push((self.id, Arc::downgrade(&content)));
        Ok(Map::Heap(content))
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.shared.peek().disk.close(self.id);
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimFile({})", self.id)
    }
}
