//! The Arrow C data interface: three C structs. The only unsafe code of this crate is here and in
//! `node.rs`.
//!
//! The layout is that of <https://arrow.apache.org/docs/format/CDataInterface.html> and
//! `CStreamInterface.html`. What a producer says is checked in `checked.rs`; that page says what no
//! consumer can check.
#![expect(unsafe_code, reason = "an interface of C pointers; everything above it is safe")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use crate::error::InvalidError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

pub(crate) const SCHEMA_NAME: &CStr = c"arrow_schema";
pub(crate) const ARRAY_NAME: &CStr = c"arrow_array";
pub(crate) const STREAM_NAME: &CStr = c"arrow_array_stream";

/// The C struct `ArrowSchema`.
#[repr(C)]
pub(crate) struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The C struct `ArrowArray`.
#[repr(C)]
pub(crate) struct ArrowArray {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut ArrowArray,
    pub(super) dictionary: *mut ArrowArray,
    pub(super) release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    pub(super) private_data: *mut c_void,
}

/// The C struct `ArrowArrayStream`.
#[repr(C)]
pub(crate) struct ArrowStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowStream)>,
    private_data: *mut c_void,
}

// SAFETY: the interface lets an owner release the struct from any thread, and nothing is written
// through a shared reference: buffers are immutable once they are exported.
unsafe impl Send for ArrowSchema {}
// SAFETY: as above.
unsafe impl Sync for ArrowSchema {}
// SAFETY: as above.
unsafe impl Send for ArrowArray {}
// SAFETY: as above.
unsafe impl Sync for ArrowArray {}
// SAFETY: a stream is used through `&mut` only, and its producer allows calls from any thread, one
// at a time.
unsafe impl Send for ArrowStream {}

macro_rules! released_on_drop {
    ($name:ident) => {
        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: the struct is not yet released (its `release` is not null), so the
                    // callback may be called once with it; the callback then sets `release` to
                    // null.
                    unsafe { release(self) };
                }
            }
        }

        impl $name {
            /// Takes the struct out of a Python capsule, and leaves a released one in it.
            pub(crate) fn take(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<Self> {
                let mut place = capsule.pointer_checked(Some(name))?.cast::<Self>();
                // SAFETY: a capsule with this name holds such a struct. No other thread reads it
                // while this one holds the interpreter lock.
                let held = unsafe { place.as_mut() };
                let taken = std::mem::replace(held, Self::empty());
                if taken.release.is_none() {
                    let message = "the Arrow data was consumed already";
                    return Err(InvalidError::new_err(message));
                }
                Ok(taken)
            }
        }
    };
}

released_on_drop!(ArrowSchema);
released_on_drop!(ArrowArray);
released_on_drop!(ArrowStream);

impl ArrowSchema {
    pub(crate) fn empty() -> Self {
        Self {
            format: ptr::null(),
            name: ptr::null(),
            metadata: ptr::null(),
            flags: 0,
            n_children: 0,
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    /// The type as a format string of the interface.
    pub(crate) fn format(&self) -> &str {
        if self.format.is_null() {
            return "";
        }
        // SAFETY: the producer keeps a C string at this address until the schema is released.
        unsafe { CStr::from_ptr(self.format) }.to_str().unwrap_or("")
    }

    /// The type of a list's items: the only child.
    pub(crate) fn child(&self) -> Option<&Self> {
        if self.n_children != 1 || self.children.is_null() {
            return None;
        }
        // SAFETY: there are `n_children` pointers.
        let child = unsafe { *self.children };
        // SAFETY: each is null, or points to a schema that lives as long as its parent.
        unsafe { child.as_ref() }
    }

    pub(crate) fn dictionary(&self) -> Option<&Self> {
        // SAFETY: null, or a schema that lives as long as this one.
        unsafe { self.dictionary.as_ref() }
    }
}

impl ArrowArray {
    pub(crate) fn empty() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

/// Types that an exported buffer may consist of: numbers without padding.
pub(crate) trait Primitive {}

/// The bytes of a slice of numbers.
pub(crate) fn bytes_of<T: Primitive>(values: &[T]) -> &[u8] {
    // SAFETY: every byte of a number is initialised, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl Primitive for i32 {}
impl Primitive for i64 {}
impl Primitive for f64 {}

impl ArrowStream {
    fn empty() -> Self {
        Self {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: ptr::null_mut(),
        }
    }

    fn failure(&mut self, code: c_int) -> String {
        if let Some(get_last_error) = self.get_last_error {
            // SAFETY: the stream is not released, so the callback may be called with it.
            let message = unsafe { get_last_error(self) };
            if !message.is_null() {
                // SAFETY: a C string, valid until the stream is used again.
                return unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
            }
        }
        format!("the Arrow stream failed with error {code}")
    }

    pub(crate) fn schema(&mut self) -> Result<ArrowSchema, String> {
        let get_schema = self.get_schema.ok_or("an Arrow stream without get_schema")?;
        let mut schema = ArrowSchema::empty();
        // SAFETY: the stream is not released, so the callback may be called with it. It fills the
        // empty schema.
        let code = unsafe { get_schema(self, &raw mut schema) };
        if code == 0 { Ok(schema) } else { Err(self.failure(code)) }
    }

    /// The next array; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<ArrowArray>, String> {
        let get_next = self.get_next.ok_or("an Arrow stream without get_next")?;
        let mut array = ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(self, &raw mut array) };
        if code != 0 {
            return Err(self.failure(code));
        }
        Ok(array.release.is_some().then_some(array))
    }
}

/// What an exported schema points to.
struct SchemaParts {
    format: CString,
    name: CString,
    children: Vec<*mut ArrowSchema>,
}

impl ArrowSchema {
    /// Exports a schema of this crate. Names and formats contain no zero byte, because this crate
    /// chooses them.
    pub(crate) fn export(format: &str, name: &str, nullable: bool, children: Vec<Self>) -> Self {
        let format = CString::new(format).unwrap_or_default();
        let name = CString::new(name).unwrap_or_default();
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut parts = Box::new(SchemaParts { format, name, children });
        Self {
            format: parts.format.as_ptr(),
            name: parts.name.as_ptr(),
            metadata: ptr::null(),
            flags: if nullable { 2 } else { 0 },
            n_children: i64::try_from(parts.children.len()).unwrap_or(0),
            children: parts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the consumer passes the struct that it was given, or a bytewise copy.
    let schema = unsafe { &mut *schema };
    // SAFETY: `export` made the pointer from such a box, and release is called once.
    let parts = unsafe { Box::from_raw(schema.private_data.cast::<SchemaParts>()) };
    for child in &parts.children {
        // SAFETY: `export` made the pointer from a box. Dropping the box releases the child, unless
        // a consumer has moved it out.
        drop(unsafe { Box::from_raw(*child) });
    }
    schema.release = None;
    schema.private_data = ptr::null_mut();
}

/// The memory that an exported array points to, and its owner.
pub(crate) trait Buffers: Send + Sync + 'static {
    /// The buffers in the order of the format; `None` for a missing one.
    fn buffers(&self) -> Vec<Option<&[u8]>>;
}

struct ArrayParts {
    _owner: Box<dyn Buffers>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

impl ArrowArray {
    /// Exports an array of this crate. `owner` is kept until the consumer releases the array. Its
    /// buffers are on the heap, so that they do not move when the owner does.
    pub(crate) fn export(
        owner: Box<dyn Buffers>,
        length: usize,
        null_count: usize,
        children: Vec<Self>,
    ) -> Self {
        let pointer =
            |buffer: Option<&[u8]>| buffer.map_or(ptr::null(), |some| some.as_ptr().cast());
        let buffers: Vec<*const c_void> = owner.buffers().into_iter().map(pointer).collect();
        let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
        let mut parts = Box::new(ArrayParts { _owner: owner, buffers, children });
        let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        Self {
            length: count(length),
            null_count: count(null_count),
            offset: 0,
            n_buffers: count(parts.buffers.len()),
            n_children: count(parts.children.len()),
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.children.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as for a schema.
    let array = unsafe { &mut *array };
    // SAFETY: `export` made the pointer from such a box, and release is called once.
    let parts = unsafe { Box::from_raw(array.private_data.cast::<ArrayParts>()) };
    for child in &parts.children {
        // SAFETY: `export` made the pointer from a box. Dropping the box releases the child, unless
        // a consumer has moved it out.
        drop(unsafe { Box::from_raw(*child) });
    }
    array.release = None;
    array.private_data = ptr::null_mut();
}

/// The source of an exported stream. Called without the interpreter lock.
pub(crate) trait Producer: Send + 'static {
    /// The schema of every array.
    fn schema(&self) -> ArrowSchema;
    /// The next array; `None` at the end.
    fn next(&mut self) -> Result<Option<ArrowArray>, String>;
}

struct StreamParts {
    producer: Box<dyn Producer>,
    failure: CString,
}

const EIO: c_int = 5;

impl ArrowStream {
    /// Exports a stream of this crate.
    pub(crate) fn export(producer: Box<dyn Producer>) -> Self {
        let parts = Box::new(StreamParts { producer, failure: CString::default() });
        Self {
            get_schema: Some(stream_schema),
            get_next: Some(stream_next),
            get_last_error: Some(stream_failure),
            release: Some(release_stream),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

unsafe extern "C" fn stream_schema(stream: *mut ArrowStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: `export` put such a box there, and the consumer calls one callback at a time.
    let place = unsafe { (*stream).private_data }.cast::<StreamParts>();
    // SAFETY: as above.
    let parts = unsafe { &*place };
    // SAFETY: `out` is uninitialised memory for a schema: it is written, not dropped.
    unsafe { out.write(parts.producer.schema()) };
    0
}

unsafe extern "C" fn stream_next(stream: *mut ArrowStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above.
    let place = unsafe { (*stream).private_data }.cast::<StreamParts>();
    // SAFETY: as above.
    let parts = unsafe { &mut *place };
    let next = std::panic::AssertUnwindSafe(|| parts.producer.next());
    let next = std::panic::catch_unwind(next)
        .unwrap_or_else(|panic| Err(crate::error::panic_text(&*panic)));
    match next {
        Ok(array) => {
            // SAFETY: `out` is uninitialised memory for an array. A released array marks the end.
            unsafe { out.write(array.unwrap_or_else(ArrowArray::empty)) };
            0
        }
        Err(message) => {
            parts.failure = CString::new(message.replace('\0', " ")).unwrap_or_default();
            EIO
        }
    }
}

unsafe extern "C" fn stream_failure(stream: *mut ArrowStream) -> *const c_char {
    // SAFETY: as above.
    let place = unsafe { (*stream).private_data }.cast::<StreamParts>();
    // SAFETY: as above.
    let parts = unsafe { &*place };
    if parts.failure.is_empty() { ptr::null() } else { parts.failure.as_ptr() }
}

unsafe extern "C" fn release_stream(stream: *mut ArrowStream) {
    // SAFETY: as above.
    let stream = unsafe { &mut *stream };
    // SAFETY: `export` made the pointer from such a box, and release is called once.
    drop(unsafe { Box::from_raw(stream.private_data.cast::<StreamParts>()) });
    stream.release = None;
    stream.private_data = ptr::null_mut();
}
