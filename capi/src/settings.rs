//! Settings as text: `threshold=0.7,shingles=words:3`.

use crate::error::Failure;
use std::fmt::Display;
use std::str::FromStr;

/// The settings of a text, as names and values. They are separated by commas; a part without `=`
/// belongs to the value before it (`normalise=fold,diacritics`).
pub(crate) fn parse(text: &str) -> Result<Vec<(&str, &str)>, Failure> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let mut value_begins = 0;
    let mut begins = 0;
    for part in text.split(',') {
        let ends = begins + part.len();
        if let Some((name, value)) = part.split_once('=') {
            let name = name.trim();
            if found.iter().any(|(before, _)| *before == name) {
                return Err(Failure::invalid(&format!("{name} is given twice")));
            }
            value_begins = ends - value.len();
            found.push((name, value.trim()));
        } else if let Some((_, value)) = found.last_mut() {
            *value = text[value_begins..ends].trim();
        } else if !part.trim().is_empty() {
            let message = format!("{:?} is no setting: write name=value", part.trim());
            return Err(Failure::invalid(&message));
        }
        begins = ends + 1;
    }
    Ok(found)
}

/// The value of a setting, parsed.
pub(crate) fn value<T: FromStr<Err: Display>>(name: &str, value: &str) -> Result<T, Failure> {
    value.parse().map_err(|error| Failure::invalid(&format!("{name}={value}: {error}")))
}

/// The error for a setting that does not exist.
pub(crate) fn unknown(name: &str, known: &str) -> Failure {
    Failure::invalid(&format!("there is no setting {name:?}; there are {known}"))
}
