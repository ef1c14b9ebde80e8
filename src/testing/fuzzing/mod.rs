//! The functions that the fuzz targets call: each takes any bytes and panics if a promise is
//! broken.
//!
//! Compiled only for tests and by `cargo fuzz`. The bytes are read as choices (see `input`).
//! Checksums are recomputed after the damage, because otherwise they would catch it first.

mod catalog;
mod engine;
pub(crate) mod input;
mod manifest;
mod segment;
#[cfg(test)]
mod tests;
mod wal;

/// A log of records, intact or damaged. Replay must return what `docs/reference/FILE_FORMAT.md`
/// says, and an index opened on the log must contain exactly that.
pub fn wal_replay(data: &[u8]) {
    wal::run(data);
}

/// A forged segment or dead file with valid checksums. It must be refused, or every read of it must
/// return an answer or an error. Then a whole index with this file is tested in the same way.
pub fn segment_query(data: &[u8]) {
    segment::run(data);
}

/// A row of the catalog. It must be refused, or decode and encode to the same value, and an index
/// with this row must not panic.
pub fn catalog_row(data: &[u8]) {
    catalog::run(data);
}

/// A manifest of a sharded index. It must be refused, or decode and encode to the same value, and
/// readers and writers of that index must not panic.
pub fn manifest(data: &[u8]) {
    manifest::run(data);
}

/// Operations on an index on a simulated disk. The answers are compared with brute force.
pub fn operations(data: &[u8]) {
    crate::index::tests::fuzz(data);
}
