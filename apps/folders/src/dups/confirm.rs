//! Confirms near-copies by the texts themselves: the files of each group are read again, all their
//! shingles are compared, and what differs only in numbers or in what is rare is no near-copy.
//!
//! The library judges, as for `dedup`.

use std::collections::{BTreeMap, HashMap, HashSet};

use nearkin::{Alike, Guard, Index, Judge, Judgement, Original, Overlap, Suspects};
use rayon::prelude::*;

use super::groups::{Below, FoundGroups};
use nearkin_input::fields::Fields;
use nearkin_input::source::RowOptions;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};

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
}

impl Files<'_> {
    /// The document of a file, if it is still the indexed one.
    fn document(&self, at: usize) -> nearkin::Result<Option<Original>> {
        let Some(key) = self.keys.get(&at) else { return Ok(None) };
        let Some(document) = self.originals.detailed(key) else { return Ok(None) };
        let stored = self.index.signature(key)?;
        Ok(stored.is_some_and(|stored| stored == *document.signature()).then_some(document))
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
    let reading = Reading::new(index.sketcher(), Fields::text("id", "text"));
    let originals = Originals::new(reading, &[], &RowOptions::default())?;
    let files = Files { index, originals, keys };
    let suspects = suspects(&files, &leaders)?;
    let mut judge =
        Judge::new(guard, Alike::similar(threshold), suspects).cancel_if(interrupt::came);
    if !references.is_empty() {
        judge = judge.name_most_similar();
    }
    let mut confirmed = Confirmed::default();
    let mut groups: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    let (mut alone, mut unread, mut read) = (Vec::new(), HashSet::new(), 0);
    let progress = Progress::start("reading again", Unit::Documents, None);
    let mut fetch = |ranks: &[u64]| {
        let mut documents = Vec::with_capacity(ranks.len());
        for some in ranks.chunks(FILES) {
            let found = some.par_iter().map(|rank| files.document(place(*rank)));
            documents.extend(found.collect::<nearkin::Result<Vec<_>>>()?);
            read += some.len() as u64;
            progress.reached(read);
            if interrupt::came() {
                break;
            }
        }
        let pairs = ranks.iter().zip(&documents);
        unread.extend(pairs.filter(|(_, one)| one.is_none()).map(|(rank, _)| *rank));
        Ok(documents)
    };
    judge.run(&mut fetch, &mut |rank, judgement| match judgement {
        Judgement::CopyOf(copy) => {
            groups.entry(place(copy.of)).or_default().push((place(rank), copy.similarity));
        }
        Judgement::Kept { .. } => confirmed.apart += 1,
        Judgement::Unlike => alone.push(place(rank)),
    })?;
    confirmed.unread = unread.len() as u64;
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
        confirmed.below.extend(like_another(&judge, &files, at, named)?);
    }
    Ok(confirmed)
}

/// Compares a file that is not like the one that stays with others that are named: with those that
/// the estimate finds most like it.
fn like_another(
    judge: &Judge,
    files: &Files<'_>,
    at: usize,
    named: &[usize],
) -> Result<Option<Below>, Failure> {
    let signature = |at: &usize| match files.keys.get(at) {
        Some(key) => files.index.signature(key),
        None => Ok(None),
    };
    let Some(own) = signature(&at)? else { return Ok(None) };
    let mut rows = Vec::with_capacity(named.len());
    for of in named {
        if let Some(other) = signature(of)? {
            rows.push((own.equal_rows(&other)?, *of));
        }
    }
    rows.sort_unstable_by(|one, other| other.cmp(one));
    let Some(document) = files.document(at)? else { return Ok(None) };
    let mut best: Option<Below> = None;
    for (_, of) in rows.into_iter().take(OTHERS) {
        let Some(other) = files.document(of)? else { continue };
        let Some(Overlap { similarity, .. }) = judge.overlap(&document, &other) else { continue };
        if best.is_none_or(|best| similarity > best.similarity) {
            best = Some(Below { of, at, similarity });
        }
    }
    Ok(best)
}

/// All files that are compared, each with the one that the estimate found it to be like.
fn suspects(
    files: &Files<'_>,
    leaders: &BTreeMap<usize, Option<usize>>,
) -> Result<Suspects, Failure> {
    let mut suspects = Suspects::default();
    for (at, leader) in leaders {
        let key = files.keys.get(at);
        let signature = key.map(|key| files.index.signature(key)).transpose()?.flatten();
        let shingles = signature.map_or(0, |signature| signature.shingle_count());
        suspects.add(*at as u64, leader.map(|of| of as u64), shingles);
    }
    Ok(suspects)
}

fn place(rank: u64) -> usize {
    usize::try_from(rank).unwrap_or(usize::MAX)
}
