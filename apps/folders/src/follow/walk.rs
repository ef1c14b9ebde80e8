//! Scans the folder and applies the ignore rules. Reads no files except ignore files.

#![expect(clippy::disallowed_methods, reason = "reads the user's ignore files")]

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, Walk, WalkBuilder};

use ignore::overrides::Override;

use super::folder::Folder;
use super::memo::Stat;
use nearkin_input::files;
use nearkin_input::raw::{Reason, key_of};
use nearkin_kit::output;

/// The tool's own ignore file, with the syntax of .gitignore.
const IGNORE_FILE: &str = ".nearkinignore";

/// Names of all ignore files.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", IGNORE_FILE];

/// Git's own ignore file, relative to the folder of the repository.
#[cfg_attr(not(any(feature = "watch", test)), expect(dead_code, reason = "of --watch"))]
pub(crate) const EXCLUDE_FILE: &str = ".git/info/exclude";

/// What to exclude.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub hidden: bool,
    pub(crate) no_ignore: bool,
    /// Path of the index, which may lie inside the folder and is skipped; `None` if it does not
    /// exist.
    pub index: Option<PathBuf>,
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
pub(crate) enum WalkItem {
    /// A folder, or the followed folder itself.
    Folder {
        /// Number of entries, without hidden ones and the index; 0 if they are not counted.
        children: u64,
    },
    File {
        path: PathBuf,
        metadata: Metadata,
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

impl WalkItem {
    /// The size of a file. `u64::MAX` for anything else, which is never too small.
    fn bytes(&self) -> u64 {
        match self {
            Self::File { metadata, .. } => metadata.len(),
            Self::Folder { .. } | Self::Other { .. } | Self::Unlisted { .. } => u64::MAX,
        }
    }
}

/// All entries of the folder that are in the scope and not excluded, in name order.
pub(crate) fn walk(
    folder: &Folder,
    rules: &Rules,
    scope: &Scope,
) -> impl Iterator<Item = WalkItem> {
    let root = folder.path.clone();
    // What ignore rules left out, and their unreadable lines, are reported only when the whole
    // folder is scanned: not again for every event of `--watch`.
    let is_reported = !rules.no_ignore && scope.is_all();
    let rules = rules.clone();
    entries(folder, &rules, scope).filter_map(move |entry| match entry {
        Ok(entry) => {
            if let Some(error) = entry.error() {
                output::note(format!("an ignore file: {error}"));
            }
            // If the followed folder is a link, its entry has the type of a link.
            if entry.depth() == 0 || entry.file_type().is_some_and(|kind| kind.is_dir()) {
                let children = if is_reported { children(entry.path(), &rules) } else { 0 };
                return Some(WalkItem::Folder { children });
            }
            found(entry).filter(|found| found.bytes() >= rules.bytes_min)
        }
        Err(error) => unlisted(&error, &root),
    })
}

/// Counts the entries of a folder that only ignore rules can exclude. Prints warnings about its
/// ignore files.
fn children(folder: &Path, rules: &Rules) -> u64 {
    // If the folder cannot be listed, the scan reports that.
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut children = 0;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if IGNORE_FILES.iter().any(|ignore_file| name == *ignore_file) {
            unread_rules(&entry.path()).iter().for_each(output::note);
        }
        let is_folder = || entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = name == ".git"
            || (!rules.hidden && files::is_hidden(&name))
            || (is_folder() && files::is_left_out(&entry.path()));
        let is_index = |index| is_index(&entry.path(), index);
        children += u64::from(!is_hidden && !rules.index.as_deref().is_some_and(is_index));
    }
    children
}

/// A warning about an ignore file, if part of it does not count. Without the warning nobody would
/// notice: the walker silently skips lines that it cannot read, and then includes files that should
/// be excluded.
fn unread_rules(path: &Path) -> Option<String> {
    let name = path.display();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(_) if !path.is_file() => return None,
        Err(error) => {
            return Some(format!(
                "warning: {name} cannot be read ({error}): its rules are ignored"
            ));
        }
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) => {
            let line = text.lines().position(differs_from_git)? + 1;
            Some(format!(
                "warning: {name} line {line}: braces, and classes such as [[:alpha:]], do not mean \
                 what they mean to Git"
            ))
        }
        Err(error) => {
            let valid = &bytes[..error.valid_up_to()];
            let line = valid.split(|byte| *byte == b'\n').count();
            Some(format!(
                "warning: {name} is not UTF-8 at line {line}: rules from there on are ignored"
            ))
        }
    }
}

/// Whether the walker reads a rule in another way than Git. To Git, braces are ordinary characters.
fn differs_from_git(rule: &str) -> bool {
    !rule.starts_with('#') && (rule.contains(['{', '}']) || rule.contains("[[:"))
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
        // The paths of one folder are in the order of their names, which cost more to find.
        .sort_by_file_path(|one, other| one.as_os_str().cmp(other.as_os_str()));
    if !rules.no_ignore {
        builder.add_custom_ignore_filename(IGNORE_FILE);
    }
    if let Some(excluded) = &rules.excluded {
        builder.overrides(excluded.clone());
    }
    let (index, scope) = (rules.index.clone(), Arc::new(scope.clone()));
    let hidden = rules.hidden;
    builder.filter_entry(move |entry| {
        if entry.depth() == 0 {
            return true;
        }
        // The builder alone would include hidden names that an ignore file whitelists. Rules such
        // as `!*/` are meant for what Git tracks, and not to publish keys and passwords.
        if !hidden && files::is_hidden(entry.file_name()) {
            return false;
        }
        if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
            return scope.holds(entry.path());
        }
        !files::is_left_out(entry.path())
            && scope.enters(entry.path())
            && !index.as_deref().is_some_and(|index| is_index(entry.path(), index))
    });
    builder.build()
}

/// Whether a folder is the index (a canonical path). Compares the names first, because resolving a
/// path costs system calls.
fn is_index(path: &Path, index: &Path) -> bool {
    path.file_name() == index.file_name() && fs::canonicalize(path).is_ok_and(|path| path == index)
}

fn found(entry: DirEntry) -> Option<WalkItem> {
    let kind = entry.file_type()?;
    let path = entry.into_path();
    let metadata = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(WalkItem::Unlisted { path, why: error.to_string() }),
    };
    let stat = Stat::from_metadata(&metadata);
    Some(if kind.is_file() {
        WalkItem::File { path, metadata }
    } else if kind.is_symlink() {
        WalkItem::Other { path, stat, reason: Reason::NotAFile("a symbolic link") }
    } else {
        WalkItem::Other { path, stat, reason: Reason::NotAFile("a device, pipe or socket") }
    })
}

/// Converts an error of the scan to the path at or below which files may have been missed. If a
/// path other than the root was deleted in the meantime, nothing was missed. If the error names no
/// path, files may have been missed anywhere, so the path is the root.
fn unlisted(error: &ignore::Error, root: &Path) -> Option<WalkItem> {
    let path = path_of(error).unwrap_or(root).to_path_buf();
    let gone = error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
    // Only the message of the system: the caller prints the path before it.
    let code = error.io_error().and_then(io::Error::raw_os_error);
    let why = code
        .map_or_else(|| error.to_string(), |code| io::Error::from_raw_os_error(code).to_string());
    (!gone || path == root).then_some(WalkItem::Unlisted { path, why })
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
#[path = "walk_tests.rs"]
mod git_tests;

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
