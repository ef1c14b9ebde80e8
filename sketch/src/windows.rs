//! Shingles: the sums of windows of units.
//!
//! Frozen: see `docs/reference/SIGNATURES.md`.

use super::hash::{BASE, direct, sum_of};
use super::simd::Processor;

/// Replaces unit hashes by the sums of their windows of `width` units, in place. The window that
/// starts at unit i has the sum u(i) B^(width-1) + ... + u(i+width-1), modulo 2^64. Fewer units
/// than `width` form one window; without units there is no window.
#[inline(always)]
pub(crate) fn windows(units: &mut Vec<u64>, width: usize, processor: Option<Processor>) {
    let width = width.clamp(1, units.len().max(1));
    match width {
        1 => {}
        2 => direct::<2>(units),
        3 => match processor {
            Some(processor) => processor.windows_of_3(units),
            None => direct::<3>(units),
        },
        4 => direct::<4>(units),
        5 => direct::<5>(units),
        _ => rolling(units, width),
    }
}

/// For wide windows: a rolling sum. Subtract the first unit, multiply, add the next unit.
fn rolling(units: &mut Vec<u64>, width: usize) {
    let top = (1..width).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let (first, rest) = units.split_at(width);
    let mut sum = sum_of(first);
    let count = rest.len() + 1;
    for start in 0..count {
        let leaving = units[start];
        units[start] = sum;
        if let Some(&entering) = units.get(start + width) {
            let kept = sum.wrapping_sub(leaving.wrapping_mul(top));
            sum = kept.wrapping_mul(BASE).wrapping_add(entering);
        }
    }
    units.truncate(count);
}
