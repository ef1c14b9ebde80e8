//! Options of an opening as text: see `sketch/src/params/settings.rs`.

use super::options::{Durability, Maintenance, Options};
use crate::segment::ReadMode;
use crate::{Error, Result};
use nearkin_sketch::engine::{COUNT, SWITCH, each_once, parse, plain, unknown};
use std::str::FromStr;
use std::time::Duration;

/// The names of the settings of options.
const KNOWN: &str = "durability, maintenance, read_mode, memory_bytes, memtable_bytes, \
                     batch_bytes, merge_bytes, ttl_ms, merge_when_idle, keep_mapped, shared, \
                     lock_wait_ms";

pub(crate) fn milliseconds(name: &str, text: &str) -> Result<Duration> {
    span(name, plain(name, MILLISECONDS, text)?)
}

const MILLISECONDS: &str = "a number of milliseconds, 0 or more";

/// A setting that is a number of milliseconds.
pub(crate) fn span(name: &str, number: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(number / 1_000.0).map_err(|_| {
        let takes = if number > 0.0 { "less" } else { MILLISECONDS };
        Error::invalid(format!("{name} must be {takes}, not {number}"))
    })
}

/// The value with this name among some.
fn among<T: Copy>(name: &str, text: &str, values: &[(&str, T)]) -> Result<T> {
    let found = values.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let words: Vec<&str> = values.iter().map(|(word, _)| *word).collect();
        Error::invalid(format!("{name}={text}: there are {}", words.join(", ")))
    })
}

impl Options {
    fn set(self, name: &str, text: &str) -> Result<Self> {
        let maintenance = [
            ("shared", Maintenance::Shared),
            ("background", Maintenance::Background),
            ("inline", Maintenance::Inline),
        ];
        let read_modes = [("mmap", ReadMode::Mmap), ("pread", ReadMode::Pread)];
        Ok(match name {
            "durability" => self.durability(match text {
                "sync" => Durability::Sync,
                "os" => Durability::OsBuffer,
                text => Durability::Interval(milliseconds(name, text).map_err(|_| {
                    Error::invalid(format!(
                        "durability={text}: it is sync, os, or a number of milliseconds"
                    ))
                })?),
            }),
            "maintenance" => self.maintenance(among(name, text, &maintenance)?),
            "read_mode" => self.read_mode(among(name, text, &read_modes)?),
            "memory_bytes" => self.memory_bytes_max(plain(name, COUNT, text)?),
            "memtable_bytes" => self.memtable_bytes_max(plain(name, COUNT, text)?),
            "batch_bytes" => self.batch_bytes_max(plain(name, COUNT, text)?),
            "merge_bytes" => self.merge_bytes_max(plain(name, COUNT, text)?),
            "ttl_ms" => self.ttl(milliseconds(name, text)?),
            "merge_when_idle" => self.merge_when_idle(plain(name, SWITCH, text)?),
            "keep_mapped" => self.keep_mapped(plain(name, SWITCH, text)?),
            "shared" => self.shared(plain(name, SWITCH, text)?),
            "lock_wait_ms" => self.lock_wait(milliseconds(name, text)?),
            _ => return Err(unknown(name, KNOWN)),
        })
    }

    /// Options from settings, each with its name and its value as text: `durability` (`sync`, `os`,
    /// or the number of milliseconds that a power cut may cost), `maintenance` (`shared`,
    /// `background`, `inline`), `read_mode` (`mmap`, `pread`), `memory_bytes`, `memtable_bytes`,
    /// `batch_bytes`, `merge_bytes`, `ttl_ms`, `merge_when_idle`, `keep_mapped`, `shared` (`true`
    /// or `false`), `lock_wait_ms`. Their meaning is that of the methods of these names, in any
    /// order: a part that is given counts more than `memory_bytes`.
    ///
    /// ```
    /// use nearkin::Options;
    ///
    /// let options: Options = "durability=os,ttl_ms=86400000".parse()?;
    /// let same = Options::from_settings([("durability", "os"), ("ttl_ms", "86400000")])?;
    /// assert_eq!(format!("{options:?}"), format!("{same:?}"));
    /// assert!("durability=often".parse::<Options>().is_err());
    /// # Ok::<(), nearkin::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` names the setting: there is none of this name, it is given twice, or the text is
    /// none of its values.
    pub fn from_settings<N, V>(settings: impl IntoIterator<Item = (N, V)>) -> Result<Self>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let mut options = Self::default();
        // The whole before its parts.
        let mut settings = each_once(settings)?;
        settings.sort_by_key(|(name, _)| name.as_ref() != "memory_bytes");
        for (name, text) in settings {
            options = options.set(name.as_ref(), text.as_ref())?;
        }
        Ok(options)
    }
}

/// Settings of [`Options::from_settings`], separated by commas. An empty text gives the defaults.
impl FromStr for Options {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_settings(parse(text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed_and_an_unknown_one_lists_all() {
        let all = [
            ("durability", "250"),
            ("maintenance", "inline"),
            ("read_mode", "pread"),
            ("memory_bytes", "64000000"),
            ("memtable_bytes", "1000000"),
            ("batch_bytes", "1000000"),
            ("merge_bytes", "1000000"),
            ("ttl_ms", "0.5"),
            ("merge_when_idle", "false"),
            ("keep_mapped", "false"),
            ("shared", "true"),
            ("lock_wait_ms", "250"),
        ];
        for (name, text) in all {
            assert!(KNOWN.contains(name), "{name}");
            Options::default().set(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let error = Options::default().set(name, "-1").err().unwrap().to_string();
            assert!(error.contains(name) && !error.contains("digit"), "{error}");
        }
        assert_eq!(KNOWN.split(", ").count(), all.len());
        let options: Options = "ttl_ms=0.5, durability = os".parse().unwrap();
        assert_eq!(options.ttl, Some(Duration::from_micros(500)));
        assert_eq!(options.durability, Durability::OsBuffer);
        assert!(Options::from_settings([("ttl_ms", "5"), ("ttl_ms", "6")]).is_err());
        let error = Options::default().set("ttl", "5").unwrap_err().to_string();
        assert!(error.contains("\"ttl\"") && error.contains("ttl_ms"), "{error}");
    }
}
