//! The index that is served: open for writing, or with `--read-only` and on a read-only file system
//! for reading.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use nearkin::{Admission, Admit, Batch, Index, Newcomer, Params, Reader, Sketcher};
use nearkin::{Snapshot, Stats, Written};

use super::api::error_response::ErrorResponse;
use nearkin_kit::output;

/// Time after which a reader looks for changes that another process wrote.
const REFRESH: Duration = Duration::from_secs(1);

pub(super) enum Served {
    Writable(Index),
    ReadOnly { reader: Reader, refreshed: Mutex<Instant> },
}

impl Served {
    pub(super) fn read_only(reader: Reader) -> Self {
        Self::ReadOnly { reader, refreshed: Mutex::new(Instant::now()) }
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Writable(index) => index.snapshot(),
            Self::ReadOnly { reader, refreshed } => {
                // One thread refreshes; the others go on with the state there is.
                if let Ok(mut refreshed) = refreshed.try_lock()
                    && refreshed.elapsed() >= REFRESH
                {
                    *refreshed = Instant::now();
                    if let Err(error) = reader.refresh() {
                        output::note(format!("the changes of the writer cannot be read: {error}"));
                    }
                }
                reader.snapshot()
            }
        }
    }

    pub(super) fn params(&self) -> &Params {
        match self {
            Self::Writable(index) => index.params(),
            Self::ReadOnly { reader, .. } => reader.params(),
        }
    }

    pub(super) fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    pub(super) fn stats(&self) -> nearkin::Result<Stats> {
        match self {
            Self::Writable(index) => index.stats(),
            Self::ReadOnly { reader, .. } => reader.stats(),
        }
    }

    pub(super) fn write(&self, batch: Batch) -> Result<Written, ErrorResponse> {
        Ok(self.writable()?.write(batch)?)
    }

    pub(super) fn admit_one(
        &self,
        newcomer: &Newcomer<'_>,
        terms: &Admit<'_>,
    ) -> Result<Admission, ErrorResponse> {
        Ok(self.writable()?.admit_one(newcomer, terms)?)
    }

    pub(super) fn remove_prefix(&self, prefix: &[u8]) -> Result<u64, ErrorResponse> {
        Ok(self.writable()?.remove_prefix(prefix)?)
    }

    fn writable(&self) -> Result<&Index, ErrorResponse> {
        match self {
            Self::Writable(index) => Ok(index),
            Self::ReadOnly { .. } => Err(ErrorResponse::read_only()),
        }
    }

    /// Flushes and closes an index that is open for writing.
    pub(super) fn close(self) -> nearkin::Result<()> {
        match self {
            Self::Writable(index) => index.close(),
            Self::ReadOnly { .. } => Ok(()),
        }
    }
}
