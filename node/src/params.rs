//! The parameters of an index.

use std::collections::HashMap;
use std::sync::Arc;

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use nearkin::Params;
use serde_json::json;

use crate::failure::{Failure, value_or_failure};

/// Parameters, which never change.
#[napi]
#[derive(Debug, Clone)]
pub struct NativeParams {
    pub(crate) inner: Arc<Params>,
}

/// Parameters, or the failure.
pub(crate) type Built = Either<NativeParams, Failure>;

fn built(params: Result<Params, Failure>) -> Built {
    value_or_failure(params.map(|inner| NativeParams { inner: Arc::new(inner) }))
}

#[napi]
impl NativeParams {
    /// Parameters from settings, whose names and values are those of the engine.
    #[napi]
    pub fn make(settings: HashMap<String, String>) -> Built {
        built(Params::from_settings(settings).map_err(Failure::from))
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

    /// The properties of `Params` in `lib/params.js`, as JSON. Numbers of 64 bits are strings.
    #[napi]
    pub fn describe(&self) -> String {
        let p = &self.inner;
        let shown = json!({
            "threshold": p.threshold(),
            "shingles": p.shingles().to_string(),
            "hashes": p.hashes(),
            "bands": p.bands(),
            "rowsPerBand": p.rows_per_band(),
            "recallTarget": p.recall_target(),
            "laneBits": p.lane_bits(),
            "stopWords": p.stop_words().collect::<Vec<_>>(),
            "commonShingles": p.common().map_or(0, |common| common.hashes().len()),
            "passages": p.passages().map(|windows| windows.to_string()),
            "bag": p.bag(),
            "normalise": p.normalise().to_string(),
            "keepSpace": p.keep_space(),
            "scheme": p.scheme().to_string(),
            "seed": p.seed().to_string(),
            "signatureBytes": p.signature_bytes(),
            "signatureId": p.signature_id().to_string(),
            "warnings": p.warnings(),
        });
        shown.to_string()
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
