//! Writes a sharded index: first the files, then the manifest that lists them. If another process
//! has committed the same generation before, the commit fails.

use super::{core_of, newest};
use crate::format::bytes::NUMBER_MAX;
use crate::format::catalog::SegmentEntry;
use crate::format::manifest::{ManifestContent, NOTE_BYTES_MAX, SHARDS_MAX};
use crate::index::files::adopt::{self, Adopt, AdoptionPlan};
use crate::index::files::copy::{Imported, check_of_documents};
use crate::index::files::folder::{newest_generation, refuse_existing};
use crate::index::files::open::{self, hold, make_folders, row_of_new};
use crate::index::files::seal::{Sealed, Ticket};
use crate::index::merge::draft::{Draft, begin_merge, open_built};
use crate::index::merge::flush;
use crate::index::merge::running::ranks;
use crate::index::state::core::{Core, Writer};
use crate::index::state::key::Key;
use crate::index::state::options::Options;
use crate::index::state::running::Input;
use crate::index::state::versions::{LiveSegment, Snapshot, State};
use crate::index::state::view::View;
use crate::storage::names::{self, Names};
use crate::storage::{OpenMode, Storage, create_dirs};
use crate::sync::Arc;
use crate::{Error, ErrorKind, OrIo, Params, Result};
use nearkin_sketch::engine::validate;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Number of bits in a file number that hold the number of the task within its job.
const TASK_BITS: u32 = 24;
/// Number of bits for the number of the job. With both, file numbers stay below 2^61.
const JOB_BITS: u32 = 37;

/// The writer of a sharded index. [`Reader`](crate::Reader) reads it like any other index.
///
/// Tasks seal segments ([`seal`](crate::shards::seal)) with tickets of this index, and place them.
/// One process then lists all of them in one commit. There is no lock: if two commits start from
/// the same generation, one fails with `Unsettled` and changes nothing. For the design, see
/// `docs/reference/SHARDS.md`.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("lake.nearkin");
/// # let scratch = folder.path().join("part");
/// use nearkin::shards::{Adopt, Shards, seal, shard_of};
/// use nearkin::{Document, Options, Params, Reader, Sketcher};
///
/// let params = Params::for_threshold(0.7).build()?;
/// let mut shards = Shards::create(&dir, &params, 4)?;
/// let document = Document::new("p1", Sketcher::new(&params).text("some text of a few words")?);
///
/// // In a task: the job has a random number, the task its own.
/// let sealed = seal(&params, vec![document], &shards.ticket(0x5eed, 0)?, &scratch)?;
/// shards.place(&scratch, &sealed)?;
/// // On the driver.
/// shards.append(&[(shard_of("p1", 4), sealed)], Adopt::Refuse, None)?;
///
/// let reader = Reader::open(&dir, Options::default())?;
/// assert!(reader.contains("p1")?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Shards {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) names: Names,
    options: Options,
    pub(super) manifest: ManifestContent,
}

impl Shards {
    /// Creates a sharded index without documents. The number of shards, 1 to 65,536, is fixed.
    /// # Errors
    /// `Exists`, `Invalid`, `Io`.
    pub fn create(dir: impl AsRef<Path>, params: &Params, shards: u32) -> Result<Self> {
        Self::create_on(&Core::disk(), dir.as_ref(), params, shards, Options::default())
    }

    /// Opens a sharded index at its newest generation.
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unsupported`, `Io`.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(&Core::disk(), dir.as_ref(), Options::default())
    }

    pub(crate) fn create_on(
        storage: &Arc<dyn Storage>,
        dir: &Path,
        params: &Params,
        shards: u32,
        options: Options,
    ) -> Result<Self> {
        validate(params)?;
        check_of_documents(params)?;
        if !(1..=SHARDS_MAX).contains(&shards) {
            let message = format!("an index has 1 to {SHARDS_MAX} shards, not {shards}");
            return Err(Error::invalid(message));
        }
        refuse_existing(&**storage, dir, None)?;
        let names = Names::new(dir);
        let storage = make_folders(storage, &names)?;
        let folder = names.manifest_dir();
        create_dirs(&*storage, &folder).or_io("create", &folder)?;
        let row = row_of_new(params, &options);
        let manifest = ManifestContent { shards, note: Vec::new(), shard_of: Vec::new(), row };
        let mut made = Self { storage, names, options, manifest };
        made.commit(made.manifest.clone())?;
        Ok(made)
    }

    pub(crate) fn open_on(
        storage: &Arc<dyn Storage>,
        dir: &Path,
        options: Options,
    ) -> Result<Self> {
        let names = Names::new(dir);
        let storage = hold(storage, dir)?;
        let manifest = newest(&*storage, &names)?;
        Ok(Self { storage, names, options, manifest })
    }

    /// Moves this handle on to the newest generation: needed if another commit was first.
    /// # Errors
    /// Those of [`Shards::open`].
    pub fn refresh(&mut self) -> Result<()> {
        self.manifest = newest(&*self.storage, &self.names)?;
        Ok(())
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.manifest.row.params
    }

    /// The number of shards.
    pub fn shards(&self) -> u32 {
        self.manifest.shards
    }

    /// The generation that this handle is at.
    pub fn generation(&self) -> u64 {
        self.manifest.generation()
    }

    /// The note of the last commit that set one. A stream can store the number of its last batch
    /// here, to detect a batch that is delivered again.
    pub fn note(&self) -> &[u8] {
        &self.manifest.note
    }

    /// The ticket of task number `task` of a job. `job` is a random number that the job draws once.
    /// Each attempt at a task gets the same ticket; no other job gets it.
    /// # Errors
    /// `Invalid` (a task of 2^24 or above).
    pub fn ticket(&self, job: u64, task: u32) -> Result<Ticket> {
        if task >> TASK_BITS > 0 {
            return Err(Error::invalid(format!("the task number must be below 2^24, not {task}")));
        }
        let job = job & ((1 << JOB_BITS) - 1);
        Ticket::new(self.manifest.row.uuid, job << TASK_BITS | u64::from(task))
    }

    /// Lists placed segments, each with its shard, in one commit. Also sets the note, if given.
    ///
    /// `how` tells whether keys that are live already are refused or replaced. A replaced document
    /// is dead from this generation on. Costs a look-up per document in the segments of its shard.
    /// # Errors
    /// `Mismatch`, `Invalid` (a key of another shard, a segment listed already, a note above 64
    /// KiB), `Exists` ([`Adopt::Refuse`]), `Unsettled` (another commit was first: refresh),
    /// `Corrupt`, `Io`. After an error nothing has changed.
    pub fn append(
        &mut self,
        segments: &[(u32, Sealed)],
        how: Adopt,
        note: Option<&[u8]>,
    ) -> Result<Imported> {
        let mut segments = segments.to_vec();
        segments.sort_by_key(|(shard, _)| *shard);
        for (at, (shard, sealed)) in segments.iter().enumerate() {
            self.check_sealed(sealed)?;
            let number = sealed.number();
            let is_listed = self.manifest.row.numbers().any(|listed| listed == number)
                || segments[..at].iter().any(|(_, other)| other.number() == number);
            if is_listed || *shard >= self.shards() {
                let message = format!(
                    "segment {number}, shard {shard}: is listed already, or there is no such shard"
                );
                return Err(Error::invalid(message));
            }
        }
        let core = self.core()?;
        segments.iter().try_for_each(|(_, sealed)| self.check_placed(sealed))?;
        let opened = segments.iter().map(|(_, sealed)| open::open_segment(&core, &sealed.entry));
        let opened = opened.collect::<Result<Vec<_>>>()?;
        let mut plan = AdoptionPlan::default();
        let mut begin = 0;
        for same in segments.chunk_by(|one, next| one.0 == next.0) {
            let shard = same[0].0;
            let of_shard = &opened[begin..begin + same.len()];
            begin += same.len();
            of_shard.iter().try_for_each(|live| self.check_keys(live, shard))?;
            plan.extend(AdoptionPlan::new(&self.snapshot_of(&core, shard), of_shard, how)?);
        }
        let imported = plan.imported;
        let mut writer = core.writer();
        let draft = adopt::draft_adopted(&core, &mut writer, &opened, &plan)?;
        let mut next = self.next(draft, &writer, &segments);
        drop(writer);
        if let Some(note) = note {
            next.note = note.to_vec();
        }
        self.commit(next)?;
        Ok(imported)
    }

    /// Removes the documents with these keys in one commit; returns their number. Keys that are not
    /// stored are skipped.
    /// # Errors
    /// `Unsettled`, `Corrupt`, `Io`.
    pub fn remove<'k>(
        &mut self,
        keys: impl IntoIterator<Item = impl Into<Key<'k>>>,
    ) -> Result<u64> {
        let mut by_shard: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
        for key in keys {
            let key: Key<'k> = key.into();
            let key = key.as_bytes().to_vec();
            by_shard.entry(self.shard_of(&key)).or_default().push(key);
        }
        let core = self.core()?;
        let mut dying: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (shard, mut keys) in by_shard {
            keys.sort_unstable();
            keys.dedup();
            let snapshot = self.snapshot_of(&core, shard);
            for key in keys {
                let Some(place) = snapshot.locate(&key)? else { continue };
                if let Some(live) = snapshot.state.segments.get(place.source) {
                    dying.entry(live.number()).or_default().push(place.ordinal);
                }
            }
        }
        let removed = dying.values().map(|ordinals| ordinals.len() as u64).sum();
        if removed > 0 {
            let mut writer = core.writer();
            let mut draft = Draft::new(&core, &writer);
            flush::draft_dying(&core, &mut writer, &mut draft, &dying)?;
            let next = self.next(draft, &writer, &[]);
            drop(writer);
            self.commit(next)?;
        }
        Ok(removed)
    }

    /// Merges the segments of a shard into one without dead documents, in one commit. Returns
    /// whether there was anything to merge.
    /// # Errors
    /// `Invalid` (no such shard), `Unsettled`, `Corrupt`, `Io`.
    pub fn compact(&mut self, shard: u32) -> Result<bool> {
        if shard >= self.shards() {
            return Err(Error::invalid(format!("there is no shard {shard}")));
        }
        let core = self.core()?;
        let inputs = self.segments_of(&core, shard);
        if inputs.is_empty() || (inputs.len() == 1 && inputs[0].dead.is_none()) {
            return Ok(false);
        }
        let mut writer = core.writer();
        let mut draft = Draft::new(&core, &writer);
        let read = |live: &Arc<LiveSegment>| {
            Ok(Input::Segment { live: Arc::clone(live), ranks: Arc::new(ranks(live)?) })
        };
        let merged = inputs.iter().map(read).collect::<Result<Vec<_>>>()?;
        for live in &inputs {
            draft.drop_segment(live.number());
        }
        let mut made = None;
        if merged.iter().any(|input| input.live_count() > 0) {
            let mut merge = begin_merge(&core, writer.next_number(), merged)?;
            while !merge.step(usize::MAX)? {}
            let built = open_built(&core, &merge.finish()?)?;
            draft.adopt(&built);
            made = Some(built.number());
            draft.segments.push(Arc::new(built));
        }
        let mut next = self.next(draft, &writer, &[]);
        drop(writer);
        for (entry, of) in next.row.segments.iter().zip(&mut next.shard_of) {
            if Some(entry.number) == made {
                *of = shard;
            }
        }
        self.commit(next).map(|()| true)
    }

    /// Deletes segments and dead files that the newest manifest does not list: files of failed
    /// tasks and of older generations. Also deletes manifests that were never published. Returns
    /// the number of files.
    ///
    /// Call it only while no job is under way, since the files of a running job are not listed yet.
    /// A reader of an older generation can go on reading the files that it has open. Manifests are
    /// never deleted: they prevent a generation from being committed twice.
    /// # Errors
    /// Those of [`Shards::open`].
    pub fn sweep(&mut self) -> Result<u64> {
        self.refresh()?;
        let listed: Vec<u64> = self.manifest.row.numbers().collect();
        let is_unlisted = |name: &str| match names::parse(name) {
            Some((number, _)) => !listed.contains(&number),
            None => names::is_tmp(name),
        };
        let segments = self.remove_from(&self.names.segments_dir(), is_unlisted)?;
        Ok(segments + self.remove_from(&self.names.manifest_dir(), names::is_manifest_tmp)?)
    }

    /// Removes the files of a folder whose names are `unwanted`; returns their number.
    fn remove_from(&self, folder: &Path, unwanted: impl Fn(&str) -> bool) -> Result<u64> {
        let entries = self.storage.list(folder).or_io("read", folder)?;
        let mut removed = 0;
        for entry in entries.iter().filter(|entry| !entry.is_dir && unwanted(&entry.name)) {
            let path = folder.join(&entry.name);
            self.storage.remove(&path).or_io("remove", &path)?;
            removed += 1;
        }
        Ok(removed)
    }

    fn shard_of(&self, key: &[u8]) -> u32 {
        shard_of(key, self.shards())
    }

    fn check_keys(&self, live: &LiveSegment, shard: u32) -> Result<()> {
        for ordinal in 0..live.entry.docs {
            let key = live.segment.key(ordinal)?;
            let own = self.shard_of(&key);
            if own != shard {
                let key = key.escape_ascii();
                let message = format!("the key {key} belongs to shard {own}, not to {shard}");
                return Err(Error::invalid(message));
            }
        }
        Ok(())
    }

    /// Opens the listed files. New files get random numbers that no other process uses.
    fn core(&self) -> Result<Core> {
        let core = core_of(&self.storage, &self.names, &self.options, &self.manifest, &[])?;
        let job = (self.options.random)();
        core.writer().file_next = self.ticket(job, 0)?.number();
        Ok(core)
    }

    fn segments_of(&self, core: &Core, shard: u32) -> Vec<Arc<LiveSegment>> {
        let state = core.state();
        let all = state.segments.iter().zip(&self.manifest.shard_of);
        all.filter(|(_, of)| **of == shard).map(|(live, _)| Arc::clone(live)).collect()
    }

    /// The documents of one shard.
    fn snapshot_of(&self, core: &Core, shard: u32) -> Snapshot {
        let segments = self.segments_of(core, shard);
        let live = segments.iter().map(|live| u64::from(live.entry.docs - live.entry.dead)).sum();
        let memtable = Arc::clone(&core.state().memtable);
        let state = State::new(Arc::clone(&core.params), segments, memtable);
        View::new(state, self.generation(), live).snapshot()
    }

    /// The next manifest: the files that a draft lists, with the shards of new segments.
    fn next(&self, draft: Draft, writer: &Writer, new: &[(u32, Sealed)]) -> ManifestContent {
        let row = draft.into_row(writer);
        let listed = self.manifest.row.segments.iter().map(|entry| entry.number);
        let mut shards: BTreeMap<u64, u32> =
            listed.zip(self.manifest.shard_of.iter().copied()).collect();
        shards.extend(new.iter().map(|(shard, sealed)| (sealed.number(), *shard)));
        let shard = |entry: &SegmentEntry| shards.get(&entry.number).copied().unwrap_or(0);
        let shard_of = row.segments.iter().map(shard).collect();
        ManifestContent { shard_of, row, ..self.manifest.clone() }
    }

    /// Publishes the next generation unless it exists already.
    fn commit(&mut self, mut next: ManifestContent) -> Result<()> {
        if next.note.len() > NOTE_BYTES_MAX {
            let message = format!("a note has at most {NOTE_BYTES_MAX} bytes");
            return Err(Error::invalid(message));
        }
        let generation = self.manifest.row.floor + 1;
        if generation >= NUMBER_MAX {
            let what = format!("no generation follows {}", self.generation());
            return Err(Error::about(ErrorKind::Invalid, self.names.root(), what));
        }
        next.row.floor = generation;
        next.row.file_next = next.row.numbers().max().unwrap_or(0) + 1;
        debug_assert!(next.row.file_next <= NUMBER_MAX, "tickets are below 2^61");
        let bytes = next.encode();
        let path = self.names.manifest(generation);
        // The random number makes the name unique to this attempt.
        let tmp = self.names.manifest_tmp(generation, (self.options.random)());
        let file = self.storage.open(&tmp, OpenMode::Create).or_io("write", &tmp)?;
        file.write_at(&bytes, 0).and_then(|()| file.sync()).or_io("write", &tmp)?;
        match self.storage.rename_new(&tmp, &path) {
            Ok(()) => {}
            Err(error) => {
                // Best effort: no process uses this file.
                let _ = self.storage.remove(&tmp);
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(crate::io_error("publish", &path, error));
                }
                let newest = newest_generation(&*self.storage, &self.names)?.unwrap_or(generation);
                let what = format_args!(
                    "another commit was first (generation {newest} exists); refresh and commit \
                     again"
                );
                return Err(Error::about(ErrorKind::Unsettled, self.names.root(), what));
            }
        }
        let folder = self.names.manifest_dir();
        // If this sync fails, the manifest exists, but a power cut may lose it.
        self.storage.sync_dir(&folder).map_err(|error| {
            let what = "a power cut may lose the generation; refresh to check";
            Error::about(ErrorKind::Unknown, &path, what).caused_by(error)
        })?;
        self.manifest = next;
        Ok(())
    }
}

/// The shard of a key: see [`crate::shards::shard_of`].
pub(crate) fn shard_of(key: &[u8], shards: u32) -> u32 {
    let shard = xxh3_64(key).checked_rem(u64::from(shards));
    shard.and_then(|shard| u32::try_from(shard).ok()).unwrap_or(0)
}
