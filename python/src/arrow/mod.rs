//! Columns in and tables out through the Arrow PyCapsule interface, without a copy and without an
//! Arrow library.

pub(crate) mod ffi;
mod read;
mod write;

pub(crate) use read::{Chunk, Item, chunks_of};
pub(crate) use write::{ArrowColumn, Batch, Builder, Field, Kind, Values, column_array, schema_of};
