//! Settings as text, such as `threshold=0.7,shingles=words:3`: for configuration files, and for
//! programs in other languages.

use std::fmt::Display;
use std::str::FromStr;

use super::{Common, Params, ParamsBuilder};
use crate::{Error, Result};

/// The settings of a text, as names and values. They are separated by commas; a part without `=`
/// belongs to the value before it (`normalise=fold,diacritics`).
///
/// # Errors
///
/// `Invalid` if the first part has no `=`.
pub fn parse(text: &str) -> Result<Vec<(&str, &str)>> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    let (mut value_begins, mut begins) = (0, 0);
    for part in text.split(',') {
        let ends = begins + part.len();
        if let Some((name, value)) = part.split_once('=') {
            let name = name.trim();
            value_begins = ends - value.len();
            found.push((name, value.trim()));
        } else if let Some((_, value)) = found.last_mut() {
            *value = text[value_begins..ends].trim();
        } else if !part.trim().is_empty() {
            let message = format!("{:?} is no setting: write name=value", part.trim());
            return Err(Error::invalid(message));
        }
        begins = ends + 1;
    }
    Ok(found)
}

/// The settings, if each is given once.
///
/// # Errors
///
/// `Invalid` names the one that is given twice.
pub fn each_once<N: AsRef<str>, V>(
    settings: impl IntoIterator<Item = (N, V)>,
) -> Result<Vec<(N, V)>> {
    let settings: Vec<(N, V)> = settings.into_iter().collect();
    for (at, (name, _)) in settings.iter().enumerate() {
        let name = name.as_ref();
        if settings[..at].iter().any(|(before, _)| before.as_ref() == name) {
            return Err(Error::invalid(format!("{name} is given twice")));
        }
    }
    Ok(settings)
}

/// The value of a setting, parsed.
///
/// # Errors
///
/// `Invalid` names the setting and says what is wrong with its value.
pub fn value<T: FromStr<Err: Display>>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|error| Error::invalid(format!("{name}={value}: {error}")))
}

/// The value of a setting that is a number, `true` or `false`.
///
/// # Errors
///
/// `Invalid` says what the setting takes: the standard library's errors do not.
pub fn plain<T: FromStr>(name: &str, takes: &str, value: &str) -> Result<T> {
    let wrong = |_| Error::invalid(format!("{name} must be {takes}, not {value:?}"));
    value.parse().map_err(wrong)
}

/// What a setting takes that is a similarity or another share.
pub const SHARE: &str = "a number from 0 to 1";

/// What a setting takes that is a count.
pub const COUNT: &str = "a whole number, 0 or more";

/// What a setting takes that is on or off.
pub const SWITCH: &str = "true or false";

/// The error for a setting that does not exist.
pub fn unknown(name: &str, known: &str) -> Error {
    Error::invalid(format!("there is no setting {name:?}; there are {known}"))
}

/// The names of the settings of parameters.
const KNOWN: &str = "preset, threshold, shingles, hashes, bands, recall, lane_bits, normalise, \
                     stop_words, common, passages, bag, keep_case, keep_space, no_nfc, scheme, \
                     seed";

impl ParamsBuilder {
    fn set(self, name: &str, text: &str) -> Result<Self> {
        Ok(match name {
            // Applied before the others.
            "preset" => self,
            "threshold" => self.threshold(plain(name, SHARE, text)?),
            "shingles" => self.shingles(value(name, text)?),
            "hashes" => self.hashes(plain(name, COUNT, text)?),
            "recall" => self.recall_target(plain(name, SHARE, text)?),
            "lane_bits" => self.lane_bits(plain(name, COUNT, text)?),
            "normalise" => self.normalise(value(name, text)?),
            "stop_words" => self.stop_words(text.split_whitespace()),
            "common" => self.common(value::<Common>(name, text)?),
            "passages" => self.passages(value(name, text)?),
            "bag" => self.bag(plain(name, SWITCH, text)?),
            "keep_case" => self.keep_case(plain(name, SWITCH, text)?),
            "keep_space" => self.keep_space(plain(name, SWITCH, text)?),
            "no_nfc" => self.no_nfc(plain(name, SWITCH, text)?),
            "scheme" => self.scheme(value(name, text)?),
            "seed" => self.seed(plain(name, COUNT, text)?),
            "bands" => {
                let (bands, rows) = text.split_once('x').ok_or_else(|| {
                    Error::invalid(format!("bands={text}: write bands and rows, such as 17x5"))
                })?;
                let takes = "two whole numbers, such as 17x5";
                self.bands(plain(name, takes, bands)?, plain(name, takes, rows)?)
            }
            _ => return Err(unknown(name, KNOWN)),
        })
    }
}

impl Params {
    /// Parameters from settings, each with its name and its value as text: `preset` (a
    /// [`Preset`](crate::Preset), applied first), `threshold`, `shingles` (`words:3`), `hashes`,
    /// `bands` (`17x5`: bands and rows), `recall`, `lane_bits`, `normalise`, `stop_words`
    /// (separated by spaces), `common` (a [`Common`] as text), `passages` (`200:100`), `bag`,
    /// `keep_case`, `keep_space`, `no_nfc` (`true` or `false`), `scheme`, `seed`. Their meaning is
    /// that of the methods of [`ParamsBuilder`]. For configuration files, and for programs in other
    /// languages.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// use nearkin::{Params, Shingles};
    ///
    /// let params = Params::from_settings([("threshold", "0.8"), ("shingles", "words:2")])?;
    /// assert_eq!(params, Params::for_threshold(0.8).shingles(Shingles::Words(2)).build()?);
    /// // The same in one text.
    /// assert_eq!(params, "threshold=0.8,shingles=words:2".parse()?);
    /// # Ok::<(), nearkin::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` names the setting: there is none of this name, it is given twice, the text is none
    /// of its values, or it contradicts another.
    pub fn from_settings<N, V>(settings: impl IntoIterator<Item = (N, V)>) -> Result<Self>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let settings = each_once(settings)?;
        let is_given = |name: &str| settings.iter().any(|(given, _)| given.as_ref() == name);
        if is_given("normalise") && (is_given("keep_case") || is_given("no_nfc")) {
            let message = "normalise replaces keep_case and no_nfc: give one or the other";
            return Err(Error::invalid(message));
        }
        let preset = settings.iter().find(|(name, _)| name.as_ref() == "preset");
        let mut builder = match preset {
            Some((name, preset)) => Self::preset(value(name.as_ref(), preset.as_ref())?),
            None => Self::builder(),
        };
        for (name, text) in &settings {
            builder = builder.set(name.as_ref(), text.as_ref())?;
        }
        builder.build()
    }
}

/// Settings of [`Params::from_settings`], separated by commas.
impl FromStr for Params {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_settings(parse(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_split_at_commas_but_not_inside_a_value() {
        let found = parse(" threshold = 0.7 ,normalise=fold,diacritics , seed=7").unwrap();
        assert_eq!(found, [("threshold", "0.7"), ("normalise", "fold,diacritics"), ("seed", "7")]);
        assert_eq!(parse("").unwrap(), []);
        for wrong in ["threshold", "folds,seed=1"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_setting_is_parsed_and_listed_for_an_unknown_one() {
        let all = [
            ("threshold", "0.8"),
            ("shingles", "chars:9"),
            ("hashes", "256"),
            ("bands", "20x6"),
            ("recall", "0.9"),
            ("lane_bits", "8"),
            ("normalise", "fold,diacritics"),
            ("stop_words", "the a of"),
            ("common", "nearkin-common-1 any 0123456789abcdef"),
            ("passages", "50:25"),
            ("bag", "true"),
            ("keep_case", "true"),
            ("keep_space", "true"),
            ("no_nfc", "true"),
            ("scheme", "fast"),
            ("seed", "7"),
        ];
        for (name, text) in all {
            assert!(KNOWN.contains(name), "{name}");
            Params::builder().set(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let wrong = Params::builder().set(name, "?");
            assert!(name == "stop_words" || wrong.is_err(), "{name}");
            let said = wrong.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!said.contains("invalid digit") && !said.contains("literal"), "{said}");
        }
        assert_eq!(KNOWN.split(", ").count(), all.len() + 1);
        let error = Params::from_settings([("threshold", "x")]).unwrap_err().to_string();
        assert_eq!(error, "threshold must be a number from 0 to 1, not \"x\"");
        let error = Params::from_settings([("treshold", "0.7")]).unwrap_err().to_string();
        assert!(error.contains("\"treshold\"") && error.contains("threshold, "), "{error}");
        assert!("normalise=nfc,keep_case=true".parse::<Params>().is_err());
        for twice in [[("seed", "1"), ("seed", "2")], [("preset", "news"), ("preset", "archive")]] {
            let error = Params::from_settings(twice).unwrap_err().to_string();
            assert!(error.contains("given twice"), "{error}");
        }
        assert!("seed=1,seed=2".parse::<Params>().is_err());
        let params: Params = "hashes=256,preset=archive".parse().unwrap();
        let archive = Params::preset("archive".parse().unwrap());
        assert_eq!(params, archive.hashes(256).build().unwrap());
    }
}
