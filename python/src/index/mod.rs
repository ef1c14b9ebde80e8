//! Indexes opened for writing or reading, and the operations on them.

pub(crate) mod copies;
pub(crate) mod handle;
pub(crate) mod originals;
pub(crate) mod passages;
pub(crate) mod readable;
pub(crate) mod reader;
pub(crate) mod reader_state;
pub(crate) mod reports;
pub(crate) mod writer;
pub(crate) mod writing;
