//! The followed folder: its path as spelled by the user, its resolved path, and which keys lie in
//! it.
//!
//! This module knows names, not the content of files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use nearkin_input::raw::{key_of, native};
use nearkin_kit::failure::Failure;

/// A folder as the user spelled it.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub path: PathBuf,
    key: Vec<u8>,
    /// The path with all links resolved; `None` if the folder does not exist.
    canonical: Option<PathBuf>,
}

impl Folder {
    /// Fails if the path is not a folder, or cannot be examined.
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        let canonical = match fs::canonicalize(path) {
            Ok(canonical) => Some(canonical),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::reading(path, &error)),
        };
        if canonical.as_ref().is_some_and(|path| !path.is_dir()) {
            return Err(Failure::new(
                format!("{} is not a folder", path.display()),
                "give the folder to follow; to add single files, use `nearkin add`",
            ));
        }
        Ok(Self { path: native(path), key: key_of(path), canonical })
    }

    pub(crate) fn is_there(&self) -> bool {
        self.canonical.is_some()
    }

    /// The path with all links resolved; `None` if the folder does not exist.
    pub(crate) fn canonical(&self) -> Option<&Path> {
        self.canonical.as_deref()
    }

    /// The part of a key below the folder. `None` for keys that lie elsewhere.
    fn inside<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let rest = match self.key.as_slice() {
            b"" => key,
            b"/" => key.strip_prefix(b"/")?,
            folder => key.strip_prefix(folder)?.strip_prefix(b"/")?,
        };
        let leaves = rest.is_empty() || rest.starts_with(b"/") || rest == b"..";
        (!leaves && !rest.starts_with(b"../")).then_some(rest)
    }

    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.inside(key).is_some()
    }

    /// A hash of the resolved path of a key's file. It is the same under every spelling of the
    /// folder. `None` if the folder does not exist or the key lies elsewhere.
    pub(crate) fn place(&self, key: &[u8]) -> Option<u64> {
        Some(place(self.canonical.as_ref()?, self.inside(key)?))
    }

    /// Whether a key is another spelling of a file inside the folder. `place_of_key` is the stored
    /// hash of the file's resolved path.
    pub(crate) fn holds_under_another_name(&self, key: &[u8], place_of_key: u64) -> bool {
        let Some(canonical) = &self.canonical else { return false };
        let starts =
            key.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
        let mut ends = std::iter::once(0).chain(starts).map(|at| &key[at..]);
        ends.any(|end| !end.is_empty() && place(canonical, end) == place_of_key)
    }

    /// Converts a path reported by the system to the user's spelling of the folder.
    pub(crate) fn spelled(&self, path: &Path) -> Option<PathBuf> {
        if path.starts_with(&self.path) {
            return Some(path.to_path_buf());
        }
        let rest = path.strip_prefix(self.canonical.as_ref()?).ok()?;
        Some(if rest.as_os_str().is_empty() { self.path.clone() } else { self.path.join(rest) })
    }
}

fn place(folder: &Path, rest: &[u8]) -> u64 {
    let folder = key_of(folder);
    let folder = folder.strip_suffix(b"/").unwrap_or(&folder);
    xxh3_64(&[folder, b"/", rest].concat())
}

/// A 128-bit hash of a key, stored in sets instead of the key. Among a billion keys, the
/// probability of a collision is 10^-21.
pub(crate) fn mark(key: &[u8]) -> u128 {
    xxh3_128(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(key: &str, canonical: &str) -> Folder {
        let canonical = Some(PathBuf::from(canonical));
        Folder { path: key.into(), key: key.as_bytes().to_vec(), canonical }
    }

    #[test]
    fn keys_lie_in_the_folder_or_not() {
        for (name, inside, outside) in [
            ("docs", ["docs/a", "docs/b/c"], ["docs", "docs2/a"]),
            ("", ["a", "b/c"], ["/a", "../a"]),
            ("..", ["../a", "../b/c"], ["../../a", "a"]),
            ("/", ["/a", "/b/c"], ["a", "../a"]),
            ("/x/y", ["/x/y/a", "/x/y/b/c"], ["/x/ya", "x/y/a"]),
        ] {
            let folder = folder(name, "/somewhere");
            assert!(inside.iter().all(|key| folder.holds(key.as_bytes())), "{name}");
            assert!(!outside.iter().any(|key| folder.holds(key.as_bytes())), "{name}");
        }
    }

    #[test]
    fn another_spelling_of_the_same_file_is_found() {
        let place = folder("docs", "/home/ann/docs").place(b"docs/a/b.txt").unwrap();
        for (name, canonical, same) in [
            ("/home/ann/docs", "/home/ann/docs", true),
            ("../docs/a", "/home/ann/docs/a", true),
            ("", "/home/ann", true),
            ("/", "/", true),
            ("docs", "/home/bob/docs", false),
            ("/home/ann/docs/c", "/home/ann/docs/c", false),
        ] {
            let other = folder(name, canonical);
            let found = other.holds_under_another_name(b"docs/a/b.txt", place)
                || other.holds_under_another_name(b"home/ann/docs/a/b.txt", place);
            assert_eq!(found, same, "{name}");
        }
        let within = folder("docs/a", "/home/ann/docs/a");
        assert_eq!(within.place(b"docs/a/b.txt"), Some(place), "a folder within");
    }
}
