//! Folders that are held open, and files in them by name: a link that appears in the path later
//! changes nothing. No call follows a link.

#![expect(clippy::disallowed_types, reason = "looks at the user's files, never the index's")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use nearkin_input::on_disk::{self, FileId};
use nearkin_kit::scratch;

#[cfg(unix)]
#[path = "held/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "held/windows.rs"]
mod system;

/// A folder that is held: by a descriptor, or so that Windows lets nobody move it.
#[derive(Debug)]
pub(crate) struct HeldFolder {
    held: system::Held,
    path: PathBuf,
}

impl HeldFolder {
    /// Opens a folder with an absolute path. Fails if any part of the path is a link.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { held: system::hold(path)?, path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file to read.
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<File> {
        let file = system::open(&self.held, name)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// The identity of the regular file with this name. `None` if there is none.
    pub(crate) fn id(&self, name: &OsStr) -> Option<FileId> {
        let file = self.file(name).ok()?;
        on_disk::id_of_open(&file, &file.metadata().ok()?)
    }

    /// Whether nothing has this name.
    pub(crate) fn is_free(&self, name: &OsStr) -> bool {
        system::is_free(&self.held, name)
    }

    /// Moves a file. Fails if the new name is taken.
    pub(crate) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        scratch::patiently(|| system::rename(&self.held, name, &to.held, new))
    }

    /// Moves a file to a name in the same folder that another file has.
    pub(crate) fn replace(&self, name: &OsStr, replaced: &OsStr) -> io::Result<()> {
        scratch::patiently(|| system::replace(&self.held, name, replaced))
    }

    /// Gives a file a second name.
    pub(crate) fn link(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        system::link(&self.held, name, &to.held, new)
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        scratch::patiently(|| system::remove(&self.held, name))
    }
}

impl HeldFolder {
    /// Removes an empty folder in this one.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        system::remove_folder(&self.held, name)
    }

    /// Opens a folder with an absolute path; creates it, and those above, if they are missing.
    pub(crate) fn open_or_create_all(path: &Path) -> io::Result<Self> {
        match (Self::open(path), path.parent(), path.file_name()) {
            (Err(error), Some(parent), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                Self::open_or_create_all(parent)?.open_or_create(name)
            }
            (opened, ..) => opened,
        }
    }

    /// Opens a folder in this one; creates it for this user alone if it is missing.
    pub(crate) fn open_or_create(&self, name: &OsStr) -> io::Result<Self> {
        let held = match system::folder(&self.held, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                system::create_folder(&self.held, name)?;
                system::folder(&self.held, name)?
            }
            other => other?,
        };
        Ok(Self { held, path: self.path.join(name) })
    }
}

#[cfg(unix)]
impl HeldFolder {
    /// Creates a file for this user alone. Fails if the name is taken.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        system::create(&self.held, name)
    }

    /// Whether something has this name.
    pub(crate) fn is_taken(&self, name: &OsStr) -> bool {
        system::look(&self.held, name).is_ok()
    }

    /// What the system says of the folder.
    pub(crate) fn metadata(&self) -> io::Result<std::fs::Metadata> {
        system::metadata(&self.held)
    }
}

/// The first bytes of a file.
pub(crate) fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut head)?;
    Ok(head)
}
