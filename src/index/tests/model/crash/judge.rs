//! The checks on a disk that a crash left. It must open, hold a prefix of the changes with
//! everything that was promised, be intact, take another write, and open again.

use super::super::bench::{Bench, DIR};
use super::super::model::Model;
use super::super::model::put;
use super::super::reading::{check_all, stored};
use super::super::script::Rng;
use super::run::CrashRun;
use super::script::HASHES;
use crate::format::catalog::Row;
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{Batch, ErrorKind, Index, Maintenance, Options, Reader, catalog};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The work done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Figures {
    pub(super) scripts: u64,
    /// Operations at which the power was cut.
    pub(super) cuts: u64,
    /// Possible disks at those cuts, including those after kills and second cuts.
    pub(super) states: u64,
    /// Disks that had to be judged: no earlier disk of the script had the same content, promised
    /// change and last possible change.
    pub(super) distinct: u64,
    /// Cuts during the recovery from a cut.
    pub(super) second_cuts: u64,
    pub(super) kills: u64,
    /// Disks that were damaged on purpose.
    pub(super) damaged: u64,
    /// Disks whose index was salvaged.
    pub(super) salvaged: u64,
    /// Readers that were opened at a cut: `beside` a writer that still holds the lock, and `alone`,
    /// on a disk without a writer.
    pub(super) beside: u64,
    pub(super) alone: u64,
    /// Backups that could be opened, and incomplete backups that were detected.
    pub(super) backups: (u64, u64),
}

impl Figures {
    pub(super) fn add(&mut self, other: &Self) {
        self.scripts += other.scripts;
        self.cuts += other.cuts;
        self.states += other.states;
        self.distinct += other.distinct;
        self.second_cuts += other.second_cuts;
        self.kills += other.kills;
        self.damaged += other.damaged;
        self.salvaged += other.salvaged;
        self.beside += other.beside;
        self.alone += other.alone;
        self.backups.0 += other.backups.0;
        self.backups.1 += other.backups.1;
    }
}

/// The disks judged so far: the hash of the content, the promised change, and the last change that
/// may be there.
pub(super) type CrashSeen = HashSet<(u64, u64, u64)>;

/// Number of disk states that are judged after a kill, after a reader has looked, and after a
/// second cut.
const AFTER_KILL: usize = 4;
const AFTER_READER: usize = 4;
const AFTER_SECOND_CUT: usize = 6;

/// Judges the disk of a stopped run.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub(super) figures: &'a mut Figures,
    pub(super) seen: &'a mut CrashSeen,
    pub(super) rng: Rng,
    /// Whether to damage disks on purpose as well.
    pub(super) damage: bool,
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn copy_of(files: &Files) -> Sim {
    let sim = Sim::new();
    for (path, bytes) in files {
        sim.overwrite(path, bytes);
    }
    for folder in ["wal", "segments"] {
        // This call fails if the folder exists, as it does if any of the files is in it. A folder
        // without files is created here.
        let _ = sim.create_dir(&Path::new(DIR).join(folder));
    }
    // The folders are durable, as on the original disk: an index syncs the folders that it creates.
    sim.sync_dir(Path::new(DIR)).expect("a folder");
    sim
}

fn hash_of(disk: &Sim) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for (path, bytes) in disk.snapshot_of_files() {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    hasher.digest()
}

impl Judge<'_> {
    /// Judges every kind of crash at this moment.
    pub(super) fn crash(&mut self, run: &CrashRun, states: usize) {
        let bench = &run.bench;
        for disk in bench.sim.crash_states(self.rng.next(), states) {
            self.judge(bench, &disk, bench.durable, run.made);
        }
        let disk = bench.sim.kill();
        if let Some(seen) = self.beside(run, &disk) {
            for disk in disk.crash_states(self.rng.next(), AFTER_READER) {
                self.judge(bench, &disk, bench.durable.max(seen), run.made);
            }
        }
        if !run.poisoned {
            self.kill(run);
        }
    }

    /// Opens a reader in another process at this moment, on the disk as the writer left it. Returns
    /// the last change that the reader sees, which no power cut from now on may undo.
    fn beside(&mut self, run: &CrashRun, disk: &Sim) -> Option<u64> {
        let bench = &run.bench;
        if !exists_yet(disk) {
            return None;
        }
        let _writer = disk.lock(&Path::new(DIR).join("lock")).ok()?;
        let storage = Arc::new(disk.clone());
        let reader = Reader::open_on(storage, Path::new(DIR), Options::default());
        let reader = reader.expect("a reader opens whatever the writer is doing");
        self.figures.beside += 1;
        let change = reader.change();
        let mut known = bench.past.values().chain(bench.history.values()).chain(&bench.in_doubt);
        let model = known.find(|model| model.change == change);
        check_all(&reader.snapshot(), model.expect("a change that happened"))
            .expect("it can be read");
        Some(change)
    }

    /// Kills the process, starts another one, and then cuts the power.
    fn kill(&mut self, run: &CrashRun) {
        let bench = &run.bench;
        self.figures.kills += 1;
        let disk = bench.sim.kill();
        disk.set_capacity(u64::MAX);
        if !run.made && !exists(&disk) {
            return;
        }
        let index = open(bench, &disk);
        let model = bench.survivor(&index, bench.model.change);
        check_all(&index.snapshot(), &model).expect("what a kill left can be read");
        for disk in disk.crash_states(self.rng.next(), AFTER_KILL) {
            self.judge(bench, &disk, model.change, true);
        }
    }

    /// Judges one disk, unless it was judged before.
    fn judge(&mut self, bench: &Bench, disk: &Sim, promised: u64, made: bool) {
        self.figures.states += 1;
        let last = bench.in_doubt.as_ref().map_or(bench.model.change, |model| model.change);
        if !self.seen.insert((hash_of(disk), promised, last)) {
            return;
        }
        self.figures.distinct += 1;
        disk.set_capacity(u64::MAX);
        if !made && !exists(disk) {
            let mut again = Bench::unmade(bench.layout.clone(), 1, disk.clone());
            again.make().expect("an index where the first was never finished");
            return;
        }
        self.check_backup(bench, disk);
        if self.rng.percent(3) {
            self.figures.salvaged += 1;
            salvage(bench, &copy_of(&disk.snapshot_of_files()), promised);
        }
        let files = self.rng.percent(12).then(|| disk.snapshot_of_files());
        let alone = self.rng.percent(50).then(|| read(disk, Path::new(DIR)));
        let index = open(bench, disk);
        let recovery_ops = disk.ops();
        let model = bench.survivor(&index, promised);
        Self::is_sound(bench, &index, &model);
        if let Some(alone) = alone {
            self.figures.alone += 1;
            check_all(&alone.snapshot(), &model).expect("a reader sees what a writer finds");
            assert!(alone.verify().expect("verified").problems.is_empty());
            let beside = read(disk, Path::new(DIR));
            check_all(&beside.snapshot(), &model).expect("and beside it the same");
        }
        let catalog_before = disk.snapshot_of_files().remove(&catalog_path());
        let mut after = write_once_more(bench, &index, &model);
        let maintained = self.rng.percent(25) && rest(&index);
        note_expiry(bench, &index, &mut after);
        let acknowledged = disk.kill();
        drop(index);
        if self.rng.percent(6) && self.damage {
            let files = acknowledged.snapshot_of_files();
            self.damage(bench, &files, &catalog_before.unwrap_or_default(), &after, maintained);
        }
        let index = open(bench, &acknowledged);
        assert_eq!(index.snapshot().change(), after.change, "the last write is there");
        check_all(&index.snapshot(), &after).expect("what was written can be read");
        if let Some(files) = files {
            self.second_cut(bench, &files, recovery_ops, promised);
        }
    }

    /// Checks a backup: a finished one must be whole, and an incomplete one must never be accepted.
    fn check_backup(&mut self, bench: &Bench, disk: &Sim) {
        let Some(backup) = &bench.backup else { return };
        match crate::index::files::folder::exists(disk, &backup.dir) {
            Ok(true) => self.figures.backups.0 += 1,
            left => {
                assert!(!backup.done, "a backup is gone: {left:?}");
                let kind = left.err().map(|error| error.kind());
                assert!(kind.is_none_or(|kind| kind == ErrorKind::Corrupt), "{kind:?}");
                self.figures.backups.1 += 1;
                return;
            }
        }
        let copy = read(disk, &backup.dir);
        let model = backup.models.iter().find(|model| model.change == copy.change());
        check_all(&copy.snapshot(), model.expect("what it pinned")).expect("a backup can be read");
        assert!(copy.verify().expect("verified").problems.is_empty());
    }

    fn is_sound(bench: &Bench, index: &Index, model: &Model) {
        let snapshot = index.snapshot();
        check_all(&snapshot, model).expect("what is left can be read");
        bench.check_filter(&snapshot, model).expect("what is left can be queried");
        let found = index.verify().expect("it can be verified");
        assert!(found.problems.is_empty(), "{:?}", found.problems);
    }

    /// Cuts the power again while the index recovers.
    fn second_cut(&mut self, bench: &Bench, files: &Files, ops: u64, promised: u64) {
        if ops == 0 {
            return;
        }
        self.figures.second_cuts += 1;
        let disk = copy_of(files);
        disk.power_cut_at(disk.ops() + self.rng.next() % ops);
        // Opening may succeed in spite of the cut: it does not wait for the deletion of leftover
        // files.
        let opened = bench.open(&disk);
        let promised = opened.map_or(promised, |index| index.durable_change().max(promised));
        for disk in disk.crash_states(self.rng.next(), AFTER_SECOND_CUT) {
            self.figures.states += 1;
            let last = bench.in_doubt.as_ref().map_or(bench.model.change, |model| model.change);
            if self.seen.insert((hash_of(&disk), promised, last)) {
                self.figures.distinct += 1;
                let index = open(bench, &disk);
                let model = bench.survivor(&index, promised);
                Self::is_sound(bench, &index, &model);
            }
        }
    }

    /// Damages the files in ways that no crash causes: the damage must be detected, or have no
    /// effect.
    fn damage(
        &mut self,
        bench: &Bench,
        files: &Files,
        catalog_before: &[u8],
        model: &Model,
        rested: bool,
    ) {
        self.figures.damaged += 4;
        // The catalog is missing.
        let mut without = files.clone();
        without.remove(&catalog_path());
        let disk = copy_of(&without);
        let made = Bench::unmade(bench.layout.clone(), 1, disk.clone()).make();
        let kind = made.expect_err("an index without a catalog is no empty folder").kind();
        assert_eq!(kind, ErrorKind::Corrupt);
        assert_eq!(disk.snapshot_of_files(), without, "nothing is removed");
        // The catalog is an older one. (A shared handle goes on with the log that is there, and
        // reserves file numbers.)
        let disk = copy_of(files);
        disk.overwrite(&catalog_path(), catalog_before);
        let row = |disk: &Sim| catalog::load(disk, &catalog_path()).expect("a catalog");
        let (older, newer) = (row(&disk), row(&copy_of(files)));
        if older != (Row { file_next: older.file_next, ..newer }) {
            match bench.open(&disk) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}"),
                // A shared handle that was killed may have removed no input of its compaction, and
                // the log is the same: nothing is lost.
                Ok(index) => {
                    assert!(bench.layout.handles > 0, "an older catalog does not open");
                    assert_eq!(index.snapshot().change(), model.change, "an older catalog");
                    check_all(&index.snapshot(), model).expect("an older catalog loses nothing");
                }
            }
        }
        // A bit of the catalog's row is wrong, but redb accepts it.
        let disk = copy_of(files);
        let row = catalog::load(&disk, &catalog_path()).expect("a catalog");
        let mut bytes = row.encode();
        self.flip(&mut bytes, 0);
        planted!(RowCrcNotChecked => {
            let crc = crc32fast::hash(&bytes[5..]);
            bytes[1..5].copy_from_slice(&crc.to_le_bytes());
        });
        catalog::tests::plant_row(&disk, &catalog_path(), &bytes);
        let opened = bench.open(&disk).expect_err("a damaged row is refused").kind();
        assert!(matches!(opened, ErrorKind::Corrupt | ErrorKind::Unsupported), "{opened:?}");
        // A bit of the log is wrong below a recorded horizon.
        let mut logs =
            files.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "wal"));
        if let (true, Some((path, bytes))) = (rested, logs.next_back()) {
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            let mut bytes = bytes.clone();
            let rest = bytes.split_off(used);
            self.flip(&mut bytes, 4_096.min(used.saturating_sub(1)));
            planted!(DamageIsTornTail => bytes[4_096.min(used)..].fill(0));
            bytes.extend(rest);
            let disk = copy_of(files);
            disk.overwrite(path, &bytes);
            match bench.open(&disk) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}"),
                Ok(index) => check_all(&index.snapshot(), model).expect("nothing is lost"),
            }
        }
    }

    fn flip(&mut self, bytes: &mut [u8], from: usize) {
        let at = from + self.rng.below(bytes.len() - from);
        bytes[at] ^= 1 << self.rng.below(8);
    }
}

fn catalog_path() -> PathBuf {
    Path::new(DIR).join("catalog.redb")
}

fn exists_yet(disk: &Sim) -> bool {
    disk.snapshot_of_files().contains_key(&catalog_path())
}

fn exists(disk: &Sim) -> bool {
    crate::index::files::folder::exists(disk, Path::new(DIR)).expect("a folder")
}

fn open(bench: &Bench, disk: &Sim) -> Index {
    bench.open(disk).unwrap_or_else(|error| panic!("does not open: {error:?}"))
}

/// Writes to a recovered index; returns the model with that write.
fn write_once_more(bench: &Bench, index: &Index, model: &Model) -> Model {
    let signature = bench.signature(&[77; HASHES]);
    let time = bench.clock.load(Ordering::Relaxed);
    let mut after = model.clone();
    after.write(&[(b"once more".to_vec(), put(&signature, Some(b"written"), time))]);
    let batch = Batch::new().insert_with_payload(b"once more", &signature, b"written");
    let written = index.write(batch).expect("a recovered index takes writes");
    assert_eq!(written.change, after.change);
    note_expiry(bench, index, &mut after);
    after
}

/// If the index ran a step of the expiry, applies it to the model.
fn note_expiry(bench: &Bench, index: &Index, model: &mut Model) {
    if let Some(expired) = bench.expired(model)
        && index.snapshot().change() == expired.change
    {
        *model = expired;
    }
}

fn read(disk: &Sim, dir: &Path) -> Reader {
    let opened = Reader::open_on(Arc::new(disk.clone()), dir, Options::default());
    opened.unwrap_or_else(|error| panic!("{} does not open: {error:?}", dir.display()))
}

/// Salvages the disk after a crash. Every key must have the version of some durable or later
/// change.
fn salvage(bench: &Bench, disk: &Sim, promised: u64) {
    let out = Path::new("/saved");
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let options = Options::default().maintenance(Maintenance::Inline);
    let saved = crate::index::files::copy::salvage(&storage, Path::new(DIR), out, None, options);
    let report = saved.expect("a crash leaves what can be salvaged");
    let lost = (report.documents_unreadable, report.documents_doubtful, report.catalog_lost);
    assert_eq!(lost, (0, 0, false), "{report:?}");
    // A crash can leave a later record without an earlier one. Salvage cannot know that nobody was
    // told that either is written.
    assert_eq!(report.documents_lost.is_none(), !report.problems.is_empty(), "{report:?}");
    let saved = read(disk, out);
    let later = bench.history.range(promised..).map(|(_, model)| model);
    let models: Vec<&Model> = later.chain(&bench.in_doubt).collect();
    let known = models.iter().flat_map(|model| model.docs.keys().map(|key| key.to_vec()));
    let found = saved.iter().map(|document| document.expect("read").key);
    for key in known.chain(found).collect::<BTreeSet<_>>() {
        let doc = saved.get(&key).expect("read").map(|document| stored(&key, document));
        let written = models.iter().any(|model| model.get(&key) == doc.as_ref());
        assert!(written, "{key:?} was saved as {doc:?}");
    }
}

/// Syncs, which records the horizon. Returns false if there was nothing to record, or the log had
/// no room for it.
fn rest(index: &Index) -> bool {
    let is_news = index.core().group.horizon_is_news();
    index.sync().expect("a sync");
    is_news && !index.core().group.horizon_is_news()
}
