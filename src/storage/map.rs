//! Published files, mapped into memory.
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

/// Whether a map failed because the file system does not support maps.
pub(crate) fn is_without_maps(error: &io::Error) -> bool {
    #[cfg(unix)]
    let refused = [libc::ENODEV, libc::ENOSYS, libc::EOPNOTSUPP];
    #[cfg(not(unix))]
    let refused: [i32; 0] = [];
    error.raw_os_error().is_some_and(|code| refused.contains(&code))
}

/// The error of a file system that does not support maps.
#[cfg(all(unix, any(test, fuzzing)))]
pub(crate) fn no_maps() -> io::Error {
    io::Error::from_raw_os_error(libc::ENODEV)
}

impl Map {
    /// Maps a published file: this crate never writes to such a file again.
    pub(crate) fn from_file(file: &std::fs::File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::Heap(Arc::default()));
        }
        // SAFETY: the map must not change or shrink while it lives. Only segments and dead files
        // are mapped, and only after `publish`. No function of this crate opens a published one for
        // writing; they are only unlinked, which leaves the map valid. The directory lock keeps
        // other instances from writing. Another program that truncates or rewrites the files of a
        // live index is outside the promise, as the README says.
        let map = unsafe { memmap2::Mmap::map(file)? };
        // Queries read single blocks far apart. Without this advice, a page fault also reads the
        // neighbours, up to 128 KiB, and when memory is short each fault evicts what the next query
        // needs: with 3,000,000 documents in 128 MiB, queries were 25 times slower. Sequential
        // readers call `will_need` instead. If the advice is refused, only the speed changes.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Random);
        Ok(Self::Mapped(map))
    }

    /// Starts reading these bytes from the disk, without waiting. Only a hint: if the system
    /// ignores it, the bytes are read on first access.
    pub(crate) fn will_need(&self, offset: usize, count: usize) {
        #[cfg(test)]
        tests::REQUESTS.set(tests::REQUESTS.get() + 1);
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            // If the advice is refused, only the speed changes.
            let _ = map.advise_range(memmap2::Advice::WillNeed, offset, count);
        }
        #[cfg(not(unix))]
        let _ = (offset, count);
    }

    /// Reads these bytes from the disk and enters them into the page tables. After `true`,
    /// accessing the bytes raises no signal even if the disk fails, with one exception: when memory
    /// is short, the system may evict any bytes of a map. `false` says nothing about the bytes.
    pub(crate) fn bring(&self, offset: usize, count: usize) -> bool {
        #[cfg(target_os = "linux")]
        if let Self::Mapped(map) = self {
            // If the disk fails, the call returns an error. Kernels before 5.14 do not support it.
            return map.advise_range(memmap2::Advice::PopulateRead, offset, count).is_ok();
        }
        let _ = (offset, count);
        false
    }

    /// Whether all these bytes, at most 64 blocks of 4 KiB, are in memory. A process without write
    /// permission for the file always gets `true` from the system. (`mincore` is used because a
    /// read, even one that does not wait, would make the system load the bytes.) A buffer is always
    /// in memory.
    pub(crate) fn is_resident(&self, offset: usize, count: usize) -> bool {
        #[cfg(target_os = "linux")]
        if let Self::Mapped(map) = self {
            let Some(bytes) = map.get(offset..offset.saturating_add(count)) else { return false };
            // Pages have at least 4 KiB, so 64 items are enough. With larger pages, the call fills
            // only the first items, and the others keep the value 1.
            let mut pages = [1_u8; 64];
            if count > pages.len() * 4096 {
                return false;
            }
            let begin = bytes.as_ptr().cast_mut().cast();
            // SAFETY: the range is mapped as long as `map` is borrowed; the call does not access
            // it, and `pages` has a byte for each of its pages. A range that begins within a page
            // could touch one page more: for such a range the call fails and writes nothing.
            let result = unsafe { libc::mincore(begin, count, pages.as_mut_ptr()) };
            return result == 0 && pages.iter().all(|page| page & 1 == 1);
        }
        let _ = (offset, count);
        matches!(self, Self::Heap(_))
    }

    /// Unmaps the pages of these bytes, so that they no longer count as memory of the process. The
    /// next access maps them again.
    pub(crate) fn release(&self, offset: usize, count: usize) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the map is shared and read-only, and its file does not change (see
            // `from_file`), so a page that is mapped again has the same bytes. If the advice is
            // refused, nothing changes.
            let _ = unsafe { map.unchecked_advise_range(advice, offset, count) };
        }
        #[cfg(not(unix))]
        let _ = (offset, count);
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// How often this thread has called `will_need`, a system call each time.
        pub(crate) static REQUESTS: Cell<usize> = const { Cell::new(0) };
    }
}
