//! What only the system's own calls and the processor's own instructions can do.
#![expect(unsafe_code, reason = "a call of the system and a prefetch: see the argument at each")]
#![expect(clippy::disallowed_types, reason = "calls are for std files; disk.rs passes one in")]

use std::io;

/// Asks for the line of memory with this value to be brought into the cache: a byte of a map,
/// or anything else.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a value that is borrowed, and a prefetch changes
        // nothing that the program can see; it is part of x86-64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Starts reading these bytes of a file into the page cache, if the system can.
pub(crate) fn will_need(file: &std::fs::File, offset: u64, bytes: u64) {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) {
        use std::os::fd::AsRawFd;
        // SAFETY: a call for an open file, borrowed as long, which touches no memory. Advice that
        // is refused changes nothing but the time.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, bytes, libc::POSIX_FADV_WILLNEED) };
    }
    let _ = (file, offset, bytes);
}

/// Has the system begin to bring these bytes of a file to the disk, if it can.
pub(crate) fn start_writing(file: &std::fs::File, offset: u64, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let (Ok(offset), Ok(bytes)) = (offset.try_into(), bytes.try_into()) {
        use std::os::fd::AsRawFd;
        // Never one of the flags that wait: they would take the error that a sync must tell.
        let (fd, flags) = (file.as_raw_fd(), libc::SYNC_FILE_RANGE_WRITE);
        // SAFETY: a call for an open file, borrowed as long, which touches no memory.
        if unsafe { libc::sync_file_range(fd, offset, bytes, flags) } != 0 {
            // Where there is no such call for this file, or it must not be made, or was
            // interrupted, all is as before it.
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
