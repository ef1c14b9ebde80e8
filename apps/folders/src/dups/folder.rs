//! The folders to search, and how the user spelled them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::dups::Dups;
use nearkin_input::on_disk;
use nearkin_input::raw;
use nearkin_kit::failure::Failure;

/// A folder to search.
pub(super) struct SearchedFolder {
    /// The path with all links resolved.
    pub(super) path: PathBuf,
    /// The path as the user spelled it.
    given: PathBuf,
    /// Whether the files of this folder are always kept (`--against`).
    pub(super) against: bool,
}

impl SearchedFolder {
    pub(super) fn new(path: PathBuf, given: &Path, against: bool) -> Self {
        Self { path, given: raw::native(given), against }
    }

    /// A path in this folder, in the user's spelling.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        if self.given == self.path {
            return path.to_owned();
        }
        match path.strip_prefix(&self.path) {
            Ok(rest) if rest == Path::new("") => self.given.clone(),
            Ok(rest) if self.given == Path::new(".") => rest.to_owned(),
            Ok(rest) => self.given.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    /// Whether two folders are one, by the same path or by another, or one lies in the other.
    fn overlaps(&self, path: &Path) -> bool {
        let id = |path: &Path| on_disk::id(path, &fs::metadata(path).ok()?);
        path.starts_with(&self.path)
            || self.path.starts_with(path)
            || id(path).is_some_and(|one| id(&self.path) == Some(one))
    }
}

/// A path in one of the folders, in the user's spelling.
pub(super) fn shown(path: &Path, folders: &[SearchedFolder]) -> PathBuf {
    let folder = folders.iter().find(|folder| path.starts_with(&folder.path));
    folder.map_or_else(|| path.to_owned(), |folder| folder.shown(path))
}

/// The folders to search. A folder inside another one is dropped if both are given in the same way:
/// as folders to search, or as reference folders (`--against`).
pub(super) fn folders(args: &Dups) -> Result<Vec<SearchedFolder>, Failure> {
    let mut found: Vec<SearchedFolder> = Vec::new();
    let given = args.against.iter().map(|path| (path, true));
    for (given, against) in given.chain(args.folders.iter().map(|path| (path, false))) {
        let path = fs::canonicalize(given).map_err(|error| Failure::reading(given, &error))?;
        if !path.is_dir() {
            return Err(Failure::new(
                format!("{} is not a folder", given.display()),
                "name the folders to search",
            ));
        }
        if let Some(other) = found.iter().find(|other| other.against && !against)
            && other.overlaps(&path)
        {
            return Err(Failure::new(
                format!("{} and {} overlap", given.display(), other.given.display()),
                "the folders overlap, so a file would be compared with itself: name two separate \
                 folders",
            ));
        }
        let is_part =
            |other: &SearchedFolder| other.against == against && path.starts_with(&other.path);
        if found.iter().any(is_part) {
            continue;
        }
        found.retain(|other| other.against != against || !other.path.starts_with(&path));
        found.push(SearchedFolder::new(path, given, against));
    }
    Ok(found)
}
