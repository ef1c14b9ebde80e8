//! The writer's side: publishes a copy of the catalog's row. Readers read this copy instead of
//! redb's file.
//!
//! The copy is derived from the catalog and is never the commit point: if it cannot be written,
//! no operation fails.

use crate::catalog;
use crate::format::bytes::narrow;
use crate::format::catalog::Row;
use crate::format::catalog_copy::{COPY_BYTES_MAX, CatalogCopy};
use crate::index::core::{Core, Writer};
use crate::storage::names::{Names, tmp_of};
use crate::storage::{OpenMode, Storage};
use crate::{Error, Result};

impl Core {
    /// Publishes the row that was just committed. After a failure there is no copy, or one that
    /// names another catalog: readers then read the catalog itself.
    pub(crate) fn publish_copy(&self, writer: &Writer) {
        let hash = catalog::hash(&*self.storage, &self.names.catalog()).ok().flatten();
        let published = hash.map(|catalog_hash| {
            let copy = CatalogCopy { catalog_hash, row: writer.catalog.row().clone() };
            write(&*self.storage, &self.names, &copy)
        });
        if published.is_none_or(|published| published.is_err()) {
            let path = self.names.catalog_copy();
            for left in [tmp_of(&path), path] {
                let _ = self.storage.remove(&left);
            }
        }
    }
}

/// The row from the copy, if the copy was made from exactly the current bytes of the catalog. This
/// row is durable, since a copy is published only after a commit, or after an opening that synced
/// the catalog. With the copy, redb need not open the catalog, which would take longer than the
/// rest of opening.
pub(crate) fn row_from_valid_copy(storage: &dyn Storage, names: &Names) -> Option<Row> {
    let copy = read(storage, names)?;
    let hash = catalog::hash(storage, &names.catalog()).ok().flatten()?;
    (copy.catalog_hash == hash).then_some(copy.row)
}

/// Writes the copy without a sync: after a power cut it fails its checksum, or names another
/// catalog.
fn write(storage: &dyn Storage, names: &Names, copy: &CatalogCopy) -> Result<()> {
    let path = names.catalog_copy();
    let tmp = tmp_of(&path);
    storage
        .open(&tmp, OpenMode::Create)
        .and_then(|file| {
            file.write_at(&copy.encode(), 0)?;
            storage.rename(&tmp, &path)
        })
        .map_err(|error| Error::io("write", &path, error))
}

/// The copy, if it exists and is intact.
pub(super) fn read(storage: &dyn Storage, names: &Names) -> Option<CatalogCopy> {
    let file = storage.open(&names.catalog_copy(), OpenMode::Read).ok()?;
    let length = file.bytes().ok().filter(|length| *length <= COPY_BYTES_MAX)?;
    let mut bytes = vec![0; narrow(length, "length").ok()?];
    file.read_at(&mut bytes, 0).ok()?;
    CatalogCopy::decode(&bytes).ok()
}
