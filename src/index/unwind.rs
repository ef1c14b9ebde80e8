//! The public handles may cross a caught panic: a server may go on with an index after a request
//! panicked.
//!
//! Nothing half done is ever seen. No section under a lock of the engine panics half way through a
//! change of what the lock guards (a lock that was poisoned all the same is taken as it is), a
//! panic of redb is an error, and a caller's closures are called between changes: the clock before,
//! filters while reading, progress between the steps of what then goes on or is swept.

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
