//! Settings that are held against each other: ours, and those of other programs, made again.

use nearkin::{FoldOptions, Normalise, Params, Result, Shingles, Signature, Sketcher};

/// Cuts a text as another program does.
type Cut = fn(&str) -> Vec<String>;

pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) params: Params,
    cut: Option<Cut>,
    /// The least similarity that counts; 0 where every candidate counts.
    pub(crate) threshold: f64,
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
        Ok(Self { name, params, cut: None, threshold })
    }

    /// Whatever shares a band counts, as in these programs by default.
    fn theirs(name: &'static str, cut: Cut, bands: usize, rows: usize) -> Result<Self> {
        let builder = Params::builder().shingles(Shingles::Items).hashes(bands * rows);
        let params = builder.bands(bands, rows).lane_bits(16).build()?;
        Ok(Self { name, params, cut: Some(cut), threshold: 0.0 })
    }

    pub(crate) fn sketch(&self, sketcher: &Sketcher, text: &str) -> Result<Signature> {
        match self.cut {
            None => sketcher.text(text),
            Some(cut) => sketcher.items(cut(text)),
        }
    }
}

pub(crate) fn all() -> Result<Vec<Setting>> {
    let (words, chars) = (Shingles::Words, Shingles::Chars);
    let joined = Normalise::Fold(FoldOptions::default().dehyphenate(true));
    let case =
        |name, shingles, threshold| Setting::ours(name, shingles, threshold, Normalise::Case);
    let fold = |name, shingles, threshold| Setting::ours(name, shingles, threshold, joined);
    Ok(vec![
        case("case, words:3 at 0.7", words(3), 0.7)?,
        fold("words:3 at 0.7", words(3), 0.7)?,
        fold("words:3 at 0.6", words(3), 0.6)?,
        fold("words:3 at 0.55", words(3), 0.55)?,
        fold("words:2 at 0.7", words(2), 0.7)?,
        fold("words:2 at 0.65", words(2), 0.65)?,
        fold("words:2 at 0.6", words(2), 0.6)?,
        fold("words:1 at 0.7", words(1), 0.7)?,
        fold("chars:5 at 0.7", chars(5), 0.7)?,
        fold("chars:5 at 0.65", chars(5), 0.65)?,
        fold("chars:7 at 0.6", chars(7), 0.6)?,
        fold("chars:9 at 0.6", chars(9), 0.6)?,
        fold("chars:9 at 0.55", chars(9), 0.55)?,
        Setting::theirs("text-dedup 0.4.0, as it comes", text_dedup, 25, 10)?,
        Setting::theirs("datatrove 0.10.1, as it comes", datatrove, 14, 8)?,
        Setting::theirs("NeMo Curator, as it comes", nemo, 20, 13)?,
    ])
}

/// Words are what stands between characters that are no letters, digits or underscores (so that a
/// comma and a space leave an empty word); five in a row.
fn text_dedup(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    windows(&text.split(|char| !is_word(char)).collect::<Vec<_>>(), 5)
}

/// Lower case, digits one digit, accents and punctuation gone; five words in a row.
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

/// Twenty-four characters in a row, of the text as it is.
fn nemo(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let windows = chars.windows(24).map(|window| window.iter().collect());
    if chars.len() < 24 { vec![text.to_owned()] } else { windows.collect() }
}

fn windows(words: &[&str], length: usize) -> Vec<String> {
    if words.len() < length {
        return vec![words.join(" ")];
    }
    words.windows(length).map(|window| window.join(" ")).collect()
}
