//! Confirms near-copies by the texts themselves: the files of each group are read again, all their
//! shingles are compared, and what differs only in numbers or in what is rare is no near-copy.
//!
//! The library judges, as for `dedup`.

use std::collections::{BTreeMap, HashMap, HashSet};

use nearkin::{Alike, Error, Guard, Index, Judge, Judgement, Original};
use rayon::prelude::*;

use super::groups::{Below, FoundGroups};
use nearkin_input::fields::Fields;
use nearkin_input::source::RowOptions;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::row_count::EqualRows;

/// Number of files that are read together.
const FILES: usize = 64;

/// Most files that one is compared with that is not like the file that stays.
const OTHERS: usize = 4;

/// What the estimate found.
#[derive(Default)]
pub(super) struct Estimated {
    pub(super) groups: FoundGroups,
    /// Files that are like a near-copy only.
    pub(super) below: Vec<Below>,
    /// The cluster of each file: files of different clusters are not similar.
    pub(super) clusters: HashMap<usize, usize>,
}

/// Confirmed groups, and what was taken out of the groups that the estimate found.
#[derive(Default)]
pub(super) struct Confirmed {
    pub(super) groups: FoundGroups,
    pub(super) below: Vec<Below>,
    /// Files that differ from a similar one only in numbers, or in what is rare.
    pub(super) apart: u64,
    /// Files that could not be read again, or have changed since they were indexed.
    pub(super) unread: u64,
}

/// Reads the documents of files again.
struct Files<'a> {
    index: &'a Index,
    originals: Originals,
    /// The key of each file in a group.
    keys: &'a HashMap<usize, Vec<u8>>,
    /// The files that could be read.
    read: HashSet<usize>,
    /// Whether the most similar of several files that stay is named.
    against: bool,
}

impl Files<'_> {
    /// The document of a file, if it is still the indexed one.
    fn document(&self, at: usize) -> nearkin::Result<Option<Original>> {
        let Some(key) = self.keys.get(&at) else { return Ok(None) };
        let Some(document) = self.originals.detailed(key) else { return Ok(None) };
        let stored = self.index.signature(key)?;
        Ok(stored.is_some_and(|stored| stored == *document.signature()).then_some(document))
    }

    /// Like [`Files::document`], for a file that was read before.
    fn again(&self, rank: u64) -> nearkin::Result<Option<Original>> {
        let at = usize::try_from(rank).unwrap_or(usize::MAX);
        let changed = || {
            let name = self.keys.get(&at).map(|key| String::from_utf8_lossy(key));
            Error::invalid(format!("{} changed while it was compared", name.unwrap_or_default()))
        };
        self.document(at)?.ok_or_else(changed).map(Some)
    }
}

/// Confirms groups, and files that are like a near-copy only: the first file of each group stays,
/// if it can be read. `keys` has the key of each file, by its position; files of lower positions
/// are preferred. `references` are files that always stay.
pub(super) fn groups(
    index: &Index,
    found: &Estimated,
    keys: &HashMap<usize, Vec<u8>>,
    (threshold, guard): (f64, Guard),
    references: &[usize],
) -> Result<Confirmed, Failure> {
    let mut leaders: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    for group in &found.groups {
        let Some(((first, _), others)) = group.split_first() else { continue };
        leaders.insert(*first, None);
        leaders.extend(others.iter().map(|(at, _)| (*at, Some(*first))));
    }
    leaders.extend(found.below.iter().map(|one| (one.at, Some(one.of))));
    // Any file that stays may be the most similar one, not only the one that the estimate found.
    for at in references {
        leaders.entry(*at).or_insert(None);
    }
    let against = !references.is_empty();
    let reading = Reading::new(index.sketcher(), Fields::text("id", "text"));
    let originals = Originals::new(reading, &[], &RowOptions::default())?;
    let mut files = Files { index, originals, keys, read: HashSet::new(), against };
    let mut judge = Judge::new(guard, Alike::similar(threshold), runs(&files)?);
    let unread = count(&mut files, &leaders, &mut judge)?;
    let mut confirmed = Confirmed { unread, ..Confirmed::default() };
    let progress = Progress::start("comparing", Unit::Documents, Some(leaders.len() as u64));
    let mut groups: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    let mut alone = Vec::new();
    let all: Vec<(usize, Option<usize>)> = leaders.into_iter().collect();
    for (number, some) in all.chunks(FILES).enumerate() {
        interrupt::check()?;
        let read = some.par_iter().map(|(at, _)| files.document(*at));
        let read: nearkin::Result<Vec<Option<Original>>> = read.collect();
        for ((at, leader), document) in some.iter().zip(read?) {
            let Some(document) = document else { continue };
            let of = judged(&mut judge, &files, (*at, *leader), &document)?;
            match of {
                Of::None => alone.extend(leader.map(|_| *at)),
                Of::Apart => confirmed.apart += 1,
                Of::File(of, similarity) => groups.entry(of).or_default().push((*at, similarity)),
            }
        }
        progress.reached(((number + 1) * FILES) as u64);
    }
    let near_copies: HashSet<usize> = groups.values().flatten().map(|(at, _)| *at).collect();
    alone.retain(|at| !groups.contains_key(at));
    for (first, others) in groups {
        if near_copies.contains(&first) {
            let below = |(at, similarity)| Below { of: first, at, similarity };
            confirmed.below.extend(others.into_iter().map(below));
        } else {
            confirmed.groups.push([vec![(first, 1.0)], others].concat());
        }
    }
    let mut clusters: HashMap<Option<&usize>, Vec<usize>> = HashMap::new();
    for (at, _) in confirmed.groups.iter().flatten().filter(|_| !alone.is_empty()) {
        clusters.entry(found.clusters.get(at)).or_default().push(*at);
    }
    for at in alone {
        interrupt::check()?;
        let named = clusters.get(&found.clusters.get(&at)).map_or(&[][..], Vec::as_slice);
        confirmed.below.extend(like_another(&mut judge, &files, at, named)?);
    }
    Ok(confirmed)
}

/// Compares a file that is not like the one that stays with others that are named: with those that
/// the estimate finds most like it.
fn like_another(
    judge: &mut Judge,
    files: &Files<'_>,
    at: usize,
    named: &[usize],
) -> Result<Option<Below>, Failure> {
    let signature = |at: &usize| match files.keys.get(at) {
        Some(key) => files.index.signature(key),
        None => Ok(None),
    };
    let Some(own) = signature(&at)? else { return Ok(None) };
    let equal = EqualRows::for_params(files.index.params());
    let mut rows = Vec::with_capacity(named.len());
    for of in named {
        if let Some(other) = signature(of)? {
            rows.push((equal.between(&own, &other), *of));
        }
    }
    rows.sort_unstable_by(|one, other| other.cmp(one));
    let Some(document) = files.document(at)? else { return Ok(None) };
    let fetch = &mut |rank: u64| files.again(rank);
    let mut best: Option<Below> = None;
    for (_, of) in rows.into_iter().take(OTHERS) {
        let Some(overlap) = judge.overlap(&document, of as u64, fetch)? else { continue };
        let similarity = overlap.similarity;
        if best.is_none_or(|best| similarity > best.similarity)
            && matches!(judge.decide(at as u64, &document, of as u64, fetch)?, Judgement::Stands)
        {
            best = Some(Below { of, at, similarity });
        }
    }
    Ok(best)
}

/// The number of runs of words to expect: that of the shingles.
fn runs(files: &Files<'_>) -> Result<u64, Failure> {
    let mut runs = 0;
    for key in files.keys.values() {
        let signature = files.index.signature(key)?;
        runs += signature.map_or(0, |signature| u64::from(signature.shingle_count()));
    }
    Ok(runs)
}

/// Counts the runs of words of all files. Returns how many could not be read.
fn count(
    files: &mut Files<'_>,
    leaders: &BTreeMap<usize, Option<usize>>,
    judge: &mut Judge,
) -> Result<u64, Failure> {
    let mut unread = 0;
    let progress = Progress::start("reading again", Unit::Documents, Some(leaders.len() as u64));
    let all: Vec<usize> = leaders.keys().copied().collect();
    for (number, some) in all.chunks(FILES).enumerate() {
        interrupt::check()?;
        let read: nearkin::Result<Vec<Option<Original>>> =
            some.par_iter().map(|at| files.document(*at)).collect();
        for (at, document) in some.iter().zip(read?) {
            if let Some(document) = document {
                judge.count(&document);
                files.read.insert(*at);
            } else {
                unread += 1;
            }
        }
        progress.reached(((number + 1) * FILES) as u64);
    }
    Ok(unread)
}

/// What a file is a near-copy of.
enum Of {
    None,
    /// It differs from a similar file only in numbers, or in what is rare.
    Apart,
    File(usize, f64),
}

/// Judges a file that the estimate found to be like `leader`.
fn judged(
    judge: &mut Judge,
    files: &Files<'_>,
    (at, leader): (usize, Option<usize>),
    document: &Original,
) -> nearkin::Result<Of> {
    let rank = at as u64;
    let Some(leader) = leader else {
        judge.keep(rank, document);
        return Ok(Of::None);
    };
    let fetch = &mut |rank: u64| files.again(rank);
    let found = if files.read.contains(&leader) {
        judge.overlap(document, leader as u64, fetch)?
    } else {
        None
    };
    let place = |rank: u64| usize::try_from(rank).unwrap_or(usize::MAX);
    let Some(overlap) = found else {
        let found = judge.find(document, Some(leader as u64), fetch)?;
        let Some(found) = found else {
            judge.keep(rank, document);
            return Ok(Of::None);
        };
        return Ok(Of::File(place(found.of), found.similarity));
    };
    Ok(match judge.decide(rank, document, leader as u64, fetch)? {
        Judgement::Stands if files.against => {
            let other = judge.find(document, Some(leader as u64), fetch)?;
            match other.filter(|other| other.similarity > overlap.similarity) {
                Some(other) => Of::File(place(other.of), other.similarity),
                None => Of::File(leader, overlap.similarity),
            }
        }
        Judgement::Stands => Of::File(leader, overlap.similarity),
        Judgement::CopyOf(copy) => Of::File(place(copy.of), copy.similarity),
        Judgement::Kept(_) => Of::Apart,
    })
}
