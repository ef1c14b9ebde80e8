//! What a look-up comes to: the entries of a bucket table that match, and their ordinals.
//!
//! Knows where they lie. Whether they are what was looked for the caller says, by comparing bytes.

use super::reader::Segment;
use crate::format::bytes::index;
use crate::{Error, Result};
use std::borrow::Cow;

/// The entries of a look-up that match, one at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries {
    /// Which of all look-ups it was.
    pub(crate) number: u32,
    /// How many they are, and where their ordinals lie. (Within the third step 0: not known yet.)
    pub(super) count: u32,
    pub(super) at: u64,
}

impl Entries {
    /// How many they are.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The first of them.
    #[inline]
    pub(crate) fn first(self, count: u32) -> Self {
        Self { count: self.count.min(count), ..self }
    }
}

impl Segment {
    /// The last step: the ordinals, ascending. They are candidates: the caller compares bytes.
    #[inline]
    pub(crate) fn take_ordinals(
        &self,
        entries: &Entries,
        mut take: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        for ordinal in self.ordinals(entries)?.as_chunks::<4>().0 {
            let ordinal = u32::from_le_bytes(*ordinal);
            if ordinal >= self.docs() {
                return Err(self.no_such_document(entries));
            }
            take(ordinal)?;
        }
        Ok(())
    }

    /// The bytes of the ordinals, 4 each, ascending: not yet known to be documents.
    #[inline]
    pub(crate) fn ordinals(&self, entries: &Entries) -> Result<Cow<'_, [u8]>> {
        self.blocks.read(entries.at, index(entries.count) * 4)
    }

    /// The error for an ordinal among these that the segment does not have.
    #[cold]
    pub(crate) fn no_such_document(&self, entries: &Entries) -> Error {
        self.blocks.corrupt(entries.at, "bucket names a document that is not there")
    }
}
