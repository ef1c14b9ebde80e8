//! Files in the folder that the catalog does not list: finds, checks and deletes them.

use crate::format::catalog::Row;
use crate::index::files::folder::list_if_any;
use crate::storage::names::{self, Ending, Names};
use crate::storage::{self, Storage};
use crate::wal::holds_a_record;
use crate::{Error, Result};
use std::path::PathBuf;

/// The unlisted files of the folder, and its missing subfolders.
#[derive(Debug, Default)]
pub(super) struct Litter {
    paths: Vec<PathBuf>,
    /// The number of the spare WAL file, which is kept.
    pub(super) spare: Option<u64>,
    /// A number above all file numbers seen, since no number is ever used twice.
    pub(super) number_next: u64,
    /// Missing folders of the index. Copy programs may omit empty folders.
    pub(super) folders_missing: Vec<PathBuf>,
}

impl Litter {
    pub(super) fn find(storage: &dyn Storage, names: &Names, row: &Row) -> Result<Self> {
        let mut litter = Self::default();
        for folder in [names.root().to_path_buf(), names.wal_dir(), names.segments_dir()] {
            let Some(entries) = list_if_any(storage, &folder)? else {
                litter.folders_missing.push(folder);
                continue;
            };
            for entry in entries {
                let path = folder.join(&entry.name);
                if entry.is_dir {
                    continue;
                }
                if names::is_tmp(&entry.name) {
                    litter.paths.push(path);
                } else if let Some((number, ending)) = names::parse(&entry.name)
                    && names.numbered(number, ending) == path
                {
                    litter.judge(storage, row, number, ending, path)?;
                }
            }
        }
        Ok(litter)
    }

    fn judge(
        &mut self,
        storage: &dyn Storage,
        row: &Row,
        number: u64,
        ending: Ending,
        path: PathBuf,
    ) -> Result<()> {
        self.number_next = self.number_next.max(number.saturating_add(1));
        let listed = match ending {
            Ending::Wal => row.wal.is_some_and(|wal| wal.number == number),
            Ending::Free => {
                let first = self.spare.is_none();
                self.spare = self.spare.or(Some(number));
                first
            }
            Ending::Segment => row.segments.iter().any(|entry| entry.number == number),
            Ending::Dead => row
                .segments
                .iter()
                .any(|entry| entry.dead_file.is_some_and(|dead| dead.number == number)),
        };
        if ending == Ending::Free && number >= row.file_next {
            // A WAL becomes the spare only after a commit that no longer lists it, and that commit
            // set the next file number above the number of the WAL. So this catalog is older than
            // that commit, and deleting the files that this catalog does not list could lose newer
            // changes.
            return Err(Error::corrupt(
                &path,
                0,
                "a recycled WAL is newer than the catalog: the catalog is an older copy",
            ));
        }
        if listed {
            return Ok(());
        }
        if ending == Ending::Wal && number >= row.file_next && holds_a_record(storage, &path)? {
            return Err(Error::corrupt(
                &path,
                0,
                "a WAL newer than the catalog holds changes: the catalog is an older copy",
            ));
        }
        self.paths.push(path);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Deletes the files; returns their number. A file that another process has mapped stays on
    /// systems that keep such files (Windows): a later opening deletes it.
    pub(super) fn sweep(self, storage: &dyn Storage) -> Result<u64> {
        let mut swept = 0;
        for path in &self.paths {
            match storage.remove(path) {
                Ok(()) => swept += 1,
                Err(error) if storage::is_gone_or_in_use(&error) => {}
                Err(error) => return Err(crate::io_error("remove", path, error)),
            }
        }
        Ok(swept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sim::Sim;
    use std::path::Path;

    #[test]
    fn sweeping_files_that_are_already_gone_is_no_error() {
        let sim = Sim::new();
        sim.overwrite(Path::new("/there"), b"litter");
        let paths = ["/gone", "/there", "/gone too"].map(PathBuf::from).to_vec();
        let litter = Litter { paths, ..Litter::default() };
        assert_eq!(litter.sweep(&sim).expect("swept"), 1);
        assert_eq!(sim.snapshot_of_files().len(), 0);
    }
}
