//! The parameters of an index.

use std::sync::Arc;

use napi::bindgen_prelude::{BigInt, Either};
use napi_derive::napi;
use nearkin::ParamsBuilder;

use crate::failure::Failure;
use crate::numbers::{count, small};

/// The settings of `new Params(...)`.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct Settings {
    pub threshold: Option<f64>,
    pub shingles: Option<String>,
    pub hashes: Option<f64>,
    pub bands: Option<Vec<f64>>,
    pub recall_target: Option<f64>,
    pub lane_bits: Option<f64>,
    pub stop_words: Option<Vec<String>>,
    pub bag: Option<bool>,
    pub normalise: Option<String>,
    pub keep_case: Option<bool>,
    pub keep_space: Option<bool>,
    pub no_nfc: Option<bool>,
    pub scheme: Option<String>,
    pub seed: Option<BigInt>,
}

/// What JavaScript shows of parameters.
#[napi(object, object_from_js = false)]
pub struct Described {
    pub threshold: f64,
    pub shingles: String,
    pub hashes: u32,
    pub bands: u32,
    pub rows_per_band: u32,
    pub recall_target: f64,
    pub lane_bits: u32,
    pub stop_words: Vec<String>,
    pub passages: Option<String>,
    pub bag: bool,
    pub normalise: String,
    pub keep_space: bool,
    pub scheme: String,
    pub seed: BigInt,
    pub signature_bytes: u32,
    pub signature_id: BigInt,
    pub warnings: Vec<String>,
}

/// Parameters, which never change.
#[napi]
#[derive(Debug, Clone)]
pub struct NativeParams {
    pub(crate) inner: Arc<nearkin::Params>,
}

/// Parameters, or why there are none.
pub(crate) type Built = Either<NativeParams, Failure>;

fn built(params: Result<nearkin::Params, Failure>) -> Built {
    match params {
        Ok(inner) => Either::A(NativeParams { inner: Arc::new(inner) }),
        Err(failure) => Either::B(failure),
    }
}

impl Settings {
    fn build(self) -> Result<nearkin::Params, Failure> {
        let mut builder = nearkin::Params::for_threshold(self.threshold.unwrap_or(0.7));
        if let Some(recall) = self.recall_target {
            builder = builder.recall_target(recall);
        }
        if let Some(hashes) = self.hashes {
            builder = builder.hashes(count(hashes, "hashes")?);
        }
        match self.bands.as_deref() {
            None => {}
            Some([bands, rows]) => {
                builder = builder.bands(count(*bands, "bands")?, count(*rows, "bands")?);
            }
            Some(_) => return Err(Failure::invalid("bands must be [bands, rows per band]")),
        }
        if let Some(bits) = self.lane_bits {
            builder = builder.lane_bits(small(bits, "laneBits")?);
        }
        self.of_texts(builder)?.build().map_err(Failure::from)
    }

    /// The settings that say how a text becomes a signature.
    fn of_texts(self, mut builder: ParamsBuilder) -> Result<ParamsBuilder, Failure> {
        if let Some(shingles) = self.shingles {
            builder = builder.shingles(shingles.parse()?);
        }
        if let Some(words) = self.stop_words {
            builder = builder.stop_words(words);
        }
        if let Some(normalise) = self.normalise {
            if self.keep_case.is_some() || self.no_nfc.is_some() {
                let message = "normalise replaces keepCase and noNfc: give one or the other";
                return Err(Failure::invalid(message));
            }
            builder = builder.normalise(normalise.parse()?);
        }
        builder = builder.bag(self.bag.unwrap_or(false));
        builder = builder.keep_space(self.keep_space.unwrap_or(false));
        if let Some(keep) = self.keep_case {
            builder = builder.keep_case(keep);
        }
        if let Some(no_nfc) = self.no_nfc {
            builder = builder.no_nfc(no_nfc);
        }
        if let Some(scheme) = self.scheme {
            builder = builder.scheme(scheme.parse()?);
        }
        if let Some(seed) = self.seed {
            let (negative, seed, lossless) = seed.get_u64();
            if negative || !lossless {
                return Err(Failure::invalid("seed must have 64 bits and no sign"));
            }
            builder = builder.seed(seed);
        }
        Ok(builder)
    }
}

#[napi]
impl NativeParams {
    #[napi]
    pub fn make(settings: Settings) -> Built {
        built(settings.build())
    }

    /// The settings for a purpose.
    #[napi]
    pub fn preset(name: String) -> Built {
        let preset = name.parse::<nearkin::Preset>();
        built(preset.and_then(|preset| nearkin::Params::preset(preset).build()).map_err(Into::into))
    }

    /// Parses what `to_json` wrote.
    #[napi]
    pub fn from_json(text: String) -> Built {
        let parsed = serde_json::from_str(&text);
        built(parsed.map_err(|error| Failure::invalid(format!("not parameters: {error}"))))
    }

    #[napi]
    pub fn to_json(&self) -> napi::Result<String> {
        serde_json::to_string(&*self.inner)
            .map_err(|error| napi::Error::from_reason(error.to_string()))
    }

    #[napi]
    pub fn describe(&self) -> Described {
        let p = &self.inner;
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Described {
            threshold: p.threshold(),
            shingles: p.shingles().to_string(),
            hashes: short(p.hashes()),
            bands: short(p.bands()),
            rows_per_band: short(p.rows_per_band()),
            recall_target: p.recall_target(),
            lane_bits: p.lane_bits(),
            stop_words: p.stop_words().map(str::to_owned).collect(),
            passages: p.passages().map(|windows| windows.to_string()),
            bag: p.bag(),
            normalise: p.normalise().to_string(),
            keep_space: p.keep_space(),
            scheme: p.scheme().to_string(),
            seed: BigInt::from(p.seed()),
            signature_bytes: short(p.signature_bytes()),
            signature_id: BigInt::from(p.signature_id()),
            warnings: p.warnings(),
        }
    }

    #[napi]
    pub fn candidate_probability(&self, similarity: f64) -> f64 {
        self.inner.candidate_probability(similarity)
    }

    #[napi]
    pub fn expected_recall(&self, similarity: f64, threshold: f64) -> f64 {
        self.inner.expected_recall(similarity, threshold)
    }

    #[napi]
    pub fn standard_error(&self, similarity: f64) -> f64 {
        self.inner.standard_error(self.inner.equal_rows_min(similarity))
    }

    #[napi]
    pub fn differences(&self, other: &NativeParams) -> Vec<String> {
        self.inner.differences(&other.inner)
    }
}
