//! A sharded index: segments of many shards that one manifest lists, and that are read as one
//! index.
//!
//! For a reader, a sharded index is a state with more segments, so there is only one read path.
//! Writers take no lock. A manifest is published under the number of its generation, and only if
//! that name is free: so one of two concurrent commits succeeds.

mod fetch;
mod place;
mod write;

pub use fetch::{Manifest, ManifestFile};
pub use write::Shards;
pub(crate) use write::shard_of;

use super::folder::{another_index, newest_generation};
use super::open::{assemble, hold};
use crate::format::bytes::wide;
use crate::format::manifest::{self, MANIFEST_BYTES_MAX};
use crate::index::files::open;
use crate::index::state::core::Core;
use crate::index::state::options::Options;
use crate::index::state::versions::LiveSegment;
use crate::storage::names::Names;
use crate::storage::{Storage, read_start};
use crate::sync::Arc;
use crate::{Error, ErrorKind, OrIo, Result};
use std::path::Path;

/// The newest manifest.
pub(crate) fn newest(storage: &dyn Storage, names: &Names) -> Result<manifest::ManifestContent> {
    let Some(generation) = newest_generation(storage, names)? else {
        let what = "no sharded index here; create one first";
        return Err(Error::about(ErrorKind::NotFound, names.root(), what));
    };
    let path = names.manifest(generation);
    let bytes = read_start(storage, &path, MANIFEST_BYTES_MAX + 1).or_io("read", &path)?;
    if wide(bytes.len()) > MANIFEST_BYTES_MAX {
        return Err(Error::corrupt(&path, 0, "the manifest is longer than any valid one"));
    }
    let manifest =
        manifest::ManifestContent::decode(&bytes).map_err(|error| error.in_file(&path, 0))?;
    if manifest.generation() != generation {
        return Err(Error::corrupt(
            &path,
            40,
            "the generation of the manifest differs from the one in its file name",
        ));
    }
    Ok(manifest)
}

/// A core that has opened the files that a manifest lists. Segments that are open already are
/// reused.
fn core_of(
    storage: &Arc<dyn Storage>,
    names: &Names,
    options: &Options,
    manifest: &manifest::ManifestContent,
    known: &[Arc<LiveSegment>],
) -> Result<Core> {
    let (storage, row) = (Arc::clone(storage), manifest.row.clone());
    let mut core = assemble(storage, names.clone(), &Arc::default(), options.clone(), row);
    core.is_sharded = true;
    open::open_segments(&core, known)?;
    open::restart_group(&core, &core.writer());
    Ok(core)
}

/// Opens a sharded index for reading.
pub(crate) fn open(storage: &Arc<dyn Storage>, dir: &Path, options: &Options) -> Result<Core> {
    options.validate()?;
    let names = Names::new(dir);
    let storage = hold(storage, dir)?;
    let manifest = newest(&*storage, &names)?;
    core_of(&storage, &names, options, &manifest, &[])
}

/// Moves a reader on to the newest generation.
pub(crate) fn refresh(core: &mut Arc<Core>) -> Result<()> {
    let generation = newest_generation(&*core.storage, &core.names)?;
    if generation.is_some_and(|generation| generation <= core.snapshot().change()) {
        return Ok(());
    }
    let manifest = newest(&*core.storage, &core.names)?;
    if manifest.row.uuid != core.shape.uuid {
        return Err(another_index(&core.names));
    }
    let known = core.state();
    let next = core_of(&core.storage, &core.names, &core.options, &manifest, &known.segments)?;
    *core = Arc::new(next);
    Ok(())
}

/// Checks that the newest manifest is intact and belongs to this index.
pub(crate) fn verify_manifest(core: &Core, problems: &mut Vec<Error>) -> Result<()> {
    match newest(&*core.storage, &core.names) {
        Ok(manifest) if manifest.row.uuid == core.shape.uuid => Ok(()),
        Ok(_) => Err(another_index(&core.names)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
        Err(error) => {
            problems.push(error);
            Ok(())
        }
    }
}
