//! A reader beside a writer: operations of the writer run between any two calls of the reader.

use super::super::bench::DIR;
use super::turns::met_disk;
use super::{HASHES, PanicNote, options, params};
use crate::storage::Storage;
use crate::testing::planted::{Bug, Planted};
use crate::testing::sim::Sim;
use crate::{Durability, Index, Options, Reader, Signature};
use nearkin_sketch::engine::signature_from_parts;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An operation of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Open,
    Write,
    /// Makes all changes durable, and records the horizon in the log.
    Sync,
    Flush,
    Compact,
    Close,
    Drop,
}

use Deed::{Close, Compact, Drop, Flush, Open, Sync, Write};

/// For each scene: what the writer does before the reader's calls, and what it does between two of
/// these calls.
const SCENES: [(&[Deed], &[Deed]); 10] = [
    (&[Open, Write, Close], &[Open, Write, Sync, Write]),
    (&[Open, Write, Close], &[Open, Write, Sync, Close]),
    (&[Open, Write, Write, Drop], &[Open, Write]),
    (&[Open, Write, Write, Drop], &[Open, Write, Flush, Write, Drop]),
    (&[Open, Write, Sync, Write], &[Write, Sync, Write]),
    (&[Open, Write, Sync, Write], &[Flush, Write, Sync, Write]),
    (&[Open, Write, Flush, Write], &[Flush, Write, Flush, Write, Flush, Write, Sync, Write]),
    (&[Open, Write, Flush, Write, Flush, Write], &[Compact, Write, Sync]),
    (&[Open, Write, Sync, Write], &[Close]),
    (&[Open, Write, Sync, Write], &[Drop, Open, Write]),
];

/// A writer whose change n inserts document n and removes document n - 4.
#[derive(Debug, Default)]
struct SceneWriter {
    index: Option<Index>,
    change: u64,
    /// The last change that the log or the catalog records as durable.
    noted: u64,
    /// The last durable change.
    durable: u64,
    /// Whether a writer died, so that its unsynced changes are only in its log.
    died: bool,
}

fn of_change(change: u64) -> ([u8; 1], Signature) {
    let key = u8::try_from(change).expect("small");
    let lanes = vec![key; HASHES].into_boxed_slice();
    ([key], signature_from_parts(&params(), 3, lanes))
}

impl SceneWriter {
    fn does(&mut self, deed: Deed, sim: &Sim, options: &Options) {
        match deed {
            Open => {
                let opened = Index::open_on(Arc::new(sim.clone()), Path::new(DIR), options.clone());
                self.index = Some(opened.expect("readers keep no writer out"));
                self.died = false;
            }
            Write => {
                let before = self.durable;
                let (key, signature) = of_change(self.change + 1);
                let mut batch = crate::Batch::new().insert(key, &signature);
                if self.change >= 4 {
                    batch = batch.remove(of_change(self.change - 3).0);
                }
                let written = self.index.as_ref().expect("open").write(&batch).expect("written");
                self.change += 1;
                assert_eq!(written.change, self.change);
                self.noted = self.noted.max(before);
            }
            Sync => {
                self.noted = self.index.as_ref().expect("open").sync().expect("synced");
            }
            Flush => self.index.as_ref().expect("open").flush().expect("flushed"),
            Compact => self.index.as_ref().expect("open").compact().expect("compacted"),
            Close => self.index.take().expect("open").close().expect("closed"),
            Drop => {
                self.died = true;
                self.index = None;
            }
        }
        match (&self.index, deed) {
            (Some(index), _) => self.durable = index.durable_change(),
            (None, Close) => self.durable = self.change,
            (None, _) => {}
        }
        if [Open, Flush, Compact, Close, Drop].contains(&deed) {
            // Once the writer is gone, all whole records count, even if they are not durable.
            self.noted = if deed == Drop { self.change } else { self.durable };
        }
    }
}

/// Compares the documents that a reader sees with brute force.
fn check(reader: &Reader) {
    let change = reader.change();
    let live = change.saturating_sub(3).max(1)..=change;
    assert_eq!(reader.len(), change.min(4), "documents at {change}");
    for number in 1..=change + 2 {
        let (key, signature) = of_change(number);
        assert_eq!(reader.contains(key).expect("read"), live.contains(&number), "{number}");
        let answer = reader.query(&signature).threshold(0.9).run().expect("answered");
        assert_eq!(answer.found, u64::from(live.contains(&number)), "like {number} at {change}");
    }
}

/// Runs the second part of a scene just before call `at` of a reader that opens or refreshes.
/// Returns false if the reader makes fewer calls.
fn interrupt(scene: usize, refreshes: bool, at: u64) -> bool {
    let _place = PanicNote(format!("scene {scene}, refreshes {refreshes}, call {at}"));
    let (sim, options) = (Sim::new(), options(scene as u64));
    let options =
        Options { durability: Durability::OsBuffer, memtable_bytes_max: 1 << 20, ..options };
    let made = Index::create_on(Arc::new(sim.clone()), Path::new(DIR), &params(), options.clone());
    made.expect("made").close().expect("closed");
    let (before, meanwhile) = SCENES[scene];
    let mut writer = SceneWriter::default();
    for deed in before {
        writer.does(*deed, &sim, &options);
    }
    let (least, could_die) = (writer.noted, writer.died);
    let writer = Arc::new(Mutex::new(writer));
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let meet = {
        let (writer, left) = (Arc::clone(&writer), Arc::clone(&left));
        let (sim, options) = (sim.clone(), options.clone());
        move || {
            if left.fetch_sub(1, Ordering::Relaxed) == 0 {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                for deed in meanwhile {
                    writer.does(*deed, &sim, &options);
                }
            }
        }
    };
    let disk: Arc<dyn Storage> = met_disk(&sim, false, meet);
    let open = || Reader::open_on(Arc::clone(&disk), Path::new(DIR), options.clone());
    let reader = if refreshes {
        let reader = open().expect("it opens");
        left.store(at, Ordering::Relaxed);
        reader.refresh().expect("it goes on");
        reader
    } else {
        left.store(at, Ordering::Relaxed);
        open().expect("it opens")
    };
    let fired = left.load(Ordering::Relaxed) > at;
    left.store(u64::MAX, Ordering::Relaxed);
    let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(reader.change() >= least, "{} is seen, {least} was noted", reader.change());
    if !writer.died && !could_die {
        let (seen, durable) = (reader.change(), writer.durable);
        assert!(seen <= durable, "change {seen} is seen, {durable} is durable");
    }
    check(&reader);
    reader.refresh().expect("it goes on");
    assert!(reader.change() >= writer.noted, "{} of {}", reader.change(), writer.noted);
    check(&reader);
    if writer.index.is_some() {
        writer.does(Close, &sim, &options);
    }
    reader.refresh().expect("it goes on");
    assert_eq!(reader.change(), writer.change);
    check(&reader);
    fired
}

/// Runs every scene at every call; returns the number of runs.
fn everywhere() -> u64 {
    let mut calls = 0;
    for scene in 0..SCENES.len() {
        for refreshes in [false, true] {
            let mut at = 0;
            while interrupt(scene, refreshes, at) {
                at += 1;
            }
            calls += at;
        }
    }
    calls
}

#[test]
fn a_reader_sees_one_state_whatever_a_writer_does_between() {
    let calls = everywhere();
    eprintln!("{calls} calls");
    assert!(calls > 250, "{calls} calls");
}

#[test]
fn every_planted_bug_of_readers_is_caught() {
    for bug in Bug::BESIDE {
        let _planted = Planted::new(bug);
        let caught = catch_unwind(AssertUnwindSafe(everywhere)).is_err();
        assert!(caught, "{bug:?} was missed");
        eprintln!("{bug:?} is caught");
    }
}
