//! Places sealed files in a sharded index, and checks them before they are listed.

use super::write::Shards;
use crate::index::files::seal::Sealed;
use crate::index::merge::parameters::shape_of;
use crate::segment::{ReadMode, Segment, describe};
use crate::storage::names::Ending;
use crate::storage::parent_of;
use crate::{Error, ErrorKind, OrIo, Result};
use std::io;
use std::path::Path;

impl Shards {
    /// Reads and checks a sealed file, and moves it to its place in the index. Readers do not read
    /// it before it is listed.
    ///
    /// Placing the file of a second attempt is not an error: both files are identical.
    ///
    /// # Errors
    ///
    /// `Invalid` (the file is not the sealed one), `Corrupt` (its content is damaged), `Exists`
    /// (another file has its number), `Io` (also if `path` is on another file system: copy the file
    /// first).
    pub fn place(&self, path: impl AsRef<Path>, sealed: &Sealed) -> Result<()> {
        self.check_sealed(sealed)?;
        let path = path.as_ref();
        if !self.is_file_of(path, sealed)? {
            return Err(Error::about(ErrorKind::Invalid, path, "not the file that was sealed"));
        }
        self.check_body(path, sealed)?;
        let target = self.names.numbered(sealed.number(), Ending::Segment);
        match self.storage.rename_new(path, &target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !self.is_file_of(&target, sealed)? {
                    let what = "a different file exists there";
                    return Err(Error::about(ErrorKind::Exists, &target, what));
                }
                self.check_body(&target, sealed)?;
                self.storage.remove(path).or_io("remove", path)?;
            }
            Err(error) => return Err(crate::io_error("move", path, error)),
        }
        let folder = parent_of(&target);
        self.storage.sync_dir(folder).or_io("sync", folder)
    }

    pub(super) fn check_placed(&self, sealed: &Sealed) -> Result<()> {
        let path = self.names.numbered(sealed.number(), Ending::Segment);
        match self.storage.bytes_of(&path) {
            Ok(_) => self.check_body(&path, sealed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let what = "no such file; place the segment first";
                Err(Error::about(ErrorKind::Invalid, &path, what))
            }
            Err(error) => Err(crate::io_error("look for", &path, error)),
        }
    }

    fn is_file_of(&self, path: &Path, sealed: &Sealed) -> Result<bool> {
        let (header, listed) = describe(&*self.storage, path)?;
        Ok((header.uuid, header.params_id) == (sealed.uuid, sealed.params_id)
            && listed == sealed.entry.listed())
    }

    /// Reads the whole file, and compares all of its blocks with their checksums.
    fn check_body(&self, path: &Path, sealed: &Sealed) -> Result<()> {
        let listed = sealed.entry.listed();
        let row = &self.manifest.row;
        let shape = shape_of(&row.params, row.uuid);
        Segment::open(&*self.storage, path, &listed, &shape, ReadMode::Mmap)?.read_back(false)
    }

    pub(super) fn check_sealed(&self, sealed: &Sealed) -> Result<()> {
        let row = &self.manifest.row;
        if (sealed.uuid, sealed.params_id) == (row.uuid, row.params.id()) {
            return Ok(());
        }
        let message = "the segment was sealed for another index, or with other parameters";
        Err(Error::new(ErrorKind::Mismatch, message))
    }
}
