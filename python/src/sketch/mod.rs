//! Parameters, signatures, and the sketcher that makes signatures.

pub(crate) mod params;
pub(crate) mod signatures;
pub(crate) mod sketcher;
