//! The work folder beside OUT. A run keeps its state there, so that it can continue after an
//! interruption.
//!
//! This module knows the files of the folder, and when a run may continue from them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nearkin::{Durability, Index, Options, Reader};
use serde::{Deserialize, Serialize};

use super::counts::DedupCounts;
use super::deciding::Deciding;
use super::documents::{Documents, Remade};
use super::folder_lock::{FolderLock, empty, working};
use super::ledger::Ledger;
use super::overwrite;
use super::packed::{self, OutputFile};
use super::request::Request;
use super::without::WithoutPlan;
use nearkin_input::fields::Fields;
use nearkin_input::formats::decode;
use nearkin_input::raw::STDIN;
use nearkin_input::source::RowOptions;
use nearkin_kit::args::machine;
use nearkin_kit::checkpoint::{self, InputFile};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::documents::Position;
use nearkin_kit::input::opened;
use nearkin_kit::output;

/// Time between checkpoints. An interruption loses at most this much work, plus the time of a sync.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(500);

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
    /// The encoding of rows that the user names.
    pub(super) encoding: Option<String>,
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
            version: 10,
            files: input_files(request.files)?,
            beside_stdin: InputFile::all(&beside_stdin(request.files))?,
            fields: request.fields.clone(),
            rows: request.rows.clone(),
            encoding: decode::forced_name().map(str::to_owned),
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
    id: [u8; 16],
    change: u64,
    documents: u64,
}

impl ArchiveState {
    pub(super) fn new(path: &Path, archive: &Reader) -> Result<Self, Failure> {
        let path = fs::canonicalize(path).map_err(|error| Failure::reading(path, &error))?;
        Ok(Self { path, id: archive.id(), change: archive.change(), documents: archive.len() })
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
    /// OUT and DROPPED, while they are written.
    #[serde(default)]
    pub(super) writing: [Option<OutputFile>; 2],
    /// In the stage `Publish`: the complete files, in the order of [`Request::outputs`].
    #[serde(default)]
    pub(super) finished: Vec<Option<OutputFile>>,
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
            writing: [None; 2],
            finished: Vec::new(),
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
    /// The locks on the folders of all files that the run writes; the last one is that of OUT.
    locks: Vec<FolderLock>,
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
        let locks = request.outputs().into_iter().rev().map(|path| FolderLock::take(path));
        let mut locks = locks.collect::<Result<Vec<_>, Failure>>()?;
        locks.reverse();
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
                    if state.stage != Stage::Publish || overwrite::is_unpublished(request) {
                        overwrite::check(request)?;
                    }
                    output::note(format!("continuing the run in {}", folder.display()));
                    let (remade, stored) = (remade(request, &folder, &kept), Instant::now());
                    return Ok(Self { folder, state, kept, ledger, remade, stored, locks });
                }
                _ => output::note(format!(
                    "the run in {} had other input or options: starting from the beginning",
                    folder.display()
                )),
            }
        }
        if let Err(failure) = overwrite::check(request) {
            if !folder.join("state").exists() {
                // If this fails, a folder without a state stays.
                let _ = empty(&folder);
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
        Ok(Self { folder, state, kept, ledger, remade, stored, locks })
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

    /// Deletes the folders. Returns the counts of the run.
    pub(super) fn finish(self) -> Result<DedupCounts, Failure> {
        let Self { folder, state, kept, ledger, locks, .. } = self;
        drop((kept, ledger));
        empty(&folder).map_err(|error| working(&folder, &error))?;
        drop(locks);
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
