//! The settings that are compared: ours, and those of other programs, reimplemented.

use nearkin::{
    FoldOptions, Normalise, Original, Params, Preset, Result, Shingles, Signature, Sketcher,
};

/// Divides a text into shingles in the way of another program.
type Cut = fn(&str) -> Vec<String>;

pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) params: Params,
    cut: Option<Cut>,
    /// The minimum similarity of a match; 0 if every candidate is a match.
    pub(crate) threshold: f64,
    /// The similarity that the program says its matches have.
    pub(crate) named: f64,
}

impl Setting {
    fn ours(
        name: &'static str,
        shingles: Shingles,
        threshold: f64,
        normalise: Normalise,
    ) -> Result<Self> {
        let builder = Params::for_threshold(threshold).shingles(shingles);
        let params = builder.normalise(normalise).build()?;
        Ok(Self { name, params, cut: None, threshold, named: threshold })
    }

    /// The default settings.
    pub(crate) fn default_settings() -> Result<Self> {
        Self::ours("words:3 at 0.7 (the default)", Shingles::Words(3), 0.7, Normalise::FOLD)
    }

    pub(crate) fn preset(name: &'static str, preset: Preset) -> Result<Self> {
        let params = Params::preset(preset).build()?;
        let threshold = params.threshold();
        Ok(Self { name, threshold, named: threshold, params, cut: None })
    }

    /// A setting of another program. Every candidate is a match, which is the default of these
    /// programs.
    fn theirs(name: &'static str, cut: Cut, bands: usize, rows: usize, named: f64) -> Result<Self> {
        let builder = Params::builder().shingles(Shingles::Items).hashes(bands * rows);
        let params = builder.bands(bands, rows).lane_bits(16).build()?;
        Ok(Self { name, params, cut: Some(cut), threshold: 0.0, named })
    }

    /// The same setting with other hash functions.
    pub(crate) fn seeded(self, seed: u64) -> Result<Self> {
        let params = self.params.to_builder().seed(seed).build()?;
        Ok(Self { params, ..self })
    }

    pub(crate) fn sketch(&self, sketcher: &Sketcher, text: &str) -> Result<Signature> {
        match self.cut {
            None => sketcher.text(text),
            Some(cut) => sketcher.items(cut(text)),
        }
    }

    pub(crate) fn original(&self, sketcher: &Sketcher, text: &str) -> Result<Original> {
        match self.cut {
            None => sketcher.original_text(text),
            Some(cut) => sketcher.original_items(cut(text)),
        }
    }
}

/// Makes our settings from names, shingles and thresholds; all of them use the same normalisation.
fn ours(normalise: Normalise, all: &[(&'static str, Shingles, f64)]) -> Result<Vec<Setting>> {
    let one = |(name, shingles, threshold): &(&'static str, _, _)| {
        Setting::ours(name, *shingles, *threshold, normalise)
    };
    all.iter().map(one).collect()
}

pub(crate) fn for_documents() -> Result<Vec<Setting>> {
    use Shingles::{Chars, Words};
    let joined = Normalise::Fold(FoldOptions::default().dehyphenate(true));
    let mut all = ours(Normalise::Case, &[("case, words:3 at 0.7", Words(3), 0.7)])?;
    all.push(Setting::default_settings()?);
    all.extend(ours(
        joined,
        &[
            ("words:3 at 0.6", Words(3), 0.6),
            ("words:3 at 0.55", Words(3), 0.55),
            ("words:2 at 0.7", Words(2), 0.7),
            ("words:2 at 0.65", Words(2), 0.65),
            ("words:2 at 0.64", Words(2), 0.64),
            ("words:2 at 0.6", Words(2), 0.6),
            ("words:1 at 0.7", Words(1), 0.7),
            ("chars:5 at 0.7", Chars(5), 0.7),
            ("chars:5 at 0.65", Chars(5), 0.65),
            ("chars:9 at 0.65", Chars(9), 0.65),
            ("chars:9 at 0.6", Chars(9), 0.6),
            ("chars:9 at 0.55", Chars(9), 0.55),
        ],
    )?);
    for preset in [Preset::Documents, Preset::Archive, Preset::Training] {
        all.push(Setting::preset(preset.name(), preset)?);
    }
    all.extend(of_bucket_unions()?);
    Ok(all)
}

/// The programs that unite all documents of a bucket, without comparing them. NeMo Curator names
/// no similarity; its older versions named 0.8, which is where its bands find half of the pairs.
pub(crate) fn of_bucket_unions() -> Result<[Setting; 3]> {
    Ok([
        Setting::theirs("text-dedup 0.4.0, default settings", text_dedup, 25, 10, 0.7)?,
        Setting::theirs("datatrove 0.10.1, default settings", datatrove, 14, 8, 0.72)?,
        Setting::theirs("NeMo Curator, default settings", nemo, 20, 13, 0.8)?,
    ])
}

/// Rensa's deduplicator as its readme uses it, which compares signatures with those of kept
/// documents; datasketch's index, where a document goes if it shares a band with a kept one.
pub(crate) fn of_admissions() -> Result<[Setting; 2]> {
    let readme = Setting::theirs("rensa 0.5.0, as in its readme", rensa, 8, 16, 0.8)?;
    let datasketch = Setting::theirs("datasketch 2.0.0, as documented", rensa, 25, 5, 0.5)?;
    Ok([Setting { threshold: 0.8, ..readme }, datasketch])
}

pub(crate) fn for_short() -> Result<Vec<Setting>> {
    use Shingles::{Chars, Words};
    let mut all = ours(
        Normalise::FOLD,
        &[
            ("words:3 at 0.7 (the default)", Words(3), 0.7),
            ("words:2 at 0.63", Words(2), 0.63),
            ("words:1 at 0.7", Words(1), 0.7),
            ("chars:4 at 0.7", Chars(4), 0.7),
            ("chars:3 at 0.7", Chars(3), 0.7),
            ("chars:4 at 0.6", Chars(4), 0.6),
            ("chars:5 at 0.6", Chars(5), 0.6),
            ("chars:5 at 0.5", Chars(5), 0.5),
        ],
    )?;
    all.push(Setting::preset(Preset::Short.name(), Preset::Short)?);
    Ok(all)
}

pub(crate) fn for_code() -> Result<Vec<Setting>> {
    use Shingles::{Lines, Tokens, Words};
    let mut all = ours(
        Normalise::FOLD,
        &[
            ("words:3 at 0.7 (the default)", Words(3), 0.7),
            ("words:2 at 0.63", Words(2), 0.63),
            ("words:3 at 0.6", Words(3), 0.6),
            ("words:5 at 0.5", Words(5), 0.5),
            ("tokens:2 at 0.6", Tokens(2), 0.6),
            ("tokens:3 at 0.5", Tokens(3), 0.5),
            ("lines:1 at 0.6", Lines(1), 0.6),
            ("lines:1 at 0.5", Lines(1), 0.5),
        ],
    )?;
    all.push(Setting::preset(Preset::Code.name(), Preset::Code)?);
    Ok(all)
}

/// Shingles of five words. A word is a run between characters that are not letters, digits or
/// underscores; a comma followed by a space therefore produces an empty word.
fn text_dedup(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    windows(&text.split(|char| !is_word(char)).collect::<Vec<_>>(), 5)
}

/// Shingles of five words, in lower case, with all digits equal, and without accents and
/// punctuation.
fn datatrove(text: &str) -> Vec<String> {
    let mut plain = String::new();
    for char in text.to_lowercase().chars() {
        match char {
            '\u{300}'..='\u{36f}' => {}
            char if char.is_numeric() => {
                if !plain.ends_with('0') {
                    plain.push('0');
                }
            }
            char if char.is_alphanumeric() => plain.push(char),
            char if char.is_whitespace() => plain.push(' '),
            char if char.is_control() || ('\u{200b}'..='\u{200f}').contains(&char) => {}
            _ => plain.push(' '),
        }
    }
    windows(&plain.split_whitespace().collect::<Vec<_>>(), 5)
}

/// Shingles of 24 characters of the unchanged text.
fn nemo(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let windows = chars.windows(24).map(|window| window.iter().collect());
    if chars.len() < 24 { vec![text.to_owned()] } else { windows.collect() }
}

/// Words between white space.
fn rensa(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn windows(words: &[&str], length: usize) -> Vec<String> {
    if words.len() < length {
        return vec![words.join(" ")];
    }
    words.windows(length).map(|window| window.join(" ")).collect()
}
