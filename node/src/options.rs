//! How an index is opened, and how documents are searched for.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use nearkin::{Alike, Durability, Options, ReadMode};

use crate::failure::Failure;
use crate::job::Stop;
use crate::keys::{Bytes, KeyType, owned};
use crate::numbers::{count, deadline, duration};

/// The options of opening.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct Opening {
    pub durability: Option<Either<String, f64>>,
    pub ttl_ms: Option<f64>,
    pub read_mode: Option<String>,
    pub memtable_bytes: Option<f64>,
    pub keys: Option<String>,
}

impl Opening {
    pub(crate) fn key_type(&self) -> Result<KeyType, Failure> {
        match self.keys.as_deref() {
            None | Some("string") => Ok(KeyType::Text),
            Some("buffer") => Ok(KeyType::Buffer),
            Some(other) => {
                Err(Failure::invalid(format!("keys must be 'string' or 'buffer', not '{other}'")))
            }
        }
    }

    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let mut options = Options::default();
        options = match &self.durability {
            None => options,
            Some(Either::A(name)) if name == "sync" => options.durability(Durability::Sync),
            Some(Either::A(name)) if name == "os" => options.durability(Durability::OsBuffer),
            Some(Either::A(name)) => {
                return Err(Failure::invalid(format!(
                    "durability must be 'sync', 'os' or milliseconds, not '{name}'"
                )));
            }
            Some(Either::B(ms)) => {
                options.durability(Durability::Interval(duration(*ms, "durability")?))
            }
        };
        if let Some(ms) = self.ttl_ms {
            options = options.ttl(duration(ms, "ttlMs")?);
        }
        if let Some(bytes) = self.memtable_bytes {
            options = options.memtable_bytes_max(count(bytes, "memtableBytes")?);
        }
        match self.read_mode.as_deref() {
            None | Some("mmap") => Ok(options),
            Some("pread") => Ok(options.read_mode(ReadMode::Pread)),
            Some(other) => {
                Err(Failure::invalid(format!("readMode must be 'mmap' or 'pread', not '{other}'")))
            }
        }
    }
}

/// The condition under which two documents match: as in Python, `contained` alone needs no
/// similarity.
pub(crate) fn alike(own: f64, threshold: Option<f64>, contained: Option<f64>) -> Alike {
    match contained {
        Some(contained) => Alike::contained(contained).and_similar(threshold.unwrap_or(0.0)),
        None => Alike::similar(threshold.unwrap_or(own)),
    }
}

/// The options of a query.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct Asking {
    pub threshold: Option<f64>,
    pub contained: Option<f64>,
    pub limit: Option<f64>,
    pub max_candidates: Option<f64>,
    pub timeout_ms: Option<f64>,
    pub prefix: Option<Bytes>,
}

/// The options of a query, checked and free of JavaScript.
#[derive(Default)]
pub(crate) struct Terms {
    threshold: Option<f64>,
    contained: Option<f64>,
    limit: Option<usize>,
    max_candidates: Option<usize>,
    deadline: Option<std::time::Instant>,
    prefix: Option<Vec<u8>>,
    stop: Option<Stop>,
}

impl Terms {
    pub(crate) fn new(asking: Asking, stop: Option<&Stop>) -> Result<Self, Failure> {
        let Asking { threshold, contained, .. } = asking;
        let limit = asking.limit.map(|limit| count(limit, "limit")).transpose()?;
        let max = asking.max_candidates.map(|max| count(max, "maxCandidates")).transpose()?;
        let deadline = asking.timeout_ms.map(|ms| deadline(ms, "timeoutMs")).transpose()?;
        Ok(Self {
            threshold,
            contained,
            limit,
            max_candidates: max,
            deadline: deadline.flatten(),
            prefix: asking.prefix.map(owned),
            stop: stop.cloned(),
        })
    }

    pub(crate) fn apply<'a>(&'a self, mut query: nearkin::Query<'a>) -> nearkin::Query<'a> {
        if let Some(threshold) = self.threshold {
            query = query.threshold(threshold);
        }
        if let Some(contained) = self.contained {
            query = query.contained(contained);
        }
        if let Some(limit) = self.limit {
            query = query.limit(limit);
        }
        if let Some(candidates) = self.max_candidates {
            query = query.max_candidates(candidates);
        }
        if let Some(deadline) = self.deadline {
            query = query.deadline(deadline);
        }
        if let Some(prefix) = &self.prefix {
            query = query.filter(|key, _| key.starts_with(prefix));
        }
        if let Some(stop) = &self.stop {
            query = query.cancel_if(|| stop.is_set());
        }
        query
    }
}
