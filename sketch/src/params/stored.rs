//! The serialised form of the parameters: in the catalog's row, and wherever a caller stores them.
//!
//! The order of the fields is frozen. `Params` checks the values.

use std::sync::Arc;

use super::common::Common;
use super::lists::Lists;
use super::normalise::StoredNormalise;
use super::pieces::Windows;
use super::shape::{Scheme, Shingles};
use super::{Fields, Normalise, Params};
use crate::{Error, Result};

/// The serialised form of [`Params`]. It may only be changed by adding variants at the end of an
/// enum.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Stored {
    pub(super) scheme: Scheme,
    pub(super) seed: u64,
    pub(super) hashes: u32,
    pub(super) bands: u32,
    pub(super) rows: u32,
    pub(super) lane_bits: u32,
    pub(super) shingles: StoredShingles,
    pub(super) bag: bool,
    /// The normalisation, together with `no_nfc`: see [`StoredNormalise::with`]. In older versions
    /// this field was a boolean; `KeepCase(false)` and `KeepCase(true)` mean what `false` and
    /// `true` meant.
    pub(super) keep_case: StoredNormalise,
    pub(super) keep_space: bool,
    pub(super) no_nfc: bool,
    pub(super) threshold: f64,
    pub(super) recall_target: f64,
}

/// The serialised form of [`Shingles`], with the stop list if there is one.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) enum StoredShingles {
    Words(u32),
    Tokens(u32),
    Chars(u32),
    Lines(u32),
    Items,
    WordsWithout(u32, String),
    /// A passage index: words in a shingle, window, stride, stop list.
    WordsInPassages(u32, u32, u32, Option<String>),
    /// Shingles of any kind with a list of common shingles: kind, stop list, the list.
    WithCommon(Shingles, Option<String>, Common),
    /// Fingerprints: their shingles, the words of a run that is found for certain, the list of
    /// common shingles.
    InRuns(Shingles, u32, Option<Common>),
}

impl From<Params> for Stored {
    fn from(params: Params) -> Self {
        let f = params.fields;
        let Lists { stop, common } = params.lists;
        let stored = |stop: Arc<str>| stop.as_ref().to_owned();
        let shingles = match (f.shingles, stop, common) {
            (shingles, _, common) if f.scheme == Scheme::Winnow => {
                let (run, _) = f.passages.map_or((1, 1), Windows::parts);
                StoredShingles::InRuns(shingles, run, common)
            }
            (shingles, stop, Some(common)) => {
                StoredShingles::WithCommon(shingles, stop.map(stored), common)
            }
            (Shingles::Words(units), stop, None) if f.passages.is_some() => {
                let (window, stride) = f.passages.map_or((1, 1), Windows::parts);
                StoredShingles::WordsInPassages(units, window, stride, stop.map(stored))
            }
            (Shingles::Words(units), None, None) => StoredShingles::Words(units),
            (Shingles::Words(units), Some(stop), None) => {
                StoredShingles::WordsWithout(units, stored(stop))
            }
            // These kinds have no stop list.
            (Shingles::Tokens(units), ..) => StoredShingles::Tokens(units),
            (Shingles::Chars(units), ..) => StoredShingles::Chars(units),
            (Shingles::Lines(units), ..) => StoredShingles::Lines(units),
            (Shingles::Items, ..) => StoredShingles::Items,
        };
        Self {
            scheme: f.scheme,
            seed: f.seed,
            hashes: f.hashes,
            bands: f.bands,
            rows: f.rows,
            lane_bits: f.lane_bits,
            shingles,
            bag: f.bag,
            keep_case: StoredNormalise::new(f.normalise),
            keep_space: f.keep_space,
            no_nfc: matches!(f.normalise, Normalise::None | Normalise::Lower),
            threshold: f.threshold,
            recall_target: f.recall_target,
        }
    }
}

impl TryFrom<Stored> for Params {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let (mut passages, mut common) = (None, None);
        let (shingles, stop) = match stored.shingles {
            StoredShingles::Words(units) => (Shingles::Words(units), None),
            StoredShingles::Tokens(units) => (Shingles::Tokens(units), None),
            StoredShingles::Chars(units) => (Shingles::Chars(units), None),
            StoredShingles::Lines(units) => (Shingles::Lines(units), None),
            StoredShingles::Items => (Shingles::Items, None),
            StoredShingles::WordsWithout(units, stop) => (Shingles::Words(units), Some(stop)),
            StoredShingles::WordsInPassages(units, window, stride, stop) => {
                passages = Some(Windows::new(window, stride)?);
                (Shingles::Words(units), stop)
            }
            StoredShingles::WithCommon(shingles, stop, list) => {
                common = Some(list);
                (shingles, stop)
            }
            StoredShingles::InRuns(shingles, run, list) => {
                passages = Some(Windows::new(run, 1)?);
                common = list;
                (shingles, None)
            }
        };
        let fields = Fields {
            scheme: stored.scheme,
            seed: stored.seed,
            hashes: stored.hashes,
            bands: stored.bands,
            rows: stored.rows,
            lane_bits: stored.lane_bits,
            shingles,
            passages,
            bag: stored.bag,
            normalise: stored.keep_case.with(stored.no_nfc)?,
            keep_space: stored.keep_space,
            threshold: stored.threshold,
            recall_target: stored.recall_target,
        };
        Self::checked(fields, Lists { stop: stop.map(Into::into), common })
    }
}
