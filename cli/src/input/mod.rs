//! What a command reads: files and folders, lines, tables and sets, and the index itself.
//!
//! From paths to documents with a place (file and line), in bounded memory. Knows formats and the
//! printing of notes; knows no command.

pub(crate) mod content;
pub(crate) mod documents;
pub(crate) mod doubts;
pub(crate) mod opened;
pub(crate) mod originals;
pub(crate) mod pipeline;
pub(crate) mod repetitive;
pub(crate) mod shards;
pub(crate) mod skips;
pub(crate) mod table_file;
pub(crate) mod window;
