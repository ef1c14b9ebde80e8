//! The index of file signatures that is kept between runs as a cache.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nearkin::{ErrorKind, Index, Options, Params};
use xxhash_rust::xxh3::xxh3_128;

use crate::args::Dups;
use crate::failure::Failure;
use crate::output;

/// A temporary folder, deleted on drop.
pub(super) struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, the remaining files stay in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An index and its folder. `_scratch` is set if the folder is temporary.
pub(super) struct Cached {
    pub(super) index: Index,
    pub(super) place: PathBuf,
    pub(super) _scratch: Option<Scratch>,
}

/// Opens the cached index of these folders, or creates it. Uses a temporary index if the cache
/// folder is not writable or if another run uses the index.
pub(super) fn open(args: &Dups, folders: &[&Path]) -> Result<Cached, Failure> {
    // Below 0.1, the bands stay those for 0.1: with bands for a lower threshold, almost every text
    // would be compared with every other.
    let params = Params::for_threshold(args.threshold.clamp(0.1, 1.0)).build()?;
    if !args.no_cache
        && let Some(folder) = folder()
    {
        let place = folder.join(name(&params, folders, args.hidden));
        match cached(&place, &params) {
            Ok(index) => return Ok(Cached { index, place, _scratch: None }),
            Err(failure) => output::note(format!("no cache: {failure}")),
        }
    }
    let process = std::process::id();
    let path = env::temp_dir().join(format!("nearkin-dups-{process}.nearkin"));
    let index = Index::create(&path, &params, Options::default())?;
    Ok(Cached { index, place: path.clone(), _scratch: Some(Scratch(path)) })
}

fn cached(path: &Path, params: &Params) -> Result<Index, Failure> {
    if let Some(folder) = path.parent() {
        let made = fs::DirBuilder::new().recursive(true).create(folder);
        made.map_err(|error| Failure::writing(folder, &error))?;
    }
    match Index::open_or_create(path, params, Options::default()) {
        // A damaged cache is rebuilt, unless another run uses it.
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            fs::remove_dir_all(path).map_err(|error: io::Error| Failure::writing(path, &error))?;
            Ok(Index::create(path, params, Options::default())?)
        }
        opened => Ok(opened?),
    }
}

/// The file name of the index. It is derived from everything that the index depends on.
fn name(params: &Params, folders: &[&Path], hidden: bool) -> String {
    let mut about = params.id().to_le_bytes().to_vec();
    about.push(u8::from(hidden));
    about.extend(params.threshold().to_le_bytes());
    for folder in folders {
        about.extend_from_slice(folder.as_os_str().as_encoded_bytes());
        about.push(0);
    }
    format!("{:032x}.nearkin", xxh3_128(&about))
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
