//! The manifest of a sharded index: a catalog row with the list of segments, and the shard of each
//! segment.
//!
//! Pure: the caller lists the folder and chooses the newest manifest.

use super::DecodeError;
use super::bytes::{ByteReader, NUMBER_MAX, narrow, wide};
use super::catalog::Row;
use super::header::{FileHeader, FileKind};

/// Upper bound of the file length. A longer file is not a manifest.
pub(crate) const MANIFEST_BYTES_MAX: u64 = 8 << 20;
/// Maximum number of shards.
pub(crate) const SHARDS_MAX: u32 = 1 << 16;
/// Maximum length of the committer's note in bytes.
pub(crate) const NOTE_BYTES_MAX: usize = 1 << 16;
/// Length of the fields before the CRC: number of shards, note length, row length, number of
/// segments.
const OWN_BYTES: usize = 16;

/// A generation of a sharded index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ManifestContent {
    pub(crate) shards: u32,
    /// Bytes for the committer's own use, for example the id of its batch.
    pub(crate) note: Vec<u8>,
    /// The shard of each segment, in the order of the row.
    pub(crate) shard_of: Vec<u32>,
    /// The row that lists the segments. Its floor is the generation number, and it has no WAL.
    pub(crate) row: Row,
}

impl ManifestContent {
    pub(crate) fn generation(&self) -> u64 {
        self.row.floor
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let header = FileHeader {
            kind: FileKind::Manifest,
            uuid: self.row.uuid,
            number: self.row.floor,
            params_id: self.row.params.id(),
        };
        let row = self.row.encode();
        // All lengths are far below 4 GiB: `Row::encode` bounds the row, and `create` bounds the
        // others.
        let bytes_of = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let mut own = self.shards.to_le_bytes().to_vec();
        own.extend_from_slice(&bytes_of(self.note.len()));
        own.extend_from_slice(&bytes_of(row.len()));
        own.extend_from_slice(&bytes_of(self.shard_of.len()));
        let mut rest: Vec<u8> =
            self.shard_of.iter().flat_map(|shard| shard.to_le_bytes()).collect();
        rest.extend_from_slice(&self.note);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&own);
        crc.update(&rest);
        own.extend_from_slice(&crc.finalize().to_le_bytes());
        [&header.encode()[..], &own, &rest, &row].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        const CUT: &str = "manifest is cut short";
        let mut reader = ByteReader::new(bytes);
        let header = FileHeader::decode(reader.take(FileHeader::BYTES, CUT)?, true)?;
        if header.kind != FileKind::Manifest {
            return Err(DecodeError::damaged("not a manifest", 8));
        }
        let own = reader.clone().take(OWN_BYTES, CUT)?;
        let shards = reader.u32("shards")?;
        let note_bytes = narrow(u64::from(reader.u32("note length")?), "note length")?;
        let row_bytes = narrow(u64::from(reader.u32("row length")?), "row length")?;
        let segments = narrow(u64::from(reader.u32("segments")?), "segments")?;
        let expected = reader.u32("checksum of the manifest")?;
        let shard_bytes = segments.checked_mul(4);
        let shard_bytes = shard_bytes.ok_or(DecodeError::damaged("segments", 76))?;
        // `take` checks that the bytes exist before anything is allocated.
        let shard_list = reader.take(shard_bytes, CUT)?;
        let note = reader.take(note_bytes, CUT)?;
        let mut crc = crc32fast::Hasher::new();
        for part in [own, shard_list, note] {
            crc.update(part);
        }
        if crc.finalize() != expected {
            return Err(DecodeError::damaged("checksum of the manifest does not match", 80));
        }
        let begin = reader.offset();
        let row = reader.take(row_bytes, "row of the manifest is cut short")?;
        if reader.remaining() > 0 {
            let end = begin.saturating_add(wide(row_bytes));
            return Err(DecodeError::damaged("bytes after the manifest", end));
        }
        let row = Row::decode(row)?;
        let shard_of: Vec<u32> =
            shard_list.as_chunks::<4>().0.iter().map(|shard| u32::from_le_bytes(*shard)).collect();
        let manifest = Self { shards, note: note.to_vec(), shard_of, row };
        if (manifest.row.uuid, manifest.row.floor) != (header.uuid, header.number)
            || manifest.row.params.id() != header.params_id
        {
            return Err(DecodeError::damaged("header and row of the manifest disagree", 24));
        }
        match manifest.problem() {
            Some(what) => Err(DecodeError::damaged(what, 64)),
            None => Ok(manifest),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        if !(1..=SHARDS_MAX).contains(&self.shards) {
            return Some("number of shards");
        }
        if self.shard_of.len() != self.row.segments.len() {
            return Some("the manifest and its row have different numbers of segments");
        }
        if self.shard_of.iter().any(|shard| *shard >= self.shards) {
            return Some("a segment belongs to a shard that does not exist");
        }
        if self.note.len() > NOTE_BYTES_MAX {
            return Some("note is too long");
        }
        if self.row.wal.is_some() || self.row.floor == 0 || self.row.floor >= NUMBER_MAX {
            return Some("row of a manifest has a generation, and no WAL");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::example;

    fn manifest() -> ManifestContent {
        let row = Row::decode(&example("catalog row")).expect("decodes");
        let row = Row { floor: 3, wal: None, ..row };
        ManifestContent { shards: 4, note: b"batch 9".to_vec(), shard_of: vec![2], row }
    }

    #[test]
    fn the_example_of_a_manifest() {
        let bytes = manifest().encode();
        let printed = [example("manifest"), example("row of a manifest")].concat();
        assert_eq!(bytes[64..], printed, "{bytes:02X?}");
        assert_eq!(ManifestContent::decode(&bytes), Ok(manifest()));
    }

    #[test]
    fn a_manifest_that_is_cut_or_changed_or_longer_is_an_error() {
        let whole = manifest().encode();
        for at in 0..whole.len() {
            ManifestContent::decode(&whole[..at]).expect_err("cut");
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                ManifestContent::decode(&changed).expect_err("changed");
            }
        }
        ManifestContent::decode(&[&whole[..], &[0]].concat()).expect_err("longer");
    }

    #[test]
    fn impossible_manifests_are_refused_despite_valid_checksums() {
        let changed = |change: fn(&mut ManifestContent)| {
            let mut manifest = manifest();
            change(&mut manifest);
            ManifestContent::decode(&manifest.encode()).expect_err("refused");
        };
        changed(|manifest| manifest.shards = 0);
        changed(|manifest| manifest.shards = SHARDS_MAX + 1);
        changed(|manifest| manifest.shard_of[0] = 4);
        changed(|manifest| manifest.shard_of.push(1));
        changed(|manifest| manifest.shard_of.clear());
        changed(|manifest| manifest.note = vec![0; NOTE_BYTES_MAX + 1]);
        changed(|manifest| manifest.row.floor = 0);
        changed(|manifest| {
            let row = Row::decode(&example("catalog row")).expect("decodes");
            manifest.row.wal = row.wal;
        });
    }

    /// Lengths beyond the input are an error before anything is allocated.
    #[test]
    fn a_length_that_is_a_lie_claims_no_memory() {
        let whole = manifest().encode();
        for at in [68, 72, 76] {
            let mut hostile = whole.clone();
            hostile[at..at + 4].fill(0xff);
            ManifestContent::decode(&hostile).expect_err("cut short");
        }
    }
}
