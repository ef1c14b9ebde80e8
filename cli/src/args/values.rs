//! Values that options of several commands take.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use nearkin::Keep;

/// Reads a similarity to compare with: 0 to 1.
pub(super) fn similarity(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // Minus zero is zero, and is shown as it.
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value.abs()),
        _ => Err("must be a number from 0 to 1".to_owned()),
    }
}

/// Which of a document and its duplicates stays; shells complete it.
pub(super) fn keep() -> impl TypedValueParser<Value = Keep> {
    PossibleValuesParser::new(["first", "newest", "longest"]).map(|name| match name.as_str() {
        "newest" => Keep::Newest,
        "longest" => Keep::Longest,
        _ => Keep::First,
    })
}
