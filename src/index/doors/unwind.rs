//! The public handles are unwind safe: a server may keep using an index after a request panicked.
//!
//! Partial changes are never visible. No critical section of the engine panics in the middle of a
//! change to the guarded data, so poisoned locks are ignored. A panic of redb becomes an error.
//! Closures of the caller run between changes: the clock before a change, filters during reads, and
//! progress callbacks between steps; an interrupted step is continued later, or its files are
//! swept.

use crate::{Index, Options, Reader, Snapshot};
use std::panic::{RefUnwindSafe, UnwindSafe};

impl UnwindSafe for Index {}
impl RefUnwindSafe for Index {}
impl UnwindSafe for Reader {}
impl RefUnwindSafe for Reader {}
impl UnwindSafe for Snapshot {}
impl RefUnwindSafe for Snapshot {}
impl UnwindSafe for Options {}
impl RefUnwindSafe for Options {}
