//! How segments are read: the one choice a caller has.

/// How segments are read, and when damage is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum ReadMode {
    /// Through a memory map. Every block of 4 KiB is read and its checksum compared when it is
    /// first touched since open; damage that comes to it later is found by `verify`.
    ///
    /// The map has no read-ahead. A query whose blocks are in memory costs a few microseconds; one
    /// whose blocks are not waits for about ten random reads of 4 KiB, as it does with `Pread`.
    #[default]
    Mmap,
    /// Every read reads its blocks from the file and compares their checksums: damage is seen at
    /// once. For file systems where maps misbehave, too.
    ///
    /// A query whose blocks are in memory takes ten times as long as with `Mmap` or more. Where the
    /// index is far larger than memory it takes two to three times as long (3,000,000 documents in
    /// 128 MiB: 1.4 to 1.8 ms a hit, with `Mmap` .6 to .7).
    Pread,
}
