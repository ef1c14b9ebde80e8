//! The copy of the parameters: salvage uses it if the catalog is lost. It is written when the index
//! is created, and checked by verify. A compaction rewrites it if it is damaged or missing.

use crate::format::catalog::Row;
use crate::format::header::{FileHeader, FileKind};
use crate::index::merge::commit;
use crate::index::state::core::Core;
use crate::segment::Shape;
use crate::storage::names::{self, Names};
use crate::storage::{OpenMode, Storage, read_start};
use crate::{Error, ErrorKind, OrIo, Params, Result};
use std::io;

/// Writes the copy of the parameters. Its name becomes durable with the next commit of the catalog.
pub(crate) fn write_parameters(storage: &dyn Storage, names: &Names, row: &Row) -> Result<()> {
    let path = names.parameters();
    let tmp = names::tmp_of(&path);
    let first = Row { floor: 0, wal: None, file_next: 1, segments: Vec::new(), ..row.clone() };
    let header = FileHeader {
        kind: FileKind::Parameters,
        uuid: row.uuid,
        number: 0,
        params_id: row.params.id(),
    };
    let bytes = [&header.encode()[..], &first.encode()].concat();
    storage
        .open(&tmp, OpenMode::Create)
        .and_then(|file| {
            file.write_at(&bytes, 0)?;
            file.sync()?;
            storage.rename(&tmp, &path)
        })
        .or_io("write", &path)
}

/// The catalog row with which the index was created, read from the copy of its parameters.
pub(crate) fn read_parameters(storage: &dyn Storage, names: &Names) -> Result<Row> {
    let path = names.parameters();
    let bytes = read_start(storage, &path, 1 << 20).or_io("read", &path)?;
    let header = FileHeader::decode(&bytes, false).map_err(|error| error.in_file(&path, 0))?;
    let rest = bytes.get(FileHeader::BYTES..).unwrap_or_default();
    let row = Row::decode(rest).map_err(|error| error.in_file(&path, 64))?;
    if header.kind != FileKind::Parameters || header.uuid != row.uuid {
        return Err(Error::corrupt(&path, 0, "not the parameters of an index"));
    }
    Ok(row)
}

/// Whether the copy exists. An index that was created before this feature has none, and is
/// valid. Errors: `Corrupt` (the parameters of another index, or damaged), `Io`.
pub(crate) fn check_parameters(core: &Core) -> Result<bool> {
    let path = core.names.parameters();
    if let Err(error) = core.storage.bytes_of(&path)
        && error.kind() == io::ErrorKind::NotFound
    {
        return Ok(false);
    }
    let own = (core.shape.uuid, core.shape.params_id);
    match read_parameters(&*core.storage, &core.names) {
        Ok(row) if (row.uuid, row.params.id()) == own => Ok(true),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        _ => {
            let what = "these are not the parameters of this index; documents are unaffected, \
                        since only a salvage reads this file; a compaction rewrites it";
            Err(Error::about(ErrorKind::Corrupt, &path, what))
        }
    }
}

/// Rewrites the copy if it is missing, damaged, or belongs to another index.
pub(crate) fn mend_parameters(core: &Core) -> Result<()> {
    match check_parameters(core) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        _ => {
            commit::refuse_if_stopped(core)?;
            // Only one thread at a time may write the copy.
            let writer = core.to_write()?;
            write_parameters(&*core.storage, &core.names, writer.catalog.row())
        }
    }
}

/// The properties of the index that the format of its segments depends on.
pub(crate) fn shape_of(params: &Params, uuid: [u8; 16]) -> Shape {
    Shape {
        signature_bytes: params.signature_bytes(),
        band_bytes: params.band_bytes(),
        bands: params.bands(),
        key_seed: params.seed(),
        uuid,
        params_id: params.id(),
    }
}
