//! The band settings worth considering for a threshold, and their properties that do not depend on
//! documents. Pure.

use nearkin::Params;

use nearkin_kit::failure::Failure;

/// Maximum difference of the rows per band from the default.
const ROWS_AROUND: usize = 2;

/// Sizes from `docs/reference/FILE_FORMAT.md`. `ENTRY_BYTES`: bytes per document in one bucket
/// table. `FIXED_BYTES`: bytes per document besides its signature, key and payload.
const ENTRY_BYTES: f64 = 6.2;
const FIXED_BYTES: f64 = 20.0;

/// A candidate for the band settings.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) params: Params,
    /// Whether this is the library's default: the longest bands that reach the wanted recall, and
    /// only as many of them as that takes.
    pub(super) is_default: bool,
}

impl Choice {
    /// Probability that a pair of this similarity is compared.
    pub(super) fn compared(&self, similarity: f64) -> f64 {
        self.params.candidate_probability(similarity)
    }

    /// Probability that a query at the threshold returns a document of this similarity.
    pub(super) fn returned(&self, similarity: f64) -> f64 {
        self.params.expected_recall(similarity, self.params.threshold())
    }

    /// Bytes on disk per document, without key and payload.
    pub(super) fn bytes_per_document(&self) -> f64 {
        let tables = self.params.bands() as f64 + 1.0;
        self.params.signature_bytes() as f64 + ENTRY_BYTES * tables + FIXED_BYTES
    }

    /// A short name such as `17 x 5`: bands times rows.
    pub(super) fn name(&self) -> String {
        format!("{} x {}", self.params.bands(), self.params.rows_per_band())
    }
}

/// The default, and choices with up to [`ROWS_AROUND`] rows per band more or less, longest bands
/// first. Each has the fewest bands that reach the wanted recall; if the signature has too few rows
/// for them, it has as many bands as fit.
pub(super) fn around(params: &Params) -> Result<Vec<Choice>, Failure> {
    let chosen = params.rows_per_band();
    let (threshold, enough) = (params.threshold(), params.recall_target());
    let mut choices = Vec::new();
    for rows in (chosen.saturating_sub(ROWS_AROUND).max(1)..=chosen + ROWS_AROUND).rev() {
        if rows == chosen {
            choices.push(Choice { params: params.clone(), is_default: true });
            continue;
        }
        let most = params.hashes() / rows;
        if most == 0 {
            continue;
        }
        let with = |bands| params.to_builder().bands(bands, rows).build();
        let mut bands = most;
        for fewer in 1..most {
            if with(fewer)?.candidate_probability(threshold) >= enough {
                bands = fewer;
                break;
            }
        }
        choices.push(Choice { params: with(bands)?, is_default: false });
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(threshold: f64) -> Vec<String> {
        let params = Params::for_threshold(threshold).build().unwrap();
        around(&params).unwrap().iter().map(Choice::name).collect()
    }

    #[test]
    fn the_rule_stands_between_longer_and_shorter_bands() {
        assert_eq!(names(0.7), ["18 x 7", "21 x 6", "17 x 5", "11 x 4", "8 x 3"]);
        assert_eq!(names(0.5), ["25 x 5", "32 x 4", "23 x 3", "11 x 2", "5 x 1"]);
    }

    #[test]
    fn bytes_are_those_of_an_index() {
        // Source of the expected value: docs/reports/BENCHMARKS.md, where 253 bytes were measured.
        let params = Params::for_threshold(0.7).bands(16, 8).build().unwrap();
        let bytes = Choice { params, is_default: true }.bytes_per_document();
        assert!((252.0..255.0).contains(&bytes), "{bytes}");
    }
}
