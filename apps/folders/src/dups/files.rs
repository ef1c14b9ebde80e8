//! The files that were found.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::folder::SearchedFolder;
use super::listed::FileList;
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
    /// Ordered for near-copies, so that the first file of some is the one to keep. In the order in
    /// which they were found if only exact copies are asked for.
    pub(super) all: Vec<File>,
    pub(super) empty: u64,
    /// Links, devices and pipes.
    pub(super) others: u64,
    /// Folders that cannot be listed.
    pub(super) unlisted: u64,
    /// Files of a list that are not there.
    pub(super) missing: u64,
    /// Symbolic links, and what else is no file.
    pub(super) links: Vec<PathBuf>,
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
        listed: FileList,
    ) -> Result<Self, Failure> {
        let mut files = Self { missing: listed.missing, ..Self::default() };
        let mut places = Placement { preferred, known: HashMap::new(), shared: HashMap::new() };
        for looked in folders {
            follow::items_in(&looked.path, selection, |item| {
                interrupt::check()?;
                match item {
                    WalkItem::File { path, metadata } => {
                        files.add(looked, path, metadata, &mut places);
                    }
                    WalkItem::Other { path, .. } => {
                        files.others += u64::from(!looked.against);
                        files.links.push(path);
                    }
                    _ => files.unlisted += u64::from(!looked.against),
                }
                Ok(())
            })?;
        }
        for (looked, listed) in listed.folders {
            for (path, metadata) in listed {
                files.add(&looked, path, metadata, &mut places);
            }
        }
        for (at, metadata) in &places.shared {
            measure(&mut files.all[*at], metadata);
        }
        Ok(files)
    }

    /// Adds a file, or another path to a file that is known.
    fn add(
        &mut self,
        looked: &SearchedFolder,
        path: PathBuf,
        metadata: Metadata,
        places: &mut Placement<'_>,
    ) {
        if metadata.len() == 0 {
            self.empty += 1;
            return;
        }
        let folder = places.preferred.iter().position(|folder| path.starts_with(folder));
        let folder = folder.unwrap_or(places.preferred.len());
        let state = FileState::from_metadata(&path, &metadata);
        let freed = on_disk::freed(&metadata, [path.as_path()]);
        let (shown, against) = (looked.shown(&path), looked.against);
        let name = Name { shown, path, is_link: true, against };
        if let Some(id) = state.id {
            let next = self.all.len();
            let at = *places.known.entry(id).or_insert(next);
            if at < next {
                self.all[at].add(name, folder, looked);
                places.shared.insert(at, metadata);
                return;
            }
        }
        self.all.push(File {
            names: vec![name],
            state,
            sum: None,
            freed,
            owner: owner(&metadata),
            against,
            searched: !against,
            folder,
            preference: Preference::default(),
            program: None,
        });
    }

    /// Number of paths to a file that is known by another path.
    pub(super) fn more_names(&self) -> u64 {
        self.all.iter().map(|file| file.names.len() as u64 - 1).sum()
    }
}

/// The positions of files that were found.
struct Placement<'a> {
    /// The folders in the order in which their files are kept.
    preferred: &'a [PathBuf],
    known: HashMap<FileId, usize>,
    /// Files with several paths.
    shared: HashMap<usize, Metadata>,
}

/// Finds out which names are hard links, and how much is freed with all of them.
fn measure(file: &mut File, metadata: &Metadata) {
    let paths = || file.names.iter().map(|name| name.path.as_path());
    file.freed = on_disk::freed(metadata, paths());
    let are_links = on_disk::names(paths());
    for (name, is_link) in file.names.iter_mut().zip(are_links) {
        name.is_link = is_link;
    }
}

/// The keys of all names, with the positions of their files.
pub(super) fn places(files: &ExaminedFiles) -> HashMap<Vec<u8>, usize> {
    let names = files.all.iter().enumerate();
    names
        .flat_map(|(at, file)| file.names.iter().map(move |name| (key_of(&name.path), at)))
        .collect()
}
