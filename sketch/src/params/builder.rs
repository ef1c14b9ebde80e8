//! Builds parameters: validates the caller's settings, and chooses those that were not given.
//!
//! Contains the rule by which bands are chosen.

use std::fmt;
use std::sync::Arc;

use super::common::Common;
use super::lists::Lists;
use super::normalise::Normalise;
use super::pieces::Windows;
use super::shape::{Scheme, Shingles};
use super::{Fields, HASHES, Params, WINNOW_ROWS, stop};
use crate::curve;
use crate::{Error, Result};

/// Number of rows of a signature, unless the bands need more.
const HASHES_DEFAULT: u32 = 128;
/// If the bands need more hashes, their number is raised in steps of this size: whole words of a
/// comparison.
const HASHES_STEP: usize = 64;

/// A builder of [`Params`]. Settings are checked by [`ParamsBuilder::build`], not before.
#[derive(Clone)]
pub struct ParamsBuilder {
    threshold: f64,
    recall_target: f64,
    /// If `None`, as many as the bands need, but at least [`HASHES_DEFAULT`].
    hashes: Option<usize>,
    bands: Option<(usize, usize)>,
    lane_bits: Option<u32>,
    /// If `None`, the default of the scheme.
    shingles: Option<Shingles>,
    lists: Lists,
    passages: Option<Windows>,
    bag: bool,
    /// If `None`, the default of the shingles.
    normalise: Option<Normalise>,
    keep_space: bool,
    scheme: Scheme,
    seed: u64,
}

impl fmt::Debug for ParamsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut builder = f.debug_struct("ParamsBuilder");
        builder.field("scheme", &format_args!("{}", self.scheme));
        builder.field("shingles", &self.shingles).field("hashes", &self.hashes);
        builder.field("bands", &self.bands).field("lane_bits", &self.lane_bits);
        builder.field("threshold", &self.threshold).finish_non_exhaustive()
    }
}

impl ParamsBuilder {
    pub(super) fn new(threshold: f64) -> Self {
        Self {
            threshold,
            recall_target: 0.95,
            hashes: None,
            bands: None,
            lane_bits: None,
            shingles: None,
            lists: Lists::default(),
            passages: None,
            bag: false,
            normalise: None,
            keep_space: false,
            scheme: Scheme::Fast,
            seed: 0,
        }
    }

    /// A builder with the settings of existing parameters: it builds equal parameters.
    pub(super) fn from_fields(fields: &Fields, lists: Lists) -> Self {
        Self {
            threshold: fields.threshold,
            recall_target: fields.recall_target,
            hashes: Some(fields.hashes as usize),
            bands: Some((fields.bands as usize, fields.rows as usize)),
            lane_bits: Some(fields.lane_bits),
            shingles: Some(fields.shingles),
            lists,
            passages: fields.passages,
            bag: fields.bag,
            normalise: Some(fields.normalise)
                .filter(|normalise| *normalise != Normalise::default_of(fields.shingles)),
            keep_space: fields.keep_space,
            scheme: fields.scheme,
            seed: fields.seed,
        }
    }

    /// Sets the similarity to find: above 0, at most 1. Bands are chosen for it. Default: 0.7.
    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// Sets the probability that a pair at the threshold is a candidate: between 0 and 1. Default:
    /// 0.95. A higher target gives more bands with fewer rows, and slower queries. It has no effect
    /// if bands are given.
    #[must_use]
    pub fn recall_target(mut self, recall_target: f64) -> Self {
        self.recall_target = recall_target;
        self
    }

    /// Sets the number of rows per signature: 16 to 1,024. With more rows the standard error of the
    /// estimate decreases: it is at most 1 / (2 sqrt(hashes)). Bytes on disk and sketching time
    /// increase. Default: 128, or for thresholds below about 0.22 as many multiples of 64 as the
    /// bands need.
    #[must_use]
    pub fn hashes(mut self, hashes: usize) -> Self {
        self.hashes = Some(hashes);
        self
    }

    /// Sets the bands instead of choosing them: `bands` bands of `rows` rows each, at most `hashes`
    /// rows in all.
    #[must_use]
    pub fn bands(mut self, bands: usize, rows: usize) -> Self {
        self.bands = Some((bands, rows));
        self
    }

    /// Whether bands were set.
    pub(crate) fn has_bands(&self) -> bool {
        self.bands.is_some()
    }

    /// Chooses bands for the threshold and the recall target, and so undoes
    /// [`ParamsBuilder::bands`].
    #[must_use]
    pub fn choose_bands(mut self) -> Self {
        self.bands = None;
        self
    }

    /// Sets the number of bits per row: 8 or 16. Default: 8 for bands of three or more rows,
    /// otherwise 16, so that unrelated documents rarely share a band. With [`Scheme::External`], 32
    /// and 64 are allowed, too: they store the row values unchanged, for unions and for other
    /// programs.
    #[must_use]
    pub fn lane_bits(mut self, lane_bits: u32) -> Self {
        self.lane_bits = Some(lane_bits);
        self
    }

    /// Sets the kind of shingles by which texts are compared. Default: `words:3`; with
    /// [`Scheme::External`] always `items`.
    #[must_use]
    pub fn shingles(mut self, shingles: Shingles) -> Self {
        self.shingles = Some(shingles);
        self
    }

    /// Sets stop words: words that are left out before texts are compared. Words that occur in
    /// every text carry no information, above all with `words:1`.
    ///
    /// Only valid for shingles of words. Case is ignored unless [`ParamsBuilder::keep_case`] is
    /// set. The list is stored in the index and has at most 64 KiB. Default: none.
    #[must_use]
    pub fn stop_words<I, T>(mut self, words: I) -> Self
    where
        I: IntoIterator<Item = T>,
        T: AsRef<str>,
    {
        self.lists.stop = stop::list(words).map(Arc::from);
        self
    }

    /// Sets the shingles that are left out because many documents share them: see [`Common`]. The
    /// list is stored in the index. It must have been made for the same shingles, normalisation,
    /// stop list and seed. Not for passages. Default: none.
    #[must_use]
    pub fn common(mut self, common: impl Into<Option<Common>>) -> Self {
        self.lists.common = common.into();
        self
    }

    /// Makes a passage index: texts are cut into windows of words, and are found by their
    /// quotations. See `PassageIndex`. Only valid for shingles of
    /// words. Default: an index of documents.
    #[must_use]
    pub fn passages(mut self, windows: Windows) -> Self {
        self.passages = Some(windows);
        self
    }

    /// Whether repeated shingles count (a multiset). Default: no (a set).
    #[must_use]
    pub fn bag(mut self, bag: bool) -> Self {
        self.bag = bag;
        self
    }

    /// The normalisation of a text's characters, applied before it is cut into shingles. Default:
    /// [`Normalise::Fold`] without options. Items are only normalised if this is set to `Fold`.
    #[must_use]
    pub fn normalise(mut self, normalise: Normalise) -> Self {
        self.normalise = Some(normalise);
        self
    }

    /// Whether case is significant. `true` sets [`Normalise::Nfc`]; together with
    /// [`ParamsBuilder::no_nfc`] it sets [`Normalise::None`].
    #[must_use]
    pub fn keep_case(mut self, keep_case: bool) -> Self {
        let no_nfc = matches!(self.normalise, Some(Normalise::Lower | Normalise::None));
        if keep_case {
            self.normalise = Some(if no_nfc { Normalise::None } else { Normalise::Nfc });
        } else if matches!(self.normalise, Some(Normalise::Nfc | Normalise::None)) {
            self.normalise = Some(if no_nfc { Normalise::Lower } else { Normalise::Case });
        }
        self
    }

    /// Whether white space is significant. Default: no, each run of white space becomes one space.
    #[must_use]
    pub fn keep_space(mut self, keep_space: bool) -> Self {
        self.keep_space = keep_space;
        self
    }

    /// Whether Unicode's normalisation form C is omitted. `true` sets [`Normalise::Lower`];
    /// together with [`ParamsBuilder::keep_case`] it sets [`Normalise::None`].
    #[must_use]
    pub fn no_nfc(mut self, no_nfc: bool) -> Self {
        let keep_case = matches!(self.normalise, Some(Normalise::Nfc | Normalise::None));
        if no_nfc {
            self.normalise = Some(if keep_case { Normalise::None } else { Normalise::Lower });
        } else if matches!(self.normalise, Some(Normalise::Lower | Normalise::None)) {
            self.normalise = Some(if keep_case { Normalise::Nfc } else { Normalise::Case });
        }
        self
    }

    /// How shingles become rows. Default [`Scheme::Fast`].
    #[must_use]
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    /// The seed of all hash functions. Default 0. Anyone who knows the seed can craft texts that
    /// collide.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks the settings, and chooses bands and lane width unless they were given.
    ///
    /// # Errors
    ///
    /// `Invalid`: the message names the setting that is out of range, or tells how many hashes the
    /// threshold and the recall target need.
    pub fn build(self) -> Result<Params> {
        let winnows = self.scheme == Scheme::Winnow;
        let usual = if winnows { WINNOW_ROWS } else { HASHES_DEFAULT };
        let hashes = self.hashes.map_or(Ok(usual), |hashes| narrow("hashes", hashes))?;
        let external = self.scheme.is_external();
        let shingles = if external { Shingles::Items } else { Shingles::Words(3) };
        let shingles = self.shingles.unwrap_or(shingles);
        let fields = Fields {
            scheme: self.scheme,
            seed: self.seed,
            hashes,
            bands: if winnows { WINNOW_ROWS } else { 1 },
            rows: 1,
            lane_bits: self.lane_bits.unwrap_or(if winnows { 32 } else { 16 }),
            shingles,
            passages: self.passages,
            bag: self.bag,
            normalise: self.normalise.unwrap_or(Normalise::default_of(shingles)),
            keep_space: self.keep_space,
            threshold: self.threshold,
            recall_target: self.recall_target,
        };
        // The other fields are checked first: choosing bands needs valid values.
        let mut fields = Params::checked(fields, self.lists.clone())?.fields;
        let (hashes, (bands, rows)) = match self.bands {
            Some((bands, rows)) => (hashes, (narrow("bands", bands)?, narrow("rows", rows)?)),
            None if winnows => (hashes, (WINNOW_ROWS, 1)),
            None => self.choose(hashes)?,
        };
        fields.hashes = hashes;
        fields.bands = bands;
        fields.rows = rows;
        if !winnows {
            fields.lane_bits = self.lane_bits_for(rows);
        }
        Params::checked(fields, self.lists)
    }

    fn lane_bits_for(&self, rows: u32) -> u32 {
        self.lane_bits.unwrap_or(if rows >= 3 { 8 } else { 16 })
    }

    /// Chooses bands, and more hashes than `hashes` if the bands need them and none were given.
    fn choose(&self, hashes: u32) -> Result<(u32, (u32, u32))> {
        let most = if self.hashes.is_some() { hashes } else { *HASHES.end() };
        let mut numbers = (hashes..=most).step_by(HASHES_STEP);
        let chosen = numbers.find_map(|hashes| Some((hashes, self.bands_of(hashes)?)));
        chosen.ok_or_else(|| {
            let enough = (hashes..=*HASHES.end())
                .find(|&hashes| self.fewest_bands(2, hashes / 2).is_some())
                .map_or_else(
                    || "no number of hashes up to 1024 does".to_owned(),
                    |enough| format!("{enough} hashes do"),
                );
            Error::invalid(format!(
                "no bands of two or more rows of {most} hashes find a pair of similarity {} with \
                 a probability of {}; {enough}; or give the bands, or a lower recall target",
                self.threshold, self.recall_target
            ))
        })
    }

    /// Chooses the largest number of rows per band with which the recall target can be reached, and
    /// then the smallest number of such bands that reaches it. Bands of one row are never chosen:
    /// they make every query slow.
    fn bands_of(&self, hashes: u32) -> Option<(u32, u32)> {
        (2..=hashes).rev().find_map(|rows| Some((self.fewest_bands(rows, hashes / rows)?, rows)))
    }

    /// The smallest number of bands, at most `most`, with which bands of `rows` rows reach the
    /// recall target.
    fn fewest_bands(&self, rows: u32, most: u32) -> Option<u32> {
        let collision = curve::lane_collision(self.lane_bits_for(rows));
        let agreement = curve::row_agreement(self.threshold, collision);
        (1..=most).find(|&bands| curve::candidate(agreement, bands, rows) >= self.recall_target)
    }
}

fn narrow(name: &str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::invalid(format!("{name} is too large: {value}")))
}
