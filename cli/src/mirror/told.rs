//! What is remembered of files that have no document: a cache in the index's folder.
//!
//! Lost, damaged or of another version it is empty, and those files are read once more.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a cache of the tool's: the engine does not know of it, and nothing depends on it"
)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::memo::Stat;
use crate::checkpoint::NoteFolder;
use crate::texts;

/// The name of the file.
const NAME: &str = "mirror.skipped";

/// What it begins with: magic and version.
const MAGIC: [u8; 8] = *b"NKSKIP\0\x01";

/// The reasons that are remembered, by their kinds; a number is its place here.
const KINDS: [&str; 6] = ["binary", "unread format", "empty", "too large", "not a file", "bad key"];

const ENTRY_BYTES: usize = 8 + 16 + 1;

/// The files without a document, each as it was when that was found.
#[derive(Debug, Default)]
pub(crate) struct Told {
    index: NoteFolder,
    folder: u64,
    /// Of this folder: what was known before, and by which reason.
    before: HashMap<u128, u8>,
    /// Of this folder: what is so now.
    now: HashMap<u128, u8>,
    /// Of other folders: kept.
    others: Vec<(u64, u128, u8)>,
}

impl Told {
    /// Reads the cache of an index, for a folder by its key.
    pub(crate) fn read(index: &Path, folder: &[u8]) -> Self {
        let folder = xxh3_64(folder);
        let mut told = Self { index: NoteFolder::of(index), folder, ..Self::default() };
        let bytes = fs::read(told.index.file(NAME)).unwrap_or_default();
        for (of, mark, kind) in decode(&bytes).unwrap_or_default() {
            if of == folder {
                told.before.insert(mark, kind);
            } else {
                told.others.push((of, mark, kind));
            }
        }
        told
    }

    /// The kind of reason for which a file was skipped before, if it is as it was.
    pub(crate) fn before(&self, mark: u128) -> Option<&'static str> {
        let kind = self.before.get(&mark).or_else(|| self.now.get(&mark))?;
        KINDS.get(usize::from(*kind)).copied()
    }

    /// The file is skipped, for this kind of reason.
    pub(crate) fn tell(&mut self, mark: u128, kind: &str) {
        if let Some(at) = KINDS.iter().position(|known| *known == kind) {
            self.now.insert(mark, u8::try_from(at).unwrap_or(u8::MAX));
        }
    }

    /// Writes what is so now; `all` if every file of the folder was looked at, so that what was
    /// known before and is not any more can go.
    pub(crate) fn write(&mut self, all: bool) -> io::Result<()> {
        let known = std::mem::take(&mut self.before);
        let mut next = std::mem::take(&mut self.now);
        if !all {
            next.extend(&known);
        }
        let changed = next != known;
        self.before = next;
        if !changed || !self.index.is_there() {
            return Ok(());
        }
        let ours = self.before.iter().map(|(mark, kind)| (self.folder, *mark, *kind));
        let mut entries: Vec<_> = ours.chain(self.others.iter().copied()).collect();
        entries.sort_unstable();
        // Without a sync: after a power cut a torn file is told by its checksum.
        let path = self.index.file(NAME);
        let tmp = path.with_extension("skipped.tmp");
        File::create(&tmp).and_then(|mut file| file.write_all(&encode(&entries)))?;
        fs::rename(&tmp, &path)
    }
}

/// A name for a file in a state: another size or time, or another way to read it, is another.
pub(crate) fn mark(key: &[u8], place: u64, stat: &Stat) -> u128 {
    let maker = texts::maker().to_le_bytes();
    let parts = [&place.to_le_bytes()[..], &maker[..], &stat.encode(), key];
    xxh3_128(&parts.concat())
}

fn encode(entries: &[(u64, u128, u8)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (folder, mark, kind) in entries {
        bytes.extend(folder.to_le_bytes());
        bytes.extend(mark.to_le_bytes());
        bytes.push(*kind);
    }
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// None unless it is whole.
fn decode(bytes: &[u8]) -> Option<Vec<(u64, u128, u8)>> {
    let (content, sum) = bytes.split_last_chunk()?;
    let entries = content.strip_prefix(&MAGIC)?;
    if xxh3_64(content) != u64::from_le_bytes(*sum) || entries.len() % ENTRY_BYTES != 0 {
        return None;
    }
    let entry = |bytes: &[u8]| {
        let (folder, rest) = bytes.split_first_chunk()?;
        let (mark, rest) = rest.split_first_chunk()?;
        Some((u64::from_le_bytes(*folder), u128::from_le_bytes(*mark), *rest.first()?))
    };
    entries.chunks_exact(ENTRY_BYTES).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damaged_bit_and_every_cut_is_noticed() {
        let entries = [(1, 2, 3), (4, u128::MAX, 0)];
        let bytes = encode(&entries);
        assert_eq!(decode(&bytes).unwrap(), entries);
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None);
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged), None, "bit {bit}");
        }
    }

    #[test]
    fn other_folders_are_kept_and_what_is_gone_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let mut a = Told::read(dir.path(), b"a");
        a.tell(1, "binary");
        a.tell(2, "empty");
        a.tell(3, "unreadable");
        a.write(true).unwrap();
        let mut b = Told::read(dir.path(), b"b");
        assert_eq!(b.before(1), None);
        b.tell(9, "binary");
        b.write(true).unwrap();
        let mut a = Told::read(dir.path(), b"a");
        assert_eq!((a.before(1), a.before(2), a.before(3)), (Some("binary"), Some("empty"), None));
        a.tell(4, "empty");
        a.write(false).unwrap();
        let mut a = Told::read(dir.path(), b"a");
        assert_eq!((a.before(1), a.before(4)), (Some("binary"), Some("empty")));
        a.tell(1, "binary");
        a.write(true).unwrap();
        let a = Told::read(dir.path(), b"a");
        assert_eq!((a.before(1), a.before(2), a.before(4)), (Some("binary"), None, None));
        assert_eq!(Told::read(dir.path(), b"b").before(9), Some("binary"));
    }
}
