//! The state of a reader, which is opened again after a fork.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nearkin::Options;
use pyo3::prelude::*;

use crate::error::{engine, raise};
use crate::lock::lock;
use crate::progress::run;

/// The state of a reader; a forked child opens it again.
pub(crate) struct ReaderState {
    pub(crate) options: Options,
    pub(crate) snapshot: Mutex<Option<nearkin::Snapshot>>,
    /// `None` while a thread refreshes the reader or calls one of its methods, and after `close`.
    pub(crate) reader: Mutex<Option<nearkin::Reader>>,
    process: AtomicU32,
    /// Whether the reader went away with a call that was interrupted. The next call opens it again.
    is_gone: AtomicBool,
}

impl ReaderState {
    pub(crate) fn new(reader: nearkin::Reader, options: Options) -> Self {
        Self {
            options,
            snapshot: Mutex::new(Some(reader.snapshot())),
            reader: Mutex::new(Some(reader)),
            process: AtomicU32::new(std::process::id()),
            is_gone: AtomicBool::new(false),
        }
    }

    /// Takes the reader out for a call; `None` if another call has it, or after `close`.
    pub(crate) fn take(&self, py: Python<'_>, path: &Path) -> PyResult<Option<nearkin::Reader>> {
        if let Some(reader) = lock(&self.reader).take() {
            return Ok(Some(reader));
        }
        if !self.is_gone.swap(false, Ordering::AcqRel) {
            return Ok(None);
        }
        let (at, options) = (path.to_owned(), self.options.clone());
        let opened = run(py, None, move |_| nearkin::Reader::open(&at, options));
        opened.inspect_err(|_| self.is_gone.store(true, Ordering::Release)).map(Some)
    }

    /// Calls `work` with the reader, and returns it.
    pub(crate) fn run<R: Send + 'static>(
        &self,
        py: Python<'_>,
        reader: nearkin::Reader,
        work: impl Send + 'static + FnOnce(&nearkin::Reader) -> nearkin::Result<R>,
    ) -> PyResult<(nearkin::Reader, nearkin::Result<R>)> {
        let done = run(py, None, move |_| {
            let done = work(&reader);
            Ok((reader, done))
        });
        done.inspect_err(|_| self.is_gone.store(true, Ordering::Release))
    }

    /// Puts back a reader that was taken out, and shows its `newer` snapshot, if there is one. If
    /// `close` was called meanwhile, both are dropped instead.
    pub(crate) fn put_back(&self, reader: nearkin::Reader, newer: Option<nearkin::Snapshot>) {
        let mut snapshot = lock(&self.snapshot);
        if snapshot.is_some() {
            if newer.is_some() {
                *snapshot = newer;
            }
            *lock(&self.reader) = Some(reader);
        }
    }

    /// The current snapshot; a forked child opens the index again.
    pub(crate) fn snapshot(&self, py: Python<'_>, path: &PathBuf) -> PyResult<nearkin::Snapshot> {
        let process = std::process::id();
        if self.process.load(Ordering::Acquire) != process && lock(&self.snapshot).is_some() {
            let opened = engine(py, || nearkin::Reader::open(path, self.options.clone()))?;
            // The parent's objects are leaked and not closed: a thread of the parent may have held
            // their locks at the time of the fork.
            let snapshot = opened.snapshot();
            std::mem::forget(lock(&self.snapshot).replace(snapshot));
            std::mem::forget(lock(&self.reader).replace(opened));
            self.process.store(process, Ordering::Release);
        }
        lock(&self.snapshot).clone().ok_or_else(|| raise(py, "ClosedError", "the reader is closed"))
    }
}
