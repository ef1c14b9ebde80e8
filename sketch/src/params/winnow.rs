//! What the parameters of fingerprints may be: nearly everything is fixed.

use super::{Fields, Params, Scheme, refuse};
use crate::Result;

/// Number of rows of a signature that holds fingerprints.
pub(crate) const WINNOW_ROWS: u32 = 32;

/// Number of words of a run, at least: shorter ones are accidents, and no index finds them.
const RUN_MIN: usize = 4;

/// Fingerprints have rows of their own: in each band of one row, one fingerprint. So an equal row
/// is one of [`WINNOW_ROWS`], and this share is the threshold.
pub(super) fn check_winnow(fields: &Fields) -> Result<()> {
    if fields.scheme != Scheme::Winnow {
        return Ok(());
    }
    if fields.passages.is_none_or(|windows| windows.stride() != 1) {
        return Err(refuse("the scheme winnow needs passages of a stride of 1, such as 8:1"));
    }
    if fields.passages.is_some_and(|windows| windows.window() < RUN_MIN) {
        return Err(refuse(
            "fingerprints (scheme winnow) find runs of 4 words or more: give passages of 4:1 or \
             more, such as 8:1",
        ));
    }
    let rows = (fields.hashes, fields.bands, fields.rows, fields.lane_bits);
    let threshold = fields.threshold.total_cmp(&(1.0 / f64::from(WINNOW_ROWS))).is_eq();
    if rows != (WINNOW_ROWS, WINNOW_ROWS, 1, 32) || !threshold || fields.bag {
        return Err(refuse(
            "fingerprints (scheme winnow) have neither threshold, hashes, bands, lane bits nor \
             bag: leave these out; passages as 50:25 have them",
        ));
    }
    Ok(())
}

impl Params {
    /// Small parameters with the same shingles, normalisation and seed, for documents of which only
    /// the shingles count: without list, bag and fingerprints.
    pub(crate) fn of_shingles(&self) -> Result<Self> {
        let (f, (bands, rows)) = (&self.fields, (1, 1));
        let builder = match f.scheme {
            Scheme::Winnow => {
                let builder = Self::builder().shingles(f.shingles).normalise(f.normalise);
                builder.keep_space(f.keep_space).seed(f.seed)
            }
            _ => self.to_builder().common(None).bag(false),
        };
        builder.hashes(16).bands(bands, rows).build()
    }
}
