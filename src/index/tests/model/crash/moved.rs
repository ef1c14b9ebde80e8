//! Folders that are moved, and locks that are deleted, while a handle is open.

use super::super::bench::{Bench, DIR};
use super::super::script::{ModelEdit, Op};
use super::run::CrashRun;
use super::script::HASHES;
use crate::{ErrorKind, Index, Options, Result};
use std::path::Path;
use std::sync::Arc;

/// The path of the folder while it is moved.
const AWAY: &str = "/a/folder/moved.nearkin";
/// The key that the handle without a lock tries to insert.
const LOST: &[u8] = b"lost";

/// Makes another index in the place of the moved one. Returns `None` if the disk fails.
fn stranger(bench: &Bench) -> Option<Index> {
    let disk = Arc::new(bench.sim.clone());
    let options = Options::default().maintenance(crate::Maintenance::Inline);
    let index = Index::create_on(disk, Path::new(DIR), &bench.layout.params, options).ok()?;
    index.insert("a", &bench.signature(&[7; HASHES])).ok()?;
    Some(index)
}

impl CrashRun {
    /// Does an operation while the folder is at another path.
    pub(super) fn moved(&mut self, with_stranger: bool, op: &Op) -> Result<()> {
        let (here, away) = (Path::new(DIR), Path::new(AWAY));
        self.bench.sim.move_folder(here, away);
        let stranger = with_stranger.then(|| stranger(&self.bench)).flatten();
        let result = self.bench.execute(op);
        if let Some(stranger) = stranger
            && self.bench.sound
            && !self.bench.sim.is_stopped()
        {
            let found = stranger.verify();
            if !self.bench.sim.is_stopped() {
                assert_eq!(found.expect("a sound disk").problems.len(), 0);
                assert_eq!(stranger.len(), 1);
            }
        }
        self.bench.sim.remove_folder(here);
        self.bench.sim.move_folder(away, here);
        result
    }

    /// Deletes the lock. From then on, this handle must write nothing, and no other process may
    /// write as long as the handle exists. The next process to open the index must find everything
    /// that was acknowledged.
    pub(super) fn lose_lock(&mut self, with_second: bool) {
        self.note_promised();
        self.bench.sim.remove_file(&Path::new(DIR).join("lock"));
        if with_second {
            let second = self.bench.open(&self.bench.sim);
            let refused = second.err().map(|error| error.kind());
            let may_fail = self.bench.sim.is_stopped() || !self.bench.sound;
            assert!(refused == Some(ErrorKind::Locked) || may_fail, "{refused:?}");
        }
        let insert =
            ModelEdit::Insert { key: LOST.to_vec(), lanes: vec![7; HASHES], payload: None };
        let (batch, _) = self.bench.batch(&[insert], 1);
        let refused = self.bench.index().write(&batch);
        if !self.bench.sim.is_stopped() {
            let error = refused.expect_err("the lock is lost");
            assert_eq!(error.kind(), ErrorKind::Closed, "{error:?}");
        }
        drop(self.bench.index.take());
        self.bench.snapshots.clear();
        self.reopen();
    }
}
