//! Conditions as text and, with the feature `serde`, as plain data: see
//! `sketch/src/params/settings.rs`.

use super::Conditions;
use crate::index::state::settings::milliseconds;
#[cfg(feature = "serde")]
use crate::index::state::settings::span;
use crate::{Error, Result};
use nearkin_sketch::engine::{COUNT, SHARE, SWITCH, each_once, parse, plain, unknown};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A setting of conditions: see [`Conditions::SETTINGS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConditionSetting {
    /// Its name in [`Conditions::from_settings`] and in plain data.
    pub name: &'static str,
    /// What it takes.
    pub value: SettingValue,
    /// What it does, in a sentence or two.
    pub meaning: &'static str,
}

/// What a setting takes: see [`ConditionSetting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingValue {
    /// A number from 0 to 1.
    Share,
    /// `true` or `false`.
    Switch,
    /// A whole number, 0 or more.
    Count,
    /// A number of milliseconds, 0 or more.
    Span,
    /// Milliseconds since 1970, UTC: a whole number.
    Time,
    /// Text; as plain data also bytes.
    Text,
}

/// What a setting takes that is a time.
const TIME: &str = "milliseconds since 1970 (a whole number)";

fn from_now(span: Duration) -> Result<Instant> {
    let time = Instant::now().checked_add(span);
    time.ok_or_else(|| Error::invalid("deadline_ms is too far in the future"))
}

const fn setting(
    name: &'static str,
    value: SettingValue,
    meaning: &'static str,
) -> ConditionSetting {
    ConditionSetting { name, value, meaning }
}

/// The error for a setting that does not exist.
fn refused(name: &str) -> Error {
    unknown(name, &Conditions::SETTINGS.map(|setting| setting.name).join(", "))
}

impl Conditions<'_> {
    /// All settings, with what they take and what they mean: for programs that offer them to their
    /// own users, such as a description of an API.
    ///
    /// ```
    /// use nearkin::{Conditions, SettingValue};
    ///
    /// let limit = Conditions::SETTINGS.iter().find(|setting| setting.name == "limit").unwrap();
    /// assert_eq!(limit.value, SettingValue::Count);
    /// ```
    pub const SETTINGS: [ConditionSetting; 9] = [
        setting(
            "threshold",
            SettingValue::Share,
            "Minimum similarity. Default: the index's own threshold.",
        ),
        setting(
            "contained",
            SettingValue::Share,
            "Minimum part of the smaller document that the larger one contains. `threshold` is \
             then 0 unless given.",
        ),
        setting(
            "verify",
            SettingValue::Switch,
            "Whether to search below both minima, because the caller compares the documents.",
        ),
        setting(
            "limit",
            SettingValue::Count,
            "Maximum number of results: the most similar matches, pairs in no particular order, \
             the clusters with the smallest keys. Default: all.",
        ),
        setting(
            "max_candidates",
            SettingValue::Count,
            "Maximum number of candidates compared; bounds the time where very many documents are \
             similar. `complete` may then be false. Default: no limit.",
        ),
        setting(
            "deadline_ms",
            SettingValue::Span,
            "Time for the search, in milliseconds. A query then answers what it has found, and \
             `complete` is false; nothing is admitted. Default: no limit.",
        ),
        setting(
            "prefix",
            SettingValue::Text,
            "Only documents whose key begins with these bytes: a tenant's part of the index. Keys \
             in the request must begin with them, too.",
        ),
        setting(
            "after",
            SettingValue::Time,
            "Only documents stored at this time or later, in milliseconds UTC.",
        ),
        setting(
            "before",
            SettingValue::Time,
            "Only documents stored before this time, in milliseconds UTC.",
        ),
    ];

    fn set(self, name: &str, text: &str) -> Result<Self> {
        Ok(match name {
            "threshold" => self.threshold(plain(name, SHARE, text)?),
            "contained" => self.contained(plain(name, SHARE, text)?),
            "verify" => Self { is_verified: plain(name, SWITCH, text)?, ..self },
            "limit" => self.limit(plain(name, COUNT, text)?),
            "max_candidates" => self.max_candidates(plain(name, COUNT, text)?),
            "deadline_ms" => self.deadline(from_now(milliseconds(name, text)?)?),
            "prefix" => self.prefix(text),
            "after" => self.after(plain(name, TIME, text)?),
            "before" => self.before(plain(name, TIME, text)?),
            _ => return Err(refused(name)),
        })
    }

    /// Conditions from settings ([`Conditions::SETTINGS`]), each with its name and its value as
    /// text. Their meaning is that of the methods of these names; `verify` is
    /// [`Conditions::for_verification`], and `deadline_ms` is [`Conditions::deadline`] in
    /// milliseconds from now. A filter is code and has no setting.
    ///
    /// ```
    /// use nearkin::Conditions;
    ///
    /// let conditions = Conditions::from_settings([("threshold", "0.8"), ("after", "86400000")])?;
    /// let same: Conditions = "threshold=0.8,after=86400000".parse()?;
    /// assert_eq!(format!("{conditions:?}"), format!("{same:?}"));
    /// assert!(Conditions::from_settings([("threshold", "80")]).is_err());
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
        let mut conditions = Self::default();
        for (name, text) in each_once(settings)? {
            conditions = conditions.set(name.as_ref(), text.as_ref())?;
        }
        conditions.check(0.0)?;
        Ok(conditions)
    }
}

/// Settings of [`Conditions::from_settings`], separated by commas. An empty text gives the
/// defaults.
impl FromStr for Conditions<'_> {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_settings(parse(text)?)
    }
}

/// The plain data of conditions.
#[cfg(feature = "serde")]
#[derive(Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlainConditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    verify: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_candidates: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<PlainPrefix>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum PlainPrefix {
    Text(String),
    Bytes(Vec<u8>),
}

#[cfg(feature = "serde")]
impl From<Conditions<'_>> for PlainConditions {
    fn from(conditions: Conditions<'_>) -> Self {
        let count = |count| (count < usize::MAX).then_some(count);
        let left = |time: Instant| time.saturating_duration_since(Instant::now());
        let selection = conditions.selection.as_deref();
        let prefix = selection.map(|of| of.prefix.clone()).filter(|prefix| !prefix.is_empty());
        let shown = |prefix| match String::from_utf8(prefix) {
            Ok(text) => PlainPrefix::Text(text),
            Err(error) => PlainPrefix::Bytes(error.into_bytes()),
        };
        Self {
            threshold: conditions.threshold,
            contained: conditions.contained,
            verify: conditions.is_verified,
            limit: count(conditions.limit),
            max_candidates: count(conditions.candidates_max),
            deadline_ms: conditions.stop.deadline.map(|time| left(time).as_secs_f64() * 1_000.0),
            prefix: prefix.map(shown),
            after: selection.and_then(|selection| selection.after),
            before: selection.and_then(|selection| selection.before),
        }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<PlainConditions> for Conditions<'_> {
    type Error = Error;

    fn try_from(plain: PlainConditions) -> Result<Self> {
        let mut conditions = Self {
            threshold: plain.threshold,
            contained: plain.contained,
            is_verified: plain.verify,
            ..Self::default()
        };
        conditions = conditions.limit(plain.limit.unwrap_or(usize::MAX));
        conditions = conditions.max_candidates(plain.max_candidates.unwrap_or(usize::MAX));
        if let Some(number) = plain.deadline_ms {
            conditions = conditions.deadline(from_now(span("deadline_ms", number)?)?);
        }
        let prefix = match plain.prefix {
            Some(PlainPrefix::Text(text)) => text.into_bytes(),
            Some(PlainPrefix::Bytes(bytes)) => bytes,
            None => Vec::new(),
        };
        let (after, before) = (plain.after, plain.before);
        conditions = conditions.prefix(prefix).select(|selection| {
            (selection.after, selection.before) = (after, before);
        });
        conditions.check(0.0)?;
        Ok(conditions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn every_setting_is_parsed_and_listed_for_an_unknown_one() {
        let all = [
            ("threshold", "0.8"),
            ("contained", "0.5"),
            ("verify", "true"),
            ("limit", "10"),
            ("max_candidates", "1000"),
            ("deadline_ms", "0.5"),
            ("prefix", "acme/"),
            ("after", "5"),
            ("before", "6"),
        ];
        let conditions = Conditions::from_settings(all).unwrap();
        assert_eq!(
            format!("{conditions:?}"),
            "Conditions { threshold: 0.8, contained: 0.5, limit: 10, max_candidates: 1000, \
             prefix: \"acme/\", after: 5, before: 6, for_verification: set, deadline: set }"
        );
        assert_eq!(Conditions::SETTINGS.map(|setting| setting.name), all.map(|(name, _)| name));
        let refused = |settings: &[(&str, &str)], why: &str| {
            let error = Conditions::from_settings(settings.iter().copied()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(why), "{error}");
        };
        for (name, text) in all {
            let same: Conditions<'_> = format!("{name}={text}").parse().unwrap();
            let one = Conditions::from_settings([(name, text)]).unwrap();
            assert_eq!(format!("{same:?}"), format!("{one:?}"));
            assert_ne!(format!("{one:?}"), format!("{:?}", Conditions::default()), "{name}");
            refused(&[(name, text), (name, text)], &format!("{name} is given twice"));
            if name != "prefix" {
                refused(&[(name, "-1")], &name[..7.min(name.len())]);
                refused(&[(name, "often")], name);
            }
        }
        refused(&[("treshold", "0.7")], "there are threshold, contained, verify, limit, max_");
        refused(&[("after", "6"), ("before", "6")], "after must be less than before");
        refused(&[("threshold", "NaN")], "from 0 to 1");
        refused(&[("threshold", "x")], "threshold must be a number from 0 to 1, not \"x\"");
        refused(&[("after", "-1")], "after must be milliseconds since 1970 (a whole number), not");
        refused(
            &[("deadline_ms", "-1")],
            "deadline_ms must be a number of milliseconds, 0 or more",
        );
        refused(&[("deadline_ms", "1e30")], "deadline_ms must be less, not 1");
        refused(&[("deadline_ms", "1e22")], "deadline_ms");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn conditions_come_back_from_json_as_they_were() {
        let parse = |json: &str| serde_json::from_str::<Conditions<'_>>(json);
        let all = concat!(
            r#"{"threshold":0.8,"contained":0.5,"verify":true,"limit":10,"max_candidates":9,"#,
            r#""prefix":"acme/","after":5,"before":6}"#
        );
        for json in ["{}", all, r#"{"limit":0}"#, r#"{"prefix":[255,0]}"#, r#"{"after":0}"#] {
            assert_eq!(serde_json::to_string(&parse(json).unwrap()).unwrap(), json);
        }
        let conditions = parse(r#"{"deadline_ms":60000.0}"#).unwrap();
        let json = serde_json::to_value(&conditions).unwrap();
        let left = json["deadline_ms"].as_f64().unwrap();
        assert!(left > 30_000.0 && left <= 60_000.0, "{left}");
        let filtered = Conditions::default().filter(|_, _| true).cancel_if(|| false);
        assert_eq!(serde_json::to_string(&filtered).unwrap(), "{}");
        for wrong in [
            r#"{"treshold":0.8}"#,
            r#"{"threshold":1.1}"#,
            r#"{"limit":-1}"#,
            r#"{"after":6,"before":5}"#,
            r#"{"deadline_ms":-1}"#,
            r#"{"limit":1,"limit":2}"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
