//! Iterators over the keys, pairs and clusters of a snapshot.

use crate::bytes::{Out, bytes, nk_bytes};
use crate::error::{guarded, making, nk_error};
use crate::places::lock;
use crate::query::{conditions_of, nk_query};
use crate::readable::{nk_readable, view};
use crate::status::nk_status;
use crate::table::{self, Handle, handle};
use engine::{Cluster, Clusters, Key, Keys, Pair, Pairs};
use std::ffi::c_void;
use std::sync::Mutex;

/// The keys of an index, in order. Locked during a call.
pub struct nk_keys(());

handle!(nk_keys, Mutex<Walk<Keys, Key<'static>>>, "keys");

/// The pairs of an index. Locked during a call.
pub struct nk_pairs(());

handle!(nk_pairs, Mutex<Walk<Pairs, Pair>>, "pairs");

/// The clusters of an index. Locked during a call.
pub struct nk_clusters(());

handle!(nk_clusters, Mutex<Walk<Clusters, Cluster>>, "clusters");

/// An iterator of the engine and its last item, which the caller's pointers lead into.
pub(crate) struct Walk<I, T> {
    rest: I,
    last: Option<T>,
    /// The keys of the last cluster, for the caller.
    shown: Vec<nk_bytes>,
}

impl<I, T> Walk<I, T> {
    fn new(rest: I) -> Mutex<Self> {
        Mutex::new(Self { rest, last: None, shown: Vec::new() })
    }
}

/// Gives the next item of an iterator. At its end, the flag becomes false and the last item is
/// kept.
fn next<H, I, T, V>(
    walk: *const H,
    shown: *mut V,
    is_there: *mut bool,
    error: *mut *mut nk_error,
    show: impl FnOnce(&T, &mut Vec<nk_bytes>) -> V,
) -> nk_status
where
    H: Handle<Object = Mutex<Walk<I, T>>>,
    I: Iterator<Item = engine::Result<T>>,
{
    guarded(error, || {
        let (walk, out) = (table::get(walk)?, Out::required(shown, "the result")?);
        let is_there = Out::required(is_there, "the flag")?;
        let Walk { rest, last, shown } = &mut *lock(&walk);
        let found = rest.next().transpose()?;
        is_there.put(found.is_some());
        if let Some(found) = found {
            out.put(show(last.insert(found), shown));
        }
        Ok(())
    })
}

/// Makes an iterator over the keys that begin with a prefix, in the order of their bytes; an empty
/// prefix means all keys. Free the iterator. Errors: `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_keys_begin(
    of: *const nk_readable,
    prefix: *const c_void,
    prefix_len: usize,
    keys: *mut *mut nk_keys,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, keys, || {
        Ok(Walk::new(view(of)?.keys_with_prefix(bytes(prefix, prefix_len, "prefix")?)?))
    })
}

/// Gives the next key, which belongs to the iterator and is valid until the next call. At the end,
/// `has_key` is false and `key` is not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_keys_next(
    keys: *const nk_keys,
    key: *mut nk_bytes,
    has_key: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    next(keys, key, has_key, error, |key, _| nk_bytes::from_slice(key.as_bytes()))
}

/// Two similar documents. The keys belong to the iterator, and are valid until the next call.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_pair {
    /// The smaller key.
    pub a: nk_bytes,
    /// The larger key.
    pub b: nk_bytes,
    /// The estimated similarity.
    pub similarity: f64,
    /// The estimated share of the smaller document that is in the larger one; NaN without
    /// the condition `contained`.
    pub containment: f64,
    /// The number of equal rows.
    pub equal_rows: u32,
}

/// Makes an iterator over all pairs of documents that both pass the conditions. `query` may be
/// null. Each step searches for the next pair; the order is not specified. Free the iterator.
/// Errors, also of a step: `NK_INVALID`, `NK_CANCELLED`, `NK_CORRUPT`, `NK_IO`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_pairs_begin(
    of: *const nk_readable,
    query: *const nk_query,
    pairs: *mut *mut nk_pairs,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, pairs, || Ok(Walk::new(view(of)?.pairs(conditions_of(query)?)?)))
}

/// Gives the next pair. At the end, `has_pair` is false and `pair` is not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_pairs_next(
    pairs: *const nk_pairs,
    pair: *mut nk_pair,
    has_pair: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    next(pairs, pair, has_pair, error, |found, _| nk_pair {
        a: nk_bytes::from_slice(&found.a),
        b: nk_bytes::from_slice(&found.b),
        similarity: found.similarity,
        containment: found.containment.map_or(f64::NAN, |containment| containment.estimate),
        equal_rows: found.equal_rows,
    })
}

/// Documents that are linked by pairs. The arrays belong to the iterator, and are valid until the
/// next call.
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

/// Finds all clusters: documents linked by the pairs of `nk_pairs_begin`. With a limit, those with
/// the smallest keys. `query` may be null. This call does all the work. Free the iterator. Errors:
/// those of `nk_pairs_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_clusters_begin(
    of: *const nk_readable,
    query: *const nk_query,
    clusters: *mut *mut nk_clusters,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, clusters, || Ok(Walk::new(view(of)?.clusters(conditions_of(query)?)?)))
}

/// Gives the next cluster. At the end, `has_cluster` is false and `cluster` is not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_clusters_next(
    clusters: *const nk_clusters,
    cluster: *mut nk_cluster,
    has_cluster: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    next(clusters, cluster, has_cluster, error, |found, keys| {
        keys.clear();
        keys.extend(found.keys.iter().map(|key| nk_bytes::from_slice(key)));
        nk_cluster { keys: keys.as_ptr(), times: found.times.as_ptr(), len: keys.len() }
    })
}
