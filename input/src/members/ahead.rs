//! Reads a stream with a view of what follows.

use std::io::Read;

use bytes::Bytes;

use crate::raw::{DOCUMENT_BYTES_MAX, Reason};

/// Size of the reads.
const READ_BYTES: usize = 64 << 10;

/// A stream, of which the next bytes can be seen before they are taken.
pub(super) struct Ahead {
    inner: Box<dyn Read>,
    bytes: Vec<u8>,
    /// Number of `bytes` that were taken.
    taken: usize,
    is_end: bool,
    failed: Option<String>,
}

impl Ahead {
    pub(super) fn new(inner: Box<dyn Read>) -> Self {
        Self { inner, bytes: Vec::new(), taken: 0, is_end: false, failed: None }
    }

    /// The bytes that follow: at least `count`, unless the stream ends before.
    pub(super) fn at_least(&mut self, count: usize) -> &[u8] {
        while self.bytes.len() - self.taken < count && !self.is_end {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            let end = self.bytes.len();
            self.bytes.resize(end + READ_BYTES, 0);
            let read = self.inner.read(&mut self.bytes[end..]);
            self.bytes.truncate(end + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.is_end = true,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => (self.is_end, self.failed) = (true, Some(error.to_string())),
            }
        }
        &self.bytes[self.taken..]
    }

    /// Takes bytes that were seen.
    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Why the stream ended, if not at its end.
    pub(super) fn failed(&self) -> Option<String> {
        self.failed.clone()
    }

    /// The reason for a stream that ends within a document, or cannot be read any further.
    pub(super) fn cut_off(&self) -> Reason {
        Reason::Damaged(self.failed().unwrap_or_else(|| "it is cut off".to_owned()))
    }

    /// Takes a document of this many bytes. One that is too large is passed over.
    pub(super) fn document(&mut self, bytes: u64) -> Result<Bytes, Reason> {
        let is_kept = bytes <= DOCUMENT_BYTES_MAX as u64;
        let (mut document, mut left) = (Vec::new(), bytes);
        while left > 0 {
            let next = self.at_least(1);
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(next.len());
            if count == 0 {
                return Err(self.cut_off());
            }
            if is_kept {
                document.extend_from_slice(&next[..count]);
            }
            self.take(count);
            left -= count as u64;
        }
        if is_kept { Ok(document.into()) } else { Err(Reason::TooLarge) }
    }
}
