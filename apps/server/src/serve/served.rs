//! The index that is served: open for writing beside other processes, or for reading with
//! `--read-only` and on a read-only file system.

use nearkin::{Admission, Admit, Batch, Index, Newcomer, Params, Sketcher};
use nearkin::{Snapshot, Stats, Written};

use super::api::error_response::ErrorResponse;
use super::followed::{Currency, Followed};
use super::refreshed::Refreshed;

pub(super) enum Served {
    Writable(Refreshed),
    ReadOnly(Followed),
}

impl Served {
    pub(super) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Writable(writable) => writable.index().snapshot(),
            Self::ReadOnly(followed) => followed.reader().snapshot(),
        }
    }

    pub(super) fn params(&self) -> &Params {
        match self {
            Self::Writable(writable) => writable.index().params(),
            Self::ReadOnly(followed) => followed.params(),
        }
    }

    pub(super) fn sketcher(&self) -> Sketcher {
        Sketcher::new(self.params())
    }

    pub(super) fn stats(&self) -> nearkin::Result<Stats> {
        match self {
            Self::Writable(writable) => writable.index().stats(),
            Self::ReadOnly(followed) => followed.reader().stats(),
        }
    }

    /// How current the state is, if another process writes the index.
    pub(super) fn currency(&self) -> Option<Currency> {
        match self {
            Self::Writable(writable) => writable.currency(),
            Self::ReadOnly(followed) => Some(followed.currency()),
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

    pub(super) fn remove_before(&self, time: u64) -> Result<u64, ErrorResponse> {
        Ok(self.writable()?.remove_before(time)?)
    }

    pub(super) fn is_writable(&self) -> bool {
        matches!(self, Self::Writable(_))
    }

    fn writable(&self) -> Result<&Index, ErrorResponse> {
        match self {
            Self::Writable(writable) => Ok(writable.index()),
            Self::ReadOnly(_) => Err(ErrorResponse::read_only()),
        }
    }

    /// Flushes and closes an index that is open for writing.
    pub(super) fn close(self) -> nearkin::Result<()> {
        match self {
            Self::Writable(writable) => writable.close(),
            Self::ReadOnly(_) => Ok(()),
        }
    }
}
