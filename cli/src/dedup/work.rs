//! The folder beside OUT where a run keeps what it has come to.
//!
//! Knows which files are in it and when they may be gone on with.

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

use super::asked::Asked;
use super::counts::Counts;
use super::ledger::Ledger;
use super::packed;
use crate::checkpoint::{self, InputFile};
use crate::failure::Failure;
use crate::input::Position;
use crate::lines::Fields;
use crate::output;
use crate::raw::STDIN;

/// What is lost at most to an interruption, but for what a sync takes.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_millis(500);

/// The file whose lock says that a run works in the folder.
const LOCK: &str = "lock";

/// What a run does; a run that does something else starts from the beginning.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) version: u32,
    /// None if they cannot be read twice.
    pub(super) files: Option<Vec<InputFile>>,
    pub(super) fields: Fields,
    /// Their id.
    pub(super) params: String,
    /// What makes a duplicate, and whether by the documents themselves.
    pub(super) alike: String,
    pub(super) exact: bool,
    pub(super) keep: String,
    pub(super) archive: Option<Archive>,
    pub(super) dropped: PathBuf,
}

impl Plan {
    /// What a run that was asked for this is about.
    pub(super) fn of(asked: &Asked<'_>) -> Result<Self, Failure> {
        let archive = match (&asked.args.index, &asked.archive) {
            (Some(path), Some(archive)) => Some(Archive::of(path, archive)?),
            _ => None,
        };
        Ok(Self {
            version: 3,
            files: input_files(&asked.args.files)?,
            fields: asked.fields.clone(),
            params: format!("{:016x}", asked.params.id()),
            alike: asked.alike.to_string(),
            exact: asked.args.exact,
            keep: format!("{:?}", asked.args.keep),
            archive,
            dropped: asked.dropped.clone(),
        })
    }
}

/// Which state of which index: another one gives other answers.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Archive {
    path: PathBuf,
    change: u64,
    documents: u64,
}

impl Archive {
    pub(super) fn of(path: &Path, archive: &Reader) -> Result<Self, Failure> {
        let path = fs::canonicalize(path).map_err(|error| Failure::reading(path, &error))?;
        Ok(Self { path, change: archive.change(), documents: archive.len() })
    }
}

/// What tells whether inputs have changed; an error if stdin is named more than once.
pub(super) fn input_files(paths: &[PathBuf]) -> Result<Option<Vec<InputFile>>, Failure> {
    if paths.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(Failure::new("stdin (`-`) can be read only once", ""));
    }
    InputFile::all(paths)
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    Read,
    Decide,
    Write,
    /// Files only have to be given their names.
    Publish,
}

/// How far the run has come.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    plan: Plan,
    pub(super) stage: Stage,
    pub(super) counts: Counts,
    /// In the input: of reading, then of writing.
    pub(super) position: Position,
    /// File and line of the last entry.
    pub(super) place: (u32, u64),
    /// Entries of the ledger, and bytes of its texts.
    pub(super) ledger: (u64, u64),
    /// Ranks that are decided on, or lines that are written.
    pub(super) done: u64,
    /// Bytes of OUT and of DROPPED.
    pub(super) out_bytes: u64,
    pub(super) dropped_bytes: u64,
}

impl State {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            stage: Stage::Read,
            counts: Counts::default(),
            position: Position::default(),
            place: (0, 0),
            ledger: (0, 0),
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
    /// The documents that are kept, by their ranks.
    pub(super) kept: Arc<Index>,
    pub(super) ledger: Ledger,
    stored: Instant,
    /// Held from before anything in the folder is read or removed: it keeps a second run out.
    lock: File,
}

fn options() -> Options {
    // Made durable at checkpoints.
    Options::default().durability(Durability::OsBuffer)
}

impl Work {
    /// Opens the folder of an interrupted run of the same plan, or begins one.
    pub(super) fn open(asked: &Asked<'_>) -> Result<Self, Failure> {
        let mut folder = asked.out.as_os_str().to_owned();
        folder.push(".nearkin-work");
        let folder = PathBuf::from(folder);
        let failed = |error: io::Error| working(&folder, &error);
        let plan = Plan::of(asked)?;
        let Some(lock) = lock(&folder).map_err(failed)? else {
            return Err(Failure::new(
                format!("another run is writing {}", asked.out.display()),
                "wait for it, or write to another file",
            ));
        };
        let opened = Index::open(folder.join("kept"), options()).ok().map(Arc::new);
        let state: Option<State> = checkpoint::load(&folder.join("state"));
        let signature_bytes = asked.params.signature_bytes();
        if let (Some(kept), Some(state)) = (opened, state) {
            let same = state.plan == plan && plan.files.is_some();
            let whole = || Ledger::open(&folder, signature_bytes, state.ledger).map_err(failed);
            match if same { whole()? } else { None } {
                Some(ledger) => {
                    output::note(format!("going on with the run in {}", folder.display()));
                    return Ok(Self { folder, state, kept, ledger, stored: Instant::now(), lock });
                }
                None => output::note(format!(
                    "the run in {} was of other input or options: starting from the beginning",
                    folder.display()
                )),
            }
        }
        empty(&folder).map_err(failed)?;
        let kept = Arc::new(Index::create(folder.join("kept"), &asked.params, options())?);
        let ledger = Ledger::open(&folder, signature_bytes, (0, 0)).map_err(failed)?;
        let Some(ledger) = ledger else { return Err(Failure::new("the ledger is gone", "")) };
        packed::discard(&asked.out);
        packed::discard(&asked.dropped);
        let (state, stored) = (State::new(plan), Instant::now());
        Ok(Self { folder, state, kept, ledger, stored, lock })
    }

    /// Whether the run does this; not if the input has changed since.
    pub(super) fn is_of(&self, plan: &Plan) -> bool {
        self.state.plan == *plan
    }

    /// Whether it is time for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        self.stored.elapsed() >= BETWEEN_CHECKPOINTS
    }

    /// Makes the state durable; what it speaks of must be.
    pub(super) fn store(&mut self) -> Result<(), Failure> {
        checkpoint::store(&self.folder.join("state"), &self.state, true)?;
        self.stored = Instant::now();
        Ok(())
    }

    /// Goes on to another stage.
    pub(super) fn enter(&mut self, stage: Stage) -> Result<(), Failure> {
        self.state.stage = stage;
        self.state.position = Position::default();
        self.state.done = 0;
        self.store()
    }

    /// Where stdin is copied to, to be read twice.
    pub(super) fn stdin(&self) -> PathBuf {
        self.folder.join("stdin")
    }

    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        working(&self.folder, error)
    }

    /// Removes the folder.
    pub(super) fn finish(self) -> Result<Counts, Failure> {
        let Self { folder, state, kept, ledger, lock, .. } = self;
        drop((kept, ledger));
        let removed = empty(&folder).and_then(|()| {
            // Held until its name is gone. Where an open file keeps its name, it is let go before.
            let held = cfg!(unix).then_some(lock);
            fs::remove_file(folder.join(LOCK))?;
            drop(held);
            match fs::remove_dir(&folder) {
                // Somebody has begun the next run there.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            }
        });
        removed.map_err(|error| working(&folder, &error))?;
        Ok(state.counts)
    }
}

/// Makes the folder if there is none, and takes its lock. None if another run has it.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    loop {
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let path = folder.join(LOCK);
        let mut options = File::options();
        let lock = match options.write(true).create(true).truncate(false).open(&path) {
            // The run that had it has come to its end between the two.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_dangling(folder) => {
                continue;
            }
            opened => opened?,
        };
        match lock.try_lock() {
            // Nor may it be a file that this run has removed meanwhile.
            Ok(()) if is_at(&lock, &path)? => return Ok(Some(lock)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Whether something of this name is there that leads nowhere.
fn is_dangling(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok() && !folder.exists()
}

/// Whether an open file is the one that has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// An open file keeps its name there.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Removes all that is in the folder, but the lock.
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
        "remove the cause and run the command again; without that folder it starts from the \
         beginning",
    )
}
