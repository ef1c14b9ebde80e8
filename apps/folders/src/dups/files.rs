//! The files that were found.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::folder::SearchedFolder;
use super::listed::{FileList, Listed};
use super::preference::Preference;
use super::programs::Owned;
use crate::follow;
use crate::follow::selection::Selection;
use crate::follow::walk::WalkItem;
use nearkin_input::on_disk::{self, FileId};
use nearkin_input::raw::{SkippedFiles, key_of};
use nearkin_kit::failure::Failure;
use nearkin_kit::file_state::{FileState, Owner, owner};
use nearkin_kit::{interrupt, time};

/// A path to a file.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) path: PathBuf,
    /// The path, in the user's spelling of its folder.
    pub(super) shown: PathBuf,
    /// Whether this is a hard link of its own, and not another way to one of the other names.
    pub(super) is_link: bool,
    /// Whether it lies in a folder of `--against`.
    against: bool,
}

/// A file that was examined. It is one file however many paths lead to it.
#[derive(Debug)]
pub(super) struct File {
    /// The paths that were found, at least one.
    pub(super) names: Vec<Name>,
    pub(super) state: FileState,
    /// The hash of its content, if it has an exact copy.
    pub(super) sum: Option<u128>,
    /// The bytes that are freed if all these names are removed.
    pub(super) freed: u64,
    pub(super) owner: Owner,
    /// Whether the file is always kept: one of its names is in a folder of `--against`.
    pub(super) against: bool,
    /// Whether it also has a name in a folder to search.
    pub(super) searched: bool,
    /// The number of its folder among those given.
    pub(super) folder: usize,
    pub(super) preference: Preference,
    /// What program needs the file at its place.
    pub(super) program: Option<Owned>,
}

impl File {
    /// The name by which the file is read, and kept.
    pub(super) fn path(&self) -> &Path {
        self.names.first().map_or(Path::new(""), |name| &name.path)
    }

    /// The first name, as the user spells its folder.
    pub(super) fn shown(&self) -> &Path {
        self.names.first().map_or(Path::new(""), |name| &name.shown)
    }

    /// The first name outside the folders of `--against`, as the user spells its folder.
    pub(super) fn searched_as(&self) -> &Path {
        let name = self.names.iter().find(|name| !name.against);
        name.map_or(self.shown(), |name| &name.shown)
    }

    /// The time of the last change of its content, to the minute.
    pub(super) fn modified(&self) -> String {
        time::local(self.state.modified_ms(), "%Y-%m-%d %H:%M")
    }

    /// Whether the file is never removed, whichever files are copies of it.
    pub(super) fn stays(&self) -> bool {
        self.against || self.program.is_some()
    }

    /// Whether the content stays in a folder of `--against`, whatever happens to the folders to
    /// search. Not if a name there and one here are one name, say through two mounts.
    pub(super) fn is_safe(&self) -> bool {
        self.against && self.names.iter().all(|name| name.against || name.is_link)
    }

    /// The names that are hard links of their own.
    pub(super) fn links(&self) -> impl Iterator<Item = &Path> {
        self.names.iter().filter(|name| name.is_link).map(|name| name.path.as_path())
    }

    /// Adds another path to this file.
    fn add(&mut self, name: Name, folder: usize, looked: &SearchedFolder) {
        if self.names.iter().any(|known| known.path == name.path) {
            return;
        }
        let at = if folder < self.folder { 0 } else { self.names.len() };
        self.names.insert(at, name);
        self.folder = self.folder.min(folder);
        self.against |= looked.against;
        self.searched |= !looked.against;
    }
}

/// All files that were examined.
#[derive(Debug, Default)]
pub(super) struct ExaminedFiles {
    /// In the end ordered so that the first file of some near-copies is the one to keep.
    pub(super) all: Vec<File>,
    pub(super) empty: u64,
    /// Links, devices and pipes.
    pub(super) others: u64,
    /// Folders that cannot be listed.
    pub(super) unlisted: u64,
    /// Files of a list that are not there.
    pub(super) missing: u64,
    /// What symbolic links lead to.
    pub(super) targets: Vec<PathBuf>,
    /// Number of files whose texts were not compared.
    pub(super) skipped: SkippedFiles,
}

impl ExaminedFiles {
    /// Finds all files of the folders. `preferred`: the folders in the order in which their files
    /// are kept; they may lie in each other.
    pub(super) fn find(
        folders: &[SearchedFolder],
        selection: &Selection,
        preferred: &[PathBuf],
        listed: &FileList,
    ) -> Result<Self, Failure> {
        let mut files = Self { missing: listed.missing, ..Self::default() };
        let mut places: HashMap<FileId, usize> = HashMap::new();
        let mut metadata_of: Vec<Metadata> = Vec::new();
        let scanned = folders.iter().map(|folder| (folder, None));
        let listed = listed.folders.iter().map(|(folder, files)| (folder, Some(files.clone())));
        for (looked, known) in scanned.chain(listed) {
            let found = known.map_or_else(|| files.scan(looked, selection), Ok)?;
            for (path, metadata) in found {
                interrupt::check()?;
                if metadata.len() == 0 {
                    files.empty += 1;
                    continue;
                }
                let folder = preferred.iter().position(|folder| path.starts_with(folder));
                let folder = folder.unwrap_or(preferred.len());
                let state = FileState::from_metadata(&path, &metadata);
                let (shown, against) = (looked.shown(&path), looked.against);
                let name = Name { shown, path, is_link: true, against };
                if let Some(id) = state.id {
                    let next = files.all.len();
                    let at = *places.entry(id).or_insert(next);
                    if at < next {
                        files.all[at].add(name, folder, looked);
                        continue;
                    }
                }
                files.all.push(File {
                    names: vec![name],
                    state,
                    sum: None,
                    freed: 0,
                    owner: owner(&metadata),
                    against: looked.against,
                    searched: !looked.against,
                    folder,
                    preference: Preference::default(),
                    program: None,
                });
                metadata_of.push(metadata);
            }
        }
        for (file, metadata) in files.all.iter_mut().zip(&metadata_of) {
            measure(file, metadata);
        }
        Ok(files)
    }

    /// Lists a folder.
    fn scan(&mut self, looked: &SearchedFolder, selection: &Selection) -> Result<Listed, Failure> {
        let (mut others, mut unlisted) = (0, 0);
        let targets = &mut self.targets;
        let other = |item| match item {
            WalkItem::Other { path, .. } => {
                others += 1;
                targets.extend(fs::canonicalize(path));
            }
            _ => unlisted += 1,
        };
        let found = follow::files_in(&looked.path, selection, other)?;
        if !looked.against {
            self.others += others;
            self.unlisted += unlisted;
        }
        Ok(found)
    }

    /// Number of paths to a file that is known by another path.
    pub(super) fn more_names(&self) -> u64 {
        self.all.iter().map(|file| file.names.len() as u64 - 1).sum()
    }
}

/// Finds out which names are hard links, and how much is freed with all of them.
fn measure(file: &mut File, metadata: &Metadata) {
    let paths = || file.names.iter().map(|name| name.path.as_path());
    file.freed = on_disk::freed(metadata, paths());
    if file.names.len() > 1 {
        let are_links = on_disk::names(paths());
        for (name, is_link) in file.names.iter_mut().zip(are_links) {
            name.is_link = is_link;
        }
    }
}

/// The keys of all names, with the positions of their files.
pub(super) fn places(files: &ExaminedFiles) -> HashMap<Vec<u8>, usize> {
    let names = files.all.iter().enumerate();
    names
        .flat_map(|(at, file)| file.names.iter().map(move |name| (key_of(&name.path), at)))
        .collect()
}
