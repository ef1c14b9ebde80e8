//! The index that is served: open for writing or, on a read-only file system, for reading.

use nearkin::{Admission, Admit, Batch, Document, Index, Newcomer, Params, Reader, Sketcher};
use nearkin::{Snapshot, Stats, Written};

use super::error_response::ErrorResponse;

pub(super) enum Served {
    Writable(Index),
    ReadOnly(Reader),
}

impl Served {
    pub(super) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Writable(index) => index.snapshot(),
            Self::ReadOnly(reader) => reader.snapshot(),
        }
    }

    pub(super) fn params(&self) -> &Params {
        match self {
            Self::Writable(index) => index.params(),
            Self::ReadOnly(reader) => reader.params(),
        }
    }

    pub(super) fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    pub(super) fn stats(&self) -> nearkin::Result<Stats> {
        match self {
            Self::Writable(index) => index.stats(),
            Self::ReadOnly(reader) => reader.stats(),
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> nearkin::Result<Option<Document>> {
        self.snapshot().get(key)
    }

    pub(super) fn write(&self, batch: Batch) -> Result<Written, ErrorResponse> {
        Ok(self.writable()?.write(batch)?)
    }

    pub(super) fn admit_one(
        &self,
        newcomer: &Newcomer<'_>,
        terms: &Admit,
    ) -> Result<Admission, ErrorResponse> {
        Ok(self.writable()?.admit_one(newcomer, terms)?)
    }

    pub(super) fn remove_prefix(&self, prefix: &[u8]) -> Result<u64, ErrorResponse> {
        Ok(self.writable()?.remove_prefix(prefix)?)
    }

    fn writable(&self) -> Result<&Index, ErrorResponse> {
        match self {
            Self::Writable(index) => Ok(index),
            Self::ReadOnly(_) => Err(ErrorResponse::read_only()),
        }
    }

    /// Flushes and closes an index that is open for writing.
    pub(super) fn close(self) -> nearkin::Result<()> {
        match self {
            Self::Writable(index) => index.close(),
            Self::ReadOnly(_) => Ok(()),
        }
    }
}
