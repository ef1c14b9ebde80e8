//! Iterators: keys, pairs and clusters of one view.

use crate::bytes::{Out, bytes, nk_bytes};
use crate::error::{guarded, making, nk_error};
use crate::places::lock;
use crate::query::alike;
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

/// An iterator of the engine with what it gave last, which the caller's pointers lead into.
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

/// Steps a walk on: shows what comes next, or says that it ended, with what it gave last kept.
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

/// What two documents have to be; a negative containment asks for none. Not a number is passed on,
/// so that the engine refuses it.
fn wanted(similarity: f64, contained: f64) -> engine::Alike {
    let is_asked = contained.is_nan() || contained >= 0.0;
    alike(similarity, is_asked.then_some(contained))
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
        Ok(Walk::new(view(of)?.keys_with_prefix(bytes(prefix, prefix_len, "prefix")?)?))
    })
}

/// The next key, which belongs to the iterator and is valid until its next step. `has_key` is false
/// at the end, and `key` is as before then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_keys_next(
    keys: *const nk_keys,
    key: *mut nk_bytes,
    has_key: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    next(keys, key, has_key, error, |key, _| nk_bytes::from_slice(key.as_bytes()))
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
    making(error, pairs, || Ok(Walk::new(view(of)?.pairs(wanted(similarity, contained))?)))
}

/// The next pair. `has_pair` is false at the end, and `pair` is as before then.
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
    making(error, clusters, || Ok(Walk::new(view(of)?.clusters(wanted(similarity, contained))?)))
}

/// The next cluster. `has_cluster` is false at the end, and `cluster` is as before then.
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
