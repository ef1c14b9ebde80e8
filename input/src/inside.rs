//! Files below one folder, for clients that must not read any other file.
//!
//! A path that leads out of the folder is treated like one that does not exist, and nothing outside
//! is touched on its behalf.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::fs::File;
use std::path::{Component, Path, PathBuf};

use crate::Error;
use crate::raw;

/// The folder below which files may be read.
#[derive(Debug)]
pub struct Inside {
    /// The folder with all links resolved.
    real: PathBuf,
    /// The folder as it was given, made absolute: keys may begin with it.
    given: PathBuf,
}

impl Inside {
    /// Fails if `folder` is not a folder.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::reading(folder, &error);
        let given = std::path::absolute(folder).map_err(failed)?;
        let real = folder.canonicalize().map_err(failed)?;
        if !real.is_dir() {
            let not_one = format!("{} is not a folder", folder.display());
            return Err(Error::new(not_one, "give the folder that the texts lie in"));
        }
        Ok(Self { real, given })
    }

    /// The folder, with all links resolved.
    pub fn folder(&self) -> &Path {
        &self.real
    }

    /// Opens the file with this key: a path relative to the folder, or an absolute path below it.
    /// Returns `None` if the path leads out of the folder, or to anything but a regular file.
    pub fn open(&self, key: &[u8]) -> Option<File> {
        let file = self.open_beneath(&self.below(key)?)?;
        // A file may have been replaced between the check of its kind and its opening.
        file.metadata().is_ok_and(|data| data.is_file()).then_some(file)
    }

    /// The path of the file with this key, with all links resolved.
    pub fn path(&self, key: &[u8]) -> Option<PathBuf> {
        Some(self.real.join(self.below(key)?))
    }

    /// The path below the folder, with all links resolved.
    fn below(&self, key: &[u8]) -> Option<PathBuf> {
        let path = raw::path_of(key);
        if path.components().any(|part| part == Component::ParentDir) {
            return None;
        }
        // An absolute path elsewhere ends here, before it is looked up.
        let path = if path.has_root() || path.is_absolute() {
            path.strip_prefix(&self.real).or_else(|_| path.strip_prefix(&self.given))
        } else {
            Ok(path.as_path())
        };
        let real = self.real.join(path.ok()?).canonicalize().ok()?;
        Some(real.strip_prefix(&self.real).ok()?.to_path_buf())
    }

    /// Opens a path whose links are resolved. It is walked folder by folder and follows no link, so
    /// that a folder that becomes a link meanwhile leads nowhere. Opening never waits, as it would
    /// for a pipe, and reading fails where it would wait.
    #[cfg(unix)]
    fn open_beneath(&self, path: &Path) -> Option<File> {
        use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat};
        // Such a handle needs no permission to list the folder.
        #[cfg(target_os = "linux")]
        let pass = OFlags::PATH;
        #[cfg(not(target_os = "linux"))]
        let pass = OFlags::RDONLY;
        let pass = pass | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut folder = openat(CWD, &self.real, pass, Mode::empty()).ok()?;
        for part in path.parent()? {
            folder = openat(&folder, part, pass, Mode::empty()).ok()?;
        }
        let name = path.file_name()?;
        // A device is not even opened: that alone can start it.
        let status = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return None;
        }
        openat(&folder, name, read | OFlags::CLOEXEC, Mode::empty()).ok().map(File::from)
    }

    #[cfg(not(unix))]
    fn open_beneath(&self, path: &Path) -> Option<File> {
        let path = self.real.join(path);
        // Opening a pipe could wait.
        path.metadata().is_ok_and(|data| data.is_file()).then(|| File::open(path).ok())?
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "scratch files are no index")]

    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    fn text(inside: &Inside, key: impl AsRef<[u8]>) -> Option<String> {
        let mut text = String::new();
        inside.open(key.as_ref())?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn only_regular_files_below_the_folder_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("root/sub")).unwrap();
        for file in ["root/a", "root/sub/b", "secret", "roots"] {
            std::fs::write(path(file), file).unwrap();
        }
        symlink(path("root"), path("link")).unwrap();
        symlink("sub/b", path("root/to-b")).unwrap();
        symlink(path("secret"), path("root/to-secret")).unwrap();
        symlink("../..", path("root/sub/up")).unwrap();
        symlink("/dev/zero", path("root/zero")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path("root/pipe")).status();
        assert!(made.unwrap().success());
        let inside = Inside::new(&path("link")).unwrap();
        let absolute = |name: &str| path(name).into_os_string().into_encoded_bytes();
        for (key, found) in [
            (b"a".to_vec(), "root/a"),
            (b"sub/b".to_vec(), "root/sub/b"),
            (b"to-b".to_vec(), "root/sub/b"),
            (absolute("root/a"), "root/a"),
            (absolute("link/sub/b"), "root/sub/b"),
        ] {
            assert_eq!(text(&inside, &key).as_deref(), Some(found), "{key:?}");
        }
        for key in ["../secret", "sub/../../secret", "sub/../a", "to-secret", "sub/up/secret"] {
            assert_eq!(text(&inside, key), None, "{key}");
        }
        for key in ["pipe", "zero", "sub", "", ".", "/", "/etc/passwd", "/proc/self/environ"] {
            assert!(inside.open(key.as_bytes()).is_none(), "{key}");
        }
        for outside in ["secret", "roots", "link/../secret"] {
            assert_eq!(text(&inside, absolute(outside)), None, "{outside}");
        }
        assert!(Inside::new(&path("secret")).is_err() && Inside::new(&path("none")).is_err());
    }

    #[test]
    fn a_path_below_that_becomes_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("root/sub")).unwrap();
        std::fs::create_dir_all(path("other")).unwrap();
        for file in ["root/sub/a", "other/a"] {
            std::fs::write(path(file), file).unwrap();
        }
        let inside = Inside::new(&path("root")).unwrap();
        let resolved = inside.below(b"sub/a").unwrap();
        assert!(inside.open_beneath(&resolved).is_some());
        std::fs::remove_dir_all(path("root/sub")).unwrap();
        symlink(path("other"), path("root/sub")).unwrap();
        assert!(inside.open_beneath(&resolved).is_none());
    }
}
