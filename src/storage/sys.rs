//! System calls and processor instructions that the standard library does not offer.
#![expect(unsafe_code, reason = "a call of the system and a prefetch: see the argument at each")]
#![expect(clippy::disallowed_types, reason = "calls are for std files; disk.rs passes one in")]

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// Prefetches the cache line of this value, which may be a byte of a map.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a borrowed value. A prefetch has no effect that the
        // program can see, and every x86-64 processor supports it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// How often this process and those that it stems from were forked, since the first call of
/// [`watch_forks`].
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Counts the forks of this process from now on.
pub(crate) fn watch_forks() {
    #[cfg(unix)]
    {
        use std::sync::atomic::AtomicBool;
        extern "C" fn count() {
            FORKS.fetch_add(1, Ordering::Relaxed);
        }
        static IS_WATCHING: AtomicBool = AtomicBool::new(false);
        if !IS_WATCHING.swap(true, Ordering::Relaxed) {
            // SAFETY: the function is called in the child, between its fork and whatever it does
            // next. It changes one atomic number, which is allowed there. If there is no memory for
            // the entry, a child can only tell by its process id that it is one.
            let _ = unsafe { libc::pthread_atfork(None, None, Some(count)) };
        }
    }
}

/// The number of forks that were counted. An index that was opened at another number belongs to a
/// parent process: a lock that one of the parent's other threads held at the fork is never released
/// here. (Reading this number costs much less than asking for the process id.)
#[inline]
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Whether the process has an open file with this descriptor.
#[cfg(unix)]
pub(crate) fn is_open(descriptor: std::os::fd::RawFd) -> bool {
    // SAFETY: the call reads the flags of the descriptor, and fails if there is none.
    unsafe { libc::fcntl(descriptor, libc::F_GETFD) != -1 }
}

/// Starts reading these bytes of a file into the page cache, if the system can.
pub(crate) fn will_need(file: &std::fs::File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    {
        let (bytes, advice) = (std::num::NonZero::new(bytes), rustix::fs::Advice::WillNeed);
        // If the advice is refused, only the speed changes.
        let _ = rustix::fs::fadvise(file, offset, bytes, advice);
    }
    let _ = (file, offset, bytes);
}

/// Starts writeback of these bytes of a file, if the system can.
pub(crate) fn start_writing(file: &std::fs::File, offset: u64, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) {
        use std::os::fd::AsRawFd;
        // The WAIT flags would consume the error that `fdatasync` must report.
        let (fd, flags) = (file.as_raw_fd(), libc::SYNC_FILE_RANGE_WRITE);
        // SAFETY: the descriptor belongs to `file`, which is borrowed until the call returns. The
        // call touches no memory.
        if unsafe { libc::sync_file_range(fd, offset, bytes, flags) } != 0 {
            // Not an error: the file or the system does not support the call, or refuses or
            // interrupts it. Nothing has changed.
            let none = [libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP, libc::ESPIPE];
            let not_now = [libc::EPERM, libc::EINTR, libc::EAGAIN];
            let error = io::Error::last_os_error();
            let is = |code| error.raw_os_error() == Some(code);
            if !none.into_iter().chain(not_now).any(is) {
                return Err(error);
            }
        }
    }
    let _ = (file, offset, bytes);
    Ok(())
}
