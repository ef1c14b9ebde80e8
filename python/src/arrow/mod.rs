//! Columns in and tables out through the Arrow PyCapsule interface, without a copy and without an
//! Arrow library. (The library of the Arrow project imports what a producer says unchecked, and
//! panics at wrong counts; with `pyo3-arrow` the package would depend on twice as many crates.)

mod checked;
pub(crate) mod ffi;
mod node;
mod read;
mod write;

pub(crate) use read::{Chunk, Item, chunks_of};
pub(crate) use write::{
    ArrowColumn, Batch, Builder, Cell, Field, Kind, Values, column_array, schema_of,
};
