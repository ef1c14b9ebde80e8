//! Follows file system events until Ctrl-C is pressed.
//!
//! Events may be lost. If they are, the whole folder is scanned again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::{Event, EventKind, RecursiveMode, Watcher as _};

use super::folder::Folder;
use super::memo;
use super::pass::Mirroring;
use super::walk::{IGNORE_FILES, Scope};
use crate::args::Mirror;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Output};

/// A pass starts when there were no events for this long. Waiting is useful because programs write
/// files in several steps.
const QUIET: Duration = Duration::from_millis(500);

/// A pass starts this long after the first event even if further events arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// Polling interval.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of changed paths per pass. If there are more, the whole folder is scanned.
const PATHS_MAX: usize = 200;

/// Events since the last pass.
#[derive(Debug, Default)]
struct Happened {
    paths: BTreeSet<PathBuf>,
    /// Whether the next pass must scan the whole folder: because events were lost, too many paths
    /// changed, or the folder itself or an ignore file changed.
    all: bool,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Happened {
    fn note(&mut self, event: notify::Result<Event>, folder: &Folder, index: Option<&PathBuf>) {
        let event = match event {
            // These events are caused by our own reading.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => event,
            Err(_) => return self.everything(),
        };
        if event.need_rescan() || event.paths.is_empty() {
            return self.everything();
        }
        for path in &event.paths {
            let of_rules = path
                .file_name()
                .is_some_and(|name| IGNORE_FILES.iter().any(|ignore_file| name == *ignore_file));
            match folder.spelled(path) {
                Some(path) if index.is_some_and(|index| path.starts_with(index)) => {}
                Some(path) if path != folder.path && !of_rules => self.path(path),
                _ => self.everything(),
            }
        }
    }

    fn path(&mut self, path: PathBuf) {
        self.paths.insert(path);
        if self.paths.len() > PATHS_MAX {
            self.everything();
        } else {
            self.touch();
        }
    }

    fn everything(&mut self) {
        self.all = true;
        self.paths.clear();
        self.touch();
    }

    fn touch(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// The scope of the next pass, if one is due.
    fn take_if_due(&mut self) -> Option<Scope> {
        let (first, last) = (self.first?, self.last?);
        if last.elapsed() < QUIET && first.elapsed() < PATIENCE {
            return None;
        }
        let Self { paths, all, .. } = std::mem::take(self);
        Some(if all { Scope::All } else { Scope::Below(paths) })
    }
}

/// Checks that this build supports `--watch`. Always succeeds here: this file is compiled only into
/// builds that do.
#[expect(clippy::unnecessary_wraps, reason = "other builds cannot")]
pub(super) fn check(_: &Mirror) -> Result<(), Failure> {
    Ok(())
}

/// Runs a pass over the whole folder, then one after each group of events.
pub(super) fn watch(mirroring: &mut Mirroring<'_>, output: &mut Output) -> Result<(), Failure> {
    let happened = Arc::new(Mutex::new(Happened::default()));
    let folder = mirroring.folder.clone();
    let (path, shared) = (folder.path.clone(), Arc::clone(&happened));
    let index = mirroring.rules.index.as_ref().and_then(|index| folder.spelled(index));
    // If the watcher cannot start its thread, it reports no error and delivers no events. So check
    // first whether threads can be started.
    crate::threads::check()?;
    // Started before the first pass, so that no change between the two is missed.
    let mut watcher = notify::recommended_watcher(move |event| {
        lock(&shared).note(event, &folder, index.as_ref());
    })
    .map_err(|error| refused(&error))?;
    watcher.watch(&path, RecursiveMode::Recursive).map_err(|error| refused(&error))?;
    // If a signal interrupts this first pass, that is an error: watching has not started yet.
    mirroring.pass(&Scope::All, output)?;
    output::note(format!("watching {} (stop it with Ctrl-C)", path.display()));
    let mut last = Instant::now();
    while !interrupt::came() {
        thread::sleep(PAUSE);
        let mut due = lock(&happened).take_if_due();
        if last.elapsed() > PATIENCE && due.is_none() {
            last = Instant::now();
            due = mirroring.skip_cache.is_time_to_try_again(memo::now_s()).then_some(Scope::All);
        }
        if let Some(scope) = due {
            match mirroring.pass(&scope, output) {
                Err(failure) if failure.is_interruption() => break,
                ended => ended?,
            }
            if !path.is_dir() {
                return Err(Failure::new(
                    format!("cannot watch {}: the folder is gone", path.display()),
                    "its documents are kept; run the command again once it is back",
                ));
            }
        }
    }
    output::note("stopped; all printed changes are stored");
    Ok(())
}

fn lock(happened: &Mutex<Happened>) -> MutexGuard<'_, Happened> {
    happened.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(error: &notify::Error) -> Failure {
    Failure::new(
        format!("cannot watch the folder: {error}"),
        "on Linux raise `sysctl fs.inotify.max_user_watches` (one watch per folder), or run \
         without --watch, periodically",
    )
}
