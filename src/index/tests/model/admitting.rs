//! Admission: the model decides by brute force, and the bench compares. Every decision must follow
//! the law on the state before it.

use super::bench::Bench;
use super::model::put;
use super::model::{Act, Law, Like, Model};
use super::script::{Admitting, Rng};
use super::shown::Shown;
use crate::{Admission, Admit, Decision, ErrorKind, Keep, Match, Newcomer, Outcome, Result};
use std::sync::atomic::Ordering;

/// The decision of the model on a newcomer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Decided {
    /// The filter does not let the document under the newcomer's own key pass.
    Refused,
    Rejected(Vec<Like>),
    Admitted {
        related: Vec<Like>,
        outcome: Outcome,
        removed: Vec<Like>,
    },
}

impl Model {
    /// Decides on a newcomer and applies the decision.
    pub(super) fn admit(
        &mut self,
        law: &Law,
        key: &[u8],
        new: Act,
        how: &Admitting,
        shown: &Shown,
    ) -> Decided {
        let Act::Put { doc, .. } = &new else { panic!("a newcomer is inserted: {new:?}") };
        let reject = law.least_of(how.reject);
        let relate = law.threshold_of(how.relate).into();
        let mut duplicates = self.query(law, doc.signed(), reject, Some(key));
        let mut related = self.query(law, doc.signed(), relate, Some(key));
        if self.get(key).is_some_and(|own| !shown.passes(key, &own.payload, own.time)) {
            return Decided::Refused;
        }
        duplicates.retain(|like| shown.passes_like(like));
        related.retain(|like| shown.passes_like(like));
        related.retain(|like| !duplicates.contains(like));
        related.truncate(how.limit);
        let shingles = |like: &Like| self.get(&like.0).expect("it is stored").shingle_count;
        let stays = match how.keep {
            Keep::First => duplicates.is_empty(),
            Keep::Newest | Keep::All => true,
            Keep::Longest => duplicates.iter().all(|like| shingles(like) < doc.shingle_count),
        };
        if !stays {
            duplicates.truncate(how.limit);
            return Decided::Rejected(duplicates);
        }
        if how.keep == Keep::All {
            related = std::mem::take(&mut duplicates).into_iter().chain(related).collect();
            related.truncate(how.limit);
        }
        let remove = |like: &Like| (like.0.clone(), Act::Remove);
        let mut edits: Vec<_> = duplicates.iter().map(remove).collect();
        edits.push((key.to_vec(), new));
        let outcome = *self.write(&edits).last().expect("an outcome for each");
        Decided::Admitted { related, outcome, removed: duplicates }
    }
}

fn likes(matches: Vec<Match>) -> Vec<Like> {
    matches.into_iter().map(|m| (m.key, m.payload, m.time, m.equal_rows)).collect()
}

fn decided(admission: Admission) -> Decided {
    match admission.decision {
        Decision::Rejected { duplicates } => Decided::Rejected(likes(duplicates)),
        Decision::Admitted { related, outcome, removed } => {
            Decided::Admitted { related: likes(related), outcome, removed: likes(removed) }
        }
    }
}

pub(super) fn terms(law: &Law, how: &Admitting, shown: &Shown) -> Admit<'static> {
    let reject = shown.conditions().alike(law.least_of(how.reject).alike());
    let terms = Admit::at(reject).relate(law.threshold_of(how.relate));
    terms.keep(how.keep).limit(how.limit)
}

/// Which documents count for an admission: often with the longest prefix of all newcomers.
fn shown(model: &Model, how: &Admitting, time: u64) -> Shown {
    let mut rng = Rng::new(time);
    if !rng.percent(50) {
        return Shown { filter: how.shown, ..Shown::default() };
    }
    let mut keys = how.newcomers.iter().map(|(key, ..)| key);
    let first = keys.next().cloned().unwrap_or_default();
    let prefix = keys.fold(first, |prefix, key| {
        let equal = prefix.iter().zip(key).take_while(|(one, other)| one == other);
        prefix[..equal.count()].to_vec()
    });
    let prefix = if rng.percent(50) { prefix } else { Vec::new() };
    Shown { prefix, filter: how.shown, ..Shown::draw(&mut rng, model) }
}

impl Bench {
    /// Admits newcomers in one call.
    pub(super) fn admit(&mut self, how: &Admitting) -> Result<()> {
        let time = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let mut signatures = Vec::new();
        let mut after = vec![self.model.clone()];
        let (mut expected, mut is_refused) = (Vec::new(), false);
        let shown = shown(&self.model, how, time);
        // Every second newcomer gets a time of its own, in the past.
        let given = |at: usize| (at % 2 == 1).then(|| time.saturating_sub(at as u64 + 1));
        for (at, (key, lanes, payload)) in how.newcomers.iter().enumerate() {
            let signature = self.signature(lanes);
            let mut model = after.last().cloned().unwrap_or_default();
            let before = model.change;
            let new = put(&signature, payload.as_deref(), given(at).unwrap_or(time));
            signatures.push(signature);
            if is_refused {
                continue;
            }
            let decided = model.admit(&self.law, key, new, how, &shown);
            is_refused = decided == Decided::Refused;
            if !is_refused {
                expected.push((decided, before));
                after.push(model);
            }
        }
        let newcomers = how.newcomers.iter().zip(&signatures).enumerate();
        let newcomers: Vec<_> = newcomers
            .map(|(at, ((key, _, payload), signature))| {
                let mut newcomer = Newcomer::new(key, signature);
                if let Some(payload) = payload {
                    newcomer = newcomer.payload(payload);
                }
                match given(at) {
                    Some(time) => newcomer.time(time),
                    None => newcomer,
                }
            })
            .collect();
        let admissions = self.index().admit_all(&newcomers, &terms(&self.law, how, &shown));
        let last = after.pop().expect("the model itself at least");
        // Each admission is a change of its own: an unclean end may keep any prefix of them.
        self.history.extend(after.into_iter().map(|model| (model.change, model)));
        match admissions {
            Ok(admissions) => {
                assert!(!is_refused, "a document that is not shown is not replaced");
                let states = admissions.iter().map(|admission| admission.change);
                let states: Vec<_> = states.collect();
                let decisions = admissions.into_iter().map(decided).zip(states);
                let decisions: Vec<_> = decisions.collect();
                assert_eq!(decisions, expected);
                self.note(|| format!("{decisions:?}"));
                self.history.insert(last.change, last.clone());
                self.model = last;
                Ok(())
            }
            // The newcomers before it are stored.
            Err(error) if is_refused && error.kind() == ErrorKind::Exists => {
                self.note(|| error.to_string());
                self.history.insert(last.change, last.clone());
                self.model = last;
                Ok(())
            }
            Err(error) => {
                self.in_doubt = (last.change > self.model.change).then_some(last);
                Err(error)
            }
        }
    }
}
