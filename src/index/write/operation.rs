//! One operation of a change. Plain data.

use crate::Document;
use crate::format::wal::LoggedOperation;

/// A requested operation on one key. The log records its effect, which depends on the stored
/// document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    Insert {
        key: &'a [u8],
        /// `None`: the stored payload is kept.
        payload: Option<&'a [u8]>,
        time: u64,
        shingle_count: u32,
        signature: &'a [u8],
        /// Whether it replaces a document that differs in nothing but the time: an operation that
        /// was decided before, as it comes from a log or a salvaged segment.
        is_decided: bool,
    },
    SetPayload {
        key: &'a [u8],
        payload: &'a [u8],
    },
    Remove {
        key: &'a [u8],
    },
}

impl<'a> Operation<'a> {
    pub(crate) fn key(&self) -> &'a [u8] {
        match *self {
            Self::Insert { key, .. } | Self::SetPayload { key, .. } | Self::Remove { key } => key,
        }
    }

    /// The payload given with the operation.
    pub(crate) fn payload(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Insert { payload, .. } => payload,
            Self::SetPayload { payload, .. } => Some(payload),
            Self::Remove { .. } => None,
        }
    }

    /// The number of shingles of an insert; 0 for other operations.
    pub(crate) fn shingle_count(&self) -> u32 {
        match *self {
            Self::Insert { shingle_count, .. } => shingle_count,
            Self::SetPayload { .. } | Self::Remove { .. } => 0,
        }
    }
}

impl<'a> From<LoggedOperation<'a>> for Operation<'a> {
    fn from(logged: LoggedOperation<'a>) -> Self {
        match logged {
            LoggedOperation::Insert { key, payload, time, shingle_count, signature } => {
                let (payload, is_decided) = (Some(payload), true);
                Self::Insert { key, payload, time, shingle_count, signature, is_decided }
            }
            LoggedOperation::Remove { key } => Self::Remove { key },
        }
    }
}

impl<'a> From<&'a Document> for Operation<'a> {
    fn from(document: &'a Document) -> Self {
        let Document { key, payload, time, signature } = document;
        Self::Insert {
            key,
            payload: Some(payload),
            time: *time,
            shingle_count: signature.shingle_count(),
            signature: signature.as_bytes(),
            is_decided: true,
        }
    }
}
