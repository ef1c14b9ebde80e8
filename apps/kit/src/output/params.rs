//! The parameters of an index as JSON.

use nearkin::Params;
use serde::Serialize;

/// All parameters except the seed, which may be secret.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one field of the JSON object")]
pub struct ParamsObject {
    threshold: f64,
    recall: f64,
    hashes: usize,
    bands: usize,
    rows_per_band: usize,
    lane_bits: u32,
    shingles: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    passages: Option<String>,
    stop_words: usize,
    common_shingles: usize,
    bag: bool,
    normalise: String,
    keep_case: bool,
    keep_space: bool,
    no_nfc: bool,
    scheme: String,
}

impl ParamsObject {
    /// The parameters of an index.
    pub fn new(params: &Params) -> Self {
        Self {
            threshold: params.threshold(),
            recall: params.recall_target(),
            hashes: params.hashes(),
            bands: params.bands(),
            rows_per_band: params.rows_per_band(),
            lane_bits: params.lane_bits(),
            shingles: params.shingles().to_string(),
            passages: params.passages().map(|windows| windows.to_string()),
            stop_words: params.stop_words().count(),
            common_shingles: params.common().map_or(0, |common| common.hashes().len()),
            bag: params.bag(),
            normalise: params.normalise().to_string(),
            keep_case: params.keep_case(),
            keep_space: params.keep_space(),
            no_nfc: params.no_nfc(),
            scheme: params.scheme().to_string(),
        }
    }
}
