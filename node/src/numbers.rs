//! Checks numbers of JavaScript, which are doubles.

use nearkin::{Error, Result};

/// The largest integer below which every integer is a double.
const SAFE_MAX: f64 = 9_007_199_254_740_991.0;

/// A whole number of 0 or more.
pub(crate) fn whole(number: f64, name: &str) -> Result<u64> {
    if number.fract() == 0.0 && (0.0..=SAFE_MAX).contains(&number) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range, as just checked"
        )]
        return Ok(number as u64);
    }
    Err(Error::invalid(format!("{name} must be a whole number of 0 or more, not {number}")))
}
