//! `--files-from`: the files of a list, paths with a NUL byte after each.

#![expect(clippy::disallowed_methods, reason = "reads the user's list")]

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::folder::SearchedFolder;
use nearkin_input::raw;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::{self, visible};

/// Files by their paths with all links resolved.
pub(super) type Listed = Vec<(PathBuf, Metadata)>;

/// The files of a list, by folder.
#[derive(Default)]
pub(super) struct FileList {
    pub(super) folders: Vec<(SearchedFolder, Listed)>,
    /// The number of files that are not there.
    pub(super) missing: u64,
}

/// Reads a list. Folders, links and devices in it are left out.
pub(super) fn read(list: &Path) -> Result<FileList, Failure> {
    let bytes = if list == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(list)
    };
    let bytes = bytes.map_err(|error| Failure::reading(list, &error))?;
    if !bytes.contains(&0) && bytes.contains(&b'\n') {
        let message = format!("{} has lines, and no NUL bytes", list.display());
        return Err(Failure::new(message, "end each path with a NUL byte: `find ... -print0`"));
    }
    let mut folders = BTreeMap::new();
    let mut missing = 0;
    for key in bytes.split(|byte| *byte == 0).filter(|key| !key.is_empty()) {
        let path = raw::path_of(key);
        match look(&path) {
            Ok(None) => {}
            Ok(Some((folder, name, metadata))) => {
                let (_, files) = folders.entry(folder.clone()).or_insert_with(|| {
                    let given = path.parent().filter(|given| *given != Path::new(""));
                    let given = given.unwrap_or(Path::new("."));
                    (SearchedFolder::new(folder, given, false), Listed::new())
                });
                files.push((name, metadata));
            }
            Err(error) => {
                missing += 1;
                output::warn(format!("skipped {}: {error}", visible(key)));
            }
        }
    }
    Ok(FileList { folders: folders.into_values().collect(), missing })
}

/// The folder and the path of a regular file, with links to folders resolved.
fn look(path: &Path) -> io::Result<Option<(PathBuf, PathBuf, Metadata)>> {
    let metadata = fs::symlink_metadata(path)?;
    let Some(name) = path.file_name().filter(|_| metadata.is_file()) else { return Ok(None) };
    let parent = path.parent().filter(|given| *given != Path::new(""));
    let folder = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
    let path = folder.join(name);
    Ok(Some((folder, path, metadata)))
}
