//! Checks numbers of JavaScript, which are doubles.

use std::time::{Duration, Instant};

use crate::failure::Failure;

/// The largest integer below which every integer is a double.
const SAFE_MAX: f64 = 9_007_199_254_740_991.0;

/// A whole number of 0 or more.
pub(crate) fn whole(number: f64, name: &str) -> Result<u64, Failure> {
    if number.fract() == 0.0 && (0.0..=SAFE_MAX).contains(&number) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range, as just checked"
        )]
        return Ok(number as u64);
    }
    Err(Failure::invalid(format!("{name} must be a whole number of 0 or more, not {number}")))
}

/// A maximum number of things; infinity is no limit.
pub(crate) fn count(number: f64, name: &str) -> Result<usize, Failure> {
    if number == f64::INFINITY {
        return Ok(usize::MAX);
    }
    Ok(usize::try_from(whole(number, name)?).unwrap_or(usize::MAX))
}

/// The time that is this many milliseconds away; none if no clock reaches it.
pub(crate) fn deadline(ms: f64, name: &str) -> Result<Option<Instant>, Failure> {
    if ms == f64::INFINITY {
        return Ok(None);
    }
    let refuse = |_| Failure::invalid(format!("{name} must be milliseconds, not {ms}"));
    Ok(Instant::now().checked_add(Duration::try_from_secs_f64(ms / 1_000.0).map_err(refuse)?))
}
