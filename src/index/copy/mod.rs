//! Copies of an index: a sound one of all of it, made while it is in use; one of whatever can
//! still be read of a damaged one; and its documents into another index, as they are.

mod backup;
mod import;
mod salvage;

pub use import::Imported;
pub(crate) use import::check_of_documents;
pub use salvage::Salvaged;
pub(crate) use salvage::salvage;
