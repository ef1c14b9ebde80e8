//! Columns that Python passes: texts, keys, payloads, integers, and documents to sketch.

pub(crate) mod column;
pub(crate) mod documents;
pub(crate) mod integers;
pub(crate) mod items;
pub(crate) mod keys;
