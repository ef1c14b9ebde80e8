//! The documents that pass random conditions, by brute force.

use super::model::{Doc, Like, Model};
use super::script::Rng;
use crate::{Conditions, DocumentView};

/// Which documents pass.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    pub(super) prefix: Vec<u8>,
    pub(super) after: Option<u64>,
    pub(super) before: Option<u64>,
    /// The number of thirds of all documents that the filter lets pass; 0: no filter.
    pub(super) filter: usize,
}

impl Shown {
    /// Draws conditions from the keys and the times that are stored.
    pub(super) fn draw(rng: &mut Rng, model: &Model) -> Self {
        let docs: Vec<(&[u8], u64)> =
            model.docs.iter().map(|(key, doc)| (&key[..], doc.time)).collect();
        if docs.is_empty() {
            return Self { prefix: b"1".to_vec(), ..Self::default() };
        }
        let mut prefix = rng.pick(&docs).0.to_vec();
        prefix.truncate(rng.pick(&[0, 0, 1, 1, 2, 21]));
        let mut time = || rng.percent(40).then(|| rng.pick(&docs).1);
        let (after, before) = (time(), time());
        // A range that lets nothing pass is refused.
        let before = before.map(|before| before.max(after.map_or(0, |after| after + 1)));
        Self { prefix, after, before, filter: rng.pick(&[0, 1, 2]) }
    }

    pub(super) fn passes(&self, key: &[u8], payload: &[u8], time: u64) -> bool {
        key.starts_with(&self.prefix)
            && self.after.is_none_or(|after| after <= time)
            && self.before.is_none_or(|before| time < before)
            && self.passes_filter(key, payload)
    }

    fn passes_filter(&self, key: &[u8], payload: &[u8]) -> bool {
        let sum: usize = key.iter().chain(payload).map(|byte| usize::from(*byte)).sum();
        self.filter == 0 || (sum + payload.len()) % 3 < self.filter
    }

    pub(super) fn passes_like(&self, (key, payload, time, _): &Like) -> bool {
        self.passes(key, payload, *time)
    }

    /// The same for the engine.
    pub(super) fn conditions(&self) -> Conditions<'static> {
        let mut conditions = Conditions::default().prefix(&self.prefix);
        if let Some(after) = self.after {
            conditions = conditions.after(after);
        }
        if let Some(before) = self.before {
            conditions = conditions.before(before);
        }
        if self.filter > 0 {
            let shown = self.clone();
            let passes = move |seen: DocumentView<'_>| {
                // Documents that do not pass the other conditions are not shown to a filter.
                let others = Self { filter: 0, ..shown.clone() };
                assert!(others.passes(seen.key, seen.payload, seen.time), "{seen:?} {others:?}");
                shown.passes_filter(seen.key, seen.payload)
            };
            conditions = conditions.filter_document(passes);
        }
        conditions
    }
}

impl Model {
    /// The model of an index that holds only the documents that pass.
    pub(super) fn restricted_to(&self, shown: &Shown) -> Self {
        let mut part = self.clone();
        part.docs.retain(|key, doc| {
            let Doc { payload, time, .. } = &**doc;
            shown.passes(key, payload, *time)
        });
        part
    }
}
