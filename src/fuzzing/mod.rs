//! The functions that the fuzz targets call: each takes any bytes and panics if a promise is
//! broken.
//!
//! Compiled only for tests and by `cargo fuzz`. The bytes are read as choices (see `input`).
//! Checksums are recomputed after the damage, so that they do not hide it.

mod catalog;
mod engine;
pub(crate) mod input;
mod manifest;
mod segment;
#[cfg(test)]
mod tests;
mod wal;

/// A log of records, intact or damaged: replay returns what `docs/reference/FILE_FORMAT.md` says,
/// and an index opened on it holds exactly that.
pub fn wal_replay(data: &[u8]) {
    wal::run(data);
}

/// A forged segment or dead file with valid checksums: it is refused, or every read of it returns
/// an answer or an error. Then the same in a whole index.
pub fn segment_query(data: &[u8]) {
    segment::run(data);
}

/// A row of the catalog: it is refused, or decodes and encodes to the same value, and an index with
/// it does not panic.
pub fn catalog_row(data: &[u8]) {
    catalog::run(data);
}

/// A manifest of a sharded index: it is refused, or decodes and encodes to the same value, and
/// readers and writers of that index do not panic.
pub fn manifest(data: &[u8]) {
    manifest::run(data);
}

/// Operations on an index on a simulated disk; its answers are compared with brute force.
pub fn operations(data: &[u8]) {
    crate::index::tests::fuzz(data);
}

/// Parameters and a text: the signature equals that of a slow implementation of the definitions.
pub fn text(data: &[u8]) {
    crate::sketch::tests::oracle::check(data);
}
