//! Folders of which all or most files are copies of files in one other folder: one line instead of
//! a group for each file.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::files::ExaminedFiles;
use super::folder::{SearchedFolder, shown};
use super::groups::Groups;
use nearkin_kit::output::{self, counted, grouped};

/// Fewest copies in a folder that are worth a line.
const COPIES_MIN: u64 = 2;

/// A folder at least half of whose files are copies.
#[derive(Debug)]
pub(super) struct FolderCopy {
    /// As the user spells it.
    pub(super) path: PathBuf,
    /// The folder with the files that stay.
    pub(super) of: PathBuf,
    /// The number of its files that are in `of`.
    pub(super) copies: u64,
    /// The number of all its files.
    pub(super) files: u64,
    /// Whether both folders have the same files by the same names.
    pub(super) whole: bool,
    pub(super) freed: u64,
}

impl FolderCopy {
    /// A line about it, with both paths as `spell` writes them.
    pub(super) fn text(&self, spell: impl Fn(&Path) -> String) -> String {
        let (path, of) = (spell(&self.path), spell(&self.of));
        let (files, freed) = (counted(self.files, "file"), output::bytes(self.freed));
        if self.whole {
            return format!("folder {path} is a copy of {of} ({files}, {freed} could be freed)");
        }
        let copies = grouped(self.copies);
        format!("{copies} of {files} of folder {path} are in {of} ({freed} could be freed)")
    }
}

/// A file that may go.
struct CopiedFile<'a> {
    path: &'a Path,
    /// The file that stays.
    kept: &'a Path,
    freed: u64,
    /// The group that both are in.
    group: usize,
}

/// For each folder, the one that has most copies of its files, and their number.
type Matches<'a> = HashMap<&'a Path, (&'a Path, u64)>;

/// Finds the folders, those that free most first. Puts the groups of which all copies are in such
/// folders first, folder by folder.
pub(super) fn find(
    groups: &mut Groups,
    files: &ExaminedFiles,
    searched: &[SearchedFolder],
) -> Vec<FolderCopy> {
    let mut copied = Vec::new();
    for (at, group) in groups.exact.iter().enumerate() {
        let kept = group.kept(files).path();
        let of = |path, freed| CopiedFile { path, kept, freed, group: at };
        copied.extend(group.redundant(files).map(|file| of(file.path(), file.freed)));
    }
    let mut own: HashMap<&Path, u64> = HashMap::new();
    for file in if copied.is_empty() { &[][..] } else { &files.all } {
        if let Some(folder) = file.path().parent() {
            *own.entry(folder).or_default() += 1;
        }
    }
    let mut totals: HashMap<&Path, u64> = HashMap::new();
    for (folder, count) in own {
        for folder in from(folder, searched) {
            *totals.entry(folder).or_default() += count;
        }
    }
    let chosen = chosen(&matches(&copied, searched), &totals);
    let mut found: HashMap<&Path, FolderCopy> = HashMap::new();
    let (mut folder_of, mut others) = (HashMap::new(), HashSet::new());
    for one in &copied {
        let place = above(one.path, searched).find_map(|folder| chosen.get_key_value(folder));
        let Some((folder, of)) = place.filter(|(_, of)| one.kept.starts_with(of)) else {
            others.insert(one.group);
            continue;
        };
        let entry = found.entry(folder).or_insert_with(|| FolderCopy {
            path: shown(folder, searched),
            of: shown(of, searched),
            copies: 0,
            files: totals[folder],
            whole: totals[folder] == totals[of],
            freed: 0,
        });
        entry.copies += 1;
        entry.freed += one.freed;
        entry.whole &= one.path.strip_prefix(folder).ok() == one.kept.strip_prefix(of).ok();
        folder_of.entry(one.group).or_insert(*folder);
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|(_, one), (_, other)| {
        other.freed.cmp(&one.freed).then_with(|| one.path.cmp(&other.path))
    });
    let place: HashMap<&Path, usize> =
        found.iter().enumerate().map(|(at, (folder, _))| (*folder, at)).collect();
    for (at, group) in groups.exact.iter_mut().enumerate() {
        let folder = folder_of.get(&at).filter(|_| !others.contains(&at));
        group.folder = folder.map(|folder| place[folder]);
    }
    groups.exact.sort_by_key(|group| group.folder.unwrap_or(usize::MAX));
    let whole = |folder: &FolderCopy| folder.whole && folder.copies == folder.files;
    let found = found.into_iter().map(|(_, folder)| folder);
    found.map(|folder| FolderCopy { whole: whole(&folder), ..folder }).collect()
}

/// The folders that a file lies in, the nearest first, up to one of those to search: what is above
/// was not looked at as a whole.
fn above<'a>(path: &'a Path, searched: &[SearchedFolder]) -> impl Iterator<Item = &'a Path> {
    path.parent().into_iter().flat_map(|folder| from(folder, searched))
}

/// A folder, and those that it lies in.
fn from<'a>(path: &'a Path, searched: &[SearchedFolder]) -> impl Iterator<Item = &'a Path> {
    let is_in = |path: &Path| searched.iter().any(|folder| path.starts_with(&folder.path));
    path.ancestors().take_while(move |path| is_in(path))
}

fn matches<'a>(copied: &[CopiedFile<'a>], searched: &[SearchedFolder]) -> Matches<'a> {
    let mut direct: HashMap<(&Path, &Path), u64> = HashMap::new();
    for one in copied {
        if let (Some(folder), Some(of)) = (one.path.parent(), one.kept.parent()) {
            *direct.entry((folder, of)).or_default() += 1;
        }
    }
    let mut counts: HashMap<(&Path, &Path), u64> = HashMap::new();
    for ((inner, kept_in), count) in direct {
        for folder in from(inner, searched).take_while(|folder| !kept_in.starts_with(folder)) {
            // A folder around this one counts only for the files directly in it.
            let apart = |of: &&Path| !folder.starts_with(of) || *of == kept_in;
            for of in from(kept_in, searched).filter(apart) {
                *counts.entry((folder, of)).or_default() += count;
            }
        }
    }
    let mut best: Matches<'a> = HashMap::new();
    for ((folder, of), count) in counts {
        // The inner one of folders with equally many says more.
        let worth = |(of, count): (&'a Path, u64)| (count, of.components().count(), Reverse(of));
        let entry = best.entry(folder).or_insert((of, count));
        if worth((of, count)) > worth(*entry) {
            *entry = (of, count);
        }
    }
    best
}

/// The folders to name: the outermost ones, but not around a single one that has all the copies.
fn chosen<'a>(matches: &Matches<'a>, totals: &HashMap<&Path, u64>) -> HashMap<&'a Path, &'a Path> {
    let has_all = |(folder, (_, count)): (&&'a Path, &(&'a Path, u64))| {
        let parent = folder.parent()?;
        (matches.get(parent)?.1 == *count).then_some(parent)
    };
    let passed: HashSet<&Path> = matches.iter().filter_map(has_all).collect();
    let mut outer_first: Vec<_> = matches.iter().collect();
    outer_first.sort_unstable_by_key(|(folder, _)| folder.components().count());
    let mut chosen = HashMap::new();
    for (folder, (of, count)) in outer_first {
        let most = *count * 2 >= totals.get(folder).copied().unwrap_or(0);
        let is_inner = || folder.ancestors().skip(1).any(|above| chosen.contains_key(above));
        if *count >= COPIES_MIN && most && !passed.contains(folder) && !is_inner() {
            chosen.insert(*folder, *of);
        }
    }
    chosen
}
