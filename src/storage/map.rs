//! A published file as memory, and what of files only the system's own calls can ask. The only
//! unsafe code of the storage layer is here.
#![expect(unsafe_code, reason = "calls of the system and a prefetch: see the argument at each")]
#![expect(clippy::disallowed_types, reason = "memmap2 maps std files; disk.rs passes one in")]

use std::io;
use std::sync::Arc;

/// The bytes of a whole file, read-only: a memory map, or a buffer where there is no map
/// (storages in memory, empty files).
#[derive(Debug)]
pub(crate) enum Map {
    Mapped(memmap2::Mmap),
    Heap(Arc<Vec<u8>>),
}

impl Map {
    /// Maps a file that is published: nobody in this crate writes to it again.
    pub(crate) fn of(file: &std::fs::File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::Heap(Arc::default()));
        }
        // SAFETY: the map must not change or shrink while it lives. Only segments and dead files
        // are mapped, after `publish`; no function of this crate opens a published one for
        // writing, they are only ever unlinked, which leaves the map valid; and the directory
        // lock keeps other instances from writing. Another program that truncates or rewrites
        // the files of a live index is outside the promise, and the README says so.
        let map = unsafe { memmap2::Mmap::map(file)? };
        // Queries read single blocks far apart. Without this advice a page fault reads the
        // neighbours, too, up to 128 KiB, and with little memory each fault evicts what the next
        // query needs: 3,000,000 documents in 128 MiB were 25 times slower. What is read in order
        // is asked for with `will_need`. Advice that is refused changes nothing but the time.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Random);
        Ok(Self::Mapped(map))
    }

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

    /// Asks the disk for these bytes, without waiting. A wish: where the system does not take
    /// it, they are read when they are needed.
    pub(crate) fn will_need(&self, offset: usize, count: usize) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            // Advice that is refused changes nothing but the time.
            let _ = map.advise_range(memmap2::Advice::WillNeed, offset, count);
        }
        #[cfg(not(unix))]
        let _ = (offset, count);
    }

    /// Has these bytes at hand, read from the disk and entered into the page tables. Where this
    /// says so, they can be read without a signal, however ill the disk: as long as memory does
    /// not get short, which holds for every other byte of a map, too. Else nothing is known.
    pub(crate) fn bring(&self, offset: usize, count: usize) -> bool {
        #[cfg(target_os = "linux")]
        if let Self::Mapped(map) = self {
            // A disk that fails is an error here; kernels before 5.14 refuse.
            return map.advise_range(memmap2::Advice::PopulateRead, offset, count).is_ok();
        }
        let _ = (offset, count);
        false
    }

    /// Whether the system has all of these bytes, of 64 blocks of 4 KiB at most, in memory, as far
    /// as it tells: who may not write the file hears that it has. (Asking for bytes, even without
    /// waiting, makes it bring them.) A buffer is in memory.
    pub(crate) fn is_at_hand(&self, offset: usize, count: usize) -> bool {
        #[cfg(target_os = "linux")]
        if let Self::Mapped(map) = self {
            let Some(bytes) = map.get(offset..offset.saturating_add(count)) else { return false };
            // No page is smaller; where they are larger, fewer are told of.
            let mut pages = [1_u8; 64];
            if count > pages.len() * 4096 {
                return false;
            }
            let begin = bytes.as_ptr().cast_mut().cast();
            // SAFETY: the range is mapped as long as `map` is borrowed, and is only asked about;
            // there is a byte for each of its pages. Where it begins within a page, and so might
            // touch one more, this is an error, and nothing is written.
            let told = unsafe { libc::mincore(begin, count, pages.as_mut_ptr()) };
            return told == 0 && pages.iter().all(|page| page & 1 == 1);
        }
        let _ = (offset, count);
        matches!(self, Self::Heap(_))
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

    /// Has the system read nothing ahead of what is asked for by this handle.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    pub(crate) fn read_nothing_ahead(file: &std::fs::File) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        // SAFETY: an advice for an open file, borrowed for the call, which touches no memory.
        match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Fills `buffer` from `offset` of a file if the system has these bytes in memory, without
    /// waiting for the disk; whether it did. An error where it cannot tell.
    pub(crate) fn copy_at_hand(
        file: &std::fs::File,
        buffer: &mut [u8],
        offset: u64,
    ) -> io::Result<bool> {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        {
            use std::os::fd::AsRawFd;
            let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
            // By its number: the C library's own function would need one of 2017 or later. Each
            // number fills a register; all of the offset goes into the first of its two halves.
            let [fd, flags] = [file.as_raw_fd(), libc::RWF_NOWAIT].map(libc::c_long::from);
            let (parts, half): (libc::c_long, libc::c_long) = (1, 0);
            // SAFETY: the call writes to its one part only, which is `buffer`, ours to write until
            // it returns; both it and the open file are borrowed for as long.
            let count = unsafe {
                libc::syscall(libc::SYS_preadv2, fd, &raw const part, parts, offset, half, flags)
            };
            if let Ok(count) = usize::try_from(count) {
                return Ok(count == buffer.len());
            }
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
        }
        #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
        {
            let _ = (file, buffer, offset);
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}
