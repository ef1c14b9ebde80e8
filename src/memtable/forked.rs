//! A memtable in a forked child.

use super::Memtable;
use crate::storage::forks;

impl Memtable {
    /// Whether the content can never be read here: this process was forked while a thread of the
    /// parent changed the content, or waited to change it.
    #[inline]
    pub(crate) fn is_cut_off(&self) -> bool {
        self.forks != forks() && self.content.try_read().is_err()
    }
}
