//! The engine of `nearkin.datasketch`: permutations, hash values and hash tables that agree with
//! the Python package datasketch bit for bit.
//!
//! Arrays are passed as little-endian bytes, because the stable ABI of CPython 3.10 has no buffer
//! protocol.

mod buckets;
pub(crate) mod hasher;
mod kernels;
mod random;
pub(crate) mod tables;
