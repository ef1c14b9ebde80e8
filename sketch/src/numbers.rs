//! Conversions of integers that lose nothing.

/// `usize` to `u64`. Lossless wherever this crate builds (checked at compile time).
#[inline]
pub const fn wide(count: usize) -> u64 {
    const { assert!(size_of::<usize>() <= size_of::<u64>()) };
    count as u64
}

/// `u32` to `usize`. Lossless wherever this crate builds (checked at compile time).
#[inline]
pub const fn index(ordinal: u32) -> usize {
    const { assert!(size_of::<u32>() <= size_of::<usize>()) };
    ordinal as usize
}
