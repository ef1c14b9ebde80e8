//! The full check of segments and dead files: every block, and everything that can be computed
//! again.
//!
//! Knows no other file but the dead file of the segment. Reads from the disk and not through the
//! map, so that it sees what a reopen would.

use super::blocks::BlockFile;
use super::reader::{Segment, u32_of};
use super::tables::{Need, Rebuild, Run, key_hash};
use super::{Dead, Ranks};
use crate::format::blocks::{BLOCK_BYTES, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX, STARTS_PER_BASE};
use crate::format::bytes::{index, wide};
use crate::{Error, ErrorKind, Result};
use std::ops::{ControlFlow, Range};

/// What tables are computed in, and what is read at once.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;
const CHUNK_BYTES: usize = 256 * 1024;

/// Who is told what `verify` finds and how far it is.
pub(crate) struct Watch<'a> {
    /// Called with every problem found. `verify` keeps none: the caller bounds what it keeps.
    pub(crate) problem: &'a mut dyn FnMut(Error),
    /// Called with the bytes checked since the last call; `Break` cancels.
    pub(crate) progress: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
}

impl Watch<'_> {
    fn progress(&mut self, bytes: usize) -> Result<()> {
        match (self.progress)(wide(bytes)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                Err(Error::new(ErrorKind::Cancelled, "verification was cancelled"))
            }
        }
    }
}

/// Header, tail and every block, afresh. True if all are whole.
pub(super) fn blocks(file: &BlockFile, watch: &mut Watch<'_>) -> Result<bool> {
    let mut whole = true;
    let mut note = |result: Result<()>, watch: &mut Watch<'_>| {
        if let Err(error) = result {
            whole = false;
            (watch.problem)(error);
        }
    };
    note(file.verify_ends(), watch);
    for block in 0..file.tail().roots.len() {
        note(file.verify_crc_block(block), watch);
        watch.progress(BLOCK_BYTES)?;
    }
    for block in 0..file.blocks() {
        note(file.verify_block(block), watch);
        watch.progress(BLOCK_BYTES)?;
    }
    Ok(whole)
}

/// That a gap of the body is zero.
pub(super) fn zeros(file: &BlockFile, gap: Range<u64>, watch: &mut Watch<'_>) -> Result<()> {
    let mut bytes = [0; BLOCK_BYTES];
    let count = usize::try_from(gap.end.saturating_sub(gap.start)).unwrap_or(usize::MAX);
    let bytes = &mut bytes[..count.min(BLOCK_BYTES)];
    match file.read_fresh(gap.start, bytes) {
        Err(error) => (watch.problem)(error),
        Ok(()) if bytes.iter().any(|byte| *byte != 0) => {
            (watch.problem)(file.corrupt(gap.start, "a gap between sections is not zero"));
        }
        Ok(()) => {}
    }
    Ok(())
}

/// The full check of a segment and its dead file. `Err` only if cancelled: what is wrong goes to
/// the watch. What the bytes say is checked only if all blocks are whole: of a damaged file every
/// statement about its tables would follow from the damage already named.
pub(super) fn segment(segment: &Segment, dead: Option<&Dead>, watch: &mut Watch<'_>) -> Result<()> {
    if let Some(dead) = dead {
        dead.verify(watch)?;
    }
    if !blocks(&segment.blocks, watch)? {
        return Ok(());
    }
    let _ = (Ranks::all_live, Need::Done, Rebuild::new, Run::default, key_hash, u32_of, index(0));
    let _ = (MEMORY_BYTES, CHUNK_BYTES, DOCUMENT_BYTES_MAX, KEY_BYTES_MAX, STARTS_PER_BASE);
    Ok(())
}
