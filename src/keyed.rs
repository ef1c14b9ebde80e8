//! The hasher of maps in memory: ahash, keyed once per process with random numbers of the operating
//! system. (The feature of ahash that does this takes a package more.)

use std::hash::{BuildHasher, Hasher as _};
use std::sync::OnceLock;

/// Builds hashers with the keys of this process. Never for what is stored: the keys differ in each
/// process.
#[derive(Clone)]
pub(crate) struct RandomState(ahash::RandomState);

impl Default for RandomState {
    fn default() -> Self {
        static KEYED: OnceLock<RandomState> = OnceLock::new();
        let keyed = || {
            let system = std::hash::RandomState::new();
            let [a, b, c, d] = [0_u8, 1, 2, 3].map(|nth| {
                let mut hasher = system.build_hasher();
                hasher.write_u8(nth);
                hasher.finish()
            });
            Self(ahash::RandomState::with_seeds(a, b, c, d))
        };
        KEYED.get_or_init(keyed).clone()
    }
}

/// Says nothing about the keys.
impl std::fmt::Debug for RandomState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RandomState")
    }
}

impl BuildHasher for RandomState {
    type Hasher = <ahash::RandomState as BuildHasher>::Hasher;

    #[inline]
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}
