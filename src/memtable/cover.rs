//! A covered memtable: all its BandKeys are in a column of the index's filter. So a query walks the
//! memtable's chains only for bands that may be there.

use super::{Memtable, NewDocument, Step, births};
use crate::filter::{BandFilter, ColumnBits, Columns};
use crate::sync::Arc;

impl Memtable {
    /// Covers the memtable by these columns, which are new, unless it contains documents or is
    /// covered. Only the writer may call this.
    pub(crate) fn cover_by(&self, columns: Arc<Columns>) {
        if self.read().document_count() == 0 {
            let _ = self.columns.set(columns);
        }
    }

    /// The columns that contain all BandKeys of the memtable.
    pub(crate) fn columns(&self) -> Option<&Arc<Columns>> {
        self.columns.get()
    }

    /// The filter that covers the memtable, and the memtable's columns.
    #[inline]
    pub(crate) fn covered(&self) -> Option<(&BandFilter, ColumnBits)> {
        self.columns.get().map(|columns| columns.parts())
    }

    /// Enters the BandKeys of births, before they are visible.
    pub(super) fn enter_filter(&self, steps: &[Step<'_>]) {
        let Some(columns) = self.columns.get() else { return };
        let (filter, _) = columns.parts();
        let mut following = births(steps).skip(1);
        for document in births(steps) {
            // The cache lines of the next document are on their way meanwhile.
            if let Some(next) = following.next() {
                self.band_keys(next).iter().for_each(|key| filter.ask_for(*key));
            }
            columns.enter(0, self.band_keys(document).iter().copied());
        }
    }

    fn band_keys<'d>(&self, document: &NewDocument<'d>) -> &'d [u64] {
        &document.table_keys[..self.tables - 1]
    }
}
