//! Follows file system events until Ctrl-C is pressed.
//!
//! Events may be lost, and some changes cause none. The whole folder is scanned again, with a new
//! watcher, if that happened or may have happened, and from time to time in any case. If watching
//! is impossible, it ends with an error.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::ModifyKind;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::pass::Mirroring;
use super::surroundings::Surroundings;
use crate::args::mirror::Mirror;
use crate::follow::folder::Folder;
use crate::follow::memo;
use crate::follow::walk::{EXCLUDE_FILE, IGNORE_FILES, Scope};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::{self, Output};

/// A pass starts when there were no events for this long. Waiting is useful because programs write
/// files in several steps.
const QUIET: Duration = Duration::from_millis(500);

/// A pass starts this long after the first event even if further events arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// Polling interval.
const PAUSE: Duration = Duration::from_millis(100);

/// How often the surroundings of the folder are examined.
const LOOK: Duration = Duration::from_secs(1);

/// Unless the user says otherwise, the whole folder is scanned after this time even if nothing
/// happens, or after this many times the duration of a scan: such scans take less than half a
/// percent of a processor.
const RESCAN: Duration = Duration::from_secs(600);
const SCANS_APART: u32 = 200;

/// Number of attempts to watch a folder in which others delete folders meanwhile.
const ATTEMPTS: usize = 10;

/// Maximum number of changed paths per pass. If there are more, the whole folder is scanned.
const PATHS_MAX: usize = 200;

/// Events since the last pass.
#[derive(Debug, Default)]
struct Happened {
    paths: BTreeSet<PathBuf>,
    /// Whether the next pass must scan the whole folder: because too many paths changed, or the
    /// folder itself or an ignore file changed.
    all: bool,
    /// Whether the next pass also needs a new watcher, because events were lost, or may be.
    renew: bool,
    /// Set if the system refuses to watch further folders.
    failed: Option<notify::Error>,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Happened {
    fn note(&mut self, event: notify::Result<Event>, folder: &Folder, index: Option<&PathBuf>) {
        let event = match event {
            // These events are caused by our own reading.
            Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
            Ok(event) => event,
            Err(error) => {
                if matches!(error.kind, ErrorKind::MaxFilesWatch) {
                    self.failed = Some(error);
                }
                return self.renew();
            }
        };
        if event.need_rescan() || event.paths.is_empty() {
            return self.renew();
        }
        // A folder that could not be entered, and thus not be watched, may have become readable.
        let is_metadata = matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
        for path in &event.paths {
            let of_rules = path.ends_with(EXCLUDE_FILE)
                || IGNORE_FILES.iter().any(|ignore_file| path.ends_with(ignore_file));
            match folder.spelled(path) {
                Some(path) if index.is_some_and(|index| path.starts_with(index)) => {}
                Some(path) if is_metadata && path.is_dir() => self.renew(),
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

    fn renew(&mut self) {
        self.renew = true;
        self.everything();
    }

    fn touch(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// The next pass, if one is due.
    fn take_if_due(&mut self) -> Option<Due> {
        let (first, last) = (self.first?, self.last?);
        if last.elapsed() < QUIET && first.elapsed() < PATIENCE {
            return None;
        }
        let Self { paths, all, renew, .. } = std::mem::take(self);
        Some(Due { scope: if all { Scope::All } else { Scope::Below(paths) }, renew })
    }
}

/// A pass that is due.
struct Due {
    scope: Scope,
    /// Whether to start a new watcher first.
    renew: bool,
}

/// Checks that this build supports `--watch`. Always succeeds here: this file is compiled only into
/// builds that do.
#[expect(clippy::unnecessary_wraps, reason = "other builds cannot")]
pub(super) fn check(_: &Mirror) -> Result<(), Failure> {
    Ok(())
}

/// A running watcher, and what it cannot see.
struct Watching {
    folder: Folder,
    no_ignore: bool,
    /// Path of the index, if it lies in the folder.
    index: Option<PathBuf>,
    happened: Arc<Mutex<Happened>>,
    watcher: Option<RecommendedWatcher>,
    surroundings: Surroundings,
    /// When the surroundings were examined last.
    looked: Instant,
    /// When to scan the whole folder even if nothing happens.
    full_due: Instant,
}

impl Watching {
    fn start(mirroring: &Mirroring<'_>) -> Result<Self, Failure> {
        // If the watcher cannot start its thread, it reports no error and delivers no events. So
        // check first whether threads can be started.
        nearkin_kit::threads::check()?;
        let (folder, no_ignore) = (mirroring.folder.clone(), mirroring.rules.no_ignore);
        let index = mirroring.rules.index.as_ref().and_then(|index| folder.spelled(index));
        let (happened, now) = (Arc::default(), Instant::now());
        let surroundings = Surroundings::capture(&folder, no_ignore);
        let (watcher, looked, full_due) = (None, now, now);
        let mut watching =
            Self { folder, no_ignore, index, happened, watcher, surroundings, looked, full_due };
        watching.renew()?;
        Ok(watching)
    }

    /// Starts a new watcher. The old one is stopped first: together they could exceed the limit of
    /// watches. Changes between the two are found by the pass that follows.
    fn renew(&mut self) -> Result<(), Failure> {
        self.watcher = None;
        self.surroundings.check_root()?;
        self.surroundings = Surroundings::capture(&self.folder, self.no_ignore);
        self.watcher = Some(self.new_watcher()?);
        Ok(())
    }

    /// Watches all folders. Runs on a thread of its own, because many folders take long, and a
    /// signal must end that.
    fn new_watcher(&self) -> Result<RecommendedWatcher, Failure> {
        let (sender, started) = channel();
        let (happened, folder, index) =
            (Arc::clone(&self.happened), self.folder.clone(), self.index.clone());
        let start = move || {
            for attempt in 1.. {
                let (happened, path) = (Arc::clone(&happened), folder.path.clone());
                let (folder, index) = (folder.clone(), index.clone());
                let note = move |event| lock(&happened).note(event, &folder, index.as_ref());
                let watcher = notify::recommended_watcher(note).and_then(|mut watcher| {
                    watcher.watch(&path, RecursiveMode::Recursive).map(|()| watcher)
                });
                let is_gone = |error: &notify::Error| matches!(error.kind, ErrorKind::PathNotFound);
                if watcher.as_ref().is_err_and(is_gone) && path.is_dir() && attempt < ATTEMPTS {
                    continue;
                }
                // If nobody waits any more, a signal has arrived.
                let _ = sender.send(watcher);
                return;
            }
        };
        let no_thread = |error| Failure::new(format!("cannot start a thread: {error}"), "");
        thread::Builder::new().spawn(start).map_err(no_thread)?;
        loop {
            match started.recv_timeout(PAUSE) {
                Ok(watcher) => return watcher.map_err(|error| self.refused(&error)),
                Err(RecvTimeoutError::Timeout) => interrupt::check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new("the watcher of folders failed", ""));
                }
            }
        }
    }

    /// The next pass, if one is due. Fails if watching is no longer possible.
    fn next(&mut self, mirroring: &Mirroring<'_>) -> Result<Option<Due>, Failure> {
        if let Some(error) = lock(&self.happened).failed.take() {
            return Err(self.refused(&error));
        }
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.surroundings.check_root()?;
            if self.surroundings.have_changed() || Instant::now() >= self.full_due {
                lock(&self.happened).renew();
                self.full_due = Instant::now() + RESCAN;
            }
            if mirroring.skip_cache.is_time_to_try_again(memo::now_s()) {
                lock(&self.happened).everything();
            }
        }
        let due = lock(&self.happened).take_if_due();
        // Checked again, because a pass over another folder would remove the documents of this one.
        if due.is_some() {
            self.surroundings.check_root()?;
        }
        Ok(due)
    }

    /// Notes that the whole folder was scanned in this time.
    fn scanned(&mut self, took: Duration, rescan: Option<Duration>) {
        let pause = rescan.unwrap_or_else(|| RESCAN.max(took * SCANS_APART));
        self.full_due = Instant::now() + pause;
    }

    fn refused(&self, error: &notify::Error) -> Failure {
        let folder = self.folder.path.display();
        let too_many_open = |error: &std::io::Error| error.raw_os_error() == Some(EMFILE);
        match &error.kind {
            ErrorKind::MaxFilesWatch => Failure::new(
                format!("cannot watch every folder in {folder}: the limit of watches is reached"),
                "raise `sysctl fs.inotify.max_user_watches` (one watch per folder), or run without \
                 --watch, periodically",
            ),
            ErrorKind::Io(error) if too_many_open(error) => Failure::new(
                format!("cannot watch {folder}: too many watchers or open files ({error})"),
                "raise `sysctl fs.inotify.max_user_instances` or `ulimit -n`, or run without \
                 --watch, periodically",
            ),
            _ => Failure::new(
                format!("cannot watch {folder}: {error}"),
                "run without --watch, periodically",
            ),
        }
    }
}

/// The system's error if a process or user has too many files or watchers open.
const EMFILE: i32 = 24;

/// Runs a pass over the whole folder, then one after each group of events.
pub(super) fn watch(mirroring: &mut Mirroring<'_>, output: &mut Output) -> Result<(), Failure> {
    // Started before the first pass, so that no change between the two is missed.
    let mut watching = Watching::start(mirroring)?;
    let rescan = mirroring.args.rescan;
    let began = Instant::now();
    // If a signal interrupts this first pass, that is an error: watching has not started yet.
    mirroring.pass(&Scope::All, output)?;
    watching.scanned(began.elapsed(), rescan);
    output::note(format!("watching {} (stop it with Ctrl-C)", watching.folder.path.display()));
    while !interrupt::came() {
        thread::sleep(PAUSE);
        let Some(due) = watching.next(mirroring)? else { continue };
        let began = Instant::now();
        let renewed = if due.renew { watching.renew() } else { Ok(()) };
        match renewed.and_then(|()| mirroring.pass(&due.scope, output)) {
            Err(failure) if failure.is_interruption() => break,
            ended => ended?,
        }
        if due.scope.is_all() {
            watching.scanned(began.elapsed(), rescan);
        }
    }
    output::note("stopped; all printed changes are stored");
    Ok(())
}

fn lock(happened: &Mutex<Happened>) -> MutexGuard<'_, Happened> {
    happened.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use notify::event::{CreateKind, Flag};

    use super::*;

    /// What is due after these events.
    fn due(events: impl IntoIterator<Item = notify::Result<Event>>, folder: &Path) -> Due {
        let folder = Folder::new(folder).unwrap();
        let mut happened = Happened::default();
        for event in events {
            happened.note(event, &folder, None);
        }
        happened.last = Instant::now().checked_sub(QUIET);
        happened.take_if_due().unwrap()
    }

    #[test]
    fn lost_events_lead_to_a_full_pass_with_a_new_watcher() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let created =
            || Ok(Event::new(EventKind::Create(CreateKind::File)).add_path(path.join("a")));
        let known = due([created()], &path);
        assert!(!known.renew && !known.scope.is_all());
        // So does the watcher report an overflow of the system's queue.
        let overflow = || Event::new(EventKind::Other).set_flag(Flag::Rescan);
        // Some systems name a folder in which events were lost.
        let below = || overflow().add_path(path.join("folder"));
        let error = || Err(notify::Error::generic("unknown"));
        let lost: [&dyn Fn() -> notify::Result<Event>; 3] =
            [&|| Ok(overflow()), &|| Ok(below()), &error];
        for lost in lost {
            for events in [[lost(), created()], [created(), lost()]] {
                let lost = due(events, &path);
                assert!(lost.renew && lost.scope.is_all());
            }
        }
    }
}
