//! One run of a script: to its end, or until the disk stops.

use super::super::admitting::terms;
use super::super::bench::{Backup, Bench, End};
use super::super::model::Model;
use super::super::model::put;
use super::super::script::{ModelEdit, Op};
use super::super::shown::Shown;
use super::script::{CrashStep, HASHES, Script, Second};
use crate::format::wal::{
    LoggedOperation, OPERATION_HEAD_BYTES, RecordBuilder, RecordHeader, RecordKind,
};
use crate::index::state::core::Core;
use crate::index::write::{admit, write_path};
use crate::testing::planted::while_visiting;
use crate::testing::sim::{FaultKind, Moment, Sim};
use crate::{Batch, Durability, Error, ErrorKind, Newcomer, Result};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// A script on a disk that stops at some operation.
#[derive(Debug)]
pub(super) struct CrashRun {
    pub(super) bench: Bench,
    /// Whether the index was created.
    pub(super) made: bool,
    /// Whether a sync failed. This process then writes nothing more, and it must not be reopened:
    /// the next process would read bytes from the page cache that no later sync makes durable.
    pub(super) poisoned: bool,
    /// Whether a sync is planned to fail.
    sync_fails: bool,
    /// Number of disk operations of the processes before the current one.
    before: u64,
    cut: u64,
    /// Number of backups started.
    backups: u32,
}

fn written(core: &Core, batch: &Batch) -> Result<u64> {
    write_path::write(core, batch).map(|written| written.change)
}

/// How the second caller fared: `None` if it did not run, `Some(None)` if it had to wait, otherwise
/// the result of its call; `Ok` has the number of a change.
type Came = Arc<Mutex<Option<Option<Result<u64>>>>>;

impl CrashRun {
    pub(super) fn new(script: &Script, cut: u64) -> Self {
        let bench = Bench::unmade(script.layout.clone(), script.number, Sim::new());
        bench.sim.power_cut_at(cut);
        Self { bench, made: false, poisoned: false, sync_fails: false, before: 0, cut, backups: 0 }
    }

    /// Disk operations so far.
    pub(super) fn ops(&self) -> u64 {
        self.before + self.bench.sim.ops()
    }

    /// Creates the index; returns false if the disk stopped.
    pub(super) fn begin(&mut self) -> bool {
        match self.bench.make() {
            Err(_) if self.bench.sim.is_stopped() => return false,
            made => made.expect("an index on a sound disk"),
        }
        self.made = true;
        true
    }

    /// Runs the script; returns false if the disk stopped before its end.
    pub(super) fn go(&mut self, script: &Script, at: &mut impl FnMut(usize, &CrashStep)) -> bool {
        if !self.begin() {
            return false;
        }
        for (number, step) in script.steps.iter().enumerate() {
            at(number, step);
            if !self.step(step) {
                return false;
            }
        }
        self.note_promised();
        true
    }

    /// Does one step; returns false if the disk stopped.
    pub(super) fn step(&mut self, step: &CrashStep) -> bool {
        let doubt = self.bench.in_doubt.clone();
        planted!(NumberReused => self.reuse_numbers());
        let result = self.act(step).and_then(|()| self.bench.finish_step());
        if self.bench.sim.is_stopped() {
            self.note_promised();
            return false;
        }
        if let Err(error) = result {
            self.survive(&error, doubt.is_some()).unwrap_or_else(|| panic!("{step:?}: {error:?}"));
            if doubt.is_some() {
                self.bench.in_doubt = doubt;
            }
        }
        // If a maintenance step fails after a write, the write succeeds all the same.
        let failure = self.bench.index.as_ref().and_then(|index| index.core.wakeup.failure());
        self.poisoned |= self.sync_fails && failure.is_some_and(|text| text.contains("Unknown"));
        !self.bench.sim.is_stopped()
    }

    /// Records that everything this process acknowledged must survive.
    pub(super) fn note_promised(&mut self) {
        let Some(index) = &self.bench.index else { return };
        let mut promised = index.durable_change();
        if self.bench.layout.durability == Durability::Sync {
            promised = promised.max(index.snapshot().change());
        }
        self.bench.durable = self.bench.durable.max(promised);
    }

    /// Handles an error that the script may cause, so that the run can continue. Returns `None` if
    /// the error is not allowed.
    fn survive(&mut self, error: &Error, was_in_doubt: bool) -> Option<()> {
        match error.kind() {
            ErrorKind::Io => self.bench.in_doubt = None,
            ErrorKind::Unknown | ErrorKind::Poisoned if self.sync_fails => {
                self.poisoned = true;
                planted!(PoisonForgotten => if let Some(index) = &self.bench.index {
                    index.core.group.lock().stopped = None;
                });
                let seen = self.bench.index.as_ref().map(|index| index.snapshot().change());
                assert_eq!(seen.unwrap_or(self.bench.model.change), self.bench.model.change);
                if error.kind() == ErrorKind::Poisoned && !was_in_doubt {
                    self.bench.in_doubt = None;
                }
            }
            // Drop the handle: the error message says to reopen the index.
            ErrorKind::Unknown | ErrorKind::Poisoned => drop(self.bench.index.take()),
            _ => return None,
        }
        if self.bench.index.is_none() {
            self.reopen();
        }
        Some(())
    }

    /// Reopens the index without its old handle. If the disk is full, space is freed first.
    pub(super) fn reopen(&mut self) {
        self.bench.snapshots.clear();
        if self.bench.open(&self.bench.sim).is_err() {
            self.bench.sim.set_capacity(u64::MAX);
        }
        let opened = self.bench.begin_again(End::Kill);
        assert!(opened || self.bench.sim.is_stopped());
    }

    /// Sets the next file number to the one after the largest that the catalog lists: it may have
    /// been used before.
    fn reuse_numbers(&self) {
        let mut writer = self.bench.index().core.writer();
        writer.file_next = writer.catalog.row().numbers().max().unwrap_or(0) + 1;
    }

    fn act(&mut self, step: &CrashStep) -> Result<()> {
        match step {
            // Skipped if a sync is to fail: the next process would read bytes from the page cache
            // that no later sync makes durable.
            CrashStep::Do(Op::CloseAndReopen | Op::DropAndReopen | Op::KillAndReopen)
            | CrashStep::LoseLock { .. }
                if self.sync_fails => {}
            // A shared handle holds no lock that it could lose between two calls.
            CrashStep::Moved { .. } | CrashStep::LoseLock { .. }
                if self.bench.layout.handles > 0 => {}
            CrashStep::Do(Op::KillAndReopen) => self.kill(),
            CrashStep::Do(op) => self.bench.execute(op)?,
            CrashStep::Together { first, second } => self.together(first, second)?,
            CrashStep::Backup { meanwhile } => self.backup(meanwhile)?,
            CrashStep::Forge { key } => self.forge(*key)?,
            CrashStep::Moved { stranger, op } => self.moved(*stranger, op)?,
            CrashStep::LoseLock { second } => self.lose_lock(*second),
            CrashStep::Fail(fault) => {
                self.sync_fails |= fault.what == FaultKind::SyncFails;
                self.bench.sound = false;
                self.bench.sim.fail(*fault);
            }
            CrashStep::Shrink { bytes } => {
                self.bench.sound = false;
                let files = self.bench.sim.snapshot_of_files();
                let used: usize = files.values().map(Vec::len).sum();
                self.bench.sim.set_capacity(used as u64 + bytes);
            }
            CrashStep::Grow => self.bench.sim.set_capacity(u64::MAX),
        }
        Ok(())
    }

    fn kill(&mut self) {
        self.note_promised();
        self.bench.index = None;
        self.bench.snapshots.clear();
        self.before += self.bench.sim.ops();
        self.bench.sim = self.bench.sim.kill();
        self.bench.sim.power_cut_at(self.cut.saturating_sub(self.before));
        self.reopen();
    }

    /// Two concurrent callers: the second one acts during a sync of the first.
    fn together(&mut self, first: &[ModelEdit], second: &Second) -> Result<()> {
        let time = self.bench.clock.load(Ordering::Relaxed) + 1;
        let came: Came = Arc::default();
        match second {
            Second::Same => {
                let (batch, _) = self.bench.batch(first, time);
                self.expect(Moment::BeforeSync, move |core| written(core, &batch), &came);
            }
            Second::Write(edits) => {
                let (batch, _) = self.bench.batch(edits, time);
                self.expect(Moment::AfterSync, move |core| written(core, &batch), &came);
            }
            Second::Admit(how) => {
                let (key, lanes, payload) = how.newcomers[0].clone();
                let (signature, how) = (self.bench.signature(&lanes), how.clone());
                let law = self.bench.law;
                let admit = move |core: &Core| {
                    let mut newcomer = Newcomer::new(&key, &signature);
                    if let Some(payload) = &payload {
                        newcomer = newcomer.payload(payload);
                    }
                    let terms = terms(&law, &how, &Shown::default());
                    admit::admit_all(core, &[newcomer], &terms)
                        .map(|admissions| admissions[0].change)
                };
                self.expect(Moment::BeforeSync, admit, &came);
            }
        }
        let result = self.bench.execute(&Op::Write(first.to_vec()));
        self.bench.sim.visit_syncs(None);
        let came = came.lock().expect("nobody panicked").take();
        let Some(answer) = came else { return result };
        if let Some(Ok(change)) = &answer {
            // The second caller got its answer, so its change is durable.
            self.bench.durable = self.bench.durable.max(*change);
        }
        if let Err(error) = result {
            // The write of the second caller was appended after the first one. If the first is in
            // doubt, the second is, too.
            let may_be_there = self.bench.sim.is_stopped() || error.kind() != ErrorKind::Io;
            if let Some(one) = self.bench.in_doubt.take_if(|_| may_be_there) {
                let both = self.with_second(one.clone(), first, second, time);
                self.bench.history.insert(one.change, one);
                self.bench.in_doubt = Some(both);
            }
            return Err(error);
        }
        let after = self.with_second(self.bench.model.clone(), first, second, time);
        if after.change == self.bench.model.change {
            return Ok(());
        }
        match answer {
            Some(Err(error)) => {
                self.bench.in_doubt = Some(after);
                return Err(error);
            }
            // The second caller had to wait for a flush, and has written nothing yet.
            None if self.bench.index().core.writer().change < after.change => {}
            Some(Ok(_)) | None => {
                self.bench.history.insert(after.change, after.clone());
                self.bench.model = after;
            }
        }
        // The second caller had to wait for a sync: sync now in its place.
        self.bench.index().sync().map(drop)
    }

    /// The model after the write of the second caller.
    fn with_second(
        &self,
        mut model: Model,
        first: &[ModelEdit],
        second: &Second,
        time: u64,
    ) -> Model {
        match second {
            Second::Same => drop(model.write(&self.bench.batch(first, time).1)),
            Second::Write(edits) => drop(model.write(&self.bench.batch(edits, time).1)),
            Second::Admit(how) => {
                let (key, lanes, payload) = &how.newcomers[0];
                let new = put(&self.bench.signature(lanes), payload.as_deref(), time);
                model.admit(&self.bench.law, key, new, how, &Shown::default());
            }
        }
        model
    }

    /// Makes a backup. The writes in `meanwhile` are made when the first file of the backup is
    /// linked, or not at all.
    fn backup(&mut self, meanwhile: &[ModelEdit]) -> Result<()> {
        let bench = &mut self.bench;
        self.backups += 1;
        let dir = PathBuf::from(format!("/backups/{}", self.backups));
        let time = bench.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let (batch, acts) = bench.batch(meanwhile, time);
        let mut after = bench.model.clone();
        after.write(&acts);
        let models = vec![bench.model.clone(), after.clone()];
        bench.backup = Some(Backup { dir: dir.clone(), models, done: false });
        let came: Came = Arc::default();
        if !meanwhile.is_empty() {
            self.expect(Moment::BeforeLink, move |core| written(core, &batch), &came);
        }
        let result = self.bench.index().backup(&dir);
        self.bench.sim.visit_syncs(None);
        let came = came.lock().expect("nobody panicked").take();
        match came.map(|answer| answer.expect("nobody syncs: there is nobody to wait for")) {
            None => {}
            Some(Ok(change)) => {
                assert_eq!(change, after.change);
                if self.bench.layout.durability == Durability::Sync {
                    self.bench.durable = self.bench.durable.max(change);
                }
                self.bench.history.insert(after.change, after.clone());
                self.bench.model = after;
            }
            Some(Err(error)) => {
                self.bench.in_doubt = (after.change > self.bench.model.change).then_some(after);
                return Err(error);
            }
        }
        result?;
        self.bench.backup.iter_mut().for_each(|backup| backup.done = true);
        Ok(())
    }

    /// Schedules an action for the next sync, at a moment when other threads could act.
    fn expect(
        &self,
        moment: Moment,
        act: impl Fn(&Core) -> Result<u64> + Send + 'static,
        came: &Came,
    ) {
        let (core, came) = (Arc::clone(&self.bench.index().core), Arc::clone(came));
        let visit = move || {
            // If the write lock is held, a real second caller would wait here until the sync is
            // over. So this visit does nothing.
            if core.writer.try_lock().is_err() {
                return false;
            }
            let answer = while_visiting(|| act(&core)).ok();
            // Another handle has its turn, and one that does not wait gets none now.
            let is_locked = |answer: &Result<u64>| {
                answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Locked)
            };
            if answer.as_ref().is_some_and(is_locked) {
                return false;
            }
            *came.lock().expect("nobody panicked") = Some(answer);
            true
        };
        self.bench.sim.visit_syncs(Some((moment, Box::new(visit))));
    }

    /// Inserts a document whose payload consists of records with a valid checksum and the salt of
    /// this log, but bound to offset 0.
    fn forge(&mut self, key: [u8; 4]) -> Result<()> {
        let place = {
            let writer = self.bench.index().core.writer();
            let salt = writer.catalog.row().wal.map_or(0, |wal| wal.salt);
            (salt, writer.wal.as_ref().map_or(0, crate::wal::Wal::end))
        };
        let (salt, end) = place;
        // The payload begins at a multiple of 8 bytes, as records do: what lies before it in the
        // record (headers, signature and key) has such a length.
        let before = RecordHeader::BYTES + OPERATION_HEAD_BYTES + HASHES + key.len();
        let begin = end + before as u64;
        let mut payload = Vec::new();
        while payload.len() < 1_500 {
            let mut record = RecordBuilder::new();
            record.push(&LoggedOperation::Remove { key: b"forged" });
            let change = self.bench.model.change + 5;
            let at = planted!(CrcNotBoundToOffset, begin + payload.len() as u64, 0);
            payload.extend_from_slice(record.seal(RecordKind::Change, change, end + 8, salt, at));
        }
        let lanes = vec![payload[0]; HASHES];
        let payload = Some(payload);
        self.bench.execute(&Op::Write(vec![ModelEdit::Insert {
            key: key.to_vec(),
            lanes,
            payload,
        }]))
    }
}
