//! Ends a process of the bench and starts the next one: cleanly, by a kill, or by a power cut.

use super::bench::{Bench, DIR, End};
use super::model::Model;
use super::reading::check_all;
use crate::testing::sim::Sim;
use crate::{Index, Result};
use std::path::Path;

impl Bench {
    pub(super) fn close_and_reopen(&mut self) -> Result<()> {
        let index = self.index.take().expect("the index is open");
        index.close()?;
        self.durable = self.model.change;
        let written = self.sim.counters().bytes_written;
        let is_shared = self.layout.handles > 0;
        let may_look = self.sound && !is_shared && !self.sim.is_stopped();
        if may_look && self.snapshots.is_empty() {
            self.nothing_is_left_over();
        }
        let index = self.open(&self.sim)?;
        let replayed = index.stats()?.recovery.changes_replayed;
        assert!(is_shared || replayed == 0, "a clean close leaves nothing to replay");
        // Opening writes nothing, with one exception: the copy of the catalog, if the disk failed
        // when it was to be written.
        let opening = self.sim.counters().bytes_written - written;
        assert!(opening == 0 || !self.sound, "opening writes {opening} bytes");
        self.index = Some(index);
        check_all(&self.index().snapshot(), &self.model)
    }

    pub(super) fn drop_and_reopen(&mut self) -> Result<()> {
        drop(self.index.take());
        if self.in_doubt.is_some() {
            assert!(self.begin_again(End::Kill), "a disk fails once");
            return Ok(());
        }
        self.index = Some(self.open(&self.sim)?);
        assert_eq!(self.index().durable_change(), self.model.change, "replay makes durable");
        check_all(&self.index().snapshot(), &self.model)
    }

    /// Checks that a closed index has only these files: the catalog, segments with at most one dead
    /// file each, and a spare.
    fn nothing_is_left_over(&self) {
        let files = self.sim.snapshot_of_files();
        let names: Vec<&Path> = files
            .keys()
            .map(std::path::PathBuf::as_path)
            .filter(|path| path.starts_with(DIR))
            .collect();
        let count = |ending: &str| {
            names
                .iter()
                .filter(|name| name.extension().is_some_and(|found| found == ending))
                .count()
        };
        assert_eq!(count("tmp"), 0, "{names:?}");
        assert_eq!(count("wal"), 0, "{names:?}");
        assert!(count("free") <= 1, "{names:?}");
        let catalog = crate::catalog::peek(&self.sim, &Path::new(DIR).join("catalog.redb"));
        let row = catalog.expect("a catalog");
        assert_eq!(count("seg"), row.segments.len(), "{names:?}");
        let dead = row.segments.iter().filter(|entry| entry.dead_file.is_some()).count();
        assert_eq!(count("dead"), dead, "{names:?}");
        let others = names.len() - count("free") - count("seg") - count("dead");
        assert_eq!(others, 3, "catalog, parameters and lock: {names:?}");
    }

    /// Ends the process, with a power cut if requested, and continues with what is left.
    pub(super) fn end(&mut self, how: End) {
        if let Some(index) = &self.index {
            self.durable = self.durable.max(index.durable_change());
        }
        drop(self.index.take());
        self.others.clear();
        self.snapshots.clear();
        loop {
            self.ends += 1;
            self.sim = match how {
                End::Kill => self.sim.kill(),
                End::PowerCut => {
                    let which = self.rng.below(40);
                    let seed = self.rng.next();
                    self.sim.crash_states(seed, which + 1).last().expect("a state")
                }
            };
            // The disk is stopped only if no answers are recorded: recorded answers are compared
            // with those of other layouts, so no change may be lost.
            let stop = self.answers.is_none() && self.rng.percent(25);
            if stop {
                self.stops_by = how;
                self.sim.power_cut_at(self.rng.next() % 40);
            }
            if self.begin_again(how) {
                return;
            }
            assert!(stop, "only a disk that stops keeps an index from opening");
        }
    }

    /// Opens the index on the disk that is left. Returns false if the disk stopped meanwhile.
    pub(super) fn begin_again(&mut self, how: End) -> bool {
        self.others.clear();
        let index = match self.open(&self.sim) {
            Ok(index) => index,
            Err(_) if self.sim.is_stopped() => return false,
            Err(error) => panic!("what was left after {how:?} does not open: {error:?}"),
        };
        // What must be left: after a kill every change, after a power cut every change known to be
        // durable.
        let acknowledged = if how == End::Kill { self.model.change } else { self.durable };
        let model = self.survivor(&index, acknowledged);
        self.durable = model.change;
        let before = std::mem::take(&mut self.history);
        self.remember(before);
        self.past.retain(|change, _| *change < model.change);
        self.history.insert(model.change, model.clone());
        self.in_doubt = None;
        self.model = model;
        if self.sim.is_stopped() {
            return false;
        }
        if let Err(error) = check_all(&index.snapshot(), &self.model) {
            panic!("what was left after {how:?} cannot be read: {error:?}");
        }
        self.index = Some(index);
        true
    }

    /// The model at the change that a reopened index shows. That change must be at least
    /// `acknowledged`.
    pub(super) fn survivor(&self, index: &Index, acknowledged: u64) -> Model {
        let found = index.snapshot().change();
        assert!(found >= acknowledged, "change {found} is left, {acknowledged} was acknowledged");
        assert_eq!(index.durable_change(), found, "what a process begins with is durable");
        let last = self.in_doubt.iter().find(|model| model.change == found);
        let model = self.history.get(&found).or(last);
        model.unwrap_or_else(|| panic!("change {found} never happened")).clone()
    }

    /// Opens a disk that a crash of this bench's disk could leave, and compares the index with the
    /// model. Returns the change that the index shows.
    pub(super) fn check_disk(&self, disk: &Sim, acknowledged: u64) -> u64 {
        let index = self.open(disk).unwrap_or_else(|error| panic!("does not open: {error:?}"));
        let model = self.survivor(&index, acknowledged);
        if let Err(error) = check_all(&index.snapshot(), &model) {
            panic!("cannot be read: {error:?}");
        }
        model.change
    }
}
