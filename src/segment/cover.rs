//! Covering a segment: all its BandKeys are in some columns of the index's filter.

use super::reader::Segment;
use crate::Result;
use crate::filter::{BandFilter, ColumnBits, Columns};
use crate::format::bytes::{index, wide};
use nearkin_sketch::engine::band_key;
use std::sync::Arc;

/// Number of documents that are read together.
const DOCS_TOGETHER: u32 = small!(cover::DOCS_TOGETHER, 64);

impl Segment {
    /// The filter that covers this segment, and the segment's columns.
    #[inline]
    pub(crate) fn covered(&self) -> Option<(&BandFilter, ColumnBits)> {
        self.columns.get().map(|columns| columns.parts())
    }

    /// Number of keys that covering this segment enters.
    pub(crate) fn band_key_count(&self) -> u64 {
        u64::from(self.docs()) * wide(self.shape.bands)
    }

    /// Gives the segment columns that contain its BandKeys. Does nothing if it has some.
    pub(crate) fn cover_by(&self, columns: Arc<Columns>) {
        let _ = self.columns.set(columns);
    }

    /// Enters the BandKeys of all documents into these columns, which are new, and gives them to
    /// the segment.
    pub(crate) fn cover(&self, columns: Arc<Columns>) -> Result<()> {
        let each = self.docs().div_ceil(columns.count()).next_multiple_of(DOCS_TOGETHER);
        for first in (0..self.docs()).step_by(index(DOCS_TOGETHER)) {
            planted!(CoveredInPart => if self.docs() - first <= DOCS_TOGETHER {
                break;
            });
            let some = self.signatures(first..self.docs().min(first + DOCS_TOGETHER))?;
            for signature in some.chunks_exact(self.shape.signature_bytes) {
                let bands = signature.chunks_exact(self.shape.band_bytes).take(self.shape.bands);
                columns.enter(first / each, bands.map(band_key));
            }
        }
        self.cover_by(columns);
        Ok(())
    }
}
