//! An open index, reader or snapshot, and what all three answer.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use napi::Env;
use napi::bindgen_prelude::{Either, Unknown};
use napi_derive::napi;
use nearkin::{ErrorKind, Index, Options, Reader, Snapshot};

use crate::documents::{Document, Given, Sketch};
use crate::failure::Failure;
use crate::job::{Call, Reply, Stop, run};
use crate::keys::{Bytes, KeyType, owned};
use crate::options::{Asking, Opening, Terms, alike};
use crate::pages::Pages;
use crate::params::NativeParams;
use crate::shown::{Shown, value};

/// What a handle reads.
#[derive(Clone)]
pub(crate) enum Source {
    Index(Arc<Index>),
    Reader(Arc<Reader>),
    Snapshot(Box<Snapshot>),
}

impl Source {
    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Index(index) => index.snapshot(),
            Self::Reader(reader) => reader.snapshot(),
            Self::Snapshot(snapshot) => (**snapshot).clone(),
        }
    }

    fn params(&self) -> Arc<nearkin::Params> {
        Arc::new(match self {
            Self::Index(index) => index.params().clone(),
            Self::Reader(reader) => reader.params().clone(),
            Self::Snapshot(snapshot) => snapshot.params().clone(),
        })
    }
}

/// An index, a reader or a snapshot.
#[napi]
pub struct Handle {
    /// Empty after `close`. Running calls have references of their own.
    place: Mutex<Option<Source>>,
    what: &'static str,
    pub(crate) keys: KeyType,
    pub(crate) sketch: Sketch,
    params: Arc<nearkin::Params>,
}

/// A handle that a thread has opened.
struct Opened(Source);

impl Shown for Opened {
    fn show(self: Box<Self>, env: &Env, keys: KeyType) -> Result<Unknown<'_>, Failure> {
        value(env, Handle::new(self.0, keys))
    }
}

/// Whether to open or to create.
fn opened(
    how: &str,
    path: &Path,
    params: Option<&nearkin::Params>,
    options: Options,
) -> Result<Source, Failure> {
    let index = |index| Source::Index(Arc::new(index));
    Ok(match (how, params) {
        ("create", Some(params)) => index(Index::create(path, params, options)?),
        ("either", Some(params)) => index(Index::open_or_create(path, params, options)?),
        ("temporary", Some(params)) => index(Index::temporary(params, options)?),
        ("open", _) => index(Index::open(path, options)?),
        ("read", _) => Source::Reader(Arc::new(Reader::open(path, options)?)),
        _ => return Err(Failure::invalid("a new index needs params")),
    })
}

/// Opens or creates an index, or opens a reader.
#[napi]
pub fn open<'e>(
    env: &'e Env,
    sync: bool,
    how: String,
    path: String,
    params: Option<&NativeParams>,
    opening: Opening,
) -> napi::Result<Reply<'e>> {
    let params = params.map(|params| Arc::clone(&params.inner));
    let (keys, options) = (opening.key_type(), opening.options());
    let call = Call { sync, keys: keys.clone().unwrap_or(KeyType::Text), stop: None };
    run(env, call, move || {
        keys?;
        opened(&how, Path::new(&path), params.as_deref(), options?).map(Opened)
    })
}

/// Whether there is an index in this folder.
#[napi]
pub fn exists(env: &Env, sync: bool, path: String) -> napi::Result<Reply<'_>> {
    let call = Call { sync, keys: KeyType::Text, stop: None };
    run(env, call, move || match Index::exists(&path) {
        // A file, or a folder with other content.
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(false),
        looked => Ok(looked?),
    })
}

/// The version of the engine.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

impl Handle {
    pub(crate) fn new(source: Source, keys: KeyType) -> Self {
        let what = match source {
            Source::Index(_) => "index",
            Source::Reader(_) => "reader",
            Source::Snapshot(_) => "snapshot",
        };
        let params = source.params();
        let sketch = Sketch::new(&params);
        Self { place: Mutex::new(Some(source)), what, keys, sketch, params }
    }

    pub(crate) fn source(&self) -> Result<Source, Failure> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.clone().ok_or_else(|| Failure::closed(self.what))
    }

    pub(crate) fn writer(&self) -> Result<Arc<Index>, Failure> {
        match self.source()? {
            Source::Index(index) => Ok(index),
            _ => Err(Failure::invalid(format!("a {} does not write", self.what))),
        }
    }

    pub(crate) fn take(&self) -> Option<Source> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn call(&self, sync: bool, stop: Option<&Stop>) -> Call {
        Call { sync, keys: self.keys, stop: stop.cloned() }
    }
}

#[napi]
impl Handle {
    #[napi]
    pub fn params(&self) -> NativeParams {
        NativeParams { inner: Arc::clone(&self.params) }
    }

    #[napi]
    pub fn is_closed(&self) -> bool {
        self.source().is_err()
    }

    /// Live documents, or why they cannot be counted.
    #[napi]
    pub fn size(&self) -> Either<f64, Failure> {
        match self.source() {
            Ok(source) => Either::A(source.snapshot().len() as f64),
            Err(failure) => Either::B(failure),
        }
    }

    /// The number of the last change that is seen.
    #[napi]
    pub fn change(&self) -> Either<f64, Failure> {
        match self.source() {
            Ok(source) => Either::A(source.snapshot().change() as f64),
            Err(failure) => Either::B(failure),
        }
    }

    #[napi]
    pub fn snapshot(&self) -> Either<Handle, Failure> {
        match self.source() {
            Ok(source) => {
                let source = Source::Snapshot(Box::new(source.snapshot()));
                Either::A(Handle::new(source, self.keys))
            }
            Err(failure) => Either::B(failure),
        }
    }

    #[napi]
    pub fn has<'e>(&self, env: &'e Env, sync: bool, key: Bytes) -> napi::Result<Reply<'e>> {
        let (source, key) = (self.source(), owned(key));
        run(env, self.call(sync, None), move || Ok(source?.snapshot().contains(key)?))
    }

    #[napi]
    pub fn get<'e>(&self, env: &'e Env, sync: bool, key: Bytes) -> napi::Result<Reply<'e>> {
        let (source, key) = (self.source(), owned(key));
        run(env, self.call(sync, None), move || Ok(source?.snapshot().get(key)?))
    }

    #[napi]
    pub fn query<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        given: Given,
        asking: Asking,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (source, sketch) = (self.source(), self.sketch.clone());
        let (document, terms) = (Document::from(given), Terms::new(asking, stop));
        run(env, self.call(sync, stop), move || {
            let (source, terms) = (source?, terms?);
            let signature = sketch.signature(&document)?;
            Ok(terms.apply(source.snapshot().query(&signature)).run()?)
        })
    }

    /// What is like these stored documents?
    #[napi]
    pub fn query_keys<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        given: Vec<Bytes>,
        asking: Asking,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (source, terms) = (self.source(), Terms::new(asking, stop));
        let given: Vec<Vec<u8>> = given.into_iter().map(owned).collect();
        run(env, self.call(sync, stop), move || {
            let (source, terms) = (source?, terms?);
            let snapshot = source.snapshot();
            let query = match given.as_slice() {
                [one] => snapshot.query_key(one.as_slice()),
                several => snapshot.query_keys(several.iter().map(Vec::as_slice)),
            };
            Ok(terms.apply(query).run()?)
        })
    }

    /// Pages of `pairs`, `clusters` or `keys`.
    #[napi]
    pub fn pages(
        &self,
        kind: String,
        threshold: Option<f64>,
        contained: Option<f64>,
        prefix: Option<Bytes>,
    ) -> Either<Pages, Failure> {
        let snapshot = match self.source() {
            Ok(source) => source.snapshot(),
            Err(failure) => return Either::B(failure),
        };
        let alike = alike(self.params.threshold(), threshold, contained);
        Either::A(match kind.as_str() {
            "pairs" => Pages::pairs(snapshot, alike, self.keys),
            "clusters" => Pages::clusters(snapshot, alike, self.keys),
            _ => Pages::keys(snapshot, prefix.map(owned).unwrap_or_default(), self.keys),
        })
    }
}
