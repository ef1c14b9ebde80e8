//! All pairs of like documents, as a stream.

use crate::Result;
use crate::index::read::answer::{Pair, Progress};
use crate::index::read::query::check_threshold;
use crate::index::read::state::Snapshot;
use crate::index::read::sweep::{PlacePair, Sweep};
use std::ops::ControlFlow;

/// The stream of all pairs. Its memory does not grow with their number.
#[derive(Debug)]
pub struct Pairs {
    sweep: Sweep,
}

impl Snapshot {
    /// All pairs of documents with at least this similarity that share a band, each once, in no
    /// particular order.
    ///
    /// A stream that walks the bucket tables once. Its memory is some MiB, and 32 bytes for each
    /// document of the largest crowd that shares one band; its cost is linear in documents and
    /// in pairs that share a band, so that a crowd of n documents alike costs n^2 / 2 comparisons
    /// per band they share. Errors: `Invalid` (threshold not from 0 to 1); while it runs
    /// `Corrupt` and `Io`.
    pub fn pairs(&self, threshold: f64) -> Result<Pairs> {
        check_threshold(threshold)?;
        Ok(Pairs { sweep: Sweep::new(self, threshold) })
    }
}

impl Pairs {
    /// How far the stream is, in documents.
    pub fn progress(&self) -> Progress {
        self.sweep.progress()
    }

    fn complete(&self, pair: PlacePair) -> Result<Pair> {
        let snapshot = &self.sweep.snapshot;
        let (one, other) = (snapshot.key(pair.a)?, snapshot.key(pair.b)?);
        let (a, b) = if one < other { (one, other) } else { (other, one) };
        let similarity = snapshot.params().similarity(pair.equal_rows);
        Ok(Pair { a, b, equal_rows: pair.equal_rows, similarity })
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        let go_on = &mut |_| ControlFlow::Continue(());
        let pair = self.sweep.next(&|_| false, go_on).transpose()?;
        Some(pair.and_then(|pair| self.complete(pair)))
    }
}
