//! Shared by the checks of `verify`: the receiver of problems and progress, and reads from the
//! disk.

use super::reader::Segment;
use crate::format::bytes::wide;
use crate::{Error, ErrorKind, Result};
use std::ops::ControlFlow;

/// Size of a read in bytes.
pub(super) const CHUNK_BYTES: usize = small!(watch::CHUNK_BYTES, 256 * 1024);

/// Receives problems and progress of `verify`.
pub(crate) struct Watch<'a> {
    /// Called with every problem. `verify` stores none, so the caller can bound their number.
    pub(crate) problem: &'a mut dyn FnMut(Error),
    /// Called with the number of bytes checked since the last call; `Break` cancels.
    pub(crate) progress: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
}

impl Watch<'_> {
    pub(super) fn progress(&mut self, bytes: usize) -> Result<()> {
        match (self.progress)(wide(bytes)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                Err(Error::new(ErrorKind::Cancelled, "verification was cancelled"))
            }
        }
    }
}

/// Fills `out` with verified bytes from the disk.
pub(super) fn fresh(segment: &Segment, at: u64, count: u64, out: &mut Vec<u8>) -> Result<()> {
    let fits = at.checked_add(count).is_some_and(|end| end <= segment.layout.body_bytes);
    match usize::try_from(count) {
        Ok(count) if fits => {
            out.resize(count, 0);
            segment.blocks.read_fresh(at, out)
        }
        _ => Err(segment.blocks.corrupt(at, "a reference points outside the file")),
    }
}
