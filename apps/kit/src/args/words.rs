//! Which options for parameters count where only words are compared, and no signatures.

use nearkin::Shingles;

use super::params::Given;

impl Given {
    /// The first given option that changes nothing where texts are compared word by word. What
    /// counts there is how words are cut and normalised: the normalisation, and words or tokens.
    pub fn without_effect_on_words(&self) -> Option<&'static str> {
        let is_cut = |shingles| matches!(shingles, Shingles::Words(_) | Shingles::Tokens(_));
        let options = [
            ("--threshold", self.threshold.is_some()),
            ("--recall", self.recall.is_some()),
            ("--hashes", self.hashes.is_some()),
            ("--bands", self.bands.is_some()),
            ("--rows-per-band", self.rows_per_band.is_some()),
            ("--shingles", self.shingles.is_some_and(|shingles| !is_cut(shingles))),
            ("--stop", self.stop.is_some()),
            ("--ignore-common", self.ignore_common.is_some()),
            ("--template", !self.template.is_empty()),
            ("--bag", self.bag),
            ("--keep-space", self.keep_space),
            ("--lane-bits", self.lane_bits.is_some()),
            ("--scheme", self.scheme.is_some()),
        ];
        options.into_iter().find_map(|(option, given)| given.then_some(option))
    }
}
