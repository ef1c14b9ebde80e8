//! Keeps our files away from the descriptors 0, 1 and 2.
//!
//! A process may close its standard streams. The next file that it opens then gets their numbers,
//! and whatever some library prints to standard error overwrites that file. For a log, that is
//! the loss of its header and of every document in it.

use super::sys;
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

/// The first descriptor that our files may have.
const LEAST: RawFd = 3;

/// Opens a file or folder. Its descriptor is never 0, 1 or 2.
pub(super) fn open_above(open: impl Fn() -> rustix::io::Result<OwnedFd>) -> io::Result<OwnedFd> {
    occupy_closed();
    let opened = open()?;
    if opened.as_raw_fd() >= LEAST {
        return Ok(opened);
    }
    // Another thread closed a standard stream meanwhile, or nothing could be opened in its place.
    Ok(rustix::io::fcntl_dupfd_cloexec(&opened, LEAST)?)
}

/// Opens `/dev/null` in place of each standard stream that is closed, and leaves it open: the file
/// that is opened next has no low number even for a moment. To close it again could close what
/// another thread has put there meanwhile with `dup2`. Child processes inherit it, because they
/// would have the same problem. It is read-only, so printing fails as it does without a stream.
pub(super) fn occupy_closed() {
    while !(0..LEAST).all(sys::is_open) {
        let open = |path| rustix::fs::open(path, OFlags::RDONLY, Mode::empty());
        // A root without devices has at least its own folder.
        let Ok(filler) = open("/dev/null").or_else(|_| open("/")) else { return };
        // The lowest free number: if it is not a low one, another thread was faster.
        if filler.as_raw_fd() >= LEAST {
            return;
        }
        let _ = filler.into_raw_fd();
    }
}
