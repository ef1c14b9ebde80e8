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

/// Whether a file keeps its inode number while nobody has it open. FAT, network and FUSE file
/// systems may number their files anew.
#[cfg(target_os = "linux")]
pub(crate) fn has_lasting_inodes(path: &Path) -> bool {
    /// Magic numbers of FAT, exFAT, FUSE, SMB (versions 2 and 1) and 9P.
    const NUMBERED_ANEW: [i128; 6] =
        [0x4d44, 0x2011_bab0, 0x6573_5546, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997];
    rustix::fs::statfs(path).is_ok_and(|found| {
        // The width and the sign of this field differ between processors.
        let kind = i128::from(found.f_type) & 0xffff_ffff;
        !NUMBERED_ANEW.contains(&kind)
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) fn has_lasting_inodes(_: &Path) -> bool {
    true
}

#[cfg(not(unix))]
pub(crate) fn has_lasting_inodes(_: &Path) -> bool {
    false
}
