//! Parsers for option values that several commands share.

use std::str::FromStr as _;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use encoding_rs::Encoding;

use nearkin::{Guard, Keep};

use nearkin_input::formats::decode;

/// Parses a similarity: 0 to 1, or in percent.
pub fn similarity(text: &str) -> Result<f64, String> {
    match share(text) {
        // `abs`, so that minus zero is printed as zero.
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value.abs()),
        _ => Err("must be a number from 0 to 1, or a percentage: 0.8 or 80%".to_owned()),
    }
}

/// Parses a number, or a percentage: 80% is 0.8. The caller checks the range.
pub fn share(text: &str) -> Result<f64, String> {
    let wrong = || "must be a number or a percentage: 0.8 or 80%".to_owned();
    let Some(percent) = text.strip_suffix('%') else {
        return text.parse().map_err(|_| wrong());
    };
    // Parsed from a string such as `55e-2`, so that 55% is exactly the number 0.55.
    let number: f64 = percent.trim_end().parse().map_err(|_| wrong())?;
    let hundredth = format!("{number}e-2");
    hundredth.parse().map_err(|_| wrong())
}

/// Maximum number of threads.
const THREADS_MAX: usize = 1_024;

/// Parses a number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=THREADS_MAX).contains(number));
    number.ok_or_else(|| format!("must be a number from 1 to {THREADS_MAX}"))
}

/// Parses the name of an encoding, as web pages spell it.
pub fn encoding(text: &str) -> Result<&'static Encoding, String> {
    decode::by_label(text)
        .ok_or_else(|| "unknown encoding: try utf-8, windows-1252, shift_jis or gb18030".to_owned())
}

/// What happens to quotations in e-mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoted {
    /// They are not a part of the text.
    Drop,
    /// They are a part of it.
    Keep,
}

/// Parses what happens to quotations in e-mail.
pub fn quoted(text: &str) -> Result<Quoted, String> {
    match text {
        "drop" => Ok(Quoted::Drop),
        "keep" => Ok(Quoted::Keep),
        _ => Err("must be drop or keep".to_owned()),
    }
}

/// Sort order of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterOrder {
    /// The largest clusters first.
    Size,
    /// The most similar members first.
    Similarity,
}

/// Parses the sort order of clusters. The names are declared as possible values, so shells can
/// complete them.
pub fn order() -> impl TypedValueParser<Value = ClusterOrder> {
    PossibleValuesParser::new(["size", "similarity"]).map(|name| match name.as_str() {
        "size" => ClusterOrder::Size,
        _ => ClusterOrder::Similarity,
    })
}

/// The column by which pairs are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairColumn {
    /// The estimated similarity.
    Similarity,
    /// The similarity of the documents themselves.
    Exact,
    /// The containment.
    Contained,
}

/// Parses the column by which pairs are sorted.
pub fn column() -> impl TypedValueParser<Value = PairColumn> {
    PossibleValuesParser::new(["similarity", "exact", "contained"]).map(|name| {
        match name.as_str() {
            "exact" => PairColumn::Exact,
            "contained" => PairColumn::Contained,
            _ => PairColumn::Similarity,
        }
    })
}

/// Parses an origin as browsers send it: scheme, host and perhaps a port, in lower case.
pub fn origin(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_:[]".contains(c);
    match host {
        Some(host) if !host.is_empty() && host.chars().all(is_part) => Ok(text.to_owned()),
        _ => Err("must be an origin in lower case, without a path: https://app.example".to_owned()),
    }
}

/// Parses which of a document and its duplicates to keep, if one is to go.
pub fn keep() -> impl TypedValueParser<Value = Keep> {
    keep_of(&["first", "newest", "longest"])
}

/// Like [`keep`], or all of them.
pub fn keep_or_all() -> impl TypedValueParser<Value = Keep> {
    keep_of(&["first", "newest", "longest", "all"])
}

/// The names are declared as possible values, so shells can complete them.
fn keep_of(names: &'static [&'static str]) -> impl TypedValueParser<Value = Keep> {
    PossibleValuesParser::new(names).try_map(|name| Keep::from_str(&name))
}

/// Parses what a document may differ in without being dropped.
pub fn guard() -> impl TypedValueParser<Value = Guard> {
    PossibleValuesParser::new(["none", "numbers", "rare", "agree"])
        .try_map(|name| Guard::from_str(&name))
}

/// What a document may differ from a single other one in without being its duplicate.
pub fn single_guard() -> impl TypedValueParser<Value = Guard> {
    PossibleValuesParser::new(["none", "numbers", "agree"]).try_map(|name| Guard::from_str(&name))
}

/// Which file of a group of copies stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    /// The file that was changed first.
    Oldest,
    /// The file that was changed last.
    Newest,
    /// The file with the shortest path.
    Shortest,
    /// The first file in the order of the folders.
    First,
}

/// Parses which file of a group stays.
pub fn stays() -> impl TypedValueParser<Value = Stays> {
    PossibleValuesParser::new(["oldest", "newest", "shortest", "first"]).map(|name| {
        match name.as_str() {
            "oldest" => Stays::Oldest,
            "newest" => Stays::Newest,
            "shortest" => Stays::Shortest,
            _ => Stays::First,
        }
    })
}

/// Parses a number of bytes: 4096, 10K, 2GiB. The units are powers of 1,024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "must be a number of bytes, or with K, M, G or T: 4096, 10K, 2G".to_owned();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    let unit = unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit);
    let power = ["", "k", "m", "g", "t"].iter().position(|one| *one == unit).ok_or_else(wrong)?;
    let number: u64 = digits.trim_end().parse().map_err(|_| wrong())?;
    let factor = 1 << (10 * power);
    number.checked_mul(factor).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_are_hundredths() {
        for (text, value) in [("80%", 0.8), ("0.8", 0.8), ("55 %", 0.55), ("7%", 0.07)] {
            assert_eq!(similarity(text), Ok(value), "{text}");
        }
        for wrong in ["101%", "%", "x%", "-1%", "NaN", "NaN%", "1.1", "80%%", ""] {
            assert!(similarity(wrong).is_err(), "{wrong}");
        }
        assert_eq!(share("250%"), Ok(2.5));
    }

    #[test]
    fn sizes_may_have_units() {
        let cases = [
            ("0", 0),
            ("10", 10),
            ("1K", 1_024),
            ("3m", 3 << 20),
            ("2GiB", 2 << 30),
            ("3 TB", 3 << 40),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for wrong in ["", "K", "-1", "1X", "1KK", "nan", "1.5M", "99999999T"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_origin_has_a_scheme_and_a_host_and_nothing_else() {
        for text in ["https://app.example", "http://localhost:3000", "http://[::1]:80"] {
            assert_eq!(origin(text).as_deref(), Ok(text));
        }
        for wrong in ["*", "null", "app.example", "https://", "https://App.example", "http://a/b"] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
