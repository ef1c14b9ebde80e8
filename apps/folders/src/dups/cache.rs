//! The index of file signatures that is kept between runs as a cache.

#![expect(
    clippy::disallowed_types,
    reason = "sets the time of a folder, opens no file of an index"
)]

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nearkin::{Index, Params};
use xxhash_rust::xxh3::xxh3_128;

use crate::args::dups::Dups;
use crate::follow;
use crate::follow::selection::Selection;
use nearkin_input::raw::SkippedFiles;
use nearkin_kit::args::machine;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::output;
use nearkin_kit::scratch::Scratch;

/// An index that was not used for this long is deleted.
const UNUSED_MAX: Duration = Duration::from_secs(30 * 86_400);

/// The ending of an index folder. Before it are 32 hexadecimal digits.
const ENDING: &str = ".nearkin";

/// What the index must hold.
pub(super) struct WantedIndex<'a> {
    pub(super) args: &'a Dups,
    pub(super) folders: &'a [&'a Path],
    pub(super) selection: &'a Selection,
}

/// A result, and the files without a text.
type Done<T> = (T, SkippedFiles);

/// Does some work with an index of the texts of all files, as they are now. The index is the cached
/// one; a temporary one if the cache folder is not writable or another run uses it. A damaged one
/// is rebuilt, whenever the damage shows.
pub(super) fn with_index<T>(
    wanted: &WantedIndex<'_>,
    work: impl Fn(&Index) -> Result<T, Failure>,
) -> Result<Done<T>, Failure> {
    // Below 0.1, the bands stay those for 0.1: with bands for a lower threshold, almost every text
    // would be compared with every other.
    let params = Params::for_threshold(wanted.args.threshold.clamp(0.1, 1.0)).build()?;
    if !wanted.args.no_cache
        && let Some(folder) = folder()
    {
        let place = folder.join(name(&params, wanted));
        sweep(&folder, &place);
        match cached(wanted, &place, &params, &work) {
            Err(Cause::Work(failure)) => return Err(failure),
            Err(Cause::Cache(failure)) => output::note(format!("no cache: {failure}")),
            Ok(done) => return Ok(done),
        }
    }
    let scratch = Scratch::folder()?;
    let place = scratch.path().join("index");
    let create = |options| Index::create(&place, &params, options);
    let index = opened::mapped_or_not(&place, machine::options(), create)?;
    follow_and_work(wanted, index, &place, &work)
}

/// Why there is no result: the work itself, or the cache could not be opened.
enum Cause {
    Work(Failure),
    Cache(Failure),
}

fn cached<T>(
    wanted: &WantedIndex<'_>,
    place: &Path,
    params: &Params,
    work: &impl Fn(&Index) -> Result<T, Failure>,
) -> Result<Done<T>, Cause> {
    let open = || {
        make_private(place.parent().unwrap_or(place))?;
        let open = |options| Index::open_or_create(place, params, options);
        Ok(opened::mapped_or_not(place, machine::options(), open)?)
    };
    let first = open().map_err(Cause::Cache).and_then(|index| {
        touch(place);
        follow_and_work(wanted, index, place, work).map_err(Cause::Work)
    });
    let damage = match first {
        Err(Cause::Work(failure) | Cause::Cache(failure)) if failure.is_damage() => failure,
        other => return other,
    };
    output::note(format!("the cache is damaged and is rebuilt: {}", damage.message()));
    fs::remove_dir_all(place).map_err(|error| Cause::Cache(Failure::writing(place, &error)))?;
    let index = open().map_err(Cause::Cache)?;
    follow_and_work(wanted, index, place, work).map_err(Cause::Work)
}

fn follow_and_work<T>(
    wanted: &WantedIndex<'_>,
    index: Index,
    place: &Path,
    work: &impl Fn(&Index) -> Result<T, Failure>,
) -> Result<Done<T>, Failure> {
    let (index, skipped) = follow::follow(index, place, wanted.folders, wanted.selection)?;
    let done = work(&index)?;
    index.close()?;
    Ok((done, skipped))
}

/// Creates a folder that only this user can read: the index names private files.
fn make_private(folder: &Path) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| Failure::writing(folder, &error))
}

/// Notes that an index is used now.
fn touch(place: &Path) {
    // If the time cannot be set, the index is deleted too early at worst, and built again.
    let _ = File::open(place).and_then(|folder| folder.set_modified(SystemTime::now()));
}

/// Deletes the indexes that were not used for long: of folders, thresholds or options that nobody
/// asks for any more.
fn sweep(folder: &Path, wanted: &Path) {
    // Whatever cannot be read or deleted stays until a later run.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let digits = name.to_str().and_then(|name| name.strip_suffix(ENDING));
        let is_ours = digits.is_some_and(|digits| {
            digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        let age = entry.metadata().and_then(|metadata| metadata.modified());
        let age = age.ok().and_then(|used| used.elapsed().ok());
        if is_ours && entry.path() != wanted && age.is_some_and(|age| age > UNUSED_MAX) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The file name of the index. It is derived from everything that the index depends on.
fn name(params: &Params, wanted: &WantedIndex<'_>) -> String {
    let mut about = params.id().to_le_bytes().to_vec();
    about.extend(wanted.selection.encode());
    about.extend(params.threshold().to_le_bytes());
    for folder in wanted.folders {
        about.extend_from_slice(folder.as_os_str().as_encoded_bytes());
        about.push(0);
    }
    format!("{:032x}{ENDING}", xxh3_128(&about))
}

/// The user's cache folder.
fn folder() -> Option<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = named("XDG_CACHE_HOME").or_else(|| {
        if cfg!(windows) {
            return named("LOCALAPPDATA");
        }
        let place = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        named("HOME").map(|home| home.join(place))
    });
    base.map(|base| base.join("nearkin").join("dups"))
}
