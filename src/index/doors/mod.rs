//! The public handles, `Index` and `Reader`: documentation and delegation, no logic.
//!
//! Every method checks that the handle is usable, and calls one function of a floor below.

pub(super) mod handle;
pub(super) mod reader;
mod reading;
mod unwind;
