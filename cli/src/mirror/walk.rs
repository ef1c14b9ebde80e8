//! Scans the folder and applies the ignore rules. Reads no files except ignore files.

#![expect(clippy::disallowed_methods, reason = "reads the user's ignore files")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, Walk, WalkBuilder};

use ignore::overrides::Override;

use super::folder::Folder;
use super::memo::Stat;
use crate::output;
use crate::raw::{Reason, key_of};

/// The tool's own ignore file, with the syntax of .gitignore.
const IGNORE_FILE: &str = ".nearkinignore";

/// Names of all ignore files.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", IGNORE_FILE];

/// What to exclude.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) hidden: bool,
    pub(crate) no_ignore: bool,
    /// Path of the index, which may lie inside the folder and is skipped; `None` if it does not
    /// exist.
    pub(crate) index: Option<PathBuf>,
    /// Files and folders to leave out, whatever ignore files say.
    pub(crate) excluded: Option<Override>,
    pub(crate) one_file_system: bool,
    /// Smaller files are left out.
    pub(crate) bytes_min: u64,
}

/// The part of the folder to scan.
#[derive(Debug, Clone, Default)]
pub(crate) enum Scope {
    #[default]
    All,
    /// These paths, in the user's spelling of the folder, and everything below them.
    #[cfg_attr(not(any(feature = "watch", test)), expect(dead_code, reason = "of --watch"))]
    Below(BTreeSet<PathBuf>),
}

impl Scope {
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether a path is in the scope.
    fn holds(&self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Below(paths) => paths.iter().any(|above| path.starts_with(above)),
        }
    }

    /// Whether a folder may contain a path in the scope.
    fn enters(&self, folder: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Below(paths) => {
                paths.iter().any(|path| path.starts_with(folder) || folder.starts_with(path))
            }
        }
    }

    /// The same scope, for keys instead of paths.
    pub(crate) fn keys(&self) -> KeyScope {
        KeyScope(match self {
            Self::All => None,
            Self::Below(paths) => Some(paths.iter().map(|path| key_of(path)).collect()),
        })
    }
}

/// The keys in the scope.
pub(crate) struct KeyScope(Option<Vec<Vec<u8>>>);

impl KeyScope {
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|above| above.iter().any(|above| lies_below(key, above)))
    }
}

/// Whether a key is `above` itself, or a path below it.
pub(crate) fn lies_below(key: &[u8], above: &[u8]) -> bool {
    above.is_empty()
        || key.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// A result of the scan.
pub(crate) enum Found {
    File {
        path: PathBuf,
        stat: Stat,
    },
    /// Not a regular file, but a link or a device.
    Other {
        path: PathBuf,
        stat: Stat,
        reason: Reason,
    },
    /// This path, or something below it, could not be scanned.
    Unlisted {
        path: PathBuf,
        why: String,
    },
}

impl Found {
    /// The size of a file. `u64::MAX` for anything else, which is never too small.
    fn bytes(&self) -> u64 {
        match self {
            Self::File { stat, .. } => stat.bytes,
            Self::Other { .. } | Self::Unlisted { .. } => u64::MAX,
        }
    }
}

/// All entries of the folder that are in the scope and not excluded, in name order.
pub(crate) fn walk(folder: &Folder, rules: &Rules, scope: &Scope) -> impl Iterator<Item = Found> {
    let root = folder.path.clone();
    // Unreadable lines of ignore files are reported only when the whole folder is scanned: not
    // again for every event of `--watch`.
    let says_unread = !rules.no_ignore && scope.is_all();
    let bytes_min = rules.bytes_min;
    entries(folder, rules, scope).filter_map(move |entry| match entry {
        Ok(entry) => {
            if says_unread && entry.file_type().is_some_and(|kind| kind.is_dir()) {
                unread_rules(entry.path()).iter().for_each(output::note);
            }
            if let Some(error) = entry.error() {
                output::note(format!("an ignore file: {error}"));
            }
            found(entry).filter(|found| found.bytes() >= bytes_min)
        }
        Err(error) => unlisted(&error, &root),
    })
}

/// Errors in the ignore files of a folder. Without these warnings nobody would notice them: the
/// walker silently skips lines that it cannot read, and then includes files that should be
/// excluded.
fn unread_rules(folder: &Path) -> Vec<String> {
    let wrong = |name: &str| {
        let path = folder.join(name);
        let name = path.display();
        match fs::read(&path) {
            Ok(bytes) => {
                let valid = std::str::from_utf8(&bytes).err()?.valid_up_to();
                let line = bytes[..valid].split(|byte| *byte == b'\n').count();
                Some(format!(
                    "warning: {name} is not UTF-8 at line {line}: rules from there on are ignored"
                ))
            }
            Err(_) if !path.is_file() => None,
            Err(error) => {
                Some(format!("warning: {name} cannot be read ({error}): its rules are ignored"))
            }
        }
    };
    IGNORE_FILES.iter().filter_map(|name| wrong(name)).collect()
}

fn entries(folder: &Folder, rules: &Rules, scope: &Scope) -> Walk {
    let mut builder = WalkBuilder::new(&folder.path);
    builder
        .follow_links(false)
        .hidden(!rules.hidden)
        .ignore(!rules.no_ignore)
        .git_ignore(!rules.no_ignore)
        .git_exclude(!rules.no_ignore)
        .parents(!rules.no_ignore)
        .git_global(false)
        .require_git(false)
        .same_file_system(rules.one_file_system)
        .sort_by_file_name(std::cmp::Ord::cmp);
    if !rules.no_ignore {
        builder.add_custom_ignore_filename(IGNORE_FILE);
    }
    if let Some(excluded) = &rules.excluded {
        builder.overrides(excluded.clone());
    }
    let (index, scope) = (rules.index.clone(), Arc::new(scope.clone()));
    builder.filter_entry(move |entry| {
        if entry.depth() == 0 {
            return true;
        }
        if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return scope.holds(entry.path());
        }
        entry.file_name() != ".git"
            && scope.enters(entry.path())
            && !index.as_deref().is_some_and(|index| is_index(entry, index))
    });
    builder.build()
}

/// Whether a folder is the index (a canonical path). Compares the names first, because resolving a
/// path costs system calls.
fn is_index(entry: &DirEntry, index: &Path) -> bool {
    Some(entry.file_name()) == index.file_name()
        && fs::canonicalize(entry.path()).is_ok_and(|path| path == index)
}

fn found(entry: DirEntry) -> Option<Found> {
    let kind = entry.file_type()?;
    if entry.depth() == 0 || kind.is_dir() {
        return None;
    }
    let path = entry.into_path();
    let stat = match fs::symlink_metadata(&path) {
        Ok(metadata) => Stat::of(&metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Found::Unlisted { path, why: error.to_string() }),
    };
    Some(if kind.is_file() {
        Found::File { path, stat }
    } else if kind.is_symlink() {
        Found::Other { path, stat, reason: Reason::NotAFile("a symbolic link") }
    } else {
        Found::Other { path, stat, reason: Reason::NotAFile("a device, pipe or socket") }
    })
}

/// Converts an error of the scan to the path at or below which files may have been missed. If a
/// path other than the root was deleted in the meantime, nothing was missed. If the error names no
/// path, files may have been missed anywhere, so the path is the root.
fn unlisted(error: &ignore::Error, root: &Path) -> Option<Found> {
    let path = path_of(error).unwrap_or(root).to_path_buf();
    let gone = error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
    // Only the message of the system: the caller prints the path before it.
    let code = error.io_error().and_then(io::Error::raw_os_error);
    let why = code
        .map_or_else(|| error.to_string(), |code| io::Error::from_raw_os_error(code).to_string());
    (!gone || path == root).then_some(Found::Unlisted { path, why })
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_some_paths_and_what_is_below() {
        let scope = Scope::Below(["d/a", "d/b/c"].map(PathBuf::from).into());
        for (path, holds, enters) in [
            ("d", false, true),
            ("d/a", true, true),
            ("d/a/x", true, true),
            ("d/ab", false, false),
            ("d/b", false, true),
            ("d/b/c/x", true, true),
            ("d/b/d", false, false),
        ] {
            assert_eq!(scope.holds(Path::new(path)), holds, "{path}");
            assert_eq!(scope.enters(Path::new(path)), enters, "{path}");
            assert_eq!(scope.keys().holds(path.as_bytes()), holds, "{path}");
        }
        assert!(Scope::All.keys().holds(b"x"));
    }
}
