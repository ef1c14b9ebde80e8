//! Reads documents: from paths and bytes to texts and rows, in bounded memory.
//!
//! - Files and folders: [`files`]; files of many documents: [`members`]. Files below one folder
//!   only: [`inside`].
//! - The text of a file, of whatever format and encoding: [`formats`]. Parsers run in processes of
//!   their own, which are this program, started again: `main` begins with [`formats::if_asked`].
//! - JSON lines, tables (CSV) and Parquet files, plain or compressed: [`source`], [`records`].
//! - Key and content of a line: [`fields`]; guesses of their names: [`guess`].
//! - Sets from the rows of a table: [`sets`].
//!
//! Nothing is printed: messages are returned. Knows no index, no signatures and no command line,
//! except that messages name options as the tool `nearkin` spells them.

#![expect(
    clippy::missing_errors_doc,
    reason = "an error is always that the input, as the message says, cannot be read"
)]
#![expect(clippy::should_implement_trait, reason = "what is read one by one can fail in between")]

mod collections;
mod error;
pub mod fields;
pub mod files;
pub mod formats;
pub mod guess;
mod gunzip;
mod handed_out;
pub mod inside;
pub mod interrupt;
pub mod lines;
pub mod members;
pub mod on_disk;
pub mod raw;
pub mod records;
pub mod sets;
pub mod sniff;
pub mod source;
mod stdin;
pub mod words;

pub use error::Error;

/// The command that builds the tool with all formats, for messages of builds that lack some.
pub const FULL_BUILD: &str = "cargo install --path cli --features full";
