//! What exists for tests: small sizes, planted bugs, the simulated disk, and the entries of the
//! fuzz targets.
//!
//! Product code names `small!` (a size that is small in tests) and `planted!` (a line that a test
//! can make wrong), and nothing else of this folder. Outside tests both expand to the right value.

#[cfg(any(test, fuzzing))]
pub(crate) mod campaign;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[macro_use]
pub(crate) mod planted;
#[cfg(any(test, fuzzing))]
pub(crate) mod random;
#[cfg(any(test, fuzzing))]
pub(crate) mod sim;
#[macro_use]
pub(crate) mod small;
