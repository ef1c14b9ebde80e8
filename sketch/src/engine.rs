//! What a storage engine needs beside the types: bands and keys as numbers, rows compared as bytes,
//! settings as text. The crate `nearkin` is such an engine, and does not export this module.

use super::original::{Original, Overlap};
use super::params::{Params, ParamsBuilder, Shingles, Windows};
use super::signature::Signature;
use super::sketcher::Sketcher;
use crate::Result;

pub use super::band::{band_key, key_hash};
pub use super::compare::{
    Agreement, BitWindow, count_equal_rows, equal_bits, first_shared_band, shares_a_band,
};
pub use super::curve::THRESHOLD_SLACK;
pub use super::excerpt::Excerpt;
pub use super::lane::{convert as convert_lanes, is_convertible as lanes_are_convertible};
pub use super::normalise::unicode_versions;
pub use super::numbers::{index, wide};
pub use super::original::{needed_for_containment, needed_for_similarity};
pub use super::params::settings::{COUNT, SHARE, SWITCH, each_once, parse, plain, unknown, value};
pub use super::params::verify::ERRORS_BELOW;
pub use super::unicode::words::words;
pub use super::winnow::{Fingerprint, Winnowed, Winnower, Word};

/// Returns an error for parameters outside the limits, which only a stored row can have.
///
/// # Errors
///
/// `Invalid` names the first value outside its limits.
pub fn validate(params: &Params) -> Result<()> {
    params.validate()
}

/// Whether bands were set, instead of being chosen for a threshold.
pub fn has_bands(builder: &ParamsBuilder) -> bool {
    builder.has_bands()
}

/// The number of units per shingle; 1 for items.
pub fn units_of(shingles: Shingles) -> usize {
    shingles.units()
}

/// The distance between the starts of two consecutive windows of a query, in words.
pub fn query_stride(windows: Windows) -> usize {
    windows.query_stride()
}

/// A signature from its stored parts. `bytes` must have the length of signatures of `params`.
#[inline]
pub fn signature_from_parts(params: &Params, shingle_count: u32, bytes: Box<[u8]>) -> Signature {
    Signature::from_parts(params, shingle_count, bytes)
}

/// Same as [`Sketcher::text`], but `None` for a text without units, even if it is not blank.
///
/// # Errors
///
/// Same as [`Sketcher::text`].
pub fn text_with_units(sketcher: &Sketcher, text: &str) -> Result<Option<Signature>> {
    sketcher.text_with_units(text)
}

/// The overlap of two documents, or `None` as soon as it is certain that fewer than `needed`
/// shingles are shared.
pub fn overlap_from(a: &Original, b: &Original, needed: f64) -> Option<Overlap> {
    a.overlap_of(b, needed)
}
