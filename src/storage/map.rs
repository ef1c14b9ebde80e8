//! A published file as memory. The only unsafe code of the storage layer is here.
#![expect(unsafe_code, reason = "mapping a file is unsafe: see the argument at the call")]
#![expect(clippy::disallowed_types, reason = "memmap2 maps std files; disk.rs passes one in")]

use std::io;

/// The bytes of a whole file, read-only: a memory map, or a buffer where there is no map
/// (simulated disks, empty files).
#[derive(Debug)]
pub(crate) enum Map {
    Mapped(memmap2::Mmap),
    Heap(Vec<u8>),
}

impl Map {
    /// Maps a file that is published: nobody in this crate writes to it again.
    pub(crate) fn of(file: &std::fs::File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::Heap(Vec::new()));
        }
        // SAFETY: the map must not change or shrink while it lives. Only segments and dead files
        // are mapped, after `publish`; no function of this crate opens a published one for
        // writing, they are only ever unlinked, which leaves the map valid; and the directory
        // lock keeps other instances from writing. Another program that truncates or rewrites
        // the files of a live index is outside the promise, and the README says so.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self::Mapped(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}
