//! The arrays of an imported column, and their buffers as slices.
#![expect(unsafe_code, reason = "an interface of C pointers; everything above it is safe")]

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use super::ffi::ArrowArray;

/// An array in the tree of an imported one: the column itself, the items of its lists or the values
/// of its dictionary.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    root: &'a Arc<ArrowArray>,
    array: &'a ArrowArray,
}

/// The numbers in the struct of an array, as its producer says them.
pub(crate) struct Counts {
    pub(crate) length: i64,
    pub(crate) null_count: i64,
    pub(crate) offset: i64,
    pub(crate) buffers: i64,
    pub(crate) children: i64,
}

impl<'a> Node<'a> {
    pub(crate) fn root(root: &'a Arc<ArrowArray>) -> Self {
        Self { root, array: root }
    }

    pub(crate) fn counts(self) -> Counts {
        Counts {
            length: self.array.length,
            null_count: self.array.null_count,
            offset: self.array.offset,
            buffers: self.array.n_buffers,
            children: self.array.n_children,
        }
    }

    /// The items of a list column. `None` if there is not exactly one child, or it is released.
    pub(crate) fn child(self) -> Option<Self> {
        if self.array.n_children != 1 || self.array.children.is_null() {
            return None;
        }
        // SAFETY: there are `n_children` pointers.
        let child = unsafe { *self.array.children };
        self.node(child)
    }

    /// The values of a dictionary column. `None` if they are missing or released.
    pub(crate) fn dictionary(self) -> Option<Self> {
        self.node(self.array.dictionary)
    }

    fn node(self, array: *mut ArrowArray) -> Option<Self> {
        // SAFETY: null, or an array that lives as long as its parent.
        let array = unsafe { array.as_ref() }.filter(|array| array.release.is_some())?;
        Some(Self { root: self.root, array })
    }

    /// The start of a buffer. `None` if there is no such buffer, or its pointer is null.
    fn start(self, number: usize) -> Option<NonNull<u8>> {
        let exists = i64::try_from(number).is_ok_and(|number| number < self.array.n_buffers);
        if !exists || self.array.buffers.is_null() {
            return None;
        }
        // SAFETY: there are `n_buffers` pointers.
        let start = unsafe { *self.array.buffers.wrapping_add(number) };
        NonNull::new(start.cast_mut().cast())
    }

    pub(crate) fn has_buffer(self, number: usize) -> bool {
        self.start(number).is_some()
    }

    /// The first `length` bytes of a buffer. `None` if there is no such buffer, or no memory can
    /// have this length. The caller derives the length from the counts and contents of the array:
    /// the interface does not pass it.
    pub(crate) fn buffer(self, number: usize, length: usize) -> Option<Bytes> {
        let owner = Arc::clone(self.root);
        if length == 0 {
            return Some(Bytes { start: NonNull::dangling(), length, _owner: owner });
        }
        let start = self.start(number)?;
        isize::try_from(length).ok()?;
        start.addr().checked_add(length)?;
        Some(Bytes { start, length, _owner: owner })
    }
}

/// Bytes of an imported array, which they keep alive.
pub(crate) struct Bytes {
    start: NonNull<u8>,
    length: usize,
    _owner: Arc<ArrowArray>,
}

// SAFETY: the bytes are only read, and their owner may be shared and released by any thread.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `Node::buffer` has checked that the range is not null and does not wrap. That the
        // producer's buffer is as long as its own counts say is believed: see `checked.rs`. It does
        // not change before the release of its owner.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}
