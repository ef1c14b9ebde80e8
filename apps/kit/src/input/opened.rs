//! Opens the index named on the command line, or explains why that fails.
//!
//! This module opens, creates and closes indexes, and checks options against their parameters. It
//! does not know the documents.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearkin::{
    Durability, Error, ErrorKind, Event, Index, Options, Params, ReadMode, Reader, Scheme, Windows,
};

use crate::args::machine;
use crate::failure::Failure;
use crate::interrupt;
use crate::output;
#[cfg(windows)]
use crate::scratch;
#[cfg(windows)]
use nearkin_input::files;
#[cfg(windows)]
use nearkin_input::raw;

/// Time after which a command says that it waits.
const SILENCE: Duration = Duration::from_secs(1);

/// Warn if a match is found with a lower probability than this.
const FOUND_MIN: f64 = 0.9;

/// The similarity of a third of a text to the whole.
const PART_OF_WHOLE: f64 = 1.0 / 3.0;

/// Opens an index read-only; other processes may use it meanwhile.
pub fn to_read(dir: &Path) -> Result<Reader, Failure> {
    let opened = mapped_or_not(dir, machine::options(), |options| Reader::open(dir, options));
    opened.map_err(|error| not_shown(dir, error))
}

/// Explains why an index could not be opened whose documents are to be shown; maybe the folder is
/// one of files.
fn not_shown(dir: &Path, error: Error) -> Failure {
    let is_of_files = error.kind() == ErrorKind::Invalid && dir.is_dir();
    let failure = not_opened(error);
    if is_of_files { failure.advise(&how_to_index(dir)) } else { failure }
}

/// How to make an index of the files of a folder.
fn how_to_index(folder: &Path) -> String {
    let in_shell = |path: &Path| {
        let path = path.display().to_string();
        let is_plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
        if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
    };
    let name = folder.file_name().unwrap_or_else(|| OsStr::new("files"));
    let mut index = name.to_owned();
    index.push(".nearkin");
    let (index, folder) = (in_shell(Path::new(&index)), in_shell(folder));
    format!("make an index of its files, `nearkin mirror {index} {folder}`, and give that: {index}")
}

/// Opens an existing index for writing.
pub fn to_change(dir: &Path) -> Result<Index, Failure> {
    open(dir, machine::options()).map_err(not_opened)
}

/// Opens an existing index for changes that rest on what was found in it: until it is closed, no
/// other process writes to it.
pub fn to_change_alone(dir: &Path) -> Result<Index, Failure> {
    open_alone(dir, machine::options()).map_err(not_opened)
}

/// Opens an existing index, shared with other processes that write to it; one of passages can only
/// be opened alone.
fn open(dir: &Path, options: Options) -> nearkin::Result<Index> {
    let open = |options| Index::open(dir, options);
    let index = mapped_or_not(dir, patient(options.clone()).shared(true), open)?;
    if index.params().passages().is_none() {
        return Ok(index);
    }
    index.close()?;
    open_alone(dir, options)
}

/// Opens an existing index, to which no other process writes until it is closed.
fn open_alone(dir: &Path, options: Options) -> nearkin::Result<Index> {
    mapped_or_not(dir, patient(options), |options| Index::open(dir, options))
}

/// Options with which a command waits while another process writes to the index. It says so after a
/// second; a signal ends the wait.
pub fn patient(options: Options) -> Options {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let patience = machine::patience();
    options.lock_wait(patience).on_wait(move |waited| {
        if waited < SILENCE {
            IS_SAID.store(false, Ordering::Relaxed);
        } else if !IS_SAID.swap(true, Ordering::Relaxed) {
            let seconds = patience.as_secs();
            output::note(format!(
                "another process writes to the index; waiting for it, {seconds} s at most"
            ));
        }
        if interrupt::came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}

/// Writes what is in memory to segments, and closes the index. (A handle that shares an index
/// leaves it in the log, as this one does if another process keeps the index to itself now.)
pub fn flush_and_close(index: Index) -> nearkin::Result<()> {
    flush_unless_locked(&index)?;
    index.close()
}

/// Writes what is in memory to segments, unless another process keeps the index to itself now:
/// what is in memory is in the log, too.
pub fn flush_unless_locked(index: &Index) -> nearkin::Result<()> {
    match index.flush() {
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        ended => ended,
    }
}

/// Opens or creates an index. If its file system does not support memory maps, opens it without
/// them.
pub fn mapped_or_not<T>(
    dir: &Path,
    options: Options,
    open: impl Fn(Options) -> nearkin::Result<T>,
) -> nearkin::Result<T> {
    match open(options.clone()) {
        // If a newer version wrote the files, the second attempt returns the same error.
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let opened = open(options.read_mode(ReadMode::Pread))?;
            output::note(format!(
                "{}: its file system does not support memory maps, so queries are slower (FUSE: \
                 mount without direct I/O)",
                dir.display()
            ));
            Ok(opened)
        }
        opened => opened,
    }
}

/// Options for an index with this TTL.
fn options(ttl: Option<Duration>) -> Options {
    let options = machine::options();
    match ttl {
        Some(ttl) => options.ttl(ttl),
        None => options,
    }
}

/// How a command that writes much, queries little and then ends opens its index.
#[derive(Clone, Default)]
pub struct Load {
    ttl: Option<Duration>,
    durability: Option<Durability>,
    is_alone: bool,
    expired: Arc<AtomicU64>,
}

impl Load {
    /// With a TTL. Maintenance may remove expired documents at any time until the index is closed.
    pub fn expiring(ttl: Option<Duration>) -> Self {
        Self { ttl, ..Self::default() }
    }

    /// No other process writes meanwhile, and writes are not synced: the command calls
    /// [`Index::sync`] before it says that they are safe.
    pub fn alone_and_unsynced() -> Self {
        Self { durability: Some(Durability::OsBuffer), is_alone: true, ..Self::default() }
    }

    /// Opens an existing index.
    pub(crate) fn open(&self, dir: &Path) -> Result<Index, Failure> {
        let open = if self.is_alone { open_alone } else { open };
        open(dir, self.options()).map_err(not_opened)
    }

    /// Creates an index.
    fn create(&self, dir: &Path, params: &Params) -> nearkin::Result<Index> {
        let is_shared = !self.is_alone && params.passages().is_none();
        let options = patient(self.options()).shared(is_shared);
        mapped_or_not(dir, options, |options| Index::create(dir, params, options))
    }

    /// Segments are unmapped once they are written, which saves memory and slows down only the
    /// first queries.
    fn options(&self) -> Options {
        let mut options = options(self.ttl).keep_mapped(false);
        if let Some(durability) = self.durability {
            options = options.durability(durability);
        }
        if self.ttl.is_none() {
            return options;
        }
        let expired = Arc::clone(&self.expired);
        options.on_event(move |event| {
            if let Event::Expired { documents, .. } = event {
                expired.fetch_add(*documents, Ordering::Relaxed);
            }
        })
    }

    /// Removes all documents that are older than the TTL.
    pub fn expire(&self, index: &Index) -> Result<(), Failure> {
        self.expired.fetch_add(expire(index, self.ttl)?, Ordering::Relaxed);
        Ok(())
    }

    /// The number of documents that have expired, including those that maintenance removed. Final
    /// once the index is closed.
    pub fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }
}

/// Closes an index after success or after a signal. After any other failure, the index is only
/// dropped: closing would fail again, and dropping loses nothing.
pub fn close<E>(
    ended: Result<(), Failure>,
    close: impl FnOnce() -> Result<(), E>,
) -> Result<(), Failure>
where
    Failure: From<E>,
{
    match ended {
        Err(failure) if !failure.is_interruption() => Err(failure),
        // A failed flush loses nothing: the documents are in the WAL.
        ended => {
            close()?;
            ended
        }
    }
}

/// Runs a command that may create an index. If it fails and the new index is empty, deletes the
/// index again. After an interruption the index stays, because the same command will continue.
pub fn leaving_nothing<T>(
    dir: &Path,
    command: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let is_new = Index::exists(dir).is_ok_and(|exists| !exists);
    let had_folder = dir.exists();
    command().map_err(|failure| {
        if is_new && !failure.is_interruption() && remove_if_empty(dir, had_folder) {
            return failure
                .after(&format!("the new, empty index {} was deleted again", dir.display()));
        }
        failure
    })
}

/// Deletes an index if it is empty. Recreates the folder if it existed before the index
/// (`had_folder`). Returns whether this succeeded.
fn remove_if_empty(dir: &Path, had_folder: bool) -> bool {
    delete_if_empty(dir) && (!had_folder || std::fs::create_dir(dir).is_ok())
}

/// Deletes an index while holding its lock.
#[cfg(not(windows))]
fn delete_if_empty(dir: &Path) -> bool {
    let Ok(index) = Index::open(dir, machine::options()) else { return false };
    index.is_empty() && std::fs::remove_dir_all(dir).is_ok()
}

/// Windows neither deletes nor renames the folder of an open index. So the closed index gets
/// another name first: then no other program opens it between the check and the deletion.
#[cfg(windows)]
fn delete_if_empty(dir: &Path) -> bool {
    let is_empty =
        |dir: &Path| Index::open(dir, machine::options()).is_ok_and(|index| index.is_empty());
    let aside = files::unfinished(&raw::native(dir));
    if !is_empty(dir) || scratch::rename(dir, &aside).is_err() {
        return false;
    }
    if is_empty(&aside) {
        return std::fs::remove_dir_all(&aside).is_ok();
    }
    // Another program has added documents just before the first rename. If this one fails, the
    // documents are in the folder with the other name.
    let _ = scratch::rename(&aside, dir);
    false
}

/// Removes all documents older than the TTL; returns their number.
pub fn expire(index: &Index, ttl: Option<Duration>) -> Result<u64, Failure> {
    let Some(ttl) = ttl else { return Ok(0) };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let limit = u64::try_from(since.saturating_sub(ttl).as_millis()).unwrap_or(u64::MAX);
    Ok(index.remove_before(limit)?)
}

/// Opens an existing index for a long-running writer with a TTL. `None` if it is on a read-only
/// file system.
pub fn to_serve(dir: &Path, ttl: Option<Duration>) -> Result<Option<Index>, Failure> {
    match open(dir, options(ttl)) {
        Err(error) if error.io_kind() == Some(std::io::ErrorKind::ReadOnlyFilesystem) => Ok(None),
        opened => opened.map(Some).map_err(|error| not_shown(dir, error)),
    }
}

/// Whether an index exists. Fails if the folder holds something else.
pub fn exists(dir: &Path) -> Result<bool, Failure> {
    Index::exists(dir).map_err(not_opened)
}

/// Creates an index and warns if its parameters are costly.
pub fn create(dir: &Path, params: &Params, load: &Load) -> Result<Index, Failure> {
    if exists(dir)? {
        return Err(Failure::new(
            format!("{} already holds an index", dir.display()),
            "add to it with `nearkin add`, or choose another folder",
        ));
    }
    for warning in params.warnings() {
        output::note(format!("warning: {warning}"));
    }
    note_quotation_words(params, params.threshold());
    Ok(load.create(dir, params)?)
}

/// The most important parameters in one line.
pub fn describe(params: &Params) -> String {
    let what = match params.scheme() {
        // Another program made the shingles, so they cannot be described.
        Scheme::External(_) => params.scheme().to_string(),
        _ => params.shingles().to_string(),
    };
    let passages = params.passages();
    if let Some(windows) = passages.filter(|_| params.scheme() == Scheme::Winnow) {
        let common = params.common().map_or(0, |common| common.hashes().len());
        let (run, shingles) = (windows.window(), params.shingles());
        return format!("runs of {run} words, fingerprints of {shingles}, {common} common ones");
    }
    let passages = passages.map_or_else(String::new, |windows| format!("passages {windows}, "));
    let common = params.common().map_or(0, |common| common.hashes().len());
    let common = match common as u64 {
        0 => String::new(),
        common => format!(" without {}", output::counted(common, "common one")),
    };
    format!(
        "{passages}threshold {}, {what}{common}, {} hashes of {} bits, {} bands of {} rows",
        params.threshold(),
        params.hashes(),
        params.lane_bits(),
        params.bands(),
        params.rows_per_band()
    )
}

/// Warns if too many documents at an explicit threshold are missed: more than a tenth if that
/// threshold is below the index's own, more than half otherwise. A threshold of zero asks for the
/// best available candidates and gets no warning.
pub fn warn_if_missed(params: &Params, threshold: Option<f64>) {
    let own = params.threshold();
    let Some(threshold) = threshold.filter(|threshold| *threshold > 0.0) else { return };
    let chance = params.candidate_probability(threshold);
    // The bands were chosen for the index's own threshold. So at or above that threshold, only a
    // chance below one half is worth a warning.
    if chance < if threshold < own { FOUND_MIN } else { 0.5 } {
        output::note(format!(
            "warning: this index, made for similarities of {own} and above, misses {:.0} % of the \
             documents of similarity {threshold}; `nearkin rebuild INDEX NEW --threshold \
             {threshold}` makes one of the same documents that finds them",
            (100.0 * (1.0 - chance)).min(99.0)
        ));
    }
}

/// Says that signatures decide which documents are equal. `way_out` says how to let the documents
/// decide.
pub fn equality_is_estimated(way_out: &str) -> String {
    format!(
        "threshold 1 by the estimate: the signatures are equal, the documents may differ in a few \
         words; {way_out}"
    )
}

/// Notes at threshold 1 that signatures decide which documents are equal, for a command that does
/// not compare documents.
pub fn note_if_equality_is_estimated(threshold: f64) {
    if threshold >= 1.0 {
        let way_out = "`nearkin pairs INDEX --exact --threshold 1` compares them";
        output::note(equality_is_estimated(way_out));
    }
}

/// Warns if the index misses more than a tenth of contained texts: those of which the share
/// `contained` occurs in another text that is twice as long.
pub fn warn_if_contained_are_missed(params: &Params, contained: f64) {
    let similarity = Params::similarity_of_contained(contained, 2.0);
    let chance = params.candidate_probability(similarity);
    if chance < FOUND_MIN {
        output::note(format!(
            "warning: this index misses about {:.0} % of texts contained to {contained} in one \
             twice as long (similarity {similarity:.2}); `nearkin rebuild INDEX NEW --threshold \
             {:.1}` makes one of the same documents that finds them",
            100.0 * (1.0 - chance),
            (similarity - 0.1).max(0.1)
        ));
    }
}

/// For a text that is similar to no document: says how to find texts that contain it, unless
/// containment was searched for.
pub fn hint_at_parts(params: &Params, contained: Option<f64>) {
    if contained.is_some() {
        return;
    }
    let chance = params.candidate_probability(PART_OF_WHOLE);
    output::note(if chance >= FOUND_MIN || params.threshold() <= PART_OF_WHOLE {
        "a part of a longer text? try --contained 0.8".to_owned()
    } else {
        format!(
            "a part of a longer text? this index misses about {:.0} % of those that contain it and \
             are three times as long: `nearkin rebuild INDEX NEW --threshold 0.3`, then \
             --contained 0.8",
            (100.0 * (1.0 - chance)).min(99.0)
        )
    });
}

/// For an index of passages: prints the length below which quotations are missed, and which
/// settings would find them.
pub fn note_quotation_words(params: &Params, threshold: f64) {
    let Some(windows) = params.passages() else { return };
    if params.scheme() == Scheme::Winnow {
        let run = windows.window();
        return output::note(format!("every run of {run} words that two texts share is found"));
    }
    let Some(words) = params.quotation_words(threshold) else {
        return output::note(format!(
            "warning: windows of {windows} miss quotations of every length at {threshold}; create \
             an index with a lower --threshold"
        ));
    };
    let smaller = halved(params, windows).and_then(|smaller| {
        let enough = smaller.quotation_words(threshold).filter(|enough| *enough < words)?;
        Some(format!(" (--passages {} finds those of {enough})", smaller.passages()?))
    });
    output::note(format!(
        "quotations under {words} words need a smaller window than {windows}{}",
        smaller.unwrap_or_default()
    ));
}

/// Returns the same parameters, but with windows of half the length and half the stride.
fn halved(params: &Params, windows: Windows) -> Option<Params> {
    let half = |words: usize| u32::try_from(words / 2).ok();
    let smaller = Windows::new(half(windows.window())?, half(windows.stride())?).ok()?;
    params.to_builder().passages(smaller).build().ok()
}

/// Fails if the index is an index of passages, for a command that needs documents.
pub fn check_of_documents(params: &Params, what: &str) -> Result<(), Failure> {
    match params.passages() {
        None => Ok(()),
        Some(_) if params.scheme() == Scheme::Winnow => Err(Failure::new(
            format!("{what} needs an index of documents, but this one is of fingerprints"),
            "`nearkin pairs` and `query` say what its texts share",
        )),
        Some(windows) => Err(Failure::new(
            format!("{what} needs an index of documents, but this one is of passages ({windows})"),
            "add the texts to another index, created without --passages",
        )),
    }
}

/// Explains why an index could not be created.
pub fn not_made(error: Error) -> Failure {
    let is_there = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Exists);
    let failure = Failure::from(error);
    if is_there { failure.advise("choose a new or empty folder") } else { failure }
}

/// Explains why an index could not be opened, and what to do.
pub fn not_opened(error: Error) -> Failure {
    let kind = error.kind();
    let failure = Failure::from(error);
    match kind {
        ErrorKind::NotFound => {
            failure.advise("create it with `nearkin create INDEX` or `nearkin add INDEX PATH...`")
        }
        ErrorKind::Invalid => {
            failure.advise("give the index as first argument, as in `nearkin add INDEX PATH...`")
        }
        _ => failure,
    }
}
