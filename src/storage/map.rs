//! A published file as memory.
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
    pub(crate) fn is_resident(&self, offset: usize, count: usize) -> bool {
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

    /// Gives up the mapped pages of these bytes, which then no longer count as memory of the
    /// process. The next access maps them again.
    pub(crate) fn release(&self, offset: usize, count: usize) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the map is shared and read-only, and its file does not change (see `of`): a
            // page that is mapped again has the same bytes. Refused advice changes nothing.
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
