//! The writer's part: a copy of the catalog's row that readers take instead of redb's file.
//!
//! The copy is derived and never the commit point: a failure here fails no operation.

use crate::catalog;
use crate::format::bytes::narrow;
use crate::format::catalog::Row;
use crate::format::catalog_copy::{COPY_BYTES_MAX, CatalogCopy};
use crate::index::core::{Core, Writer};
use crate::storage::names::{Names, tmp_of};
use crate::storage::{OpenMode, Storage};
use crate::{Error, Result};

impl Core {
    /// Publishes the row that was just committed. A failure leaves no copy, or one that names
    /// another catalog: readers then take the catalog itself.
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

/// What the catalog says, if the copy there is was taken of its very bytes. Then it is durable: a
/// copy is published only after the commit, or the opening, that saw to that. And redb, which takes
/// longer than all else of opening, need not be asked: it wrote these bytes of this row.
pub(crate) fn vouched(storage: &dyn Storage, names: &Names) -> Option<Row> {
    let copy = read(storage, names)?;
    let hash = catalog::hash(storage, &names.catalog()).ok().flatten()?;
    (copy.catalog_hash == hash).then_some(copy.row)
}

/// Not synced: what a power cut leaves of it fails its checksum, or is of another catalog.
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

/// The copy, if there is one and it is whole.
pub(super) fn read(storage: &dyn Storage, names: &Names) -> Option<CatalogCopy> {
    let file = storage.open(&names.catalog_copy(), OpenMode::Read).ok()?;
    let length = file.bytes().ok().filter(|length| *length <= COPY_BYTES_MAX)?;
    let mut bytes = vec![0; narrow(length, "length").ok()?];
    file.read_at(&mut bytes, 0).ok()?;
    CatalogCopy::decode(&bytes).ok()
}
