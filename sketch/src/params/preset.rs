//! Presets: settings for a purpose, chosen by how many edited copies they find.
//!
//! The measurements are in `docs/guide/TUNING.md`.

use std::fmt;
use std::str::FromStr;

use super::builder::ParamsBuilder;
use super::normalise::{FoldOptions, Normalise};
use super::pieces::Windows;
use super::shape::{Scheme, Shingles};
use super::{Params, WINNOW_ROWS};
use crate::{Error, Result};

/// A named set of shingles, normalisation and threshold for one purpose. Presets were chosen by
/// measuring which planted edits are found (`docs/guide/TUNING.md`, "What finds edited copies").
///
/// `Display` and [`FromStr`] use the name in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// Papers, articles, letters, pages: `chars:9` at 0.6. Words that are hyphenated at line ends
    /// are joined. Sketching costs about 2.7 times as much as with words.
    Documents,
    /// Scanned or extracted text with reading errors: `chars:7` at 0.6. Accents are removed, and
    /// words that are hyphenated at line ends are joined. Sketching costs about 3.5 times as much
    /// as with words.
    Archive,
    /// Texts for training language models: `words:2` at 0.63.
    Training,
    /// Titles, names, messages of a dozen words: `chars:4` at 0.65.
    Short,
    /// Records of the same things in several catalogues (products, addresses, people): `chars:4` at
    /// 0.45. Records of different things are often as similar, so their numbers decide
    /// (`Guard::Agree`).
    Records,
    /// Program text: `chars:9` at 0.6.
    Code,
    /// Quotations, in a passage index: fingerprints of 4 words, which find every shared run of 8.
    /// Words that are hyphenated at line ends are joined, and look-alike letters of other scripts
    /// are read as Latin ones. See the module `passages`.
    Quotes,
}

/// All presets with their names.
const ALL: [(Preset, &str); 7] = [
    (Preset::Documents, "documents"),
    (Preset::Archive, "archive"),
    (Preset::Training, "training"),
    (Preset::Short, "short"),
    (Preset::Records, "records"),
    (Preset::Code, "code"),
    (Preset::Quotes, "quotes"),
];

impl Preset {
    /// All presets, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.into_iter().map(|(preset, _)| preset)
    }

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        ALL.iter().find(|(preset, _)| *preset == self).map_or("", |(_, name)| name)
    }
}

impl Params {
    /// A builder with the settings of a preset, which can be changed before it is built.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Params, Preset, Shingles};
    ///
    /// let params = Params::preset(Preset::Archive).hashes(256).build()?;
    /// assert_eq!(params.shingles(), Shingles::Chars(7));
    /// assert_eq!("archive".parse::<Preset>()?, Preset::Archive);
    /// # Ok(())
    /// # }
    /// ```
    pub fn preset(preset: Preset) -> ParamsBuilder {
        let fold = FoldOptions::default();
        let (shingles, threshold, options) = match preset {
            Preset::Documents => (Shingles::Chars(9), 0.6, fold.dehyphenate(true)),
            Preset::Archive => (Shingles::Chars(7), 0.6, fold.diacritics(true).dehyphenate(true)),
            Preset::Training => (Shingles::Words(2), 0.63, fold),
            Preset::Short => (Shingles::Chars(4), 0.65, fold),
            Preset::Records => (Shingles::Chars(4), 0.45, fold),
            Preset::Code => (Shingles::Chars(9), 0.6, fold),
            Preset::Quotes => {
                let fold = fold.dehyphenate(true).lookalikes(true);
                (Shingles::Words(4), 1.0 / f64::from(WINNOW_ROWS), fold)
            }
        };
        let builder = Self::for_threshold(threshold).shingles(shingles);
        let builder = builder.normalise(Normalise::Fold(options));
        match preset {
            Preset::Quotes => builder.passages(Windows::QUOTES).scheme(Scheme::Winnow),
            _ => builder,
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = ALL.iter().find(|(_, name)| *name == text).map(|(preset, _)| *preset);
        found.ok_or_else(|| {
            let names: Vec<&str> = ALL.iter().map(|(_, name)| *name).collect();
            Error::invalid(format!("no preset {text:?}: there are {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_names_and_can_be_built() {
        for preset in Preset::all() {
            assert_eq!(preset.to_string().parse::<Preset>().unwrap(), preset);
            let params = Params::preset(preset).build().unwrap();
            assert_eq!(params.passages().is_some(), preset == Preset::Quotes);
        }
        let refused = "archives".parse::<Preset>().unwrap_err();
        assert!(refused.to_string().contains("documents, archive"), "{refused}");
    }
}
