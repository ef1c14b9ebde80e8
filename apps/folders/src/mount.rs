//! What the system says of the file system that a file is on.

use std::path::Path;

/// The mount that a path lies in. The system makes no hard link from one mount to another, even if
/// both are of one file system. `None` if unknown.
#[cfg(target_os = "linux")]
pub(crate) fn mount_id(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?;
    let known = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    known.then_some(found.stx_mnt_id)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn mount_id(_: &Path) -> Option<u64> {
    None
}
