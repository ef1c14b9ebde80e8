//! What the fuzz targets call: each function takes any bytes and panics where a promise is broken.
//!
//! Compiled for tests and by `cargo fuzz` only. The bytes are read as choices (see `input`), and
//! checksums are made right after the damage is done, so that it gets past them.

mod catalog;
mod engine;
pub(crate) mod input;
mod manifest;
mod segment;
#[cfg(test)]
mod tests;
mod wal;

/// A log of records, whole and damaged: replay takes what `docs/reference/FILE_FORMAT.md` says, and
/// an index opened on it holds exactly that.
pub fn wal_replay(data: &[u8]) {
    wal::run(data);
}

/// A forged segment or dead file with right checksums: it is refused, or every read of it ends
/// with an answer or an error; then the same in a whole index.
pub fn segment_query(data: &[u8]) {
    segment::run(data);
}

/// A row of the catalog: refused, or read back the same, and an index that has it does not panic.
pub fn catalog_row(data: &[u8]) {
    catalog::run(data);
}

/// A manifest of a sharded index: refused, or read back the same, and what reads and writes the
/// index that has it does not panic.
pub fn manifest(data: &[u8]) {
    manifest::run(data);
}

/// Operations on an index on a simulated disk, its answers held against brute force.
pub fn operations(data: &[u8]) {
    crate::index::tests::fuzz(data);
}

/// Parameters and a text: the signature is the one that the definitions give, written slowly.
pub fn text(data: &[u8]) {
    crate::sketch::tests::oracle::check(data);
}
