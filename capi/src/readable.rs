//! Reading from an index, a reader or a snapshot.

use crate::bytes::{bytes, path, put_if_wanted};
use crate::error::{giving, guarded, making, nk_error, telling};
use crate::params::{nk_options, nk_params, options_of};
use crate::results::nk_document;
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{Index, Reader, Sketcher, Snapshot};
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// An index, a reader or a snapshot: the argument of functions that read. `NK_READ` converts a
/// handle to this type; the handle stays the same, and is freed once.
pub struct nk_readable(());

/// An index opened for reading, beside a writer in any process.
pub struct nk_reader(());

/// An unchanging view of an index.
pub struct nk_snapshot(());

handle!(nk_readable, Readable, "index, reader or snapshot");
handle!(nk_snapshot, Readable, "snapshot");
handle!(nk_reader, Readable, "reader");

/// What can be read.
pub(crate) enum Source {
    Index(Index),
    Reader(Box<Reader>),
    Snapshot(Snapshot),
}

/// The object of the handle of an index, a reader or a snapshot.
pub(crate) struct Readable {
    pub(crate) source: Source,
    /// Made by the first call that needs a sketcher.
    sketcher: OnceLock<Sketcher>,
}

impl From<Index> for Readable {
    fn from(index: Index) -> Self {
        Self::new(Source::Index(index))
    }
}

impl Readable {
    fn new(source: Source) -> Self {
        Self { source, sketcher: OnceLock::new() }
    }

    /// The index, or the error for a handle of another kind.
    pub(crate) fn index(&self) -> Result<&Index, Failure> {
        let Source::Index(index) = &self.source else { return Err(table::other_kind("index")) };
        Ok(index)
    }

    fn reader(&self) -> Result<&Reader, Failure> {
        let Source::Reader(reader) = &self.source else { return Err(table::other_kind("reader")) };
        Ok(reader)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        match &self.source {
            Source::Index(index) => index.snapshot(),
            Source::Reader(reader) => reader.snapshot(),
            Source::Snapshot(snapshot) => snapshot.clone(),
        }
    }

    pub(crate) fn sketcher(&self) -> &Sketcher {
        self.sketcher.get_or_init(|| Sketcher::new(self.snapshot().params()))
    }
}

/// A snapshot of the index, reader or snapshot of an argument.
pub(crate) fn view(of: *const nk_readable) -> Result<Snapshot, Failure> {
    Ok(table::get(of)?.snapshot())
}

/// The sketcher of an index, reader or snapshot; or the argument itself, if it is a sketcher.
pub(crate) fn sketcher_of(of: *const nk_readable) -> Result<Sketcher, Failure> {
    let object = table::object(of.addr(), "index, reader, snapshot or sketcher")?;
    match object.downcast::<Sketcher>() {
        Some(sketcher) => Ok(sketcher.clone()),
        None => Ok(table::get(of)?.sketcher().clone()),
    }
}

/// Opens an index for reading. A reader writes nothing, needs no lock, and shows the state of this
/// call until `nk_reader_refresh`. `options` may be null. Errors: `NK_NOT_FOUND`, `NK_UNSETTLED`,
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
        let reader = Reader::open(path(path_data, path_len)?, options)?;
        Ok(Readable::new(Source::Reader(Box::new(reader))))
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
    telling(error, is_later, || Ok(table::get(reader)?.reader()?.refresh()?))
}

/// Takes an unchanging view of an index or a reader: cheap. The snapshot may outlive both, and
/// keeps its files on disk until it is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_snapshot_take(
    of: *const nk_readable,
    snapshot: *mut *mut nk_snapshot,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, snapshot, || Ok(Readable::new(Source::Snapshot(view(of)?))))
}

/// The parameters of an index. Free them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_params_of(
    of: *const nk_readable,
    params: *mut *mut nk_params,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, params, || Ok(view(of)?.params().clone()))
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
        put_if_wanted(documents, view.len());
        put_if_wanted(change, view.change());
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
        found.map_or(Ok(std::ptr::null_mut()), table::make)
    })
}
