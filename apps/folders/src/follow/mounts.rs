//! Mount points in and above the followed folder. If one is gone, the files of its file system are
//! absent and not deleted, so their documents must stay.
//!
//! The mount points are remembered in the folder of the index: after a restart of the machine, an
//! absent file system looks like an empty folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::folder::Folder;
use nearkin_input::raw::{key_of, path_of};
use nearkin_kit::checkpoint::{self, NoteFolder};
use nearkin_kit::failure::Failure;

/// Name of the file with the mount points of all folders that an index follows.
const NAME: &str = "mirror.mounts";

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounted {
    pub at: PathBuf,
    /// The line of the system's table. It changes if another file system is mounted there.
    line: String,
}

/// The file systems mounted at, above or below a folder. `None` if unknown.
pub(crate) fn mounted(folder: &Folder) -> Option<Vec<Mounted>> {
    let root = folder.canonical()?;
    let table = table()?;
    let lines = table.lines().filter_map(|line| {
        let at = mount_point(line)?;
        Some(Mounted { at, line: line.to_owned() })
    });
    Some(lines.filter(|mounted| concerns(&mounted.at, root)).collect())
}

/// Whether a mount point is the folder, or lies above or below it.
fn concerns(mount_point: &Path, root: &Path) -> bool {
    root.starts_with(mount_point) || mount_point.starts_with(root)
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a table of the system, never the index's files")]
fn table() -> Option<String> {
    // Paths in it may be no UTF-8. These are kept, but with other characters: they are then not
    // found again, and do not count.
    let bytes = std::fs::read("/proc/self/mountinfo").ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(not(target_os = "linux"))]
fn table() -> Option<String> {
    None
}

/// The mount point of a line of `/proc/self/mountinfo`. `None` for the place of an automatic mount:
/// it stays when the file system is unmounted.
fn mount_point(line: &str) -> Option<PathBuf> {
    let (mount, file_system) = line.split_once(" - ")?;
    let escaped = mount.split(' ').nth(4)?;
    (file_system.split(' ').next()? != "autofs").then(|| path_of(&unescape(escaped)))
}

/// Replaces the octal escapes, such as `\040` for a blank.
fn unescape(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(|_| *first == b'\\') {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// The mount points that earlier passes have seen.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    index: NoteFolder,
    allow_empty: bool,
    known: BTreeSet<PathBuf>,
}

/// Known mount points where nothing is mounted now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Absent {
    /// The folder lies on one of them: all its files are absent.
    pub whole: Option<PathBuf>,
    /// Keys of those below the folder.
    pub keys: Vec<Vec<u8>>,
}

impl Mounts {
    /// Reads the mount points that are remembered in the folder of the index.
    ///
    /// With `allow_empty`, the user has agreed that documents of absent file systems are removed.
    pub(crate) fn read(index: &Path, allow_empty: bool) -> Self {
        let index = NoteFolder::identify(index);
        let known: Vec<Vec<u8>> = checkpoint::load(&index.file(NAME)).unwrap_or_default();
        Self { index, allow_empty, known: known.iter().map(|path| path_of(path)).collect() }
    }

    /// The known mount points in and above a folder where nothing is mounted now.
    pub(crate) fn absent(&self, folder: &Folder) -> Absent {
        let mut absent = Absent::default();
        let (Some(root), Some(now)) = (folder.canonical(), mounted(folder)) else { return absent };
        for known in self.known.iter().filter(|known| concerns(known, root)) {
            if self.allow_empty || now.iter().any(|mounted| mounted.at == *known) {
                continue;
            }
            if root.starts_with(known) {
                absent.whole = Some(known.clone());
            } else if let Some(path) = folder.spelled(known) {
                absent.keys.push(key_of(&path));
            }
        }
        absent
    }

    /// Remembers the mount points of a folder. Those that are absent stay known, unless their
    /// documents are removed.
    pub(crate) fn remember(&mut self, folder: &Folder) -> Result<(), Failure> {
        let (Some(root), Some(now)) = (folder.canonical(), mounted(folder)) else { return Ok(()) };
        let mut next = self.known.clone();
        if self.allow_empty {
            next.retain(|known| !concerns(known, root));
        }
        let below = now.iter().filter(|mounted| mounted.at.starts_with(root));
        // The deepest of the mount points above holds the folder.
        let above = now.iter().filter(|mounted| root.starts_with(&mounted.at));
        let holder = above.max_by_key(|mounted| mounted.at.as_os_str().len());
        // The root of the system is always mounted.
        let seen = below.chain(holder).filter(|mounted| mounted.at.parent().is_some());
        next.extend(seen.map(|mounted| mounted.at.clone()));
        if next == self.known || !self.index.is_there() {
            return Ok(());
        }
        self.known = next;
        let paths = self.known.iter().map(|path| path.as_os_str().as_encoded_bytes());
        checkpoint::store(&self.index.file(NAME), &paths.collect::<Vec<_>>(), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_read_with_its_escapes() {
        let line = |at: &str, kind: &str| {
            format!("36 35 98:0 /mnt1 {at} rw,noatime master:1 - {kind} /dev/root rw")
        };
        for (at, kind, expected) in [
            ("/mnt/a", "ext4", Some("/mnt/a")),
            ("/mnt/a\\040b\\134c", "ext4", Some("/mnt/a b\\c")),
            ("/mnt/a", "autofs", None),
        ] {
            assert_eq!(mount_point(&line(at, kind)), expected.map(PathBuf::from), "{at} {kind}");
        }
        assert_eq!(mount_point("36 35 98:0"), None);
    }
}
