//! The conditions of queries and admissions: a handle keeps them, and each call copies them. The
//! conditions of a caller become those of the engine here and nowhere else.

use crate::bytes::bytes;
use crate::callback::{Filter, nk_filter, nk_release};
use crate::error::{guarded, making, nk_error};
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{DocumentView, Keep};
use std::ffi::c_void;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// The conditions of queries and admissions: set once, used for any number of them. A null handle
/// means: the threshold of the index, no limit, all documents.
pub struct nk_query(());

handle!(nk_query, RwLock<Conditions>, "query");

/// A condition with a number as its value. The call that uses a value checks it, unless stated
/// otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_condition {
    /// Only documents of at least this similarity, from 0 to 1, count. Without it: the threshold of
    /// the index.
    NK_THRESHOLD = 0,
    /// Only documents of at least this containment, from 0 to 1, count: the share of the smaller
    /// document that is in the larger one. The default threshold is then 0.
    NK_CONTAINED = 1,
    /// Returns at most this many documents, the most similar ones. Documents that an admission
    /// replaced are always returned.
    NK_LIMIT = 2,
    /// Compares at most this many candidates; `complete` in the answer says whether those were all.
    NK_MAX_CANDIDATES = 3,
    /// Stops after this many milliseconds. A query returns what it found, with `complete` false; an
    /// admission fails with `NK_CANCELLED` and writes nothing.
    NK_DEADLINE_MS = 4,
    /// Only documents that were inserted or last replaced at this time or later, in milliseconds
    /// since 1970, count.
    NK_AFTER = 5,
    /// Only documents that were inserted or last replaced before this time, in milliseconds since
    /// 1970, count.
    NK_BEFORE = 6,
    /// For `nk_index_admit`: for an admitted newcomer, also returns stored documents of at least
    /// this similarity.
    NK_RELATE = 7,
    /// For `nk_index_admit`: which of a newcomer and its duplicates stays, a number of `nk_keep`.
    /// Checked when it is set.
    NK_KEEP = 8,
}
use nk_condition::{
    NK_AFTER, NK_BEFORE, NK_CONTAINED, NK_DEADLINE_MS, NK_KEEP, NK_LIMIT, NK_MAX_CANDIDATES,
    NK_RELATE, NK_THRESHOLD,
};

/// Which of a newcomer and its duplicates stays.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_keep {
    /// The stored document: a newcomer with a duplicate is rejected. The default.
    NK_KEEP_FIRST = 0,
    /// The newcomer: it replaces its duplicates.
    NK_KEEP_NEWEST = 1,
    /// The longer one.
    NK_KEEP_LONGEST = 2,
}

/// Indexed by `nk_keep`.
const KEEPS: [Keep; 3] = [Keep::First, Keep::Newest, Keep::Longest];

/// The conditions of a query handle, and the copy of a call: a call that runs while another thread
/// sets a condition has the old or the new one.
#[derive(Clone, Default)]
pub(crate) struct Conditions {
    /// Indexed by `nk_condition`.
    numbers: [Option<f64>; 9],
    prefix: Vec<u8>,
    filter: Option<Filter>,
}

/// Sets the conditions that a query and an admission have in common.
macro_rules! restrict {
    ($builder:ident, $conditions:ident) => {
        $builder = $builder.limit($conditions.count(NK_LIMIT));
        $builder = $builder.max_candidates($conditions.count(NK_MAX_CANDIDATES));
        if let Some(deadline) = $conditions.deadline() {
            $builder = $builder.deadline(deadline);
        }
        if $conditions.is_filtered() {
            $builder = $builder.filter_document(|seen| $conditions.passes(seen));
        }
    };
}

impl Conditions {
    /// The conditions of an argument that may be null.
    pub(crate) fn read(query: *const nk_query) -> Result<Self, Failure> {
        let Some(query) = table::get_if(query)? else { return Ok(Self::default()) };
        let conditions = query.read().unwrap_or_else(PoisonError::into_inner);
        Ok(conditions.clone())
    }

    fn number(&self, condition: nk_condition) -> Option<f64> {
        self.numbers[condition as usize]
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and not negative, as checked when it was set; too large is no bound"
    )]
    fn count(&self, condition: nk_condition) -> usize {
        self.number(condition).map_or(usize::MAX, |number| number as usize)
    }

    fn deadline(&self) -> Option<Instant> {
        let seconds = self.number(NK_DEADLINE_MS)? / 1_000.0;
        Instant::now().checked_add(Duration::try_from_secs_f64(seconds).ok()?)
    }

    fn is_filtered(&self) -> bool {
        let times = self.number(NK_AFTER).or(self.number(NK_BEFORE));
        times.is_some() || !self.prefix.is_empty() || self.filter.is_some()
    }

    /// Whether a stored document counts.
    fn passes(&self, seen: DocumentView<'_>) -> bool {
        let (time, filter) = (seen.time as f64, self.filter.as_ref());
        self.number(NK_AFTER).is_none_or(|after| time >= after)
            && self.number(NK_BEFORE).is_none_or(|before| time < before)
            && seen.key.starts_with(&self.prefix)
            && filter.is_none_or(|filter| filter.passes(seen.key, seen.payload))
    }

    /// Applies the conditions to a query of the engine.
    pub(crate) fn query<'a>(&'a self, mut query: engine::Query<'a>) -> engine::Query<'a> {
        if let Some(threshold) = self.number(NK_THRESHOLD) {
            query = query.threshold(threshold);
        }
        if let Some(contained) = self.number(NK_CONTAINED) {
            query = query.contained(contained);
        }
        restrict!(query, self);
        query
    }

    /// The conditions of an admission to an index with this threshold.
    pub(crate) fn admit(&self, own: f64) -> engine::Admit<'_> {
        let (threshold, contained) = (self.number(NK_THRESHOLD), self.number(NK_CONTAINED));
        let threshold = threshold.unwrap_or(if contained.is_some() { 0.0 } else { own });
        let mut admit = engine::Admit::at(alike(threshold, contained)).prefix(&self.prefix);
        if let Some(relate) = self.number(NK_RELATE) {
            admit = admit.relate(relate);
        }
        if let Some(keep) = KEEPS.get(self.count(NK_KEEP)) {
            admit = admit.keep(*keep);
        }
        restrict!(admit, self);
        admit
    }
}

/// A condition on two documents: a similarity, a containment, or both.
pub(crate) fn alike(similarity: f64, contained: Option<f64>) -> engine::Alike {
    match contained {
        None => engine::Alike::similar(similarity),
        Some(contained) => engine::Alike::contained(contained).and_similar(similarity),
    }
}

/// Makes a query handle without conditions. Free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_new(
    query: *mut *mut nk_query,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, query, || Ok(RwLock::default()))
}

fn write(query: &RwLock<Conditions>) -> RwLockWriteGuard<'_, Conditions> {
    query.write().unwrap_or_else(PoisonError::into_inner)
}

/// Sets a condition of `nk_condition`. Errors: `NK_INVALID` if there is no such condition, or if a
/// count or a time is not a whole number of 0 or more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_set(
    query: *const nk_query,
    condition: i32,
    value: f64,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let shares = [NK_THRESHOLD, NK_CONTAINED, NK_RELATE].map(|share| share as i32);
        let is_whole = value >= 0.0 && value.fract() == 0.0;
        if !is_whole && !shares.contains(&condition) {
            let message = format!("condition {condition} takes a whole number, not {value}");
            return Err(Failure::invalid(message));
        }
        if condition == NK_KEEP as i32 && value >= KEEPS.len() as f64 {
            return Err(Failure::invalid(format!("{value} is not a number of nk_keep")));
        }
        let place = usize::try_from(condition).unwrap_or(usize::MAX);
        let unknown = || Failure::invalid(format!("there is no condition {condition}"));
        let query = table::get(query)?;
        *write(&query).numbers.get_mut(place).ok_or_else(unknown)? = Some(value);
        Ok(())
    })
}

/// Only documents whose keys begin with this prefix count: a tenant's part of the index. An
/// admission refuses newcomers with another key. An empty prefix removes the condition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_prefix(
    query: *const nk_query,
    prefix: *const c_void,
    prefix_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let prefix = bytes(prefix, prefix_len, "prefix")?.to_vec();
        write(&*table::get(query)?).prefix = prefix;
        Ok(())
    })
}

/// Only documents that pass the caller's filter count; null removes the filter. The data are
/// released when the query is freed or gets another filter, and no running call uses the old one.
/// If this call fails, the data are not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_filter(
    query: *const nk_query,
    filter: nk_filter,
    user_data: *mut c_void,
    release: nk_release,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let query = table::get(query)?;
        // A call with a bad handle releases nothing: the filter owns its data only from here on.
        let filter = Filter::new(filter, user_data, release);
        let former = std::mem::replace(&mut write(&query).filter, filter);
        // Without the lock: the caller's release function may use this handle.
        drop(former);
        Ok(())
    })
}
