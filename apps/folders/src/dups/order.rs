//! Orders the files, so that the first one of each group is the one that stays.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::copy_names::CopyNames;
use super::files::{ExaminedFiles, File};
use super::preference::{Kind, Preference, Rule};
use super::programs::Programs;
use crate::args::dups::Dups;
use nearkin_kit::args::values::Stays;

/// Why the first of some files stays: the rule that sets it apart from the next one.
pub(super) fn reason(files: &ExaminedFiles, group: &[(usize, f64)], kind: Kind) -> Rule {
    let [(first, _), (next, _), ..] = group else {
        return ("against", "it is in a folder of --against");
    };
    files.all[*first].preference.compare(&files.all[*next].preference, kind).1
}

fn compare(one: &File, other: &File, kind: Kind) -> Ordering {
    one.preference.compare(&other.preference, kind).0.then_with(|| one.path().cmp(other.path()))
}

/// Orders the files as they are kept of near-copies, unless only exact copies are asked for.
/// `folders` are those given, in the order in which their files are kept. Returns the groups of
/// exact copies with the new positions, the file that is kept first.
pub(super) fn order(
    files: &mut ExaminedFiles,
    exact: &[Vec<usize>],
    folders: &[PathBuf],
    args: &Dups,
) -> Vec<Vec<usize>> {
    let keep = args.keep;
    let copies: HashSet<usize> = exact.iter().flatten().copied().collect();
    // Only these can be in a group.
    let in_groups: Vec<usize> = if args.exact {
        exact.iter().flatten().copied().collect()
    } else {
        (0..files.all.len()).collect()
    };
    if !args.programs {
        let mut programs = Programs::new(folders, &files.links);
        for at in &in_groups {
            let file = &mut files.all[*at];
            file.program = file.names.iter().find_map(|name| programs.of_file(&name.path));
        }
    }
    let unique = unique_below(files, &copies);
    let mut names = CopyNames::new();
    for at in in_groups {
        let file = &files.all[at];
        let mut preference = preference(file, folders, keep, &mut names);
        if keep != Some(Stays::First) && copies.contains(&at) {
            let above = file.path().ancestors().skip(1);
            let count = |folder: &Path| Reverse(unique.get(folder).copied().unwrap_or(0));
            preference.unique = above.map(count).collect();
        }
        files.all[at].preference = preference;
    }
    let new = if args.exact { Vec::new() } else { order_all(files) };
    let group = |group: &Vec<usize>| {
        let now = |at: &usize| new.get(*at).copied().unwrap_or(*at);
        let mut group: Vec<usize> = group.iter().map(now).collect();
        group.sort_by(|one, other| compare(&files.all[*one], &files.all[*other], Kind::Exact));
        group
    };
    exact.iter().map(group).collect()
}

/// Orders all files. Returns the new position of each.
fn order_all(files: &mut ExaminedFiles) -> Vec<usize> {
    let mut old: Vec<(usize, File)> =
        std::mem::take(&mut files.all).into_iter().enumerate().collect();
    old.sort_by(|(_, one), (_, other)| compare(one, other, Kind::Near));
    let mut new = vec![0; old.len()];
    for (at, (before, file)) in old.into_iter().enumerate() {
        new[before] = at;
        files.all.push(file);
    }
    new
}

fn preference(
    file: &File,
    folders: &[PathBuf],
    keep: Option<Stays>,
    names: &mut CopyNames,
) -> Preference {
    let (modified, path) = (file.state.modified, file.path());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name_characters = name.chars().count();
    let first = Preference {
        against: Reverse(file.against),
        program: file.program.is_some(),
        folder: file.folder,
        ..Preference::default()
    };
    let rule = match keep {
        Some(Stays::First) => return first,
        None => (0, 0),
        Some(Stays::Oldest) => (modified, 0),
        Some(Stays::Newest) => (-modified, 0),
        Some(Stays::Shortest) => (0, name_characters),
    };
    // Names above the folder are the same for all.
    let folder = folders.get(file.folder);
    let below = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    Preference {
        rule,
        copy_name: names.path_says_so(below),
        modified,
        depth: path.iter().count(),
        name_characters,
        ..first
    }
}

/// The number of files without a copy below each folder.
fn unique_below(files: &ExaminedFiles, copies: &HashSet<usize>) -> HashMap<PathBuf, u64> {
    let mut found: HashMap<PathBuf, u64> = HashMap::new();
    if copies.is_empty() {
        return found;
    }
    let mut own: HashMap<&Path, u64> = HashMap::new();
    let alone = files.all.iter().enumerate().filter(|(at, _)| !copies.contains(at));
    for (_, file) in alone {
        if let Some(folder) = file.path().parent() {
            *own.entry(folder).or_default() += 1;
        }
    }
    for (folder, count) in own {
        for above in folder.ancestors() {
            match found.get_mut(above) {
                Some(all) => *all += count,
                None => {
                    found.insert(above.to_owned(), count);
                }
            }
        }
    }
    found
}
