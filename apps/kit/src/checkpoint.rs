//! Small checkpoint files, from which a long run continues after an interruption.
//!
//! This module writes checkpoints and recognises unchanged input files. It does not know the
//! content of a checkpoint.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "writes notes of the tool's own runs, never the index's files"
)]

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::failure::Failure;
use crate::scratch;
use nearkin_input::on_disk;
use nearkin_input::raw::STDIN;

/// Bytes hashed at the beginning of an input file.
const HEAD_BYTES: u64 = 64 << 10;

/// Identifies the state of an input file, to detect changes between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its path.
    pub path: PathBuf,
    bytes: u64,
    /// Modification time in nanoseconds since 1970; 0 if the file system does not store one.
    modified: u128,
    /// Hash of its first 64 KiB.
    head: u64,
}

impl InputFile {
    /// Identifies a file. Returns `None` for input that cannot be read twice (stdin, pipes); fails
    /// if the file cannot be read.
    pub fn identify(path: &Path) -> Result<Option<Self>, Failure> {
        if path.as_os_str() == STDIN {
            return Ok(None);
        }
        let failed = |error: io::Error| Failure::reading(path, &error);
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let mut head = Vec::new();
        let file = File::open(path).map_err(failed)?;
        file.take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Some(Self {
            path: fs::canonicalize(path).map_err(failed)?,
            bytes: metadata.len(),
            modified: since.map_or(0, |since| since.as_nanos()),
            head: xxh3_64(&head),
        }))
    }

    /// Identifies all files; `None` if one of them cannot be read twice.
    pub fn all(paths: &[PathBuf]) -> Result<Option<Vec<Self>>, Failure> {
        paths.iter().map(|path| Self::identify(path)).collect()
    }
}

/// A folder of checkpoints. The folder may be moved, and another one created under its path; the
/// stored identity (device and inode) reveals this.
#[derive(Debug, Clone, Default)]
pub struct NoteFolder {
    path: PathBuf,
    /// The run that the notes are of.
    pub identity: Identity,
}

/// Device and inode of a folder; `None` if the system does not report them.
pub type Identity = Option<(u64, u64)>;

impl NoteFolder {
    /// The folder with this path, as it is now.
    pub fn identify(path: &Path) -> Self {
        Self { path: path.to_path_buf(), identity: identity_of(path) }
    }

    /// Whether the path still leads to the same folder. If not, the folder there is another one and
    /// must not be written to.
    pub fn is_there(&self) -> bool {
        identity_of(&self.path) == self.identity
    }

    /// The path of a note.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn identity_of(path: &Path) -> Identity {
    let id = on_disk::id(path, &fs::metadata(path).ok()?)?;
    Some((id.device, id.inode))
}

/// Writes a checkpoint to a temporary file and renames it, so that another process sees either this
/// state or the previous one. With `synced`, the checkpoint also survives power loss. Without it,
/// power loss may leave a torn file, which [`load`] recognises by its hash.
pub fn store(path: &Path, state: &impl Serialize, synced: bool) -> Result<(), Failure> {
    let line = serde_json::to_string(state).map_err(|error| writing(path, &error.into()))?;
    let write = || {
        let tmp = tmp_of(path);
        let mut file = scratch::create(&tmp)?;
        writeln!(file, "{line}\n{:016x}", xxh3_64(line.as_bytes()))?;
        if synced {
            file.sync_all()?;
        }
        scratch::rename(&tmp, path)?;
        if synced { sync_folder(path) } else { Ok(()) }
    };
    write().map_err(|error| writing(path, &error))
}

fn tmp_of(path: &Path) -> PathBuf {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    tmp.into()
}

/// Reads a checkpoint; `None` if the file is missing, torn or of another kind.
pub fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = fs::read_to_string(path).ok()?;
    let (line, hash) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    if hash != format!("{:016x}", xxh3_64(line.as_bytes())) {
        return None;
    }
    serde_json::from_str(line).ok()
}

/// Deletes a checkpoint durably: even power loss does not bring it back. Also deletes what a crash
/// left of writing it.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(tmp_of(path));
    if fs::remove_file(path).is_ok() {
        // If the sync fails, the next write to the folder reports it.
        let _ = sync_folder(path);
    }
}

/// Syncs the folder of a path, so that created and deleted names are durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    // Other systems cannot open folders, and do not need this sync.
    if !cfg!(unix) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn writing(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_whole_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        assert_eq!(load::<Vec<u64>>(&path), None);
        for synced in [false, true] {
            store(&path, &[1_u64, 2], synced).unwrap();
            assert_eq!(load::<Vec<u64>>(&path), Some(vec![1, 2]));
        }
        let whole = fs::read(&path).unwrap();
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(load::<Vec<u64>>(&path), None, "{end}");
        }
        fs::write(&path, vec![0; whole.len()]).unwrap();
        assert_eq!(load::<Vec<u64>>(&path), None);
        fs::write(tmp_of(&path), "left by a crash").unwrap();
        remove(&path);
        assert!(!tmp_of(&path).exists());
        remove(&path);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_the_unfinished_file_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("victim"), "precious").unwrap();
        std::os::unix::fs::symlink(path("victim"), path("run.tmp")).unwrap();
        store(&path("run"), &[1_u64], true).unwrap();
        assert_eq!(fs::read(path("victim")).unwrap(), b"precious");
        assert_eq!(load::<Vec<u64>>(&path("run")), Some(vec![1]));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_whose_place_another_took_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let (path, away) = (dir.path().join("i"), dir.path().join("away"));
        fs::create_dir(&path).unwrap();
        let folder = NoteFolder::identify(&path);
        assert!(folder.is_there());
        fs::rename(&path, &away).unwrap();
        assert!(!folder.is_there());
        fs::create_dir(&path).unwrap();
        assert!(!folder.is_there());
        fs::remove_dir(&path).unwrap();
        fs::rename(&away, &path).unwrap();
        assert!(folder.is_there());
    }

    #[test]
    fn a_file_that_changed_is_another_input() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in");
        let file = |text: &str| {
            fs::write(&path, text).unwrap();
            InputFile::identify(&path).unwrap().unwrap()
        };
        let first = file("one");
        assert_eq!(InputFile::identify(&path).unwrap().unwrap(), first);
        assert_ne!(file("three"), first);
        assert_ne!(file("two"), first);
        assert_eq!(InputFile::identify(Path::new("-")).unwrap(), None);
        assert!(InputFile::all(&[path.clone(), dir.path().join("typo")]).is_err());
        assert_eq!(InputFile::all(&[path, "-".into()]).unwrap(), None);
    }
}
