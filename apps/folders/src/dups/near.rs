//! Finds files with similar texts.

use std::collections::{BTreeMap, HashMap, HashSet};

use nearkin::{Index, Signature};
use rayon::prelude::*;

use super::confirm::{self, Confirmed, Estimated};
use super::files::{self, ExaminedFiles};
use super::groups::{Below, FoundGroups, Group};
use crate::args::dups::Dups;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};

/// Rounding of similarities, as in the library: a pair this little below the threshold reaches it.
const ROUNDING: f64 = 1e-9;

/// A file by its position, and its signature.
type Member = (usize, Signature);

/// Compares signatures at a threshold.
struct Alike<'a> {
    index: &'a Index,
    threshold: f64,
}

impl Alike<'_> {
    /// The similarity of two files, if it reaches the threshold.
    fn similarity(&self, one: &Signature, other: &Signature) -> nearkin::Result<Option<f64>> {
        let similarity = self.index.params().similarity(one.equal_rows(other)?);
        Ok((similarity >= self.threshold - ROUNDING).then_some(similarity))
    }
}

/// Near-copies.
#[derive(Debug, Default)]
pub(super) struct Near {
    pub(super) groups: Vec<Group>,
    /// Files that are similar to another one, but differ in numbers, or in what is rare.
    pub(super) apart: u64,
    /// Files that could not be read again to be compared.
    pub(super) unread: u64,
}

/// Groups of files with similar texts: each file of a group reaches the threshold with the first.
/// A group of exact copies is represented by its first file. With `against`, a group has one file
/// of a reference folder and files of the searched folders, with all their exact copies.
pub(super) fn groups(
    index: &Index,
    files: &ExaminedFiles,
    exact: &[Vec<usize>],
    args: &Dups,
) -> Result<Near, Failure> {
    let (threshold, against) = (args.threshold, !args.against.is_empty());
    let places = files::places(files);
    let copies: HashSet<usize> =
        exact.iter().flat_map(|group| group.iter().skip(1)).copied().collect();
    let progress = Progress::start("clustering", Unit::Documents, Some(index.len()));
    let snapshot = index.snapshot();
    let clusters = snapshot.clusters_with(threshold, &mut progress.callback())?;
    let alike = Alike { index, threshold };
    let (mut found, mut keys) = (Estimated::default(), HashMap::new());
    for (nth, cluster) in clusters.enumerate() {
        interrupt::check()?;
        // Positions are in the order in which files are kept. A file with several names has several
        // documents, all with the same text.
        let members: BTreeMap<usize, Vec<u8>> = cluster?
            .keys
            .into_iter()
            .filter_map(|key| Some((*places.get(&key)?, key)))
            .filter(|(at, _)| !copies.contains(at))
            .collect();
        if members.len() < 2 {
            continue;
        }
        let mut signed = Vec::with_capacity(members.len());
        for (at, key) in &members {
            if let Some(signature) = snapshot.signature(key)? {
                signed.push((*at, signature));
            }
        }
        keys.extend(members);
        if against {
            found.groups.extend(like_references(signed, files, &alike)?);
        } else {
            found.clusters.extend(signed.iter().map(|(at, _)| (*at, nth)));
            let (groups, below) = like_the_first(signed, &alike)?;
            found.groups.extend(groups);
            found.below.extend(below);
        }
    }
    let mut near = Near::default();
    if !args.estimate {
        let references: Vec<usize> =
            keys.keys().copied().filter(|at| against && files.all[*at].against).collect();
        let Confirmed { groups, below, apart, unread } =
            confirm::groups(index, &found, &keys, (threshold, args.guard), &references)?;
        (near.apart, near.unread) = (apart, unread);
        (found.groups, found.below) = (groups, below);
    }
    if against {
        add_copies(&mut found.groups, exact);
    }
    near.groups = found.groups.into_iter().map(Group::new).collect();
    let members = near.groups.iter().enumerate();
    let members =
        members.flat_map(|(nth, group)| group.files.iter().map(move |(at, _)| (*at, nth)));
    let group_of: HashMap<usize, usize> = members.collect();
    for one in found.below {
        if let Some(nth) = group_of.get(&one.of) {
            near.groups[*nth].below.push(one);
        }
    }
    Ok(near)
}

/// Takes the first file and all that are like it; then the same with the rest. So a file is never
/// called a near-copy because of a third one between it and the kept file: if it is like such a
/// third one only, it is named below that one.
fn like_the_first(
    mut rest: Vec<Member>,
    alike: &Alike<'_>,
) -> Result<(FoundGroups, Vec<Below>), Failure> {
    let (mut found, mut near_copies, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    while !rest.is_empty() {
        interrupt::check()?;
        let first = rest.remove(0);
        let similarity = |(_, other): &Member| alike.similarity(&first.1, other);
        let similarities: Vec<_> = rest.par_iter().map(similarity).collect::<Result<_, _>>()?;
        let mut group = vec![(first.0, 1.0)];
        let mut left = Vec::new();
        for (member, similarity) in rest.into_iter().zip(similarities) {
            match similarity {
                Some(similarity) => {
                    group.push((member.0, similarity));
                    near_copies.push(member);
                }
                None => left.push(member),
            }
        }
        if group.len() > 1 {
            found.push(group);
        } else {
            alone.push(first);
        }
        rest = left;
    }
    let below = |(at, signature): &Member| {
        interrupt::check()?;
        let mut most: Option<Below> = None;
        for (of, other) in &near_copies {
            if let Some(similarity) = alike.similarity(signature, other)?
                && most.is_none_or(|most| similarity >= most.similarity)
            {
                most = Some(Below { of: *of, at: *at, similarity });
            }
        }
        Ok(most)
    };
    let below: Result<Vec<Option<Below>>, Failure> = alone.par_iter().map(below).collect();
    Ok((found, below?.into_iter().flatten().collect()))
}

/// Gives each searched file to the reference that it is most like.
fn like_references(
    members: Vec<Member>,
    files: &ExaminedFiles,
    alike: &Alike<'_>,
) -> Result<FoundGroups, Failure> {
    let (references, searched): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(at, _)| files.all[*at].against);
    let best = |(at, signature): &Member| {
        interrupt::check()?;
        let mut best: Option<(usize, f64)> = None;
        for (reference, other) in &references {
            if let Some(similarity) = alike.similarity(signature, other)?
                && best.is_none_or(|(_, most)| similarity > most)
            {
                best = Some((*reference, similarity));
                if similarity >= 1.0 {
                    break;
                }
            }
        }
        Ok(best.map(|(reference, similarity)| (reference, *at, similarity)))
    };
    let best: Vec<_> = searched.par_iter().map(best).collect::<Result<_, Failure>>()?;
    let mut groups: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for (reference, at, similarity) in best.into_iter().flatten() {
        groups.entry(reference).or_insert_with(|| vec![(reference, 1.0)]).push((at, similarity));
    }
    Ok(groups.into_values().collect())
}

/// Adds the exact copies of all searched files, which are in no other group that is shown.
fn add_copies(found: &mut FoundGroups, exact: &[Vec<usize>]) {
    let copies: HashMap<usize, &[usize]> =
        exact.iter().filter_map(|group| Some((*group.first()?, group.get(1..)?))).collect();
    for group in found {
        let members = group.split_off(1);
        for (at, similarity) in members {
            let copies = copies.get(&at).copied().unwrap_or_default();
            group.push((at, similarity));
            group.extend(copies.iter().map(|copy| (*copy, similarity)));
        }
    }
}
