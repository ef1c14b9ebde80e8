//! Columns in and tables out through the Arrow PyCapsule interface, without a copy.
//!
//! `arrow-array` exports. Its import (`from_ffi`) believes the counts of a producer, so columns are
//! imported by `checked.rs`.

mod checked;
pub(crate) mod ffi;
mod read;
mod write;

pub(crate) use arrow_array::RecordBatch as Batch;
pub(crate) use read::{Chunk, Item, chunks_of};
pub(crate) use write::{Builder, Cell, Field, Kind, schema_of};
