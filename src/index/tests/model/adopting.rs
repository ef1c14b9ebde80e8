//! Adoption of sealed segments: the model adopts by brute force, and the bench compares.

use super::bench::Bench;
use super::model::{Doc, Model};
use super::script::{Adopting, Rng};
use crate::index::files::adopt::{self, Adopt};
use crate::index::files::seal::{Ticket, seal_on};
#[cfg(test)]
use crate::index::merge::draft::Draft;
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{Document, ErrorKind, Imported, Result};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The documents of each segment, by key.
type SealedModel = Vec<Vec<(Vec<u8>, Doc)>>;

impl Model {
    /// Adopts segments as one change. Returns how many documents are new and how many are replaced,
    /// or `None` if a key is refused: then nothing has changed.
    fn adopt(&mut self, segments: &SealedModel, how: Adopt) -> Option<(u64, u64)> {
        if segments.is_empty() {
            return Some((0, 0));
        }
        let documents = || segments.iter().flatten();
        let keys: BTreeSet<&[u8]> = documents().map(|(key, _)| &key[..]).collect();
        let replaced = keys.iter().filter(|key| self.get(key).is_some()).count();
        if how == Adopt::Refuse && (replaced > 0 || keys.len() < documents().count()) {
            return None;
        }
        let inserted = keys.len() - replaced;
        for (key, doc) in documents() {
            self.docs.insert(Arc::from(&key[..]), Arc::new(doc.clone()));
        }
        self.change += 1;
        Some((inserted as u64, replaced as u64))
    }
}

impl Bench {
    /// Commits the floor ahead of the segment with the data below it.
    #[cfg(test)]
    pub(super) fn move_floor(&self) -> Result<()> {
        let core = self.index().core();
        let mut writer = core.writer();
        let mut draft = Draft::new(core, &writer);
        (draft.floor, draft.wal) = (writer.change, None);
        draft.commit(core, &mut writer)
    }

    /// Seals segments on a disk of their own, which crashes of the index's disk do not affect, and
    /// adopts them.
    pub(super) fn adopt(&mut self, adopting: &Adopting) -> Result<()> {
        let segments = self.documents_of(adopting);
        let apart: Arc<dyn Storage> = Arc::new(Sim::new());
        let paths = self.seal(&apart, &segments);
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        planted!(AdoptedOverLog => self.move_floor()?);
        let mut after = self.model.clone();
        let expected = after.adopt(&segments, adopting.how);
        match (adopt::adopt_from(self.index().core(), &apart, &paths, adopting.how), expected) {
            (Ok(adopted), Some((inserted, replaced))) => {
                assert_eq!(adopted, Imported { inserted, replaced, ..Imported::default() });
                // An adoption of no segments changes nothing, so it need not make anything durable.
                let is_durable = || self.index().durable_change() == after.change;
                assert!(segments.is_empty() || self.sim.is_stopped() || is_durable());
                self.note(|| format!("{adopted:?}"));
                self.history.insert(after.change, after.clone());
                self.model = after;
                Ok(())
            }
            (Err(error), None) if error.kind() == ErrorKind::Exists => {
                self.note(|| error.to_string());
                Ok(())
            }
            (Ok(adopted), None) => panic!("{adopted:?}, where a key is refused"),
            (Err(error), _) => {
                self.in_doubt = (after.change > self.model.change).then_some(after);
                Err(error)
            }
        }
    }

    fn documents_of(&self, adopting: &Adopting) -> SealedModel {
        let now = self.clock.load(Ordering::Relaxed);
        let document = |(key, lanes, payload): &(Vec<u8>, Vec<u8>, Option<Vec<u8>>)| {
            let signature = self.signature(lanes);
            let doc = Doc {
                signature: signature.as_bytes().to_vec(),
                payload: payload.clone().unwrap_or_default(),
                time: now.saturating_sub(adopting.age),
                shingle_count: signature.shingle_count(),
            };
            (key.clone(), doc)
        };
        adopting.segments.iter().map(|segment| segment.iter().map(document).collect()).collect()
    }

    fn seal(&self, to: &Arc<dyn Storage>, segments: &SealedModel) -> Vec<PathBuf> {
        let mut rng = Rng::new(self.random.load(Ordering::Relaxed));
        let mut paths = Vec::new();
        for (at, segment) in segments.iter().enumerate() {
            let path = PathBuf::from(format!("/part-{at}"));
            let document = |(key, doc): &(Vec<u8>, Doc)| {
                let bytes = doc.signature.clone().into_boxed_slice();
                let params = &self.layout.params;
                let signature = signature_from_parts(params, doc.shingle_count, bytes);
                let document = Document::new(key.clone(), signature);
                document.with_payload(&doc.payload[..]).with_time(doc.time)
            };
            let ticket = Ticket::new([7; 16], rng.next() >> 8).expect("small");
            let documents = segment.iter().map(document).collect();
            seal_on(to, &self.layout.params, documents, &ticket, &path).expect("a sound disk");
            paths.push(path);
        }
        paths
    }
}

/// Random scripts must produce every outcome of an adoption.
#[test]
fn scripts_adopt_and_are_refused() {
    let mut met = (0, 0, 0);
    for number in 1..=40_u64 {
        let params = super::shape(number);
        let mut author = super::Author::new(number, params.hashes(), super::Mischief::NoLoss);
        let layout = super::Layout { params, ..super::Layout::new(&super::shape(number)) };
        let mut bench = Bench::new(layout, number);
        for _ in 0..400 {
            let op = author.op();
            let before = bench.model.docs.len();
            let change = bench.model.change;
            bench.step(&op);
            if let super::Op::Adopt(adopting) = &op {
                let grown = bench.model.docs.len() > before;
                let adopted = bench.model.change > change;
                met.0 += u32::from(adopted && adopting.how == Adopt::Refuse);
                met.1 += u32::from(!adopted && adopting.how == Adopt::Refuse);
                met.2 += u32::from(adopted && grown && adopting.how == Adopt::Replace);
            }
        }
    }
    assert!(met.0 > 5 && met.1 > 5 && met.2 > 5, "{met:?}");
}
