//! The Arrow C interface, with the structs of `arrow-array`. Its unsafe code is all here.
//!
//! What a producer says is checked in `checked.rs`; that page says what no consumer can check.
#![expect(unsafe_code, reason = "an interface of C pointers; everything above it is safe")]

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::{InvalidError, panic_text};

pub(crate) const SCHEMA_NAME: &CStr = c"arrow_schema";
pub(crate) const ARRAY_NAME: &CStr = c"arrow_array";
pub(crate) const STREAM_NAME: &CStr = c"arrow_array_stream";

/// Takes a struct of the interface out of a Python capsule, and leaves `released` in it.
fn take<T>(
    capsule: &Bound<'_, PyAny>,
    name: &CStr,
    released: T,
    is_released: impl FnOnce(&T) -> bool,
) -> PyResult<T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let mut place = capsule.pointer_checked(Some(name))?.cast::<T>();
    // SAFETY: a capsule with this name holds such a struct. No other thread reads it while this one
    // holds the interpreter lock.
    let taken = std::mem::replace(unsafe { place.as_mut() }, released);
    if is_released(&taken) {
        return Err(InvalidError::new_err("the Arrow data was consumed already"));
    }
    Ok(taken)
}

pub(super) fn take_schema(capsule: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowSchema> {
    take(capsule, SCHEMA_NAME, FFI_ArrowSchema::empty(), |schema| schema.release().is_none())
}

pub(super) fn take_array(capsule: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArray> {
    take(capsule, ARRAY_NAME, FFI_ArrowArray::empty(), FFI_ArrowArray::is_released)
}

/// A stream of another library. (`arrow-array` reads streams of record batches only.)
pub(super) struct Import(FFI_ArrowArrayStream);

impl Import {
    pub(super) fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let empty = FFI_ArrowArrayStream::empty();
        take(capsule, STREAM_NAME, empty, |stream| stream.release().is_none()).map(Self)
    }

    pub(super) fn schema(&mut self) -> Result<FFI_ArrowSchema, String> {
        let get_schema = self.0.get_schema().ok_or("an Arrow stream without get_schema")?;
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released, so the callback may be called with it. It fills the
        // empty schema.
        let code = unsafe { get_schema(&raw mut self.0, &raw mut schema) };
        if code == 0 { Ok(schema) } else { Err(self.failure(code)) }
    }

    /// The next array; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<FFI_ArrowArray>, String> {
        let get_next = self.0.get_next().ok_or("an Arrow stream without get_next")?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut self.0, &raw mut array) };
        if code != 0 {
            return Err(self.failure(code));
        }
        Ok((!array.is_released()).then_some(array))
    }

    fn failure(&mut self, code: c_int) -> String {
        if let Some(get_last_error) = self.0.get_last_error() {
            // SAFETY: as above.
            let message = unsafe { get_last_error(&raw mut self.0) };
            if !message.is_null() {
                // SAFETY: a C string, valid until the stream is used again.
                return unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
            }
        }
        format!("the Arrow stream failed with error {code}")
    }
}

/// An array in the tree of an imported one: the column itself, the items of its lists or the values
/// of its dictionary. The methods panic if the array of pointers, or one to a child, is null.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) root: &'a Arc<FFI_ArrowArray>,
    pub(super) array: &'a FFI_ArrowArray,
}

impl Node<'_> {
    /// The items of a list column. `None` if they are released.
    pub(super) fn child(self) -> Option<Self> {
        self.node(self.array.child(0))
    }

    /// The values of a dictionary column. `None` if they are missing or released.
    pub(super) fn dictionary(self) -> Option<Self> {
        self.array.dictionary().and_then(|array| self.node(array))
    }

    fn node<'a>(self, array: &'a FFI_ArrowArray) -> Option<Node<'a>>
    where
        Self: 'a,
    {
        (!array.is_released()).then_some(Node { root: self.root, array })
    }

    pub(super) fn has_buffer(self, number: usize) -> bool {
        !self.array.buffer(number).is_null()
    }

    /// The first `length` bytes of a buffer. `None` if its pointer is null, or no memory can have
    /// this length. The caller derives the length from the counts and contents of the array: the
    /// interface does not pass it.
    pub(super) fn buffer(self, number: usize, length: usize) -> Option<Buffer> {
        if length == 0 {
            return Some(Buffer::from_vec(Vec::<u8>::new()));
        }
        let start = NonNull::new(self.array.buffer(number).cast_mut())?;
        isize::try_from(length).ok()?;
        start.addr().checked_add(length)?;
        let owner = Arc::clone(self.root);
        // SAFETY: the range is not null and does not wrap. That the producer's buffer is as long as
        // its own counts say is believed: see `checked.rs`. It does not change before the release
        // of its owner, which the buffer keeps.
        Some(unsafe { Buffer::from_custom_allocation(start, length, owner) })
    }
}

/// Bytes of this package as a buffer that shares them.
pub(crate) fn shared(bytes: &Arc<Vec<u8>>) -> Buffer {
    let start = NonNull::from(bytes.as_slice()).cast();
    // SAFETY: the bytes are on the heap, and the buffer keeps their owner, through which nobody can
    // change them.
    unsafe { Buffer::from_custom_allocation(start, bytes.len(), Arc::clone(bytes) as Arc<_>) }
}

/// A record batch of columns that have the types of the schema, and `rows` rows each.
pub(super) fn batch_of(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    // SAFETY: `Builder` makes the columns from the fields of the schema, and fills them together.
    // Whether a column that is not nullable has nulls is not relied on here.
    unsafe { RecordBatch::new_unchecked(schema, columns, rows) }
}

/// The source of an exported stream. Called without the interpreter lock.
pub(crate) type Source = Box<dyn FnMut() -> Result<Option<RecordBatch>, String> + Send>;

struct Export {
    schema: SchemaRef,
    source: Source,
}

impl Iterator for Export {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = catch_unwind(AssertUnwindSafe(|| (self.source)()));
        let next = next.unwrap_or_else(|panic| Err(panic_text(&*panic)));
        // The message becomes a C string.
        let error = |message: String| ArrowError::ExternalError(message.replace('\0', " ").into());
        next.map_err(error).transpose()
    }
}

impl RecordBatchReader for Export {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Exports a stream of this package.
pub(crate) fn export(schema: SchemaRef, source: Source) -> FFI_ArrowArrayStream {
    FFI_ArrowArrayStream::new(Box::new(Export { schema, source }))
}
