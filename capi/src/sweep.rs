//! Iterators: keys, pairs and clusters of one view.

use crate::admit::alike;
use crate::bytes::{Out, bytes, nk_bytes};
use crate::error::{Failure, guarded, making, nk_error, nk_status};
use crate::readable::{nk_readable, view};
use crate::table::{self, handle};
use engine::{Cluster, Clusters, Key, Keys, Pair, Pairs};
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// The keys of an index, in order. Locked during a call.
pub struct nk_keys(());

handle!(nk_keys, Mutex<Walk<Keys, Key<'static>>>, "keys");

/// The pairs of an index. Locked during a call.
pub struct nk_pairs(());

handle!(nk_pairs, Mutex<Walk<Pairs, Pair>>, "pairs");

/// The clusters of an index. Locked during a call.
pub struct nk_clusters(());

handle!(nk_clusters, Mutex<Walk<Clusters, Cluster>>, "clusters");

/// An iterator of the engine with what it gave last, which the caller's pointers lead into.
pub(crate) struct Walk<I, T> {
    rest: I,
    last: Option<T>,
    /// The keys of the last cluster, for the caller.
    shown: Vec<nk_bytes>,
}

impl<T, I: Iterator<Item = engine::Result<T>>> Walk<I, T> {
    fn new(rest: I) -> Mutex<Self> {
        Mutex::new(Self { rest, last: None, shown: Vec::new() })
    }

    /// Steps on. `None` at the end; what was given last stays then.
    fn step(&mut self) -> Result<Option<&T>, Failure> {
        let Some(next) = self.rest.next() else { return Ok(None) };
        Ok(Some(self.last.insert(next?)))
    }
}

/// Begins to walk over the keys that begin with a prefix, in order of their bytes; an empty prefix
/// means all. Free the iterator. Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_keys_begin(
    of: *const nk_readable,
    prefix: *const c_void,
    prefix_len: usize,
    keys: *mut *mut nk_keys,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, keys, || {
        let view = view(of)?;
        let found = view.keys_with_prefix(bytes(prefix, prefix_len, "prefix")?)?;
        Ok(Walk::new(found))
    })
}

/// The next key, which belongs to the iterator and is valid until its next step. `has_key` is false
/// at the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_keys_next(
    keys: *const nk_keys,
    key: *mut nk_bytes,
    has_key: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (walk, key) = (table::get(keys)?, Out::required(key, "key")?);
        let has_key = Out::required(has_key, "has_key")?;
        let mut walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
        let found = walk.step()?;
        has_key.put(found.is_some());
        key.put(found.map_or(nk_bytes::NONE, |found| nk_bytes::of(found.as_bytes())));
        Ok(())
    })
}

/// Two documents that are similar. The keys belong to the iterator, and are valid until its next
/// step.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_pair {
    /// The smaller key.
    pub a: nk_bytes,
    /// The larger key.
    pub b: nk_bytes,
    /// The estimated similarity.
    pub similarity: f64,
    /// How much of the smaller document is in the larger one, if that was asked for; otherwise not
    /// a number.
    pub containment: f64,
    /// The number of equal rows.
    pub equal_rows: u32,
}

/// Begins to find all pairs of at least this similarity and, unless `contained` is negative, this
/// containment. Pairs come while they are found, in no particular order. Free the iterator.
/// Errors: `NK_INVALID`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_pairs_begin(
    of: *const nk_readable,
    similarity: f64,
    contained: f64,
    pairs: *mut *mut nk_pairs,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, pairs, || {
        let view = view(of)?;
        Ok(Walk::new(view.pairs(alike(similarity, contained))?))
    })
}

/// The next pair. `has_pair` is false at the end, and `pair` is as before then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_pairs_next(
    pairs: *const nk_pairs,
    pair: *mut nk_pair,
    has_pair: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (walk, pair) = (table::get(pairs)?, Out::required(pair, "pair")?);
        let has_pair = Out::required(has_pair, "has_pair")?;
        let mut walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
        let found = walk.step()?;
        has_pair.put(found.is_some());
        if let Some(found) = found {
            pair.put(nk_pair {
                a: nk_bytes::of(&found.a),
                b: nk_bytes::of(&found.b),
                similarity: found.similarity,
                containment: found.containment.map_or(f64::NAN, |told| told.estimate),
                equal_rows: found.equal_rows,
            });
        }
        Ok(())
    })
}

/// Documents that are connected by pairs. The arrays belong to the iterator, and are valid until
/// its next step.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_cluster {
    /// The keys, in order.
    pub keys: *const nk_bytes,
    /// When each document was inserted or last replaced, in milliseconds since 1970.
    pub times: *const u64,
    /// The number of documents.
    pub len: usize,
}

/// Finds all clusters: documents that pairs as of `nk_pairs_begin` connect. The work is done by
/// this call. Free the iterator. Errors: those of `nk_pairs_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_clusters_begin(
    of: *const nk_readable,
    similarity: f64,
    contained: f64,
    clusters: *mut *mut nk_clusters,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, clusters, || {
        let view = view(of)?;
        Ok(Walk::new(view.clusters(alike(similarity, contained))?))
    })
}

/// The next cluster. `has_cluster` is false at the end, and `cluster` is as before then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_clusters_next(
    clusters: *const nk_clusters,
    cluster: *mut nk_cluster,
    has_cluster: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let (walk, cluster) = (table::get(clusters)?, Out::required(cluster, "cluster")?);
        let has_cluster = Out::required(has_cluster, "has_cluster")?;
        let mut walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = walk.step()?.map(|found| found.keys.iter().map(|key| nk_bytes::of(key)));
        let keys: Option<Vec<nk_bytes>> = keys.map(Iterator::collect);
        has_cluster.put(keys.is_some());
        let walk = &mut *walk;
        if let (Some(keys), Some(found)) = (keys, &walk.last) {
            walk.shown = keys;
            cluster.put(nk_cluster {
                keys: walk.shown.as_ptr(),
                times: found.times.as_ptr(),
                len: walk.shown.len(),
            });
        }
        Ok(())
    })
}
