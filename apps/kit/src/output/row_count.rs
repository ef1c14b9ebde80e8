//! Counts the equal rows of two signatures, from which the library estimates similarity.

use nearkin::{Params, Signature};

/// Compares signatures of one index by their rows.
#[derive(Debug, Clone, Copy)]
pub struct EqualRows {
    lane_bytes: usize,
}

impl EqualRows {
    /// For an index with these parameters.
    pub fn for_params(params: &Params) -> Self {
        Self { lane_bytes: params.signature_bytes() / params.hashes() }
    }

    /// The number of equal rows.
    pub fn between(self, one: &Signature, other: &Signature) -> u32 {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        let lanes = one.chunks_exact(self.lane_bytes).zip(other.chunks_exact(self.lane_bytes));
        let equal = lanes.filter(|(one, other)| one == other).count();
        u32::try_from(equal).unwrap_or(u32::MAX)
    }
}
