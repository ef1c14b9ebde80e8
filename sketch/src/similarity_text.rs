//! A similarity as a person reads it. The only place that decides how.

use std::fmt;

/// What an estimate of 1 is written as.
const NEARLY_ONE: &str = ">0.99";

/// A similarity as text of five characters, with three decimals: `1.000` is reserved for documents
/// that are equal.
///
/// An estimate of 1 says that all rows of two signatures are equal. The texts may still differ in a
/// few words, so it is written as `>0.99`. A similarity below 1 is never rounded up to 1.
///
/// ```
/// use nearkin_sketch::SimilarityText;
///
/// assert_eq!(SimilarityText::Exact(1.0).to_string(), "1.000");
/// assert_eq!(SimilarityText::Estimate(1.0).to_string(), ">0.99");
/// assert_eq!(SimilarityText::Exact(0.9999).to_string(), "0.999");
/// assert_eq!(SimilarityText::Estimate(0.8125).to_string(), "0.812");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SimilarityText {
    /// Estimated from signatures.
    Estimate(f64),
    /// Counted in the shingles of both documents.
    Exact(f64),
}

impl SimilarityText {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Self::Estimate(similarity) | Self::Exact(similarity) => similarity,
        }
    }
}

impl fmt::Display for SimilarityText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.value()) {
            (Self::Estimate(_), similarity) if similarity >= 1.0 => f.pad(NEARLY_ONE),
            // Rounding would give 1.000.
            (_, similarity) if (0.9995..1.0).contains(&similarity) => f.pad("0.999"),
            (_, similarity) => f.pad(&format!("{similarity:.3}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SimilarityText::{Estimate, Exact};

    #[test]
    fn one_means_equal() {
        for (similarity, estimate, exact) in [
            (1.0, ">0.99", "1.000"),
            (1.0 - f64::EPSILON / 2.0, "0.999", "0.999"),
            (0.9996, "0.999", "0.999"),
            (0.9995, "0.999", "0.999"),
            (0.9994, "0.999", "0.999"),
            (0.9984, "0.998", "0.998"),
            (0.5, "0.500", "0.500"),
            (0.0, "0.000", "0.000"),
        ] {
            assert_eq!(Estimate(similarity).to_string(), estimate);
            assert_eq!(Exact(similarity).to_string(), exact);
        }
        assert_eq!(format!("{:>7}|{:<7}", Estimate(1.0), Exact(0.25)), "  >0.99|0.250  ");
    }

    /// Every value below 1 is written as a number below 1, and rounding loses less than 0.001.
    #[test]
    fn no_value_below_one_is_rounded_to_one() {
        for step in 0..100_000_u32 {
            let similarity = f64::from(step) / 100_000.0;
            let shown: f64 = Exact(similarity).to_string().parse().expect("a number");
            assert!(shown < 1.0 && (shown - similarity).abs() < 0.001, "{similarity}: {shown}");
        }
    }
}
