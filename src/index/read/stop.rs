//! When a search stops early.
//!
//! The search itself does not read the clock: it calls [`Stop`] between blocks of candidates.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Instant;

/// The conditions under which a search stops early.
#[derive(Clone, Default)]
pub(crate) struct Stop<'a> {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: Option<Arc<dyn Fn() -> bool + Send + Sync + 'a>>,
}

// A closure that panics leaves a search as it was: it is called between two steps.
impl UnwindSafe for Stop<'_> {}
impl RefUnwindSafe for Stop<'_> {}

impl Stop<'_> {
    /// Whether anything can stop the search.
    #[inline]
    pub(crate) fn may_come(&self) -> bool {
        self.deadline.is_some() || self.cancel.is_some()
    }

    /// Whether the search must stop now. Calls the caller's code: hold no lock.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.may_come() && self.is_due_now()
    }

    #[cold]
    fn is_due_now(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel())
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
