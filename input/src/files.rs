//! Files and folders as documents: walks folders in a fixed order and reads files in bounded
//! memory.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::vec;

use bytes::Bytes;
use walkdir::{DirEntry, WalkDir};

use super::source;
use crate::Error;
use crate::interrupt;
use crate::members::Members;
use crate::on_disk;
use crate::raw::{self, DOCUMENT_BYTES_MAX, Origin, Raw, Reason, STDIN};

/// Name of an output file until it is complete. The tool overwrites this name, so it must not be
/// one that users choose.
pub fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".nearkin-tmp");
    PathBuf::from(name)
}

/// Whether two paths name one file; the file need not exist.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    one == other
        || real(one).is_some_and(|one| real(other) == Some(one))
        || place(one).is_some_and(|one| place(other) == Some(one))
        || have_one_inode(one, other)
}

/// Whether two paths lead to one file, as hard links do.
fn have_one_inode(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| on_disk::id(path, &fs::metadata(path).ok()?);
    id(one).is_some_and(|one| id(other) == Some(one))
}

/// Whether a path lies inside a folder; the file need not exist.
pub fn lies_in(path: &Path, folder: &Path) -> bool {
    let folder = folder.canonicalize();
    folder.is_ok_and(|folder| place(path).is_some_and(|path| path.starts_with(folder)))
}

/// A path with all links in its parent folder resolved.
fn place(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Some(folder.unwrap_or(Path::new(".")).canonicalize().ok()?.join(path.file_name()?))
}

/// Iterates over the given files, and over all files in the given folders, one by one. Folders are
/// walked in name order.
pub struct Files {
    roots: vec::IntoIter<PathBuf>,
    walk: Option<walkdir::IntoIter>,
    /// The index folder, which is skipped if it lies inside a folder to add.
    index: Option<PathBuf>,
    /// Whether to include names that begin with a dot.
    hidden: bool,
    /// Files and folders that were left out because their names begin with a dot.
    hidden_left_out: u64,
    read: u64,
    /// Whether the files in archives are documents.
    archives: bool,
    /// The documents of the file that was read last, if it holds many.
    members: Option<Members>,
}

/// Whether a name is hidden by convention. Such files often hold settings and secrets.
pub fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a folder is never read, unless it is named itself: one of Git, and a trash, whose files
/// are as good as gone.
pub fn is_left_out(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == ".git") || is_trash(folder)
}

/// Whether a file lies in a trash.
pub fn is_in_trash(path: &Path) -> bool {
    path.ancestors().skip(1).any(is_trash)
}

/// Whether a folder is a trash: of a user's home folder, of another volume, of macOS, of Windows.
fn is_trash(folder: &Path) -> bool {
    let Some(name) = folder.file_name() else { return false };
    if name == "Trash" {
        return is_trash_of_home(folder);
    }
    name.as_encoded_bytes().starts_with(b".Trash-")
        || name == ".Trash"
        || name == ".Trashes"
        || name.eq_ignore_ascii_case("$RECYCLE.BIN")
}

/// Whether a folder is `Trash` in the folder of the user's data, or in that of another user.
fn is_trash_of_home(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let data =
        std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|data| data.is_absolute());
    let is_own = |data: PathBuf| data.canonicalize().is_ok_and(|data| folder == data.join("Trash"));
    folder.ends_with(".local/share/Trash") || data.is_some_and(is_own)
}

impl Files {
    /// Checks that all paths exist before anything is done: a mistyped path must not lead to an
    /// index of the other paths only.
    pub fn new(roots: Vec<PathBuf>) -> Result<Self, Error> {
        for root in &roots {
            fs::metadata(root).map_err(|error| Error::reading(root, &error))?;
        }
        let roots = roots.into_iter();
        let (walk, index, members, hidden, archives) = (None, None, None, false, false);
        Ok(Self { roots, walk, index, hidden, hidden_left_out: 0, read: 0, archives, members })
    }

    /// Sets whether to include names in folders that begin with a dot; never `.git`.
    #[must_use]
    pub fn hidden(mut self, hidden: bool) -> Self {
        self.hidden = hidden;
        self
    }

    /// Sets whether the files in ZIP and tar archives are documents. Fails in a build that does not
    /// read archives.
    pub fn archives(mut self, archives: bool) -> Result<Self, Error> {
        if archives && !cfg!(feature = "archives") {
            let advice = "build nearkin with `--features full`";
            return Err(Error::new("--archives: this build reads no archives", advice));
        }
        self.archives = archives;
        Ok(self)
    }

    /// Skips the folder `index`.
    #[must_use]
    pub fn except(mut self, index: &Path) -> Self {
        // If the path cannot be resolved, the folder does not exist and nothing needs to be
        // skipped.
        self.index = fs::canonicalize(index).ok();
        self
    }

    /// The number of files, or of those found before a signal. Walks the folders, but reads no
    /// file.
    pub fn count(&self) -> u64 {
        let (roots, index) = (self.roots.clone(), self.index.clone());
        let counting = Self { roots, walk: None, index, members: None, ..*self };
        counting.entries().take_while(|_| !interrupt::came()).count() as u64
    }

    /// Number of files and folders left out so far because their names begin with a dot.
    pub fn hidden_left_out(&self) -> u64 {
        self.hidden_left_out
    }

    /// Files read so far.
    pub fn files_read(&self) -> u64 {
        self.read
    }

    /// Reads the next document: a file, or one of a file that holds many. The normalised path of
    /// the file serves as key, or begins it.
    pub fn next(&mut self) -> Option<Raw> {
        loop {
            if let Some(members) = &mut self.members {
                if let Some(raw) = members.next() {
                    return Some(raw);
                }
                self.hidden_left_out += members.hidden_left_out();
                self.members = None;
            }
            let (path, file) = self.next_entry()?;
            self.read += 1;
            let (name, body) = (raw::key_of(&path), file.and_then(|()| read(&path)));
            let body = body.map(Bytes::from);
            self.members = Members::of(&path, &name, &body, (self.archives, self.hidden));
            if self.members.is_none() {
                return Some(Raw { origin: Origin::File { name, path }, body });
            }
        }
    }

    fn entries(mut self) -> impl Iterator<Item = (PathBuf, Result<(), Reason>)> {
        std::iter::from_fn(move || self.next_entry())
    }

    /// The next path that is not a folder, and whether it can be read as a file.
    fn next_entry(&mut self) -> Option<(PathBuf, Result<(), Reason>)> {
        loop {
            let Some(walk) = &mut self.walk else {
                let root = self.roots.next()?;
                let walk = WalkDir::new(raw::native(&root)).sort_by_file_name();
                self.walk = Some(walk.into_iter());
                continue;
            };
            let entry = match walk.next() {
                None => {
                    self.walk = None;
                    continue;
                }
                Some(Ok(entry)) => entry,
                Some(Err(error)) => {
                    let path = error.path().map(Path::to_path_buf).unwrap_or_default();
                    return Some((path, Err(Reason::Unreadable(message_of(&error)))));
                }
            };
            // A path given by the user is read, whatever its name.
            let name = entry.file_name();
            let is_dir = entry.file_type().is_dir();
            let is_never_read = name == ".git" || (is_dir && is_left_out(entry.path()));
            if entry.depth() > 0 && (is_never_read || (is_hidden(name) && !self.hidden)) {
                self.hidden_left_out += u64::from(!self.hidden && is_hidden(name));
                if entry.file_type().is_dir() {
                    walk.skip_current_dir();
                }
                continue;
            }
            if is_folder(&entry) {
                if self.index.as_deref().is_some_and(|index| is_same(&entry, index)) {
                    walk.skip_current_dir();
                }
                continue;
            }
            let file = if entry.depth() == 0 || entry.file_type().is_file() {
                // A path given by the user is always read, even if it is a pipe.
                Ok(())
            } else if entry.file_type().is_symlink() {
                Err(Reason::NotAFile("a symbolic link"))
            } else {
                Err(Reason::NotAFile("a device, pipe or socket"))
            };
            return Some((entry.into_path(), file));
        }
    }
}

/// The error message without the path, which the caller prints in front of it.
fn message_of(error: &walkdir::Error) -> String {
    error.io_error().map_or_else(|| error.to_string(), ToString::to_string)
}

fn is_folder(entry: &DirEntry) -> bool {
    // For a root that is a link, walkdir enters the folder but still reports a link.
    entry.file_type().is_dir() || (entry.depth() == 0 && entry.path().is_dir())
}

/// Whether a folder is `index` (a canonical path). Compares the names first, because resolving a
/// path costs system calls. A folder given by the user is always resolved: its name may be a link
/// or `.`, and thus differ from that of the index.
fn is_same(entry: &DirEntry, index: &Path) -> bool {
    (entry.depth() == 0 || Some(entry.file_name()) == index.file_name())
        && fs::canonicalize(entry.path()).is_ok_and(|path| path == index)
}

/// Reads a whole file, up to the maximum document size.
pub fn read(path: &Path) -> Result<Vec<u8>, Reason> {
    read_open(File::open(path).map_err(|error| Reason::Unreadable(error.to_string()))?)
}

/// Reads a whole file, or stdin for `-`, up to the maximum document size.
pub fn read_or_stdin(path: &Path) -> Result<Vec<u8>, Reason> {
    if path.as_os_str() == STDIN { read_bounded(std::io::stdin().lock(), 0) } else { read(path) }
}

/// Reads a whole open file, up to the maximum document size.
pub fn read_open(file: File) -> Result<Vec<u8>, Reason> {
    let length = file.metadata().map_err(|error| Reason::Unreadable(error.to_string()))?.len();
    if length > DOCUMENT_BYTES_MAX as u64 {
        return Err(Reason::TooLarge);
    }
    // Do not trust the length: it is 0 for a pipe, and a file may grow while it is read.
    read_bounded(file, usize::try_from(length).unwrap_or(0))
}

fn read_bounded(from: impl Read, expected: usize) -> Result<Vec<u8>, Reason> {
    let mut bytes = Vec::with_capacity(expected);
    from.take(DOCUMENT_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Reason::Unreadable(error.to_string()))?;
    if bytes.len() > DOCUMENT_BYTES_MAX { Err(Reason::TooLarge) } else { Ok(bytes) }
}

/// Opens a file of lines, or stdin for `-`, and decompresses it. Returns a name for messages, and
/// the reader.
pub fn open(path: &Path) -> Result<(String, Box<dyn Read>), Error> {
    let source = source::open(path, None)?;
    Ok((source.name, source.reader))
}

/// Size of a file of lines, if known in advance; fails if the file does not exist. Does not open
/// the file: a pipe can be opened only once.
pub fn length(path: &Path) -> Result<Option<u64>, Error> {
    if path.as_os_str() == STDIN {
        return Ok(None);
    }
    let metadata = fs::metadata(path).map_err(|error| Error::reading(path, &error))?;
    if metadata.is_dir() {
        return Err(Error::new(format!("{} is a folder", path.display()), "give a file in it"));
    }
    Ok(metadata.is_file().then_some(metadata.len()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "scratch files are no index")]

    use super::*;

    #[test]
    fn folders_are_walked_in_order_without_links_and_the_index() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for folder in ["b", "my.nearkin/wal", "b/my.nearkin"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        for folder in [".git", "b/.ssh"] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        for file in ["b/2", "b/1", "c", "a", "my.nearkin/wal/1", "b/my.nearkin/x"] {
            fs::write(path(file), file).unwrap();
        }
        for file in [".git/config", "b/.ssh/key", "b/.env"] {
            fs::write(path(file), file).unwrap();
        }
        let mut files =
            Files::new(vec![dir.path().to_path_buf()]).unwrap().except(&path("my.nearkin"));
        assert_eq!(files.count(), 5);
        let mut found = Vec::new();
        while let Some(raw) = files.next() {
            let Origin::File { path, .. } = raw.origin else { panic!("not a file") };
            let name = path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned();
            assert_eq!(raw.body, Ok(name.replace('\\', "/").into()));
            found.push(name.replace('\\', "/"));
        }
        assert_eq!(found, ["a", "b/1", "b/2", "b/my.nearkin/x", "c"]);
        assert_eq!(files.files_read(), 5);
        assert_eq!(files.hidden_left_out(), 3);
        let files = Files::new(vec![dir.path().to_path_buf()]).unwrap().hidden(true);
        assert_eq!(files.except(&path("my.nearkin")).count(), 7, "all but .git");
        let files = Files::new(vec![path("b/.ssh"), path("b/.env")]).unwrap();
        assert_eq!(files.count(), 2, "what is given is read");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_named_in_folders_and_followed_when_given() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("folder")).unwrap();
        fs::write(path("folder/file"), "text").unwrap();
        std::os::unix::fs::symlink(path("folder/file"), path("folder/link")).unwrap();
        std::os::unix::fs::symlink(path("folder"), path("link")).unwrap();
        let bodies = |root: &str| {
            let mut files = Files::new(vec![path(root)]).unwrap();
            std::iter::from_fn(move || files.next()).map(|raw| raw.body).collect::<Vec<_>>()
        };
        let text = Ok(Bytes::from("text"));
        let link = Err(Reason::NotAFile("a symbolic link"));
        assert_eq!(bodies("folder"), [text.clone(), link.clone()]);
        assert_eq!(bodies("link"), [text.clone(), link]);
        assert_eq!(bodies("folder/link"), [text]);
    }

    #[test]
    fn a_path_that_is_not_there_is_an_error_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let paths = vec![dir.path().to_path_buf(), dir.path().join("typo")];
        let failure = Files::new(paths).err().unwrap().to_string();
        assert!(failure.contains("typo"), "{failure}");
    }
}
