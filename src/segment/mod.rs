//! Segments and dead files: immutable, mapped, and verified block by block on first access.
//!
//! Independent of the WAL, the memtable, the catalog and queries: here keys, signatures and bands
//! are only bytes. `docs/reference/FILE_FORMAT.md` specifies the format.

mod block_check;
mod blocks;
mod builder;
mod cover;
#[cfg(test)]
mod damage_tests;
mod dead;
mod divided;
#[cfg(any(test, fuzzing))]
pub(crate) mod forge;
mod header_footer;
mod interpolation;
mod look_up;
mod read_mode;
mod reader;
mod rebind;
mod table_check;
mod tables;
#[cfg(test)]
mod tests;
mod verified_blocks;
mod verify;
mod walk;
mod watch;
#[cfg(test)]
mod write_tests;
mod writer;

use crate::format::catalog::Listed;
pub(crate) use blocks::not_mapped;
pub(crate) use builder::{BuildPhase, Builder};
pub(crate) use dead::{Bits, Dead, Ranks, write_dead};
pub(crate) use header_footer::describe;
pub(crate) use look_up::{Entries, LOOK_UPS_TOGETHER, LookUp, Tables};
pub use read_mode::ReadMode;
pub(crate) use reader::{Segment, StoredDocument};
pub(crate) use tables::{Need, Rebuild, Run};
pub(crate) use walk::TableEntry;
pub(crate) use watch::Watch;

/// The parameters that a segment needs: lengths, and the seed of key hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) signature_bytes: usize,
    pub(crate) band_bytes: usize,
    /// Band t starts at byte `t * band_bytes` of a signature.
    pub(crate) bands: usize,
    pub(crate) key_seed: u64,
    pub(crate) uuid: [u8; 16],
    /// `Params::id`.
    pub(crate) params_id: u64,
}

impl Shape {
    /// One table per band, and the table of keys.
    fn tables(&self) -> u32 {
        u32::try_from(self.bands).map_or(u32::MAX, |bands| bands.saturating_add(1))
    }

    fn assert_valid(&self) {
        let banded = self.bands.checked_mul(self.band_bytes);
        assert!(self.bands > 0 && self.band_bytes > 0, "an index has bands, and bands have rows");
        assert!(
            banded.is_some_and(|bytes| bytes <= self.signature_bytes),
            "the bands lie within the signature"
        );
        assert!(self.signature_bytes <= 1 << 16, "signatures are short");
    }
}
