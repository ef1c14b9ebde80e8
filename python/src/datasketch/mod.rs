//! The engine of `nearkin.datasketch`: permutations, hash values and hash tables that agree with
//! the Python package datasketch bit for bit.
//!
//! Arrays are passed as little-endian bytes, because the stable ABI of CPython 3.10 has no buffer
//! protocol.

use pyo3::prelude::*;

mod buckets;
mod hasher;
mod kernels;
mod random;
mod tables;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<hasher::Hasher>()?;
    module.add_class::<tables::Tables>()?;
    Ok(())
}
