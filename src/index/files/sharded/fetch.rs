//! Reading a sharded index from an object store: which files to fetch, and whether they are
//! complete.

use super::core_of;
use crate::format::manifest as format;
use crate::index::state::core::Core;
use crate::index::state::options::Options;
use crate::segment::Watch;
use crate::storage::Storage;
use crate::storage::names::{Ending, Names};
use crate::sync::Arc;
use crate::{Error, ErrorKind, Params, ReadMode, Result};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// One generation of a sharded index, decoded from its manifest: lists the files that a reader
/// needs.
///
/// For storage that is not a file system. Fetch the manifest whose name sorts last and decode it.
/// Then fetch the files that it lists into a local folder, check them, and open that folder with a
/// [`Reader`](crate::Reader). `docs/reference/SHARDS.md` has the steps.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let (lake, local) = (folder.path().join("lake"), folder.path().join("local"));
/// # let scratch = folder.path().join("part");
/// use nearkin::shards::{Adopt, Manifest, Shards, seal, shard_of};
/// use nearkin::{Document, Options, Params, Reader, Sketcher};
///
/// # let params = Params::for_threshold(0.7).build()?;
/// # let mut shards = Shards::create(&lake, &params, 4)?;
/// # let document = Document::new("p1", Sketcher::new(&params).text("some text")?);
/// # let sealed = seal(&params, vec![document], &shards.ticket(1, 0)?, &scratch)?;
/// # shards.place(&scratch, &sealed)?;
/// # shards.append(&[(shard_of("p1", 4), sealed)], Adopt::Refuse, None)?;
/// let bytes = std::fs::read(lake.join("manifest/0000000002.manifest"))?;
/// let manifest = Manifest::decode(&bytes)?;
/// for file in manifest.files() {
///     std::fs::create_dir_all(local.join(&file.path).parent().unwrap())?;
///     std::fs::copy(lake.join(&file.path), local.join(&file.path))?;
/// }
/// std::fs::create_dir_all(local.join("manifest"))?;
/// std::fs::write(local.join(manifest.path()), bytes)?;
/// manifest.check(&local)?;
/// assert!(Reader::open(&local, Options::default())?.contains("p1")?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    manifest: format::ManifestContent,
}

/// A file that a manifest lists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestFile {
    /// The path of the file, relative to the folder of the index.
    pub path: PathBuf,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// XXH3-64 (seed 0) of the file's tail, which holds the checksums of everything before it.
    pub tail_hash: u64,
    /// The shard that the file belongs to.
    pub shard: u32,
}

impl Manifest {
    /// Decodes a manifest.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Unsupported`.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let manifest = format::ManifestContent::decode(bytes);
        let manifest = manifest.map_err(|error| error.in_file(Path::new("manifest"), 0))?;
        Ok(Self { manifest })
    }

    /// The number of the generation.
    pub fn generation(&self) -> u64 {
        self.manifest.generation()
    }

    /// The number of shards of the index.
    pub fn shards(&self) -> u32 {
        self.manifest.shards
    }

    /// The parameters of the index.
    pub fn params(&self) -> &Params {
        &self.manifest.row.params
    }

    /// The note of the last commit that set one.
    pub fn note(&self) -> &[u8] {
        &self.manifest.note
    }

    /// The path of the manifest relative to the folder of the index.
    pub fn path(&self) -> PathBuf {
        names().manifest(self.generation())
    }

    /// All files that a reader of this generation needs, except the manifest.
    pub fn files(&self) -> Vec<ManifestFile> {
        let names = names();
        let mut files = Vec::new();
        for (entry, shard) in self.manifest.row.segments.iter().zip(&self.manifest.shard_of) {
            let mut push = |number, ending, bytes, tail_hash| {
                let path = names.numbered(number, ending);
                files.push(ManifestFile { path, bytes, tail_hash, shard: *shard });
            };
            push(entry.number, Ending::Segment, entry.length, entry.tail_hash);
            if let Some(dead) = &entry.dead_file {
                push(dead.number, Ending::Dead, dead.length, dead.tail_hash);
            }
        }
        files
    }

    /// Checks the files of this generation in a local folder. An error if a file is missing, has
    /// another length, belongs to another index or generation, or has a damaged block.
    ///
    /// Reads every byte of the files, without memory-mapping them.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Corrupt`, `Unsupported`, `Io`.
    pub fn check(&self, dir: impl AsRef<Path>) -> Result<()> {
        self.check_on(&Core::disk(), dir.as_ref())
    }

    pub(crate) fn check_on(&self, storage: &Arc<dyn Storage>, dir: &Path) -> Result<()> {
        for file in self.files() {
            let path = dir.join(&file.path);
            let found = storage.bytes_of(&path).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::about(ErrorKind::NotFound, &path, "no such file; fetch it")
                }
                _ => crate::io_error("look at", &path, error),
            })?;
            if found != file.bytes {
                let what = format!("{found} bytes, not {}; fetch it again", file.bytes);
                return Err(Error::corrupt(&path, found.min(file.bytes), what));
            }
        }
        let options = Options::default().read_mode(ReadMode::Pread);
        let core = core_of(storage, &Names::new(dir), &options, &self.manifest, &[])?;
        for live in &core.state().segments {
            let mut first = None;
            let mut watch = Watch {
                problem: &mut |error| first = first.take().or(Some(error)),
                progress: &mut |_bytes| ControlFlow::Continue(()),
            };
            live.segment.verify_blocks(&mut watch)?;
            if let Some(held) = &live.dead {
                held.dead.verify(&mut watch)?;
            }
            if let Some(error) = first {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// The file names of an index, as paths relative to its folder.
fn names() -> Names {
    Names::new(Path::new(""))
}
