//! Maintenance of an index: durability, flush, compaction, verification, backups, statistics.

use crate::bytes::{Out, path, put_if_wanted};
use crate::callback::{Cancel, go_on, nk_cancel};
use crate::error::{guarded, making, nk_error, telling};
use crate::index::nk_index;
use crate::readable::{Source, nk_readable};
use crate::results::{Text, nk_text};
use crate::status::{Failure, nk_status};
use crate::table;
use engine::Verification;
use serde_json::json;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// Makes all writes before the call durable, whatever the durability of the index. `change` (may be
/// null) is the number of the last durable change. Errors: `NK_UNKNOWN`, `NK_POISONED`,
/// `NK_CLOSED`, `NK_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_sync(
    index: *const nk_index,
    change: *mut u64,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, change, || Ok(table::get(index)?.index()?.sync()?))
}

/// Sees what other processes have written through handles with `shared`; `is_later` (may be null)
/// says whether there was anything new. Errors: those of `nk_reader_refresh`; the handle keeps its
/// state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_refresh(
    index: *const nk_index,
    is_later: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, is_later, || Ok(table::get(index)?.index()?.refresh()?))
}

/// Refreshes until the change of this number is visible, for at most `wait_ms` milliseconds;
/// `is_visible` (may be null) says whether it is. Errors: those of `nk_index_refresh`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_refresh_until(
    index: *const nk_index,
    change: u64,
    wait_ms: u64,
    is_visible: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    let wait = Duration::from_millis(wait_ms);
    telling(error, is_visible, || Ok(table::get(index)?.index()?.refresh_until(change, wait)?))
}

/// Writes the memtable to a segment now. Blocks writers, not readers. Errors: `NK_IO`,
/// `NK_CORRUPT`, `NK_UNKNOWN`, `NK_POISONED`, `NK_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_flush(
    index: *const nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || Ok(table::get(index)?.index()?.flush()?))
}

/// Merges everything into one segment without dead documents. Blocks neither readers nor writers;
/// needs disk space for the result beside the old files. Errors: those of `nk_index_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_compact(
    index: *const nk_index,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || Ok(table::get(index)?.index()?.compact()?))
}

/// Like `nk_index_compact`, and ends early if `cancel`, which may be null, says so: the error is
/// `NK_CANCELLED` then, and nothing has changed. `cancel` is not called after the call. It may call
/// the index, but neither compact nor close it: `NK_INVALID`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_compact_until(
    index: *const nk_index,
    cancel: nk_cancel,
    user_data: *mut c_void,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let cancel = Cancel::of_call(cancel, user_data);
        Ok(table::get(index)?.index()?.compact_with(&mut |_| go_on(cancel.as_ref()))?)
    })
}

/// Does what maintenance is due, a step at a time: for indexes with "maintenance=inline".
/// `did_work` (may be null) says whether there was any. Errors: those of `nk_index_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_index_maintain(
    index: *const nk_index,
    did_work: *mut bool,
    error: *mut *mut nk_error,
) -> nk_status {
    telling(error, did_work, || {
        Ok(table::get(index)?.index()?.maintain()? != engine::Maintained::Nothing)
    })
}

/// Calls an index or a reader; a snapshot is refused. `$name` is the function of the header.
macro_rules! call_files {
    ($of:ident, $name:literal, $files:ident => $call:expr) => {
        match &table::get($of)?.source {
            Source::Index($files) => Ok($call?),
            Source::Reader($files) => Ok($call?),
            Source::Snapshot(_) => {
                let message = concat!($name, " takes an index or a reader, not a snapshot");
                Err(Failure::new(nk_status::NK_BAD_HANDLE, message))
            }
        }
    };
}

/// Reads and checks every byte of an index or a reader. `is_intact` says whether no damage was
/// found; `report` (may be null) is JSON with the damage, each with file and place. Free the
/// report. Errors: only if the check could not be completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_verify(
    of: *const nk_readable,
    is_intact: *mut bool,
    report: *mut *mut nk_text,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || verified(of, None, is_intact, report))
}

/// Like `nk_verify`, and ends early if `cancel`, which may be null, says so: the error is
/// `NK_CANCELLED` then. `cancel` is not called after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_verify_until(
    of: *const nk_readable,
    cancel: nk_cancel,
    user_data: *mut c_void,
    is_intact: *mut bool,
    report: *mut *mut nk_text,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || verified(of, Cancel::of_call(cancel, user_data).as_ref(), is_intact, report))
}

fn verified(
    of: *const nk_readable,
    cancel: Option<&Cancel>,
    is_intact: *mut bool,
    report: *mut *mut nk_text,
) -> Result<(), Failure> {
    let is_intact = Out::required(is_intact, "is_intact")?;
    let mut progress = |_| go_on(cancel);
    let Verification { documents, problems, .. } =
        call_files!(of, "nk_verify", files => files.verify_with(&mut progress))?;
    let described = problems
        .iter()
        .map(|problem| json!({ "kind": problem.kind().as_str(), "message": problem.to_string() }));
    let json = json!({ "documents": documents, "problems": described.collect::<Vec<_>>() });
    if !report.is_null() {
        put_if_wanted(report, table::make(Text::json(&json)?)?);
    }
    is_intact.put(problems.is_empty());
    Ok(())
}

/// Copies an index, as it is now or as a reader sees it, into the new folder `path`. Writes go on.
/// Errors: `NK_EXISTS`, `NK_INVALID` if the folder has content, `NK_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_backup(
    of: *const nk_readable,
    path_data: *const c_char,
    path_len: usize,
    error: *mut *mut nk_error,
) -> nk_status {
    guarded(error, || {
        let path = path(path_data, path_len)?;
        call_files!(of, "nk_backup", files => files.backup(path))
    })
}

/// Statistics of an index or a reader as JSON: documents, dead, segments, bytes_on_disk, change and
/// others. Free the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nk_stats_json(
    of: *const nk_readable,
    json: *mut *mut nk_text,
    error: *mut *mut nk_error,
) -> nk_status {
    making(error, json, || Text::json(&call_files!(of, "nk_stats_json", files => files.stats())?))
}
