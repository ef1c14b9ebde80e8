//! What a bench does besides the operations: another handle takes its turn, documents expire.

use super::bench::Bench;
use super::model::Model;
use crate::{ErrorKind, Index, Result};
use std::sync::atomic::Ordering;

impl Bench {
    /// Another handle does the next operation.
    pub(super) fn take_turns(&mut self) -> Result<()> {
        while self.others.len() + 1 < self.layout.handles {
            let other = self.open(&self.sim)?;
            self.others.push(other);
        }
        let which = self.rng.below(self.layout.handles.max(1));
        if let (Some(index), Some(other)) = (&mut self.index, self.others.get_mut(which)) {
            std::mem::swap(index, other);
            index.refresh()?;
        }
        Ok(())
    }

    /// Whether another handle has begun a compaction that it has not ended.
    pub(super) fn is_left_to_another(&self, compacted: &Result<()>) -> bool {
        let kind = compacted.as_ref().err().map(crate::Error::kind);
        !self.others.is_empty() && kind == Some(ErrorKind::Locked)
    }

    /// Removes several documents as one change, in the index and in the model.
    pub(super) fn remove(
        &mut self,
        of_model: impl FnOnce(&mut Model) -> usize,
        of_index: impl FnOnce(&Index) -> Result<u64>,
    ) -> Result<()> {
        let mut after = self.model.clone();
        let expected = of_model(&mut after);
        match of_index(self.index()) {
            Ok(removed) => {
                assert_eq!(removed, expected as u64, "documents that were removed");
                self.history.insert(after.change, after.clone());
                self.model = after;
                Ok(())
            }
            Err(error) => {
                self.in_doubt = (expected > 0).then_some(after);
                Err(error)
            }
        }
    }

    /// The model after expiry; `None` if no document has expired.
    pub(super) fn expired(&self, model: &Model) -> Option<Model> {
        let limit = self.clock.load(Ordering::Relaxed).saturating_sub(self.layout.ttl?);
        let mut after = model.clone();
        (after.remove_before(limit) > 0).then_some(after)
    }

    /// If the index ran a step of the expiry, applies it to the model: either all expired documents
    /// are gone, or none.
    pub(super) fn note_expiry(&mut self) {
        let Some(index) = &self.index else { return };
        let Some(after) = self.expired(&self.model) else { return };
        if index.snapshot().change() == after.change {
            self.history.insert(after.change, after.clone());
            self.model = after;
        } else if self.in_doubt.is_none() {
            // If the maintenance step of the writer fails, the write succeeds all the same; the
            // error is recorded here.
            let failure = index.core().wakeup.failure();
            let unknown = failure.is_some_and(|failure| failure.contains("Unknown"));
            self.in_doubt = (unknown || self.sim.is_stopped()).then_some(after);
        }
    }
}
