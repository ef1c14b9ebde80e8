//! Checks the snapshots and results that the threads of a run got against the law, evaluated by
//! brute force on a list of changes. Shares no code with the engine.

use super::world::{DIR, FLOOR, KeyEdit, base, options, signature};
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{Outcome, Reader, Result, Snapshot, Written};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Key and version of every live document.
pub(super) type Docs = BTreeMap<String, u8>;

/// The version whose signature is queried in every snapshot. Many other versions have one half of
/// this signature.
const QUERY_VERSION: u8 = 5;

/// A write that returned `Ok`.
#[derive(Debug)]
pub(super) struct Wrote {
    pub(super) edits: Vec<KeyEdit>,
    pub(super) written: Written,
}

/// A claim that all changes up to `change` are durable. `left` is the disk at the moment of the
/// claim, without any unsynced data.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) who: &'static str,
    pub(super) change: u64,
    /// The number of disk operations when the claim was made.
    pub(super) op: u64,
    pub(super) left: Sim,
}

/// What a snapshot showed.
#[derive(Debug, PartialEq)]
pub(super) struct ScheduleSeen {
    change: u64,
    documents: u64,
    /// Keys and versions, sorted. A key that is live twice occurs twice.
    docs: Vec<(String, u8)>,
    /// The matches of a query for `QUERY_VERSION`: keys and equal rows.
    like: Vec<(String, u32)>,
    /// The versions of a few keys, looked up one by one.
    got: Vec<Option<u8>>,
}

const LOOKED_UP: [&str; 3] = ["a", "b", "d"];

impl ScheduleSeen {
    pub(super) fn by(snapshot: &Snapshot) -> Result<Self> {
        let text = |key: Vec<u8>| String::from_utf8(key).expect("a key of ours");
        let mut docs = Vec::new();
        for document in snapshot.iter() {
            let document = document?;
            let version = document.payload[0];
            assert_eq!(document.signature.as_bytes(), signature(version).as_bytes());
            docs.push((text(document.key), version));
        }
        docs.sort();
        let query = signature(QUERY_VERSION);
        let answer = snapshot.query(&query).threshold(0.3).run()?;
        let like = answer.matches.into_iter().map(|found| (text(found.key), found.equal_rows));
        let like = like.collect();
        let get = |key: &&str| Ok(snapshot.get(key)?.map(|document| document.payload[0]));
        let got = LOOKED_UP.iter().map(get).collect::<Result<_>>()?;
        Ok(Self { change: snapshot.change(), documents: snapshot.len(), docs, like, got })
    }

    /// What a snapshot must show according to the law.
    fn expected(change: u64, docs: &Docs) -> Self {
        let rows = |version: u8| {
            8 * (u32::from(version / 4 == QUERY_VERSION / 4)
                + u32::from(version % 4 == QUERY_VERSION % 4))
        };
        let like = docs.iter().map(|(key, version)| (key.clone(), rows(*version)));
        let mut like: Vec<_> = like.filter(|(_, rows)| *rows > 0).collect();
        like.sort_by_key(|(key, rows)| (Reverse(*rows), key.clone()));
        let got = LOOKED_UP.iter().map(|key| docs.get(*key).copied()).collect();
        let documents = u64::try_from(docs.len()).expect("few");
        let docs = docs.iter().map(|(key, version)| (key.clone(), *version)).collect();
        Self { change, documents, docs, like, got }
    }
}

#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) wrote: Vec<Wrote>,
    pub(super) seen: Vec<ScheduleSeen>,
    pub(super) claims: Vec<Claim>,
    /// The last change of the index after it was reopened.
    pub(super) last: Option<u64>,
    /// Whether some writes got no answer. Then the content of each change is unknown.
    pub(super) is_partial: bool,
}

impl Judge {
    pub(super) fn wrong(&mut self) -> Vec<String> {
        let mut wrong = Vec::new();
        let states = if self.is_partial { None } else { Some(self.states(&mut wrong)) };
        let mut check = |who: &str, seen: &ScheduleSeen| {
            let Some(states) = &states else { return };
            match states.get(&seen.change) {
                Some(docs) if *seen == ScheduleSeen::expected(seen.change, docs) => {}
                Some(docs) => wrong.push(format!("{who} shows {seen:?}, not {docs:?}")),
                None => {
                    wrong.push(format!("{who} shows a change that nobody was told of: {seen:?}"));
                }
            }
        };
        for seen in &self.seen {
            check("a snapshot", seen);
        }
        let mut lost = Vec::new();
        for Claim { who, change, left, .. } in &self.claims {
            let storage: Arc<dyn Storage> = Arc::new(left.clone());
            let seen = Reader::open_on(storage, Path::new(DIR), options())
                .and_then(|reader| Ok((reader.change(), ScheduleSeen::by(&reader.snapshot())?)));
            let (survives, seen) = match seen {
                Ok(seen) => seen,
                Err(error) => {
                    lost.push(format!("a disk after a power cut: {error}"));
                    continue;
                }
            };
            if survives < *change {
                lost.push(format!("{who} went by change {change}, only {survives} survives"));
            }
            check("a disk after a power cut", &seen);
            lost.extend(self.missing(&seen));
        }
        wrong.extend(lost);
        if let (Some(last), Some(states)) = (self.last, &states)
            && states.keys().next_back() != Some(&last)
        {
            wrong.push(format!("reopened at change {last} of {:?}", states.keys()));
        }
        wrong
    }

    /// The acknowledged edits that `seen` lacks. Only for a run with `is_partial`, in which each
    /// key has only one writer.
    fn missing(&self, seen: &ScheduleSeen) -> Vec<String> {
        let mut missing = Vec::new();
        let wrote = self.wrote.iter().filter(|wrote| wrote.written.change <= seen.change);
        for (key, version) in wrote.filter(|_| self.is_partial).flat_map(|wrote| &wrote.edits) {
            let found = seen.docs.iter().find(|(found, _)| found == key);
            if found.map(|(_, version)| *version) != *version {
                missing.push(format!("{key} was answered for, and is not in {seen:?}"));
            }
        }
        missing
    }

    /// The documents after each change. Checks all outcomes on the way.
    fn states(&self, wrong: &mut Vec<String>) -> BTreeMap<u64, Docs> {
        let idle = |wrote: &&Wrote| {
            let unwritten = [Outcome::Unchanged, Outcome::Missing, Outcome::Superseded];
            wrote.written.outcomes.iter().all(|outcome| unwritten.contains(outcome))
        };
        let mut states = BTreeMap::from([(FLOOR, base())]);
        let mut changes: Vec<&Wrote> = self.wrote.iter().filter(|wrote| !idle(wrote)).collect();
        changes.sort_by_key(|wrote| wrote.written.change);
        for Wrote { edits, written } in changes {
            let Some(before) = states.get(&(written.change - 1)) else {
                wrong.push(format!("nobody was told of the change before {written:?}"));
                continue;
            };
            let (outcomes, docs) = write(before, edits);
            if outcomes != written.outcomes || states.contains_key(&written.change) {
                wrong.push(format!("{edits:?} after {before:?} gave {written:?}"));
            }
            states.insert(written.change, docs);
        }
        for Wrote { edits, written } in self.wrote.iter().filter(idle) {
            match states.get(&written.change).map(|docs| write(docs, edits).0) {
                Some(outcomes) if outcomes == written.outcomes => {}
                _ => wrong.push(format!("{edits:?} wrote nothing, and was told {written:?}")),
            }
        }
        states
    }
}

/// Applies a batch to a state. All keys of the batch are different.
fn write(before: &Docs, edits: &[KeyEdit]) -> (Vec<Outcome>, Docs) {
    let mut docs = before.clone();
    let outcome = |(key, version): &KeyEdit| match (docs.get(*key).copied(), version) {
        (None, None) => Outcome::Missing,
        (Some(_), None) => {
            docs.remove(*key);
            Outcome::Removed
        }
        (Some(old), Some(new)) if old == *new => Outcome::Unchanged,
        (old, Some(new)) => {
            docs.insert((*key).into(), *new);
            if old.is_some() { Outcome::Replaced } else { Outcome::Inserted }
        }
    };
    (edits.iter().map(outcome).collect(), docs)
}
