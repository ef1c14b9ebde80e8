//! The decimal digits of small numbers, several at once. `simd` makes two times eight faster.

/// Applies `eight` to two numbers.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) fn plain_eights(numbers: [u64; 2]) -> [u64; 2] {
    numbers.map(eight)
}

/// The eight digits of a number below 10^8, one per byte, the first in the lowest byte. The number
/// is split into two numbers of four digits, these into four of two, and these into eight digits,
/// each step in parallel within the word.
#[inline(always)]
pub(crate) fn eight(number: u64) -> u64 {
    of_fours((number / 10_000) | ((number % 10_000) << 32))
}

/// The digits of two numbers below 10,000; the first number is in the low half.
#[inline(always)]
pub(crate) fn of_fours(fours: u64) -> u64 {
    // x * 10,486 >> 20 is x / 100 for all x below 10,000; x * 103 >> 10 is x / 10 below 100.
    let hundreds = (fours * 10_486) >> 20 & 0x0000_007f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}
