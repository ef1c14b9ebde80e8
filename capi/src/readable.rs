//! What can be read: an index, a reader or a snapshot.

use crate::bytes::{Out, bytes, path};
use crate::error::{Failure, giving, guarded, making, nk_error, nk_status};
use crate::params::{nk_options, nk_params, options_of};
use crate::results::{Stored, nk_document};
use crate::slot::{Held, Used};
use crate::table::{self, handle};
use engine::{Index, Reader, Sketcher, Snapshot};
use std::ffi::{c_char, c_void};
use std::ops::Deref;
use std::sync::OnceLock;

/// An index, a reader or a snapshot, which `NK_READ` passes to functions that read. It is the same
/// handle, not another one to free.
pub struct nk_readable(());

/// An index opened for reading, beside a writer in any process.
pub struct nk_reader(());

handle!(nk_reader, Kept<Reader>, "reader");

/// An unchanging view of an index.
pub struct nk_snapshot(());

handle!(nk_snapshot, Kept<Snapshot>, "snapshot");

/// Something that can be read, with its sketcher, which is made when it is first needed.
pub(crate) struct Kept<T> {
    it: T,
    sketcher: OnceLock<Sketcher>,
}

impl<T> Kept<T> {
    pub(crate) fn new(it: T) -> Self {
        Self { it, sketcher: OnceLock::new() }
    }
}

impl<T> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.it
    }
}

/// What an argument of type `nk_readable` is.
pub(crate) enum Readable {
    Index(Held<'static, Kept<Index>>),
    Reader(Held<'static, Kept<Reader>>),
    Snapshot(Held<'static, Kept<Snapshot>>),
}

impl Readable {
    pub(crate) fn of(handle: *const nk_readable) -> Result<Self, Failure> {
        Self::from_object(table::object(handle.addr(), "index, reader or snapshot")?)
    }

    fn from_object(object: Used<'static>) -> Result<Self, Failure> {
        let object = match object.downcast().map(Self::Index) {
            Ok(index) => return Ok(index),
            Err(other) => other,
        };
        let object = match object.downcast().map(Self::Reader) {
            Ok(reader) => return Ok(reader),
            Err(other) => other,
        };
        let snapshot = object.downcast().map(Self::Snapshot);
        snapshot.map_err(|_| table::other_kind("an index, a reader or a snapshot"))
    }

    pub(crate) fn sketcher(&self) -> &Sketcher {
        match self {
            Self::Index(index) => index.sketcher.get_or_init(|| index.it.sketcher()),
            Self::Reader(reader) => reader.sketcher.get_or_init(|| reader.it.sketcher()),
            Self::Snapshot(snapshot) => {
                snapshot.sketcher.get_or_init(|| Sketcher::new(snapshot.it.params()))
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Index(index) => index.snapshot(),
            Self::Reader(reader) => reader.snapshot(),
            Self::Snapshot(snapshot) => snapshot.it.clone(),
        }
    }
}

/// The view of an argument that can be read.
pub(crate) fn view(of: *const nk_readable) -> Result<Snapshot, Failure> {
    Readable::of(of).map(|readable| readable.snapshot())
}

/// The sketcher of an argument that can be read, or that is a sketcher.
pub(crate) fn sketcher_of(of: *const nk_readable) -> Result<Sketcher, Failure> {
    let object = table::object(of.addr(), "index, reader, snapshot or sketcher")?;
    Ok(match object.downcast::<Sketcher>() {
        Ok(sketcher) => Sketcher::clone(&sketcher),
        Err(other) => Readable::from_object(other)?.sketcher().clone(),
    })
}

/// Opens an index for reading. It writes nothing, needs no lock, and sees the state of now until
/// `nk_reader_refresh`. `options` may be null. Errors: `NK_NOT_FOUND`, `NK_UNSETTLED`,
/// `NK_CORRUPT`, `NK_UNSUPPORTED`, `NK_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_reader_open(
    path_data: *const c_char,
    path_len: usize,
    options: *const nk_options,
    reader: *mut *mut nk_reader,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, reader, || {
        let options = options_of(options)?;
        Ok(Kept::new(Reader::open(path(path_data, path_len)?, options)?))
    })
}

/// Advances a reader to the current state; `is_later` (may be null) says whether anything changed.
/// Snapshots, answers and iterators stay as they are. After an error the reader keeps its state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_reader_refresh(
    reader: *const nk_reader,
    is_later: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let refreshed = table::get(reader)?.refresh()?;
        if let Some(is_later) = Out::optional(is_later) {
            is_later.put(refreshed);
        }
        Ok(())
    })
}

/// Takes an unchanging view of an index or a reader: cheap. It outlives them, and keeps the files
/// that it needs until it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_snapshot_take(
    of: *const nk_readable,
    snapshot: *mut *mut nk_snapshot,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, snapshot, || Ok(Kept::new(view(of)?)))
}

/// The parameters of an index. Free them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_of(
    of: *const nk_readable,
    params: *mut *mut nk_params,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, params, || {
        let view = view(of)?;
        Ok(view.params().clone())
    })
}

/// The number of documents, and the number of the last change that is seen. Either result may be
/// null. Constant time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_count(
    of: *const nk_readable,
    documents: *mut u64,
    change: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let view = view(of)?;
        if let Some(documents) = Out::optional(documents) {
            documents.put(view.len());
        }
        if let Some(change) = Out::optional(change) {
            change.put(view.change());
        }
        Ok(())
    })
}

/// Whether there is a document with this key. Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_contains(
    of: *const nk_readable,
    key: *const c_void,
    key_len: usize,
    is_there: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, is_there, || Ok(view(of)?.contains(bytes(key, key_len, "key")?)?))
}

/// The document with this key, or null if there is none: that is no error. Free the document.
/// Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_get(
    of: *const nk_readable,
    key: *const c_void,
    key_len: usize,
    document: *mut *mut nk_document,
    error: *mut *mut nk_error,
) -> nk_status {
    giving(error, document, || {
        let found = view(of)?.get(bytes(key, key_len, "key")?)?;
        found.map_or(Ok(std::ptr::null_mut()), |found| table::make(Stored(found)))
    })
}
