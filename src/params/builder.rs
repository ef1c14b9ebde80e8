//! Builds parameters: takes what the caller asks for and chooses the rest.
//!
//! Knows the rule for bands. Does not know what the parameters are used for.

use std::fmt;
use std::sync::Arc;

use super::normalise::Normalise;
use super::pieces::Windows;
use super::shape::{Scheme, Shingles};
use super::{Fields, HASHES, Params, stop};
use crate::curve;
use crate::{Error, Result};

/// Collects what [`Params`] shall be; nothing is checked before [`ParamsBuilder::build`].
#[derive(Clone)]
pub struct ParamsBuilder {
    threshold: f64,
    recall_target: f64,
    hashes: usize,
    bands: Option<(usize, usize)>,
    lane_bits: Option<u32>,
    /// None: as the scheme has it.
    shingles: Option<Shingles>,
    stop: Option<Arc<str>>,
    passages: Option<Windows>,
    bag: bool,
    /// None: the default of the shingles.
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
            hashes: 128,
            bands: None,
            lane_bits: None,
            shingles: None,
            stop: None,
            passages: None,
            bag: false,
            normalise: None,
            keep_space: false,
            scheme: Scheme::Fast,
            seed: 0,
        }
    }

    /// What makes the same parameters again.
    pub(super) fn of(fields: &Fields, stop: Option<Arc<str>>) -> Self {
        Self {
            threshold: fields.threshold,
            recall_target: fields.recall_target,
            hashes: fields.hashes as usize,
            bands: Some((fields.bands as usize, fields.rows as usize)),
            lane_bits: Some(fields.lane_bits),
            shingles: Some(fields.shingles),
            stop,
            passages: fields.passages,
            bag: fields.bag,
            normalise: Some(fields.normalise)
                .filter(|normalise| *normalise != Normalise::default_of(fields.shingles)),
            keep_space: fields.keep_space,
            scheme: fields.scheme,
            seed: fields.seed,
        }
    }

    /// The least similarity that bands are chosen for: above 0, at most 1. Default 0.7.
    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// The chance that a pair at the threshold is a candidate, where the bands are chosen:
    /// between 0 and 1. Default 0.95. More means more bands of fewer rows: slower queries.
    #[must_use]
    pub fn recall_target(mut self, recall_target: f64) -> Self {
        self.recall_target = recall_target;
        self
    }

    /// Rows of a signature: 16 to 1,024, default 128. The estimate's standard error is at most
    /// 1 / (2 sqrt(hashes)); bytes on disk and sketching time grow with it.
    #[must_use]
    pub fn hashes(mut self, hashes: usize) -> Self {
        self.hashes = hashes;
        self
    }

    /// Takes `bands` bands of `rows` rows each instead of choosing; together at most `hashes`.
    #[must_use]
    pub fn bands(mut self, bands: usize, rows: usize) -> Self {
        self.bands = Some((bands, rows));
        self
    }

    /// Chooses bands for threshold and recall target, as if [`ParamsBuilder::bands`] had not been
    /// called.
    #[must_use]
    pub fn choose_bands(mut self) -> Self {
        self.bands = None;
        self
    }

    /// Bits that a row is stored in: 8 or 16. Default: 8 for bands of three rows and more, else
    /// 16, so that unrelated documents seldom share a band. With [`Scheme::External`] 32 or 64
    /// keep the values themselves: for unions, and for other tools.
    #[must_use]
    pub fn lane_bits(mut self, lane_bits: u32) -> Self {
        self.lane_bits = Some(lane_bits);
        self
    }

    /// The pieces that two texts are compared by. Default `words:3`; with [`Scheme::External`]
    /// always `items`.
    #[must_use]
    pub fn shingles(mut self, shingles: Shingles) -> Self {
        self.shingles = Some(shingles);
        self
    }

    /// Words that texts are compared without: those that every text has say nothing, above all
    /// with `words:1`. Only for shingles of words; they are found in texts whatever their case is
    /// there, unless upper case stays. Stored with the index, at most 64 KiB. Default: none.
    #[must_use]
    pub fn stop_words<I, T>(mut self, words: I) -> Self
    where
        I: IntoIterator<Item = T>,
        T: AsRef<str>,
    {
        self.stop = stop::list(words).map(Arc::from);
        self
    }

    /// Makes the index one of passages: texts are cut into windows of words, and asked for by what
    /// they quote. See [`PassageIndex`](crate::passages::PassageIndex). Only for shingles of
    /// words. Default: an index of documents.
    #[must_use]
    pub fn passages(mut self, windows: Windows) -> Self {
        self.passages = Some(windows);
        self
    }

    /// Whether repeats count. Default: no.
    #[must_use]
    pub fn bag(mut self, bag: bool) -> Self {
        self.bag = bag;
        self
    }

    /// What is done to the characters of a text before it is cut into shingles. Default:
    /// [`Normalise::Fold`] without options; items are taken as they are, unless this asks for
    /// `Fold`.
    #[must_use]
    pub fn normalise(mut self, normalise: Normalise) -> Self {
        self.normalise = Some(normalise);
        self
    }

    /// Whether upper case stays. `true` asks for [`Normalise::Nfc`], or with
    /// [`ParamsBuilder::no_nfc`] for [`Normalise::None`].
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

    /// Whether white space stays as it is. Default: no, runs become one blank.
    #[must_use]
    pub fn keep_space(mut self, keep_space: bool) -> Self {
        self.keep_space = keep_space;
        self
    }

    /// Whether Unicode's normalisation form C is left out. `true` asks for [`Normalise::Lower`],
    /// or with [`ParamsBuilder::keep_case`] for [`Normalise::None`].
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

    /// The seed of every hash. Default 0. A person who knows the seed can craft texts that
    /// collide.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Checks all, and chooses bands and lane width where they were not given. `Invalid` names
    /// what is out of range, or the number of hashes that would be needed.
    pub fn build(self) -> Result<Params> {
        let hashes = narrow("hashes", self.hashes)?;
        let external = self.scheme.is_external();
        let shingles = if external { Shingles::Items } else { Shingles::Words(3) };
        let shingles = self.shingles.unwrap_or(shingles);
        let fields = Fields {
            scheme: self.scheme,
            seed: self.seed,
            hashes,
            bands: 1,
            rows: 1,
            lane_bits: self.lane_bits.unwrap_or(16),
            shingles,
            passages: self.passages,
            bag: self.bag,
            normalise: self.normalise.unwrap_or(Normalise::default_of(shingles)),
            keep_space: self.keep_space,
            threshold: self.threshold,
            recall_target: self.recall_target,
        };
        // All but bands, first: choosing them needs the rest to be sound.
        let mut fields = Params::checked(fields, self.stop.clone())?.fields;
        let (bands, rows) = match self.bands {
            Some((bands, rows)) => (narrow("bands", bands)?, narrow("rows", rows)?),
            None => self.choose(hashes)?,
        };
        fields.bands = bands;
        fields.rows = rows;
        fields.lane_bits = self.lane_bits_for(rows);
        Params::checked(fields, self.stop)
    }

    fn lane_bits_for(&self, rows: u32) -> u32 {
        self.lane_bits.unwrap_or(if rows >= 3 { 8 } else { 16 })
    }

    /// The largest number of rows for which some number of bands reaches the recall target, and
    /// the fewest such bands. Bands of one row are never chosen: they make every query slow.
    fn choose(&self, hashes: u32) -> Result<(u32, u32)> {
        for rows in (2..=hashes).rev() {
            if let Some(bands) = self.fewest_bands(rows, hashes / rows) {
                return Ok((bands, rows));
            }
        }
        let enough = (hashes..=*HASHES.end())
            .find(|&hashes| self.fewest_bands(2, hashes / 2).is_some())
            .map_or_else(
                || "no number of hashes up to 1024 does".to_owned(),
                |enough| format!("{enough} hashes do"),
            );
        Err(Error::invalid(format!(
            "no bands of two and more rows of {hashes} hashes find a pair of similarity {} with a \
             chance of {}; {enough}; or give the bands, or a lower recall target",
            self.threshold, self.recall_target
        )))
    }

    /// The fewest bands, at most `most`, of `rows` rows that reach the recall target.
    fn fewest_bands(&self, rows: u32, most: u32) -> Option<u32> {
        let collision = curve::lane_collision(self.lane_bits_for(rows));
        let agreement = curve::row_agreement(self.threshold, collision);
        (1..=most).find(|&bands| curve::candidate(agreement, bands, rows) >= self.recall_target)
    }
}

fn narrow(name: &str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::invalid(format!("{name} is far too large: {value}")))
}
