//! The read mode of segments.

/// How segments are read. This also determines when damage is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ReadMode {
    /// Through a memory map. Every block of 4 KiB is verified against its checksum on the first
    /// access after opening. `verify` finds later damage.
    ///
    /// The map has no read-ahead. A query on resident blocks takes a few microseconds. Otherwise it
    /// waits for about ten random reads of 4 KiB, as with `Pread`.
    #[default]
    Mmap,
    /// By system calls. Every read verifies its blocks, so damage is detected immediately. Also
    /// suits file systems that do not support memory maps, such as FUSE mounts with direct I/O: on
    /// these, opening or creating an index with `Mmap` returns `Unsupported`.
    ///
    /// A query on resident blocks takes more than ten times as long as with `Mmap`. If the index is
    /// much larger than memory, a query takes about as long as with `Mmap`, because the blocks of a
    /// step are requested together before the first is read. (Linux, 1,500,000 documents, 64 MiB of
    /// memory: the median time of a hit is 0.5 ms, and 0.6 ms with `Mmap`.)
    Pread,
}
