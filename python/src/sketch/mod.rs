//! Parameters, signatures, and the sketcher that makes signatures.

pub(crate) mod common;
pub(crate) mod learner;
pub(crate) mod params;
pub(crate) mod signature;
pub(crate) mod signatures;
pub(crate) mod sketcher;
