//! Groups of files, and what could be freed of each.

use std::collections::{BTreeMap, HashSet};

use super::files::{ExaminedFiles, File};
use super::order;
use super::preference::{Kind, Rule};
use crate::mount;

/// Groups of files as they are found: each file with its similarity to the first one.
pub(super) type FoundGroups = Vec<Vec<(usize, f64)>>;

/// A file that is like another one, and in no group: it is named below that one, and left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Below {
    /// The other one.
    pub(super) of: usize,
    pub(super) at: usize,
    pub(super) similarity: f64,
}

/// A group of files; the first is the one to keep. There is at least one.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Each file, by its position, with its similarity to the first one.
    pub(super) files: Vec<(usize, f64)>,
    /// Bytes on the disk that are freed if only the files that stay are left.
    pub(super) freed: u64,
    /// The rule by which the first file stays, for a program and for a person.
    pub(super) reason: Rule,
    /// Files that are like one of these files only.
    pub(super) below: Vec<Below>,
    /// The folder whose copies, and no others, are in this group.
    pub(super) folder: Option<usize>,
}

impl Group {
    pub(super) fn new(files: Vec<(usize, f64)>) -> Self {
        Self { files, freed: 0, reason: ("", ""), below: Vec::new(), folder: None }
    }

    /// The file to keep.
    pub(super) fn kept<'a>(&self, all: &'a ExaminedFiles) -> &'a File {
        &all.all[self.files[0].0]
    }

    /// The files that are like this one only.
    pub(super) fn below(&self, of: usize) -> impl Iterator<Item = &Below> {
        self.below.iter().filter(move |one| one.of == of)
    }

    /// Copies that are left because a program needs them.
    pub(super) fn left<'a>(&self, all: &'a ExaminedFiles) -> impl Iterator<Item = &'a File> {
        let others = self.files.iter().skip(1).map(|(at, _)| &all.all[*at]);
        others.filter(|file| !file.against && file.program.is_some())
    }

    /// The files that need not be kept.
    pub(super) fn redundant<'a>(&self, all: &'a ExaminedFiles) -> impl Iterator<Item = &'a File> {
        let others = self.files.iter().skip(1).map(|(at, _)| &all.all[*at]);
        others.filter(|file| !file.stays())
    }
}

/// The groups found, largest first.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) exact: Vec<Group>,
    pub(super) near: Vec<Group>,
    /// Files that are similar to another one, but differ in numbers, or in what is rare.
    pub(super) apart: u64,
    /// Files that could not be read again to be compared.
    pub(super) unread: u64,
    /// With `--link`: exact copies that stay, because a link would change their owner or mode.
    pub(super) other_owner: u64,
    /// With `--link`: exact copies that stay, because they are on another file system.
    pub(super) elsewhere: u64,
}

impl Groups {
    pub(super) fn of_exact(&mut self, exact: &[Vec<usize>]) {
        let group = |files: &Vec<usize>| Group::new(files.iter().map(|at| (*at, 1.0)).collect());
        self.exact = exact.iter().map(group).collect();
    }

    /// Keeps only groups that have names both inside and outside the folders of `--against`. A file
    /// with names on both sides is a group of its own.
    pub(super) fn across(&mut self, files: &ExaminedFiles) {
        for groups in [&mut self.exact, &mut self.near] {
            groups.retain(|group| {
                let mut members = group.files.iter().map(|(at, _)| &files.all[*at]);
                members.clone().any(|file| file.against) && members.any(|file| file.searched)
            });
        }
        let known: HashSet<usize> =
            self.exact.iter().flat_map(|group| &group.files).map(|(at, _)| *at).collect();
        let on_both_sides = |at: &usize| files.all[*at].against && files.all[*at].searched;
        let alone = (0..files.all.len()).filter(|at| on_both_sides(at) && !known.contains(at));
        self.exact.extend(alone.map(|at| Group::new(vec![(at, 1.0)])));
    }

    /// Splits the groups into those whose files can be hard links of one file.
    pub(super) fn linkable(&mut self, files: &ExaminedFiles, any_owner: bool) {
        let mut split = Vec::new();
        for group in std::mem::take(&mut self.exact) {
            let mut parts: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for (at, similarity) in group.files {
                let file = &files.all[at];
                let device = file.state.id.map(|id| id.device);
                let place = (device, mount::mount_id(file.path()));
                parts.entry(place).or_default().push((at, similarity));
            }
            self.elsewhere += parts.len() as u64 - 1;
            for part in parts.into_values() {
                if any_owner {
                    split.push(part);
                    continue;
                }
                let mut owners: BTreeMap<_, Vec<_>> = BTreeMap::new();
                for one in part {
                    owners.entry(files.all[one.0].owner).or_default().push(one);
                }
                self.other_owner += owners.len() as u64 - 1;
                split.extend(owners.into_values());
            }
        }
        self.exact = split.into_iter().filter(|files| files.len() > 1).map(Group::new).collect();
    }

    /// Computes the bytes that could be freed, and orders the groups by them; says why the first
    /// file of each stays.
    pub(super) fn measure(&mut self, files: &ExaminedFiles) {
        for (kind, groups) in [(Kind::Exact, &mut self.exact), (Kind::Near, &mut self.near)] {
            for group in &mut *groups {
                let freed = group.redundant(files).map(|file| file.freed).sum();
                group.freed = freed;
                group.reason = order::reason(files, &group.files, kind);
            }
            groups.sort_by(|one, other| {
                let path = |group: &Group| group.kept(files).path();
                other.freed.cmp(&one.freed).then_with(|| path(one).cmp(path(other)))
            });
        }
    }
}
