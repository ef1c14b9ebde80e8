//! The work folder beside OUT. A run keeps its state there, so that it can continue after an
//! interruption.
//!
//! This module knows the files of the folder, and when a run may continue from them.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "keeps the work folder of a run, never an index"
)]

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nearkin::{Durability, Index, Options, Reader};
use serde::{Deserialize, Serialize};

use super::counts::DedupCounts;
use super::deciding::Deciding;
use super::documents::{Documents, Remade};
use super::ledger::Ledger;
use super::overwrite;
use super::packed;
use super::request::Request;
use super::without::WithoutPlan;
use nearkin_input::fields::Fields;
use nearkin_input::on_disk;
use nearkin_input::raw::STDIN;
use nearkin_input::source::RowOptions;
use nearkin_kit::args::machine;
use nearkin_kit::checkpoint::{self, InputFile};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::documents::Position;
use nearkin_kit::input::opened;
use nearkin_kit::output;
use nearkin_kit::scratch;

/// Time between checkpoints. An interruption loses at most this much work, plus the time of a sync.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(500);

/// The lock file that marks the folder as in use.
const LOCK: &str = "lock";

/// Identifies a run. If an interrupted run had a different plan, the new run starts from the
/// beginning.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunPlan {
    pub(super) version: u32,
    /// The input files; `None` if they cannot be read twice.
    pub(super) files: Option<Vec<InputFile>>,
    /// With stdin among the files: the others, which must not change either.
    pub(super) beside_stdin: Option<Vec<InputFile>>,
    pub(super) fields: Fields,
    pub(super) rows: RowOptions,
    /// The id of the parameters.
    pub(super) params: String,
    /// The similarity or containment that makes a document a duplicate.
    pub(super) alike: String,
    pub(super) deciding: Deciding,
    pub(super) guard: String,
    pub(super) apart: Option<PathBuf>,
    pub(super) keep: String,
    pub(super) cluster_field: Option<String>,
    pub(super) archive: Option<ArchiveState>,
    /// The files from which the documents of the archive are read again.
    pub(super) from: Option<Vec<InputFile>>,
    pub(super) keeps_blank: bool,
    pub(super) without: Option<WithoutPlan>,
    pub(super) passages: Option<u32>,
    pub(super) dropped: PathBuf,
}

impl RunPlan {
    /// The plan for a request.
    pub(super) fn new(request: &Request<'_>) -> Result<Self, Failure> {
        let archive = match (&request.args.index, &request.archive) {
            (Some(path), Some(archive)) => Some(ArchiveState::new(path, &archive.index)?),
            _ => None,
        };
        Ok(Self {
            version: 7,
            files: input_files(request.files)?,
            beside_stdin: InputFile::all(&beside_stdin(request.files))?,
            fields: request.fields.clone(),
            rows: request.rows.clone(),
            params: format!("{:016x}", request.params.id()),
            alike: request.alike.to_string(),
            deciding: request.deciding,
            guard: format!("{:?}", request.guard),
            apart: request.args.apart.clone(),
            keep: format!(
                "{:?} {:?} {}",
                request.args.keep, request.args.keep_by, request.args.least
            ),
            cluster_field: request.args.cluster_field.clone(),
            archive,
            from: InputFile::all(&request.args.from)?,
            keeps_blank: request.keeps_blank(),
            without: WithoutPlan::new(request.args)?,
            passages: request.args.cut_passages,
            dropped: request.dropped.clone(),
        })
    }
}

/// Identity and state of the archive (the index given by `--index`). With another state, the
/// results would differ.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ArchiveState {
    path: PathBuf,
    change: u64,
    documents: u64,
}

impl ArchiveState {
    pub(super) fn new(path: &Path, archive: &Reader) -> Result<Self, Failure> {
        let path = fs::canonicalize(path).map_err(|error| Failure::reading(path, &error))?;
        Ok(Self { path, change: archive.change(), documents: archive.len() })
    }
}

/// The files beside stdin; none without stdin.
fn beside_stdin(paths: &[PathBuf]) -> Vec<PathBuf> {
    let is_stdin = |path: &&PathBuf| path.as_os_str() == STDIN;
    if !paths.iter().any(|path| is_stdin(&path)) {
        return Vec::new();
    }
    paths.iter().filter(|path| !is_stdin(path)).cloned().collect()
}

/// Identifies the input files, to detect changes. Fails if stdin is given more than once.
pub(super) fn input_files(paths: &[PathBuf]) -> Result<Option<Vec<InputFile>>, Failure> {
    if paths.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(Failure::new("stdin (`-`) is given more than once", "give it once"));
    }
    InputFile::all(paths)
}

/// The current pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Read,
    Decide,
    Judge,
    Write,
    /// The output files are complete and only have to be renamed.
    Publish,
}

/// Progress of the run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    plan: RunPlan,
    pub(super) stage: Stage,
    pub(super) counts: DedupCounts,
    /// The position in the input: of the reading pass, and later of the writing pass.
    pub(super) position: Position,
    /// The number of ledger entries, and the size of the ledger's texts, both at the last
    /// checkpoint.
    pub(super) ledger: (u64, u64),
    /// The reading pass before the first line of the last file that has lines in the ledger.
    #[serde(default)]
    file_begin: FileBegin,
    /// The number of ranks decided, or of lines written.
    pub(super) done: u64,
    /// Size of OUT at the last checkpoint; `dropped_bytes` is the size of DROPPED.
    pub(super) out_bytes: u64,
    pub(super) dropped_bytes: u64,
}

/// The state of the reading pass at the beginning of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FileBegin {
    file: usize,
    counts: DedupCounts,
    ledger: (u64, u64),
}

impl State {
    /// The state from which a run with this plan can continue. If a file changed since, such as a
    /// damaged one that was replaced, that is the beginning of this file: its lines are read again.
    fn continued(mut self, plan: &RunPlan) -> Option<Self> {
        let now = plan.files.as_ref()?;
        let before = self.plan.files.replace(now.clone())?;
        // Everything else is the same.
        if self.plan != *plan || before.len() != now.len() {
            return None;
        }
        let Some(changed) = before.iter().zip(now).position(|(before, now)| before != now) else {
            return Some(self);
        };
        let is_same_name = |(before, now): (&InputFile, &InputFile)| before.path == now.path;
        if self.stage != Stage::Read || !before.iter().zip(now).all(is_same_name) {
            return None;
        }
        let begin = Position { file: changed, line: 0, byte: 0 };
        if changed < self.position.file || (changed == self.position.file && self.position != begin)
        {
            if changed != self.file_begin.file {
                return None;
            }
            self.position = begin;
            self.ledger = self.file_begin.ledger;
            self.counts = self.file_begin.counts.clone();
        }
        let name = now[changed].path.display();
        output::note(format!("{name} has changed since: it is read from its beginning"));
        Some(self)
    }

    fn new(plan: RunPlan) -> Self {
        Self {
            plan,
            stage: Stage::Read,
            counts: DedupCounts::default(),
            position: Position::default(),
            ledger: (0, 0),
            file_begin: FileBegin::default(),
            done: 0,
            out_bytes: 0,
            dropped_bytes: 0,
        }
    }
}

/// An open work folder.
pub(super) struct Work {
    pub(super) folder: PathBuf,
    pub(super) state: State,
    /// The index of kept documents, with ranks as keys.
    pub(super) kept: Arc<Index>,
    pub(super) ledger: Ledger,
    /// Makes documents again.
    pub(super) remade: Arc<Remade>,
    stored: Instant,
    /// The lock on the folder. It is taken before anything in the folder is read or deleted, and
    /// prevents a second run.
    lock: File,
}

fn options() -> Options {
    // The index is synced explicitly at checkpoints. It is not queried after the decisions, so
    // merging it when idle would be useless.
    let options = machine::options().durability(Durability::OsBuffer);
    options
        .merge_when_idle(false)
        .keep_mapped(false)
        .merge_bytes_max(machine::memory_part(8, 32 << 20))
}

impl Work {
    /// Opens the folder of an interrupted run if it had the same plan. Otherwise starts a new run.
    pub(super) fn open(request: &Request<'_>) -> Result<Self, Failure> {
        let folder = packed::work_folder(&request.out);
        let failed = |error: io::Error| working(&folder, &error);
        let plan = RunPlan::new(request)?;
        if is_foreign(&folder) {
            return Err(Failure::new(
                format!("{} exists, and no run of this command made it", folder.display()),
                "write to another file, or remove that folder",
            ));
        }
        let Some(lock) = lock(&folder).map_err(failed)? else {
            return Err(Failure::new(
                format!("another run is writing {}", request.out.display()),
                "wait for it, or write to another file",
            ));
        };
        let place = folder.join("kept");
        let open = |options| Index::open(&place, options);
        let opened = opened::mapped_or_not(&place, options(), open).ok().map(Arc::new);
        let state: Option<State> = checkpoint::load(&folder.join("state"));
        // What is decided while it is read needs its signature no more.
        let signature_bytes =
            if request.decides_as_read() { 0 } else { request.params.signature_bytes() };
        if let (Some(kept), Some(state)) = (opened, state) {
            let state = state.continued(&plan);
            let whole = |state: &State| {
                Ledger::open(&folder, signature_bytes, state.ledger).map_err(failed)
            };
            match (state.as_ref().map(whole).transpose()?.flatten(), state) {
                (Some(ledger), Some(state)) => {
                    output::note(format!("continuing the run in {}", folder.display()));
                    let (remade, stored) = (remade(request, &folder, &kept), Instant::now());
                    return Ok(Self { folder, state, kept, ledger, remade, stored, lock });
                }
                _ => output::note(format!(
                    "the run in {} had other input or options: starting from the beginning",
                    folder.display()
                )),
            }
        }
        if let Err(failure) = overwrite::check(request) {
            if !folder.join("state").exists() {
                // If this fails, a folder with an empty lock file stays.
                let _ = remove(&folder, lock);
            }
            return Err(failure);
        }
        empty(&folder).map_err(failed)?;
        let create = |options| Index::create(&place, &request.params, options);
        let kept = Arc::new(opened::mapped_or_not(&place, options(), create)?);
        let ledger = Ledger::open(&folder, signature_bytes, (0, 0)).map_err(failed)?;
        let Some(ledger) = ledger else {
            return Err(Failure::new(
                "the ledger in the work folder is missing",
                "run the command again",
            ));
        };
        packed::discard(&request.out);
        packed::discard(&request.dropped);
        let (state, stored) = (State::new(plan), Instant::now());
        let remade = remade(request, &folder, &kept);
        Ok(Self { folder, state, kept, ledger, remade, stored, lock })
    }

    /// Whether this run has the given plan. Used to detect that the input has changed.
    pub(super) fn is_of(&self, plan: &RunPlan) -> bool {
        self.state.plan == *plan
    }

    /// Whether the input can be read again, so that the same command can continue.
    pub(super) fn is_repeatable(&self) -> bool {
        self.state.plan.files.is_some()
    }

    /// The next line comes from this file of the input.
    pub(super) fn begin_file(&mut self, file: u32) {
        let file = file as usize;
        if self.state.file_begin.file != file {
            let (counts, ledger) =
                (self.state.counts.clone(), (self.ledger.count, self.ledger.texts_bytes));
            self.state.file_begin = FileBegin { file, counts, ledger };
        }
    }

    /// Whether a checkpoint is due.
    pub(super) fn is_due(&self) -> bool {
        self.stored.elapsed() >= BETWEEN_CHECKPOINTS
    }

    /// Stores the state durably. The files that the state refers to must already be durable.
    pub(super) fn store(&mut self) -> Result<(), Failure> {
        checkpoint::store(&self.folder.join("state"), &self.state, true)?;
        self.stored = Instant::now();
        Ok(())
    }

    /// Starts the next pass.
    pub(super) fn enter(&mut self, stage: Stage) -> Result<(), Failure> {
        self.state.stage = stage;
        self.state.position = Position::default();
        self.state.done = 0;
        self.store()
    }

    /// Path of the copy of stdin, which makes it possible to read the input twice.
    pub(super) fn stdin(&self) -> PathBuf {
        stdin(&self.folder)
    }

    pub(super) fn documents(&self) -> Documents<'_> {
        Documents { ledger: &self.ledger, remade: &self.remade }
    }

    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        working(&self.folder, error)
    }

    /// Deletes the folder. Returns the counts of the run.
    pub(super) fn finish(self) -> Result<DedupCounts, Failure> {
        let Self { folder, state, kept, ledger, lock, .. } = self;
        drop((kept, ledger));
        remove(&folder, lock).map_err(|error| working(&folder, &error))?;
        Ok(state.counts)
    }
}

fn stdin(folder: &Path) -> PathBuf {
    folder.join("stdin")
}

fn remade(request: &Request<'_>, folder: &Path, kept: &Index) -> Arc<Remade> {
    let copied = |path: &PathBuf| {
        if path.as_os_str() == STDIN { stdin(folder) } else { path.clone() }
    };
    let files = request.files.iter().map(copied).collect();
    Arc::new(Remade::new(kept.sketcher(), &request.fields, files))
}

/// Deletes the folder.
fn remove(folder: &Path, lock: File) -> io::Result<()> {
    empty(folder)?;
    // The lock is held until its file has been deleted: nobody works in a folder without it. On
    // Windows, the name may stay until the file is closed, and so may the folder.
    fs::remove_file(folder.join(LOCK))?;
    drop(lock);
    match fs::remove_dir(folder) {
        // Another run has already started in the folder.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether there is a folder with content that no run made: every run locks its folder first, and
/// empties the folder before it removes the lock.
fn is_foreign(folder: &Path) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|there| there.is_dir());
    let has_content =
        is_folder && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    has_content && !folder.join(LOCK).exists()
}

/// Creates the folder if needed and takes its lock. `None` if another run holds it.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    loop {
        make_folder(folder)?;
        let path = folder.join(LOCK);
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false);
        let options = scratch::no_follow(options);
        let lock = match scratch::patiently(|| options.open(&path)) {
            // The previous run deleted the folder between these two calls: try again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match lock.try_lock() {
            // The locked file must still be the one at this path: the previous run may have deleted
            // it in the meantime.
            Ok(()) if is_at(&lock, &path)? => return Ok(Some(lock)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Creates a folder that only this user can read, unless it exists. Never accepts a link: the
/// folder that it leads to would be emptied.
fn make_folder(folder: &Path) -> io::Result<()> {
    #[cfg_attr(windows, expect(unused_mut, reason = "folders have no mode there"))]
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    match fs::symlink_metadata(folder) {
        Ok(there) if !there.is_dir() => Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            "it is a link or a file, not a folder",
        )),
        // The previous run has just deleted it; the caller tries again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        there => there.map(drop),
    }
}

/// Whether an open file is still the one at this path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(on_disk::id(path, &there) == on_disk::id_of_open(file, &file.metadata()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Deletes everything in the folder except the lock.
fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn working(folder: &Path, error: &io::Error) -> Failure {
    Failure::new(
        format!("cannot work in {}: {error}", folder.display()),
        "fix the cause and run the command again; without that folder it starts from the \
         beginning",
    )
}
