//! One run of a scenario: an index on a disk of its own, and what its threads have seen.

use super::disk::{HeldFiles, TurnDisk, Turns, listed};
use super::judge::{Claim, Docs, Judge, ScheduleSeen, Wrote};
use super::run;
use crate::storage::Storage;
use crate::storage::names::Names;
use crate::testing::sim::Sim;
use crate::{
    Admission, Admit, Batch, Decision, Durability, Index, Maintenance, Newcomer, Options, Params,
    Reader, Result, Signature, Snapshot, Written,
};
use nearkin_sketch::engine::signature_from_parts;
use shuttle::scheduler::RandomScheduler;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

pub(super) const DIR: &str = "/i.nearkin";
pub(super) const TIME: u64 = 1_700_000_000_000;
/// The last change of the index from which all runs start.
pub(super) const FLOOR: u64 = 2;

/// The disk from which every run starts. It has a closed index with two segments, one of them with
/// a dead file.
static BASE: OnceLock<Sim> = OnceLock::new();

/// The violations found by all threads.
#[derive(Debug, Clone, Default)]
pub(super) struct Problems(Arc<Mutex<Vec<String>>>);

impl Problems {
    pub(super) fn say(&self, what: String) {
        self.0.lock().expect("nobody panicked").push(what);
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("nobody panicked"))
    }
}

pub(super) fn params() -> Params {
    Params::builder().hashes(16).bands(4, 4).lane_bits(8).build().expect("sound")
}

/// The signature of a version, in two halves. Signatures with an equal half share two of the four
/// bands.
pub(super) fn signature(version: u8) -> Signature {
    let params = params();
    let bytes = [[version / 4; 8], [100 + version % 4; 8]].concat();
    signature_from_parts(&params, u32::from(version), bytes.into())
}

/// Small logs, and merges only by explicit calls. Scenarios that need other options override these.
pub(super) fn options() -> Options {
    let random = AtomicU64::new(1);
    Options {
        durability: Durability::Sync,
        maintenance: Maintenance::Inline,
        wal_bytes_min: 8 << 10,
        wal_bytes_max: 8 << 10,
        step_bytes: 64,
        clock: Arc::new(|| TIME),
        random: Arc::new(move || random.fetch_add(0x9E37_79B9, Ordering::Relaxed)),
        ..Options::default()
    }
}

/// An edit: a key and its new version; `None` removes it.
pub(super) type KeyEdit = (&'static str, Option<u8>);

pub(super) fn batch(edits: &[KeyEdit]) -> Batch {
    edits.iter().fold(Batch::new(), |batch, (key, version)| match version {
        Some(version) => batch.insert_with_payload(key, &signature(*version), [*version]),
        None => batch.remove(key),
    })
}

/// The documents of the base.
pub(super) fn base() -> Docs {
    [("a", 1), ("b", 2), ("c", 1)].map(|(key, version)| (key.into(), version)).into()
}

/// Makes the base once, in a run of its own, so that making it is not part of the schedules that
/// are replayed.
pub(super) fn prepare() {
    BASE.get_or_init(|| {
        let sim = Sim::new();
        let disk = sim.clone();
        run(RandomScheduler::new_from_seed(0, 1), move || {
            let storage = Arc::new(disk.clone());
            let index = Index::create_on(storage, Path::new(DIR), &params(), options());
            let index = index.expect("a sound disk");
            index.write(batch(&[("a", Some(1)), ("b", Some(1))])).expect("written");
            index.flush().expect("flushed");
            index.write(batch(&[("c", Some(1)), ("b", Some(2))])).expect("written");
            index.close().expect("closed");
        });
        sim
    });
}

/// A snapshot whose files are registered as held until it is dropped.
pub(super) struct Holder<'w> {
    world: &'w World,
    snapshot: Option<Snapshot>,
    files: Vec<PathBuf>,
}

impl Holder<'_> {
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.snapshot.as_ref().expect("until dropped")
    }

    /// Checks that the files of the snapshot exist.
    pub(super) fn check_files(&self) {
        for path in self.files.iter().filter(|path| !self.world.has(path)) {
            self.world.problems.say(format!("{} is held and gone", path.display()));
        }
    }
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        self.check_files();
        // Unregister the files first: once the snapshot is dropped, they may be deleted. No other
        // thread can run between the two steps.
        let mut held = self.world.held.lock().expect("nobody panicked");
        for path in &self.files {
            let at = held.iter().position(|held| held == path).expect("it is held");
            held.swap_remove(at);
        }
        drop(held);
        self.snapshot = None;
    }
}

pub(super) struct World {
    pub(super) sim: Sim,
    pub(super) names: Names,
    storage: Arc<TurnDisk>,
    held: HeldFiles,
    pub(super) problems: Problems,
    pub(super) judge: Mutex<Judge>,
}

impl World {
    pub(super) fn new() -> Self {
        let sim = BASE.get().expect("prepared").kill();
        let names = Names::new(Path::new(DIR));
        let (held, problems) = (HeldFiles::default(), Problems::default());
        let storage = Arc::new(TurnDisk {
            sim: sim.clone(),
            names: names.clone(),
            turns: Turns::new(),
            held: Arc::clone(&held),
            problems: problems.clone(),
        });
        Self { sim, names, storage, held, problems, judge: Mutex::default() }
    }

    pub(super) fn try_open(&self, options: Options) -> Result<Index> {
        let storage: Arc<dyn Storage> = Arc::<TurnDisk>::clone(&self.storage);
        Index::open_on(storage, Path::new(DIR), options)
    }

    pub(super) fn open(&self, options: Options) -> Index {
        self.try_open(options).expect("a sound disk")
    }

    fn judge_mut(&self, note: impl FnOnce(&mut Judge)) {
        note(&mut self.judge.lock().expect("nobody panicked"));
    }

    /// Claims that everything up to a change survives a power cut at this moment.
    pub(super) fn claim(&self, who: &'static str, change: u64) {
        let op = self.sim.ops();
        self.judge_mut(|judge| {
            // If the disk has not changed since the last claim, only the larger change of the two
            // counts.
            match judge.claims.last_mut().filter(|claim| claim.op == op) {
                Some(claim) if claim.change >= change => {}
                Some(claim) => (claim.who, claim.change) = (who, change),
                None => {
                    let left = self.sim.crash_states(0, 1).next().expect("one");
                    judge.claims.push(Claim { who, change, op, left });
                }
            }
        });
    }

    /// Writes, and checks everything that the answer promises.
    pub(super) fn write(&self, index: &Index, edits: &[KeyEdit]) -> Result<()> {
        let written = index.write(batch(edits))?;
        // No other thread can have run since the call returned.
        self.claim("an answer", written.change);
        let change = written.change;
        self.judge_mut(|judge| judge.wrote.push(Wrote { edits: edits.to_vec(), written }));
        if index.snapshot().change() < change {
            self.problems.say(format!("change {change} was answered and is not visible"));
        }
        Ok(())
    }

    /// Notes a call that fails: a planted bug may damage what the next handle reads.
    pub(super) fn must<T>(&self, what: &str, done: crate::Result<T>) {
        if let Err(error) = done {
            self.problems.say(format!("{what}: {error:?}"));
        }
    }

    pub(super) fn must_write(&self, index: &Index, edits: &[KeyEdit]) {
        if let Err(error) = self.write(index, edits) {
            self.problems.say(format!("{edits:?}: {error:?}"));
        }
    }

    /// Admits a newcomer unless there is a similar document, and checks everything that the answer
    /// promises. Returns whether it was admitted.
    pub(super) fn admit(&self, index: &Index, key: &'static str, version: u8) -> bool {
        let (signature, payload) = (signature(version), [version]);
        let newcomer = Newcomer::new(key, &signature).payload(&payload);
        let admissions = index.admit_all(&[newcomer], &Admit::at(0.9)).expect("a sound disk");
        let Admission { decision, change, .. } = &admissions[0];
        let (edits, written) = match decision {
            Decision::Admitted { outcome, .. } => {
                let written = Written { change: change + 1, outcomes: vec![*outcome] };
                (vec![(key, Some(version))], written)
            }
            // A rejection depends on stored documents, so the last change before it must be
            // durable.
            Decision::Rejected { .. } => {
                (Vec::new(), Written { change: *change, outcomes: Vec::new() })
            }
        };
        self.claim("an admission", written.change);
        self.judge_mut(|judge| judge.wrote.push(Wrote { edits, written }));
        admissions[0].is_admitted()
    }

    /// Takes a snapshot, and watches its files from now on. Everything that it shows must be
    /// durable.
    pub(super) fn hold(&self, index: &Index) -> Holder<'_> {
        let snapshot = index.snapshot();
        // No other thread can have run since the snapshot was taken.
        self.claim("a snapshot", snapshot.change());
        let live = snapshot.state.segments.iter();
        let files: Vec<PathBuf> = live
            .flat_map(|live| [Some(&live.file), live.dead.as_ref().map(|held| &held.file)])
            .flatten()
            .map(|file| file.path.clone())
            .collect();
        self.held.lock().expect("nobody panicked").extend(files.iter().cloned());
        Holder { world: self, snapshot: Some(snapshot), files }
    }

    /// Reads everything that a snapshot shows.
    pub(super) fn look(&self, snapshot: &Snapshot) {
        match ScheduleSeen::by(snapshot) {
            Ok(seen) => self.judge_mut(|judge| judge.seen.push(seen)),
            Err(error) => self.problems.say(format!("a look: {error:?}")),
        }
    }

    /// Reads another index on the disk, and checks that it is whole. Returns its last change.
    pub(super) fn look_at_copy(&self, dir: &Path) -> u64 {
        let copy = Reader::open_on(Arc::new(self.sim.clone()), dir, options()).expect("it opens");
        self.look(&copy.snapshot());
        let found = copy.verify().expect("verified");
        if !found.problems.is_empty() {
            self.problems.say(format!("a copy: {:?}", found.problems));
        }
        copy.change()
    }

    /// Takes and reads snapshots. Checks that visibility never goes back.
    pub(super) fn read(&self, index: &Index, times: usize) {
        let mut last = 0;
        for _ in 0..times {
            let holder = self.hold(index);
            self.look(holder.snapshot());
            let change = holder.snapshot().change();
            if change < last {
                self.problems.say(format!("visible went back from {last} to {change}"));
            }
            last = change;
        }
    }

    fn has(&self, path: &Path) -> bool {
        self.sim.open(path, crate::storage::OpenMode::Read).is_ok()
    }

    /// Checks that the segments folder has exactly the files that the catalog lists. Call it only
    /// while no thread is running and no snapshot is held.
    pub(super) fn check_folder(&self) {
        let folder = self.names.segments_dir();
        let found = self.sim.list(&folder).expect("a sound disk");
        let found = found.iter().map(|entry| folder.join(&entry.name));
        let found: Vec<PathBuf> = found.filter(|path| *path != self.names.merging_lock()).collect();
        let listed = listed(&self.sim, &self.names).expect("a sound catalog");
        if !found.iter().eq(listed.iter()) {
            self.problems.say(format!("there is {found:?}, listed is {listed:?}"));
        }
    }

    /// Reopens the index. Checks that it holds what was written, and that it is intact.
    pub(super) fn check_reopened(&self) {
        let index = match self.try_open(options()) {
            Ok(index) => index,
            Err(error) => return self.problems.say(error.to_string()),
        };
        self.look(&index.snapshot());
        let found = index.verify().expect("verified");
        if !found.problems.is_empty() {
            self.problems.say(format!("{:?}", found.problems));
        }
        self.judge_mut(|judge| judge.last = Some(index.snapshot().change()));
        index.close().expect("closed");
        self.check_folder();
    }

    /// All violations.
    pub(super) fn judge(&self) -> Vec<String> {
        let mut wrong = self.problems.take();
        wrong.extend(self.judge.lock().expect("nobody panicked").wrong());
        wrong
    }
}
