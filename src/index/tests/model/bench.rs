//! Runs operations on an index and on the model side by side, and compares every answer.
//!
//! After an unclean end the index must hold a prefix of the changes, in commit order, that includes
//! every durable one; the model returns to the same change.

use super::model::{Act, Law, Model, put, remove_prefix};
use super::reading::check_all;
use super::script::{ModelEdit, Op, Rng};
use crate::index::maintain::steps;
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{
    Batch, Durability, ErrorKind, Index, Maintenance, Options, Params, Result, Signature, Snapshot,
};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(super) const DIR: &str = "/a/folder/x.nearkin";

/// Number of earlier models that are kept: more than the changes in one log of a crash script.
const PAST_MAX: usize = 80;

/// The settings of an index that no answer may depend on: layout and maintenance.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) params: Params,
    pub(super) durability: Durability,
    pub(super) memtable_bytes_max: usize,
    pub(super) wal_bytes: (u64, u64),
    pub(super) tier_segments_max: usize,
    pub(super) merge_bytes_max: usize,
    pub(super) step_bytes: usize,
    pub(super) after_each: AfterEach,
    /// Time to live of a document, in milliseconds.
    pub(super) ttl: Option<u64>,
    /// The number of shared handles that do the operations by turns, as several processes would; 0
    /// for one ordinary handle.
    pub(super) handles: usize,
}

/// What is done after every operation of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterEach {
    Nothing,
    Flush,
    Compact,
    CloseAndReopen,
    DropAndReopen,
}

impl Layout {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            durability: Durability::Sync,
            memtable_bytes_max: 4 << 10,
            wal_bytes: (8 << 10, 16 << 10),
            tier_segments_max: 2,
            merge_bytes_max: 1 << 20,
            step_bytes: 16 << 20,
            after_each: AfterEach::Nothing,
            ttl: None,
            handles: 0,
        }
    }

    /// Draws a random layout.
    pub(super) fn random(params: &Params, rng: &mut Rng) -> Self {
        Self {
            durability: rng.pick(&[
                Durability::Sync,
                Durability::OsBuffer,
                Durability::Interval(Duration::from_millis(100)),
            ]),
            memtable_bytes_max: rng.pick(&[1, 2 << 10, 6 << 10, 24 << 10, 1 << 20]),
            wal_bytes: rng.pick(&[(8 << 10, 8 << 10), (8 << 10, 32 << 10), (1 << 16, 1 << 17)]),
            tier_segments_max: rng.pick(&[2, 3, 4]),
            merge_bytes_max: rng.pick(&[1 << 16, 1 << 20]),
            step_bytes: rng.pick(&[64, 400, 4_000, 16 << 20]),
            ttl: rng.pick(&[None, None, Some(40), Some(300)]),
            handles: rng.pick(&[0, 0, 1, 2, 3]),
            ..Self::new(params)
        }
    }

    fn law(&self) -> Law {
        Law {
            hashes: self.params.hashes(),
            bands: self.params.bands(),
            rows: self.params.rows_per_band(),
            lane_bytes: self.params.lane_bits() as usize / 8,
            is_plain: false,
        }
    }

    fn options(&self, clock: &Arc<AtomicU64>, random: &Arc<AtomicU64>) -> Options {
        let (clock, random) = (Arc::clone(clock), Arc::clone(random));
        Options {
            durability: self.durability,
            maintenance: Maintenance::Inline,
            memtable_bytes_max: self.memtable_bytes_max,
            merge_bytes_max: self.merge_bytes_max,
            // Small, so that a segment takes several writes. (A compaction writes 4 or 64 KiB at a
            // time.)
            flush_write_bytes: 5_000,
            compaction_write_bytes: self.merge_bytes_max >> 4,
            wal_bytes_min: self.wal_bytes.0,
            wal_bytes_max: self.wal_bytes.1,
            tier_segments_max: self.tier_segments_max,
            step_bytes: self.step_bytes,
            ttl: self.ttl.map(Duration::from_millis),
            shared: self.handles > 0,
            lock_wait: Some(Duration::ZERO),
            clock: Arc::new(move || clock.load(Ordering::Relaxed)),
            random: Arc::new(move || random.fetch_add(0x9e37_79b9, Ordering::Relaxed)),
            ..Options::default()
        }
    }
}

/// The kind of an unclean end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Kill,
    PowerCut,
}

/// The operations of a batch, as the model takes them.
pub(super) type Acts = Vec<(Vec<u8>, Act)>;

/// An index and its model.
#[derive(Debug)]
pub(super) struct Bench {
    pub(super) sim: Sim,
    pub(super) index: Option<Index>,
    /// The handles whose turn it is not.
    pub(super) others: Vec<Index>,
    pub(super) model: Model,
    pub(super) layout: Layout,
    pub(super) law: Law,
    /// The model after the last durable change, and after every later change.
    pub(super) history: BTreeMap<u64, Model>,
    /// Earlier models, at most `PAST_MAX`: a reader in another process may still see one of them.
    pub(super) past: BTreeMap<u64, Model>,
    /// The last change known to be durable.
    pub(super) durable: u64,
    /// The model as it is if the last write took effect. `None` unless that write was interrupted.
    pub(super) in_doubt: Option<Model>,
    pub(super) snapshots: Vec<(Snapshot, Model)>,
    pub(super) clock: Arc<AtomicU64>,
    pub(super) random: Arc<AtomicU64>,
    pub(super) rng: Rng,
    /// How the process ends when the disk stops as planned.
    pub(super) stops_by: End,
    /// The hashes of all answers; `None` if they are not compared.
    pub(super) answers: Option<Vec<u64>>,
    /// Whether no call is planned to fail. If so, a close must leave no needless file.
    pub(super) sound: bool,
    /// Number of unclean ends so far.
    pub(super) ends: u64,
    /// The last backup that was started.
    pub(super) backup: Option<Backup>,
}

/// A backup that was started.
#[derive(Debug)]
pub(super) struct Backup {
    pub(super) dir: PathBuf,
    /// The models that its content may equal.
    pub(super) models: Vec<Model>,
    pub(super) done: bool,
}

impl Bench {
    /// Makes an empty index on an empty disk: with an odd seed, on one that keeps mapped files.
    pub(super) fn new(layout: Layout, seed: u64) -> Self {
        let sim = Sim::new();
        if seed % 2 == 1 {
            sim.keep_mapped_files();
        }
        let mut bench = Self::unmade(layout, seed, sim);
        bench.make().expect("an index on an empty disk");
        bench
    }

    /// A bench without an index; [`Bench::make`] makes the index.
    pub(super) fn unmade(layout: Layout, seed: u64, sim: Sim) -> Self {
        let mut rng = Rng::new(seed);
        Self {
            sim,
            index: None,
            others: Vec::new(),
            model: Model::default(),
            law: layout.law(),
            layout,
            history: BTreeMap::from([(0, Model::default())]),
            past: BTreeMap::new(),
            durable: 0,
            in_doubt: None,
            snapshots: Vec::new(),
            clock: Arc::new(AtomicU64::new(1_000)),
            random: Arc::new(AtomicU64::new(rng.next())),
            rng,
            stops_by: End::PowerCut,
            answers: None,
            sound: true,
            ends: 0,
            backup: None,
        }
    }

    pub(super) fn make(&mut self) -> Result<()> {
        let options = self.layout.options(&self.clock, &self.random);
        let sim: Arc<dyn Storage> = Arc::new(self.sim.clone());
        let index = Index::create_on(sim, Path::new(DIR), &self.layout.params, options)?;
        self.index = Some(index);
        Ok(())
    }

    pub(super) fn open(&self, sim: &Sim) -> Result<Index> {
        let options = self.layout.options(&self.clock, &self.random);
        Index::open_on(Arc::new(sim.clone()), Path::new(DIR), options)
    }

    pub(super) fn index(&self) -> &Index {
        self.index.as_ref().expect("the index is open")
    }

    /// Does one operation. Panics if the answers of index and model differ.
    pub(super) fn step(&mut self, op: &Op) {
        let result = self.execute(op).and_then(|()| self.finish_step());
        if self.sim.is_stopped() {
            self.end(self.stops_by);
        } else if let Err(error) = result {
            panic!("{op:?}: {error:?}");
        }
    }

    /// Does the work that the layout requires after every operation, and the checks.
    pub(super) fn finish_step(&mut self) -> Result<()> {
        self.note_expiry();
        match self.layout.after_each {
            AfterEach::Nothing => {}
            AfterEach::Flush => self.index().flush()?,
            AfterEach::Compact => self.index().compact()?,
            AfterEach::CloseAndReopen => self.close_and_reopen()?,
            AfterEach::DropAndReopen => self.drop_and_reopen()?,
        }
        if self.sim.is_stopped() {
            return Ok(());
        }
        self.note_durable();
        let snapshot = self.index().snapshot();
        assert_eq!(snapshot.change(), self.model.change, "the change that is visible");
        assert_eq!(snapshot.len(), self.model.docs.len() as u64, "documents");
        Ok(())
    }

    /// Checks that durable changes have stayed durable.
    fn note_durable(&mut self) {
        let durable = self.index().durable_change();
        assert!(durable >= self.durable, "{durable} is durable, {} was", self.durable);
        assert!(durable <= self.model.change, "{durable} is durable of {}", self.model.change);
        if self.layout.durability == Durability::Sync {
            assert_eq!(durable, self.model.change, "every change is durable");
        }
        self.durable = durable;
        let kept = self.history.split_off(&durable);
        let before = std::mem::replace(&mut self.history, kept);
        self.remember(before);
    }

    /// Keeps models that no crash can restore any more: readers may still see them.
    pub(super) fn remember(&mut self, models: BTreeMap<u64, Model>) {
        self.past.extend(models);
        while self.past.len() > PAST_MAX {
            self.past.pop_first();
        }
    }

    pub(super) fn execute(&mut self, op: &Op) -> Result<()> {
        if self.layout.handles > 0 {
            self.take_turns()?;
        }
        match op {
            Op::Write(edits) => self.write(edits)?,
            Op::Admit(how) => self.admit(how)?,
            Op::Adopt(how) => self.adopt(how)?,
            Op::RemoveOlder { ms } => {
                let time = self.clock.load(Ordering::Relaxed).saturating_sub(*ms);
                self.remove(|model| model.remove_before(time), |index| index.remove_before(time))?;
            }
            Op::RemovePrefix(prefix) => {
                let of_model = |model: &mut Model| model.remove_prefix(prefix);
                self.remove(of_model, |index| remove_prefix(index, prefix))?;
            }
            Op::Query { .. }
            | Op::QueryKey { .. }
            | Op::QueryKeys { .. }
            | Op::Get(_)
            | Op::Contains(_)
            | Op::Iter
            | Op::Pairs { .. }
            | Op::Clusters { .. }
            | Op::Refused(_) => {
                let snapshot = self.index().snapshot();
                self.read(op, &snapshot, &self.model.clone())?;
            }
            Op::TakeSnapshot => {
                let snapshot = self.index().snapshot();
                self.snapshots.push((snapshot, self.model.clone()));
            }
            Op::AskSnapshot { which, lanes, ask } => {
                if let Some((snapshot, model)) = self.snapshots.get(*which).cloned() {
                    let op = Op::Query { lanes: lanes.clone(), ask: *ask };
                    self.read(&op, &snapshot, &model)?;
                }
            }
            Op::WalkSnapshot { which } => {
                if let Some((snapshot, model)) = self.snapshots.get(*which).cloned() {
                    check_all(&snapshot, &model)?;
                }
            }
            Op::DropSnapshot { which } if *which < self.snapshots.len() => {
                self.snapshots.swap_remove(*which);
            }
            Op::DropSnapshot { .. } => {}
            Op::Wait { ms } => {
                self.clock.fetch_add(*ms, Ordering::Relaxed);
            }
            _ => self.keep(op)?,
        }
        Ok(())
    }

    /// Does an operation that changes the layout, or ends a process.
    fn keep(&mut self, op: &Op) -> Result<()> {
        match op {
            Op::Flush => {
                planted!(FloorBeforeSegment => self.move_floor()?);
                self.index().flush()?;
                assert_eq!(self.index().durable_change(), self.model.change);
            }
            Op::Compact => {
                let compacted = self.index().compact();
                if self.is_left_to_another(&compacted) {
                    return Ok(());
                }
                compacted?;
                let stats = self.index().stats()?;
                let segments_max = self.model.docs.len().min(1) as u64;
                assert!(stats.segments <= segments_max && stats.dead == 0, "{stats:?}");
            }
            Op::CancelCompact { after } => {
                let mut left = *after;
                let cancelled = self.index().compact_with(&mut |progress| {
                    assert!(progress.done <= progress.total);
                    left = left.saturating_sub(1);
                    if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                if !self.is_left_to_another(&cancelled)
                    && let Err(error) = cancelled
                    && error.kind() != ErrorKind::Cancelled
                {
                    return Err(error);
                }
            }
            Op::Maintain => {
                // No writer is at work, so idle merging may run as well.
                let done = steps::maintain_quiet(self.index().core(), Some(self.model.change));
                if done.is_err() {
                    self.in_doubt = self.expired(&self.model);
                }
                done?;
            }
            Op::Verify => {
                let found = self.index().verify()?;
                if !self.sim.is_stopped() {
                    assert!(found.problems.is_empty(), "{:?}", found.problems);
                    assert_eq!(found.documents, self.model.docs.len() as u64);
                }
            }
            Op::Sync => {
                assert_eq!(self.index().sync()?, self.model.change);
                assert_eq!(self.index().durable_change(), self.model.change);
            }
            Op::CloseAndReopen => self.close_and_reopen()?,
            Op::DropAndReopen => self.drop_and_reopen()?,
            Op::KillAndReopen => self.end(End::Kill),
            Op::CutAndReopen => self.end(End::PowerCut),
            Op::StopLater { ops, kill } => {
                self.stops_by = if *kill { End::Kill } else { End::PowerCut };
                self.sim.power_cut_at(self.sim.ops() + ops);
            }
            _ => unreachable!("{op:?} is done elsewhere"),
        }
        Ok(())
    }

    pub(super) fn signature(&self, lanes: &[u8]) -> Signature {
        self.signature_of(lanes, u32::from(lanes[0]) + 1)
    }

    fn signature_of(&self, lanes: &[u8], shingles: u32) -> Signature {
        // Different wide lanes may agree in their last byte, or in all others.
        let bytes = self.law.lane_bytes;
        let wide = |lane: &u8| [vec![lane & 0x0f; bytes - 1], vec![lane >> 4]].concat();
        let bytes = if bytes == 1 { lanes.to_vec() } else { lanes.iter().flat_map(wide).collect() };
        signature_from_parts(&self.layout.params, shingles, bytes.into_boxed_slice())
    }

    fn write(&mut self, edits: &[ModelEdit]) -> Result<()> {
        let time = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let (batch, acts) = self.batch(edits, time);
        let mut after = self.model.clone();
        let outcomes = after.write(&acts);
        match self.index().write(&batch) {
            Ok(written) => {
                assert_eq!(written.outcomes, outcomes);
                assert_eq!(written.change, after.change, "the number of the change");
                self.note(|| format!("{outcomes:?}"));
                self.history.insert(after.change, after.clone());
                self.model = after;
                Ok(())
            }
            Err(error) => {
                self.in_doubt = (after.change > self.model.change).then_some(after);
                Err(error)
            }
        }
    }

    /// The edits as a batch for the index, and as operations of the model.
    pub(super) fn batch(&self, edits: &[ModelEdit], time: u64) -> (Batch, Acts) {
        let mut batch = Batch::new();
        let mut acts = Vec::new();
        for edit in edits {
            match edit {
                ModelEdit::Insert { key, lanes, payload } => {
                    // Sometimes more shingles than another document of the same signature has.
                    let shingles = u32::from(lanes[0]) + 1 + u32::from(time.is_multiple_of(4));
                    let signature = self.signature_of(lanes, shingles);
                    batch = match payload {
                        Some(payload) => batch.insert_with_payload(key, &signature, payload),
                        None => batch.insert(key, &signature),
                    };
                    acts.push((key.clone(), put(&signature, payload.as_deref(), time)));
                }
                ModelEdit::SetPayload { key, payload } => {
                    batch = batch.set_payload(key, payload);
                    acts.push((key.clone(), Act::SetPayload(payload.clone())));
                }
                ModelEdit::Remove { key } => {
                    batch = batch.remove(key);
                    acts.push((key.clone(), Act::Remove));
                }
            }
        }
        (batch, acts)
    }

    pub(super) fn note(&mut self, answer: impl FnOnce() -> String) {
        if let Some(answers) = &mut self.answers {
            answers.push(xxhash_rust::xxh3::xxh3_64(answer().as_bytes()));
        }
    }
}
