//! The recycle bin of Windows.

use std::path::Path;

/// Moves a file to the recycle bin.
pub(in crate::apply) fn delete(path: &Path) -> Result<(), String> {
    trash::delete(path).map_err(|error| format!("the recycle bin refuses it: {error}"))
}

/// Brings back the file that was last at this path.
pub(in crate::apply) fn restore(path: &Path) -> Result<(), String> {
    let plain = |path: &Path| path.to_string_lossy().trim_start_matches(r"\\?\").to_lowercase();
    let items = trash::os_limited::list().map_err(|error| error.to_string())?;
    let found = items.into_iter().filter(|item| plain(&item.original_path()) == plain(path));
    let last = found.max_by_key(|item| item.time_deleted);
    let last = last.ok_or("it is not in the recycle bin any more")?;
    trash::os_limited::restore_all([last]).map_err(|error| error.to_string())
}

/// The recycle bin has no notes of ours.
pub(in crate::apply) fn forget(_: &Path) {}
