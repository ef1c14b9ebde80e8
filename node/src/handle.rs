//! An open index, reader or snapshot, and the calls that all three answer.

#![expect(clippy::too_many_arguments, reason = "a field of an object costs more than an argument")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use napi::Env;
use napi::bindgen_prelude::{BufferSlice, Either, Either3, FnArgs, Function, Unknown};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use nearkin::{ErrorKind, Index, Options, Params, Reader, Signature, Snapshot};

use crate::brief::Brief;
use crate::documents::{Document, Given, Sketch};
use crate::failure::{Failure, value_or_failure};
use crate::job::{How, Reply, Shown, Stop, caught, run};
use crate::keys::{Bytes, KeyType, buffer, owned, path_of, value};
use crate::options::{LastConditions, conditions, until};
use crate::pages::{Begin, Item, Pages};
use crate::params::NativeParams;
use crate::shown::flat_answer;

/// The engine object of a handle.
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
}

/// An index, a reader or a snapshot.
#[napi]
pub struct Handle {
    /// Empty after `close`. Running calls own a clone.
    place: Mutex<Option<Source>>,
    what: &'static str,
    pub(crate) keys: KeyType,
    pub(crate) sketch: Sketch,
    brief: Brief,
    last: LastConditions,
}

/// A handle that another thread opened.
struct Opened(Source);

impl Shown for Opened {
    fn show(self: Box<Self>, env: &Env, keys: KeyType) -> Result<Unknown<'_>, Failure> {
        value(env, Handle::new(self.0, keys))
    }
}

/// Opens or creates.
fn opened(
    what: &str,
    path: &Path,
    params: Option<&Params>,
    options: Options,
) -> Result<Source, Failure> {
    let index = |index| Source::Index(Arc::new(index));
    Ok(match (what, params) {
        ("create", Some(params)) => index(Index::create(path, params, options)?),
        ("either", Some(params)) => index(Index::open_or_create(path, params, options)?),
        ("temporary", Some(params)) => index(Index::temporary(params, options)?),
        ("open", _) => index(Index::open(path, options)?),
        ("read", _) => Source::Reader(Arc::new(Reader::open(path, options)?)),
        _ => return Err(Failure::invalid("a new index needs params")),
    })
}

/// A listener in JavaScript: it gets the kind of an event and its message, and does not keep the
/// event loop running.
type Listener<'f> = Function<'f, FnArgs<(String, String)>, ()>;

/// Options whose events go to a listener.
fn telling(options: Options, listener: Option<Teller>) -> Options {
    let Some(listener) = listener else { return options };
    options.on_event(move |event| {
        let event_object = serde_json::to_value(event).unwrap_or_default();
        let kind = event_object.as_object().and_then(|fields| fields.keys().next());
        let told = (kind.cloned().unwrap_or_default(), event.to_string());
        listener.call(told.into(), ThreadsafeFunctionCallMode::NonBlocking);
    })
}

/// A listener that any thread may call.
type Teller = ThreadsafeFunction<
    FnArgs<(String, String)>,
    (),
    FnArgs<(String, String)>,
    napi::Status,
    false,
    true,
>;

/// Opens or creates an index, or opens a reader.
#[napi]
pub fn open<'e>(
    env: &'e Env,
    how: How<'_>,
    what: String,
    path: Bytes,
    params: Option<&NativeParams>,
    settings: HashMap<String, String>,
    on_event: Option<Listener<'_>>,
) -> Reply<'e> {
    let listener = on_event.map(|listener| listener.build_threadsafe_function().weak().build());
    let params = params.map(|params| Arc::clone(&params.inner));
    let path = path_of(path);
    let mut settings = settings;
    let type_of_keys = KeyType::named(settings.remove("keys").as_deref());
    run(env, how, type_of_keys.clone().unwrap_or(KeyType::Text), move |_| {
        type_of_keys?;
        let listener = listener.transpose().map_err(|error| Failure::invalid(error.reason))?;
        let options = telling(Options::from_settings(settings)?, listener);
        opened(&what, &path?, params.as_deref(), options).map(Opened)
    })
}

/// Whether there is an index in this folder.
#[napi]
pub fn exists<'e>(env: &'e Env, how: How<'_>, path: Bytes) -> Reply<'e> {
    let path = path_of(path);
    run(env, how, KeyType::Text, move |_| match Index::exists(path?) {
        // The path is a file, or a folder with other content.
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
        let sketch = Sketch::new(&Arc::new(source.snapshot().params().clone()));
        Self {
            place: Mutex::new(Some(source)),
            what,
            keys,
            sketch,
            brief: Brief::default(),
            last: LastConditions::default(),
        }
    }

    pub(crate) fn source(&self) -> Result<Source, Failure> {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = || format!("the {} is closed; open it again", self.what);
        place.clone().ok_or_else(|| Failure::new(ErrorKind::Closed, closed()))
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

    /// Runs work on the engine object.
    pub(crate) fn run_source<'e, T: Shown + 'static>(
        &self,
        env: &'e Env,
        how: How<'_>,
        work: impl FnOnce(Source, Option<&Stop>) -> Result<T, Failure> + Send + 'static,
    ) -> Reply<'e> {
        let source = self.source();
        run(env, how, self.keys, move |stop| work(source?, stop))
    }

    /// Runs work on the index, if the handle writes.
    pub(crate) fn run_writer<'e, T: Shown + 'static>(
        &self,
        env: &'e Env,
        how: How<'_>,
        work: impl FnOnce(&Index, Option<&Stop>) -> Result<T, Failure> + Send + 'static,
    ) -> Reply<'e> {
        let index = self.writer();
        run(env, how, self.keys, move |stop| work(&*index?, stop))
    }

    /// A value of the current state, at once; or the failure that the handle is closed.
    fn seen<T>(&self, look: impl FnOnce(Snapshot) -> T) -> Either<T, Failure> {
        value_or_failure(self.source().map(|source| look(source.snapshot())))
    }
}

#[napi]
impl Handle {
    #[napi]
    pub fn params(&self) -> NativeParams {
        NativeParams { inner: Arc::clone(&self.sketch.params) }
    }

    #[napi]
    pub fn is_closed(&self) -> bool {
        self.source().is_err()
    }

    /// The number of live documents.
    #[napi]
    pub fn size(&self) -> Either<f64, Failure> {
        self.seen(|snapshot| snapshot.len() as f64)
    }

    /// The number of the last visible change.
    #[napi]
    pub fn change(&self) -> Either<f64, Failure> {
        self.seen(|snapshot| snapshot.change() as f64)
    }

    #[napi]
    pub fn snapshot(&self) -> Either<Handle, Failure> {
        self.seen(|snapshot| Handle::new(Source::Snapshot(Box::new(snapshot)), self.keys))
    }

    #[napi]
    pub fn has<'e>(&self, env: &'e Env, how: How<'_>, key: Bytes) -> Reply<'e> {
        let key = owned(key);
        self.run_source(env, how, move |source, _| Ok(source.snapshot().contains(key)?))
    }

    #[napi]
    pub fn get<'e>(&self, env: &'e Env, how: How<'_>, key: Bytes) -> Reply<'e> {
        let key = owned(key);
        self.run_source(env, how, move |source, _| Ok(source.snapshot().get(key)?))
    }

    #[napi]
    pub fn query<'e>(
        &self,
        env: &'e Env,
        how: How<'_>,
        given: Given,
        settings: String,
        prefix: Option<Bytes>,
    ) -> Reply<'e> {
        let (sketch, document) = (self.sketch.clone(), Document::from(given));
        let conditions = conditions(&settings, prefix);
        self.run_source(env, how, move |source, stop| {
            let (conditions, signature) = (until(conditions?, stop), sketch.signature(&document)?);
            Ok(source.snapshot().query(&signature).conditions(conditions).run()?)
        })
    }

    /// Finds documents similar to a text, or to the signature of so many bytes in `room`, at once.
    /// Writes the answer to `room`, and returns its length; returns a buffer if it does not fit.
    /// With `brief`, returns `undefined` if the work would take long, or may wait for the disk.
    #[napi]
    pub fn ask<'e>(
        &self,
        env: &'e Env,
        mut room: BufferSlice<'_>,
        given: Either<String, u32>,
        shingle_count: u32,
        settings: String,
        prefix: Option<Bytes>,
        brief: bool,
    ) -> Either3<u32, Unknown<'e>, Failure> {
        let find = || {
            if brief && self.brief.is_refused(&given, &settings) {
                return Ok(None);
            }
            let (source, mut conditions) = (self.source()?, self.last.get(settings, prefix)?);
            let signature = match &given {
                Either::A(text) => self.sketch.sketcher.text(text),
                Either::B(length) => {
                    let bytes = room.get(..*length as usize).unwrap_or_default();
                    Signature::from_bytes(&self.sketch.params, bytes, shingle_count)
                }
            }?;
            if brief {
                conditions = conditions.max_candidates(Brief::CANDIDATES_MAX);
            }
            let answer = source.snapshot().query(&signature).conditions(conditions).run()?;
            let is_found = answer.complete || !brief;
            is_found.then(|| flat_answer(&answer, self.keys)).transpose()
        };
        let begun = Instant::now();
        let found = caught(find);
        if brief {
            self.brief.took(begun.elapsed());
        }
        let shown = found.and_then(|found| match found {
            None => value(env, ()).map(Either3::B),
            Some(bytes) => match (room.get_mut(..bytes.len()), u32::try_from(bytes.len())) {
                (Some(room), Ok(length)) => {
                    room.copy_from_slice(&bytes);
                    Ok(Either3::A(length))
                }
                _ => buffer(env, &bytes).map(Either3::B),
            },
        });
        shown.unwrap_or_else(Either3::C)
    }

    /// Finds documents similar to these stored ones.
    #[napi]
    pub fn query_keys<'e>(
        &self,
        env: &'e Env,
        how: How<'_>,
        given: Vec<Bytes>,
        settings: String,
        prefix: Option<Bytes>,
    ) -> Reply<'e> {
        let conditions = conditions(&settings, prefix);
        let given: Vec<Vec<u8>> = given.into_iter().map(owned).collect();
        self.run_source(env, how, move |source, stop| {
            let (snapshot, conditions) = (source.snapshot(), until(conditions?, stop));
            let query = match given.as_slice() {
                [one] => snapshot.query_key(one.as_slice()),
                several => snapshot.query_keys(several.iter().map(Vec::as_slice)),
            };
            Ok(query.conditions(conditions).run()?)
        })
    }

    /// An iteration of the kind `pairs` or `clusters`.
    #[napi]
    pub fn pages(
        &self,
        kind: String,
        settings: String,
        prefix: Option<Bytes>,
    ) -> Either<Pages, Failure> {
        let conditions = match conditions(&settings, prefix) {
            Ok(conditions) => conditions,
            Err(failure) => return Either::B(failure),
        };
        self.seen(|snapshot| {
            let begin: Begin = match kind.as_str() {
                "pairs" => Box::new(move |stop| {
                    let all = snapshot.pairs(until(conditions, stop))?;
                    Ok(Box::new(all.map(|pair| pair.map(Item::Pair))))
                }),
                _ => Box::new(move |stop| {
                    let all = snapshot.clusters(until(conditions, stop))?;
                    Ok(Box::new(all.map(|cluster| cluster.map(Item::Cluster))))
                }),
            };
            Pages::new(begin, self.keys)
        })
    }

    /// An iteration of the keys that begin with a prefix.
    #[napi]
    pub fn pages_of_keys(&self, prefix: Option<Bytes>) -> Either<Pages, Failure> {
        let prefix = prefix.map(owned).unwrap_or_default();
        self.seen(|snapshot| {
            let begin: Begin = Box::new(move |_| {
                let all = snapshot.keys_with_prefix(prefix)?;
                Ok(Box::new(all.map(|key| key.map(Item::Key))))
            });
            Pages::new(begin, self.keys)
        })
    }
}
