//! Groups the files: exact copies, and near-copies among the remaining files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use nearkin::Index;

use crate::failure::Failure;
use crate::interrupt;
use crate::progress::{Progress, Unit};
use crate::row_count::EqualRows;

/// A file that was examined.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// The path, in the user's spelling of its folder.
    pub(super) shown: PathBuf,
    pub(super) key: Vec<u8>,
    pub(super) bytes: u64,
    /// Whether the file is always kept (`--against`).
    pub(super) against: bool,
}

/// All files that were examined.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Ordered so that the first file of a group is the one to keep.
    pub(super) all: Vec<File>,
    pub(super) empty: u64,
    /// Number of hard links that were left out because another link to the same file is in `all`.
    pub(super) links: u64,
    /// Number of files whose texts were not compared, by kind of reason.
    pub(super) skipped: BTreeMap<&'static str, u64>,
}

/// A group of files; the first is the one to keep.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// Each file, by its position, with its similarity to the first one.
    pub(super) files: Vec<(usize, f64)>,
    /// Total size of the files that need not be kept.
    pub(super) freed: u64,
}

/// The groups found, largest first.
#[derive(Debug)]
pub(super) struct Groups {
    pub(super) exact: Vec<Group>,
    pub(super) near: Vec<Group>,
}

impl Groups {
    pub(super) fn new(exact: Vec<Vec<usize>>, near: Vec<Group>) -> Self {
        let exact = exact.into_iter().map(|files| Group {
            files: files.into_iter().map(|at| (at, 1.0)).collect(),
            freed: 0,
        });
        Self { exact: exact.collect(), near }
    }

    /// Computes the bytes that could be freed. With `two_sides` (`--against`), keeps only groups
    /// that have files both inside and outside the reference folders.
    pub(super) fn across(mut self, files: &Files, two_sides: bool) -> Self {
        for groups in [&mut self.exact, &mut self.near] {
            if two_sides {
                groups.retain(|group| {
                    let stays = |(at, _): &(usize, f64)| files.all[*at].against;
                    group.files.iter().any(stays) && !group.files.iter().all(stays)
                });
            }
            for group in &mut *groups {
                let others = group.files.iter().skip(1).map(|(at, _)| &files.all[*at]);
                group.freed = others.filter(|file| !file.against).map(|file| file.bytes).sum();
            }
            groups
                .sort_by_key(|group| (Reverse(group.freed), group.files.first().map(|one| one.0)));
        }
        self
    }
}

/// Groups of files with similar texts. A group of exact copies is represented by its first file.
pub(super) fn near(
    index: &Index,
    files: &Files,
    exact: &[Vec<usize>],
    threshold: f64,
) -> Result<Vec<Group>, Failure> {
    let places: HashMap<&[u8], usize> =
        files.all.iter().enumerate().map(|(at, file)| (file.key.as_slice(), at)).collect();
    let copies: HashMap<usize, usize> =
        exact.iter().flat_map(|group| group.iter().skip(1).map(|at| (*at, group[0]))).collect();
    let progress = Progress::start("clustering", Unit::Documents, Some(index.len()));
    let snapshot = index.snapshot();
    let clusters = snapshot.clusters_with(threshold, &mut progress.callback())?;
    let equal = EqualRows::of(index.params());
    let mut found = Vec::new();
    for cluster in clusters {
        interrupt::check()?;
        let members = cluster?.keys;
        // The members of the cluster: the position of each file in `files.all`, with its key.
        // Positions are in order of preference, so the first member is the file to keep.
        let mut members: BTreeMap<usize, Vec<u8>> = members
            .into_iter()
            .filter_map(|key| Some((*places.get(key.as_slice())?, key)))
            .collect();
        members.retain(|at, _| !copies.contains_key(at));
        if members.len() < 2 {
            continue;
        }
        let mut signatures = Vec::new();
        for (at, key) in &members {
            signatures.push((*at, snapshot.signature(key)?));
        }
        let first = signatures.first().and_then(|(_, signature)| signature.clone());
        let similarity = |signature: &Option<_>| {
            let rows = first.as_ref().zip(signature.as_ref()).map(|(a, b)| equal.between(a, b));
            index.params().similarity(rows.unwrap_or(0))
        };
        let files = signatures.iter().map(|(at, signature)| (*at, similarity(signature)));
        found.push(Group { files: files.collect(), freed: 0 });
    }
    Ok(found)
}
