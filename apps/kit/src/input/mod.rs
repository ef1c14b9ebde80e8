//! What a command reads: files and folders, lines, tables and sets, and the index itself.
//!
//! From paths to documents with a place (file and line), in bounded memory. Knows formats and the
//! printing of notes; knows no command.

pub mod common;
pub mod content;
pub mod documents;
pub mod doubts;
mod kept;
mod members;
pub mod opened;
pub mod originals;
pub mod pipeline;
pub mod repetitive;
pub mod shards;
pub mod skips;
pub mod table_file;
pub mod window;
