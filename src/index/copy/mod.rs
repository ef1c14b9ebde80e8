//! Copies of an index: a sound one of all of it, made while it is in use; and one of whatever can
//! still be read of a damaged one.

mod backup;
mod salvage;

pub use salvage::Salvaged;
pub(crate) use salvage::salvage;
