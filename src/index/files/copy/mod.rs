//! Copies of an index: a backup of the whole index while it is in use; a salvage of the readable
//! part of a damaged index; and an import of stored documents into another index.

pub(in crate::index) mod backup;
pub(in crate::index) mod import;
mod salvage;

pub use import::Imported;
pub(crate) use import::check_of_documents;
pub use salvage::Salvaged;
pub(crate) use salvage::salvage;
