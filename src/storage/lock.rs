//! The guard of a file lock; knows nothing of what it guards.

use std::fmt;

/// Held while this value lives; dropping what is inside releases it.
pub(crate) struct Lock {
    _guard: Box<dyn std::any::Any + Send + Sync>,
}

impl Lock {
    pub(crate) fn new(guard: impl std::any::Any + Send + Sync) -> Self {
        Self { _guard: Box::new(guard) }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lock")
    }
}
