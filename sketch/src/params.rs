//! The parameters of an index: how signatures are made, how they are cut into bands, and the
//! probabilities that follow from this.
//!
//! This module defines names, ranges and ids; `sketch` computes the signatures.

use crate::curve;
use crate::{Error, Result};
use std::fmt;

mod builder;
mod common;
mod containment;
mod lists;
mod normalise;
mod pieces;
mod preset;
mod scheme_name;
pub(crate) mod settings;
mod shape;
mod stop;
mod stored;
pub(crate) mod verify;
mod winnow;

pub use builder::ParamsBuilder;
pub use common::Common;
pub use containment::Containment;
use lists::Lists;
pub use normalise::{FoldOptions, Normalise};
pub use pieces::Windows;
pub use preset::Preset;
pub use scheme_name::SchemeName;
pub use shape::{Scheme, Shingles};
use stored::Stored;
pub(crate) use winnow::WINNOW_ROWS;
use winnow::check_winnow;

/// Range of the number of rows per signature.
pub(crate) const HASHES: std::ops::RangeInclusive<u32> = 16..=1024;

/// The settings that determine the signature of a text, and which documents are candidates of each
/// other. They are fixed when an index is created.
///
/// A value of this type is always valid: [`ParamsBuilder::build`] and deserialisation return an
/// error for values outside the limits. `Debug` omits the seed, which may be secret, and what the
/// lists contain.
///
/// ```
/// # use nearkin_sketch as nearkin;
/// # fn main() -> nearkin::Result<()> {
/// use nearkin::{Params, Shingles};
///
/// let params = Params::for_threshold(0.8).shingles(Shingles::Words(2)).build()?;
/// assert_eq!(params.hashes(), 128);
/// // Nearly every pair of similarity 0.95 is returned by a query at 0.8.
/// assert!(params.expected_recall(0.95, 0.8) > 0.99);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Params {
    fields: Fields,
    lists: Lists,
    /// The signature id, cached because every query compares it.
    signature_id: u64,
}

/// The fields of [`Params`] that have a fixed size.
#[derive(Clone, Copy, PartialEq)]
struct Fields {
    scheme: Scheme,
    seed: u64,
    hashes: u32,
    bands: u32,
    rows: u32,
    lane_bits: u32,
    shingles: Shingles,
    passages: Option<Windows>,
    bag: bool,
    normalise: Normalise,
    keep_space: bool,
    threshold: f64,
    recall_target: f64,
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = &self.fields;
        let mut params = f.debug_struct("Params");
        params.field("scheme", &format_args!("{}", fields.scheme));
        params.field("shingles", &format_args!("{}", fields.shingles));
        params.field("hashes", &fields.hashes).field("lane_bits", &fields.lane_bits);
        params.field("bands", &fields.bands).field("rows_per_band", &fields.rows);
        params.field("threshold", &fields.threshold).finish_non_exhaustive()
    }
}

impl Params {
    fn checked(fields: Fields, lists: Lists) -> Result<Self> {
        let mut params = Self { fields, lists, signature_id: 0 };
        params.validate()?;
        let shingle_id = params.shingle_id();
        let common = params.lists.common.take();
        params.lists.common = common.map(|common| common.bound(shingle_id)).transpose()?;
        params.signature_id = xxhash_rust::xxh3::xxh3_64(params.signature_text().as_bytes());
        Ok(params)
    }

    /// Parameters for finding pairs of Jaccard similarity `threshold` (above 0, at most 1) or more.
    /// Bands are chosen so that a pair at the threshold is a candidate with the probability of the
    /// recall target (default 0.95). Answers are filtered by the estimated similarity.
    pub fn for_threshold(threshold: f64) -> ParamsBuilder {
        ParamsBuilder::new(threshold)
    }

    /// A builder for parameters with the threshold 0.7.
    pub fn builder() -> ParamsBuilder {
        ParamsBuilder::new(0.7)
    }

    /// The number of rows per signature, k.
    pub fn hashes(&self) -> usize {
        self.fields.hashes as usize
    }

    /// The number of bands, b.
    pub fn bands(&self) -> usize {
        self.fields.bands as usize
    }

    /// The number of rows per band, r. Rows beyond `bands() * rows_per_band()` only serve the
    /// estimate.
    pub fn rows_per_band(&self) -> usize {
        self.fields.rows as usize
    }

    /// The number of bits in which a row is stored: 8 or 16; with an external scheme also 32 or 64.
    pub fn lane_bits(&self) -> u32 {
        self.fields.lane_bits
    }

    /// The kind of shingles by which texts are compared.
    pub fn shingles(&self) -> Shingles {
        self.fields.shingles
    }

    /// The windows of a passage index, or `None` for an index of documents: see
    /// `PassageIndex`.
    pub fn passages(&self) -> Option<Windows> {
        self.fields.passages
    }

    /// How shingles become rows.
    pub fn scheme(&self) -> Scheme {
        self.fields.scheme
    }

    /// The seed of all hash functions. An attacker who does not know the seed cannot craft
    /// collisions.
    pub fn seed(&self) -> u64 {
        self.fields.seed
    }

    /// The similarity that the bands were chosen for. It is the default threshold of a query.
    pub fn threshold(&self) -> f64 {
        self.fields.threshold
    }

    /// The requested probability that a pair at the threshold is a candidate.
    pub fn recall_target(&self) -> f64 {
        self.fields.recall_target
    }

    /// Whether repeated shingles count (a multiset) or not (a set, the default).
    pub fn bag(&self) -> bool {
        self.fields.bag
    }

    /// The stop words as they were given, in byte order.
    pub fn stop_words(&self) -> impl Iterator<Item = &str> {
        self.lists.stop.iter().flat_map(|stop| stop.split('\n'))
    }

    /// The shingles that are left out because many documents share them.
    pub fn common(&self) -> Option<&Common> {
        self.lists.common.as_ref()
    }

    /// The normalisation of a text's characters, applied before the text is cut into shingles.
    pub fn normalise(&self) -> Normalise {
        self.fields.normalise
    }

    /// Whether case is significant.
    pub fn keep_case(&self) -> bool {
        matches!(self.fields.normalise, Normalise::None | Normalise::Nfc)
    }

    /// Whether white space is significant.
    pub fn keep_space(&self) -> bool {
        self.fields.keep_space
    }

    /// Whether Unicode's normalisation form C is omitted.
    pub fn no_nfc(&self) -> bool {
        matches!(self.fields.normalise, Normalise::None | Normalise::Lower)
    }

    /// A builder with the same settings, to change some of them. It keeps bands and lane width; to
    /// choose the bands again, call [`ParamsBuilder::choose_bands`].
    pub fn to_builder(&self) -> ParamsBuilder {
        ParamsBuilder::from_fields(&self.fields, self.lists.clone())
    }

    /// The length of a signature in bytes.
    pub fn signature_bytes(&self) -> usize {
        self.hashes() * self.lane_bytes()
    }

    /// The length of a band in bytes. Band `i` is the range of bytes from `i * band_bytes()` to `(i
    /// + 1) * band_bytes()` of the signature.
    pub fn band_bytes(&self) -> usize {
        self.rows_per_band() * self.lane_bytes()
    }

    fn lane_bytes(&self) -> usize {
        self.fields.lane_bits as usize / 8
    }

    /// The id of the settings on which a signature depends: scheme, seed, rows, lane width,
    /// normalisation, shingles, lists and bag. Bands and threshold are not part of it, so
    /// signatures stay valid when bands are changed.
    ///
    /// Signatures are comparable if their ids are equal. The definition of the id is frozen: see
    /// `docs/reference/SIGNATURES.md`.
    pub fn signature_id(&self) -> u64 {
        self.signature_id
    }

    /// The id of all settings. Its definition is frozen: see `docs/reference/SIGNATURES.md`.
    pub fn id(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.text().as_bytes())
    }

    /// The text whose hash is `id`. Fractional numbers are printed as the bits of IEEE 754 doubles.
    pub(crate) fn text(&self) -> String {
        let f = &self.fields;
        format!(
            "{};bands={};rows={};threshold={:016x};recall={:016x}{}",
            self.signature_text(),
            f.bands,
            f.rows,
            f.threshold.to_bits(),
            f.recall_target.to_bits(),
            f.passages.map_or_else(String::new, |windows| format!(";passages={windows}"))
        )
    }

    /// The text whose hash is `signature_id`.
    fn signature_text(&self) -> String {
        let f = &self.fields;
        format!(
            "nearkin-signature-1;scheme={};seed={};hashes={};lanes={};shingles={};bag={};{}{}",
            f.scheme,
            f.seed,
            f.hashes,
            f.lane_bits,
            f.shingles,
            f.bag,
            self.normalise_text(),
            self.lists.id_text()
        )
    }

    /// The id of the settings on which the hash of a shingle depends: a list of common shingles is
    /// bound to it.
    pub(crate) fn shingle_id(&self) -> u64 {
        let f = &self.fields;
        let stop = stop::id_text(self.lists.stop.as_deref());
        let text = format!(
            "nearkin-shingles-1;seed={};shingles={};{}{stop}",
            f.seed,
            f.shingles,
            self.normalise_text()
        );
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    }

    /// The normalisation as it appears in the texts of ids.
    fn normalise_text(&self) -> String {
        let f = &self.fields;
        if f.normalise.is_fold() {
            return format!("normalise={};keep-space={}", f.normalise, f.keep_space);
        }
        let (keep_case, no_nfc) = (self.keep_case(), self.no_nfc());
        format!("keep-case={keep_case};keep-space={};no-nfc={no_nfc}", f.keep_space)
    }

    fn collision(&self) -> f64 {
        curve::lane_collision(self.fields.lane_bits)
    }

    /// The minimum number of equal rows that reaches `threshold`: the smallest m with (m/k - c) /
    /// (1 - c) >= threshold - 1e-9. Here c = 2^-`lane_bits`, or 0 if rows have 32 bits or more. The
    /// result is above `hashes()` if no number of rows reaches the threshold.
    pub fn equal_rows_min(&self, threshold: f64) -> u32 {
        curve::equal_rows_min(threshold, self.fields.hashes, self.collision())
    }

    /// The estimated Jaccard similarity of two signatures with `equal_rows` equal rows. A negative
    /// estimate is clamped to 0.
    pub fn similarity(&self, equal_rows: u32) -> f64 {
        self.similarity_unclamped(equal_rows).max(0.0)
    }

    /// The unbiased estimate: [`Params::similarity`] without the clamp. It is negative if fewer
    /// rows agree than expected by chance. Use it for averages.
    pub fn similarity_unclamped(&self, equal_rows: u32) -> f64 {
        curve::estimate(equal_rows, self.fields.hashes, self.collision())
    }

    /// The standard error of [`Params::similarity`]. A search two standard errors below a threshold
    /// finds nearly all pairs that reach the threshold.
    pub fn standard_error(&self, equal_rows: u32) -> f64 {
        let equal = equal_rows.min(self.fields.hashes);
        curve::standard_error(equal, self.fields.hashes, self.collision())
    }

    /// The probability that a pair of true Jaccard similarity `similarity` shares a band.
    pub fn candidate_probability(&self, similarity: f64) -> f64 {
        let agreement = curve::row_agreement(similarity, self.collision());
        curve::candidate(agreement, self.fields.bands, self.fields.rows)
    }

    /// The probability that a query at `threshold` returns a pair whose true Jaccard similarity is
    /// `similarity`: the pair must share a band *and* its estimate must reach `threshold`. About
    /// one half if `similarity == threshold`. Costs `hashes()`^2 multiplications.
    pub fn expected_recall(&self, similarity: f64, threshold: f64) -> f64 {
        let f = &self.fields;
        let agreement = curve::row_agreement(similarity, self.collision());
        curve::returned(agreement, f.hashes, f.bands, f.rows, self.equal_rows_min(threshold))
    }

    /// Warnings about unusual costs or weak settings, one per item. Empty for usual parameters.
    pub fn warnings(&self) -> Vec<String> {
        let f = &self.fields;
        let mut warnings = Vec::new();
        if f.scheme == Scheme::Winnow {
            return warnings;
        }
        if f.rows == 1 && f.lane_bits <= 16 {
            let chance = 2f64.powi(i32::try_from(f.lane_bits).unwrap_or(16));
            warnings.push(format!(
                "bands of one row: every document is compared with all that share any one row, by \
                 accident {} in {chance} unrelated documents; queries slow down as the index grows",
                f.bands
            ));
        } else if f.rows * f.lane_bits < 24 {
            warnings.push(format!(
                "bands of {} bits: {} in {} unrelated documents share one by accident and are \
                 compared for nothing; 16-bit lanes, which need the texts again, avoid it",
                f.rows * f.lane_bits,
                f.bands,
                2f64.powf(f64::from(f.rows * f.lane_bits))
            ));
        }
        let chance = self.candidate_probability(f.threshold);
        if chance < 0.5 {
            warnings.push(format!(
                "{} bands of {} rows find a pair of similarity {} with a probability of only \
                 {chance:.3}; use more bands of fewer rows",
                f.bands, f.rows, f.threshold
            ));
        }
        warnings
    }

    /// The differences between `self` ("here") and `other` ("asked"), one phrase for each. They are
    /// part of the message of a `Mismatch` error.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (a, b) = (&self.fields, &other.fields);
        let mut found = self.signature_differences(other);
        let seed = if a.seed == b.seed { None } else { found.pop() };
        compare(&mut found, "bands", &a.bands, &b.bands);
        compare(&mut found, "rows per band", &a.rows, &b.rows);
        compare(&mut found, "threshold", &a.threshold, &b.threshold);
        compare(&mut found, "recall target", &a.recall_target, &b.recall_target);
        let passages = |f: &Fields| f.passages.map_or("none".to_owned(), |all| all.to_string());
        compare(&mut found, "passages", &passages(a), &passages(b));
        found.extend(seed);
        found
    }

    /// The differences in settings on which signatures depend. If there are none, signatures of one
    /// are valid for the other, whatever the bands and thresholds.
    pub fn signature_differences(&self, other: &Self) -> Vec<String> {
        let (a, b) = (&self.fields, &other.fields);
        let mut found = Vec::new();
        compare(&mut found, "scheme", &a.scheme, &b.scheme);
        compare(&mut found, "hashes", &a.hashes, &b.hashes);
        compare(&mut found, "lane bits", &a.lane_bits, &b.lane_bits);
        compare(&mut found, "shingles", &a.shingles, &b.shingles);
        compare(&mut found, "bag", &a.bag, &b.bag);
        compare(&mut found, "normalisation", &a.normalise, &b.normalise);
        compare(&mut found, "keep space", &a.keep_space, &b.keep_space);
        self.lists.differences(&other.lists, &mut found);
        if a.seed != b.seed {
            // The value is not printed: a seed may be secret, and messages go to logs.
            found.push("seed: another one asked".to_owned());
        }
        found
    }

    /// Returns an error for values outside the limits. Every constructor of `Params` calls this.
    pub(crate) fn validate(&self) -> Result<()> {
        let f = &self.fields;
        if !HASHES.contains(&f.hashes) {
            let (low, high) = (HASHES.start(), HASHES.end());
            return Err(refuse(format!("hashes must be {low} to {high}, not {}", f.hashes)));
        }
        if f.bands == 0 || f.rows == 0 {
            return Err(refuse("bands and rows must be at least 1"));
        }
        if f.bands.checked_mul(f.rows).is_none_or(|rows| rows > f.hashes) {
            return Err(refuse(format!(
                "{} bands of {} rows need more rows than the signature's {}",
                f.bands, f.rows, f.hashes
            )));
        }
        check_lane_bits(f)?;
        f.shingles.validate()?;
        if let Some(windows) = f.passages {
            windows.validate(f.shingles, f.scheme)?;
        }
        check_winnow(f)?;
        let as_they_are = matches!(f.normalise, Normalise::Case | Normalise::Fold(_));
        if f.shingles == Shingles::Items && (!as_they_are || f.keep_space) {
            return Err(refuse("items are not normalised; use fold, or omit the option"));
        }
        self.lists.validate(f)?;
        if f.scheme.is_external()
            && (f.shingles != Shingles::Items || f.bag || f.normalise.is_fold())
        {
            return Err(refuse(format!(
                "signatures of {} come from another program; omit shingles, bag and \
                 normalisation: the scheme's name stands for them",
                f.scheme
            )));
        }
        // The negated form also catches NaN.
        if !(f.threshold > 0.0 && f.threshold <= 1.0) {
            return Err(refuse(format!(
                "threshold must be above 0, at most 1, not {}",
                f.threshold
            )));
        }
        if !(f.recall_target > 0.0 && f.recall_target < 1.0) {
            return Err(refuse(format!(
                "recall target must be between 0 and 1, not {}",
                f.recall_target
            )));
        }
        Ok(())
    }
}

/// Lanes of 32 and 64 bits are only valid for signatures made by another program.
fn check_lane_bits(fields: &Fields) -> Result<()> {
    match fields.lane_bits {
        8 | 16 => Ok(()),
        32 | 64 if fields.scheme.is_external() => Ok(()),
        32 if fields.scheme == Scheme::Winnow => Ok(()),
        bits => Err(refuse(format!(
            "lane bits must be 8 or 16 (32 or 64 with a scheme external:NAME), not {bits}"
        ))),
    }
}

/// Adds a phrase to `found` if the two values differ.
fn compare(
    found: &mut Vec<String>,
    name: &str,
    here: &dyn fmt::Display,
    requested: &dyn fmt::Display,
) {
    let (here, requested) = (here.to_string(), requested.to_string());
    if here != requested {
        found.push(format!("{name}: {here} here, {requested} asked"));
    }
}

fn refuse(message: impl Into<String>) -> Error {
    Error::invalid(message)
}

#[cfg(test)]
mod tests;
