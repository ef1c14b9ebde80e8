//! The conditions of searches and admissions: a handle keeps them, and each call copies them. The
//! engine parses and checks them; no condition is named here but those with a meaning for handles.

use crate::bytes::{bytes, text};
use crate::callback::{Cancel, Filter, nk_cancel, nk_filter, nk_release};
use crate::error::{guarded, making, nk_error};
use crate::status::{Failure, nk_status};
use crate::table::{self, handle};
use engine::{Admit, Conditions, Keep};
use std::ffi::{c_char, c_void};
use std::str::FromStr;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// The conditions of queries, pairs, clusters and admissions: made once, used for any number of
/// calls. A null handle means: the threshold of the index, no limit, all documents.
pub struct nk_query(());

handle!(nk_query, RwLock<Asked>, "query");

/// The conditions of a query handle, and the copy of a call: a call that runs while another thread
/// changes them has the old or the new ones.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    /// All but filter and cancel, which a caller may remove. Its deadline was checked, but counts
    /// from the making of the handle: each call replaces it.
    conditions: Conditions<'static>,
    /// In milliseconds from the beginning of a call.
    deadline_ms: Option<f64>,
    filter: Option<Filter>,
    cancel: Option<Cancel>,
    relate: Option<f64>,
    keep: Option<Keep>,
}

impl FromStr for Asked {
    type Err = Failure;

    /// The settings of conditions, and of admissions: `relate`, `keep`.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let (mut asked, mut others) = (Self::default(), Vec::new());
        for part in text.split(',') {
            // A part without a name belongs to the value before it.
            let (name, value) = part.split_once('=').unwrap_or_default();
            let (name, value) = (name.trim(), value.trim());
            let is_twice = match name {
                "relate" => asked.relate.replace(relate(value)?).is_some(),
                "keep" => asked.keep.replace(value.parse()?).is_some(),
                _ => {
                    if name == "deadline_ms" {
                        asked.deadline_ms = value.parse().ok();
                    }
                    others.push(part);
                    false
                }
            };
            if is_twice {
                return Err(Failure::invalid(format!("{name} is given twice")));
            }
        }
        asked.conditions = others.join(",").parse()?;
        Ok(asked)
    }
}

fn relate(value: &str) -> Result<f64, Failure> {
    value.parse().map_err(|error| Failure::invalid(format!("relate={value}: {error}")))
}

impl Asked {
    /// A copy of the conditions of an argument that may be null.
    fn read(query: *const nk_query) -> Result<Self, Failure> {
        let Some(query) = table::get_if(query)? else { return Ok(Self::default()) };
        let asked = query.read().unwrap_or_else(PoisonError::into_inner);
        Ok(asked.clone())
    }

    fn conditions(self) -> Conditions<'static> {
        let Self { mut conditions, deadline_ms, filter, cancel, .. } = self;
        if let Some(filter) = filter {
            conditions = conditions.filter(move |key, payload| filter.passes(key, payload));
        }
        if let Some(cancel) = cancel {
            conditions = conditions.cancel_if(move || cancel.is_due());
        }
        let span = deadline_ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
        match span.and_then(|span| Instant::now().checked_add(span)) {
            Some(time) => conditions.deadline(time),
            None => conditions,
        }
    }
}

/// The conditions of an argument that may be null, for a search that begins now.
pub(crate) fn conditions_of(query: *const nk_query) -> Result<Conditions<'static>, Failure> {
    Asked::read(query).map(Asked::conditions)
}

/// Same as [`conditions_of`], for an admission.
pub(crate) fn admit_of(query: *const nk_query) -> Result<Admit<'static>, Failure> {
    let asked = Asked::read(query)?;
    let (relate, keep) = (asked.relate, asked.keep.unwrap_or_default());
    let admit = Admit::at(asked.conditions()).keep(keep);
    Ok(relate.into_iter().fold(admit, Admit::relate))
}

/// Makes conditions from settings, such as "threshold=0.8,limit=10"; an empty text sets none. Free
/// them. Numbers have a point, whatever the locale.
///
/// Conditions on documents: threshold, contained (least similarity, least share of the smaller
/// document that the larger one contains: from 0 to 1; with contained, the default threshold is 0),
/// after, before (the document was inserted or last replaced at this time or later, or before it,
/// in milliseconds since 1970), prefix (see `nk_query_prefix`, which takes any bytes), verify (true
/// searches below threshold and contained, for a caller that compares the documents).
///
/// Bounds: limit (results returned; documents that an admission replaced are always returned),
/// max_candidates (candidates compared; not for pairs and clusters), deadline_ms (milliseconds from
/// the beginning of each call). After the deadline, a query returns what it found, with `complete`
/// false; other calls fail with `NK_CANCELLED`, and an admission writes nothing.
///
/// For `nk_index_admit`: keep (first, the default: the stored document stays and the newcomer is
/// rejected; newest: the newcomer replaces its duplicates; longest; all: it is admitted, and its
/// duplicates are among the related documents), relate (least similarity of other stored documents
/// that are returned for an admitted newcomer).
///
/// Errors: `NK_INVALID` names the setting.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_from_text(
    settings: *const c_char,
    settings_len: usize,
    query: *mut *mut nk_query,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, query, || Ok(RwLock::new(text(settings, settings_len, "settings")?.parse()?)))
}

fn write(query: &RwLock<Asked>) -> RwLockWriteGuard<'_, Asked> {
    query.write().unwrap_or_else(PoisonError::into_inner)
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
        let query = table::get(query)?;
        let mut asked = write(&query);
        asked.conditions = std::mem::take(&mut asked.conditions).prefix(prefix);
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

/// Ends calls with these conditions early, as soon as `cancel` says so, also while one document is
/// compared with many. As after a deadline, a query returns what it found, with
/// `complete` false; other calls fail with `NK_CANCELLED`, and an admission writes nothing. Null
/// removes the condition. The data are released as those of `nk_query_filter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_query_cancel_if(
    query: *const nk_query,
    cancel: nk_cancel,
    user_data: *mut c_void,
    release: nk_release,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let query = table::get(query)?;
        // As in `nk_query_filter`.
        let cancel = Cancel::new(cancel, user_data, release);
        let former = std::mem::replace(&mut write(&query).cancel, cancel);
        drop(former);
        Ok(())
    })
}
