//! Texts that people consider equal: measures the exact similarity between a text and its variant
//! under each normalisation.
//!
//! Reads `udhr2.jsonl.zst`, the Universal Declaration of Human Rights in many languages.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use crate::support::corpora::{unpack, write_tables};
use nearkin::{Normalise, Params, Shingles, Sketcher};
use unicode_normalization::UnicodeNormalization as _;

/// A variant: its name, the language of its text, the edit, and the normalisation.
type Row = (&'static str, &'static str, fn(&str) -> String, &'static str);

const ROWS: [Row; 20] = [
    ("form D", "fra", |text| text.nfd().collect(), "fold"),
    ("lines end with CR and LF", "eng", |text| text.replace('\n', "\r\n"), "fold"),
    ("no-break spaces", "fra", |text| text.replace(' ', "\u{a0}"), "fold"),
    ("every word a line", "eng", |text| text.replace(' ', "\n"), "fold"),
    ("upper case", "eng", str::to_uppercase, "fold"),
    ("Greek in upper case, accents kept", "ell_monotonic", str::to_uppercase, "fold"),
    ("Greek in upper case, accents dropped", "ell_monotonic", upper_plain, "fold,diacritics"),
    ("curly quotes in every word", "eng", curly, "fold"),
    ("en dashes for hyphens", "eng", |text| text.replace('-', "\u{2013}"), "fold"),
    ("ligatures", "eng", ligatures, "fold"),
    ("soft hyphens", "eng", |text| inside(text, "\u{ad}"), "fold"),
    ("zero-width spaces inside words", "eng", |text| inside(text, "\u{200b}"), "fold"),
    ("full width", "eng", full_width, "fold"),
    ("ss for sharp s", "deu_1901", |text| text.replace('\u{df}', "ss"), "fold"),
    ("emoji with and without joiners", "eng", emoji, "fold"),
    ("Chinese, a line end after 20 characters", "cmn_hans", reflow, "fold"),
    ("Arabic with harakat", "arb", harakat, "fold"),
    ("Arabic with harakat", "arb", harakat, "fold,diacritics"),
    ("hyphens at line ends", "eng", |text| inside(text, "-\n"), "fold,dehyphenate"),
    ("without accents", "fra", plain, "fold,diacritics"),
];

/// Replaces every apostrophe by a curly one. (`text_for` has added one to each word.)
fn curly(text: &str) -> String {
    text.replace('\'', "\u{2019}")
}

fn ligatures(text: &str) -> String {
    text.replace("ffi", "\u{fb03}").replace("fi", "\u{fb01}").replace("fl", "\u{fb02}")
}

/// Inserts something after the second letter of each word.
fn inside(text: &str, what: &str) -> String {
    let words = text.split(' ').map(|word| match word.char_indices().nth(2) {
        Some((at, c)) if c.is_alphabetic() && word.chars().take(2).all(char::is_alphabetic) => {
            format!("{}{what}{}", &word[..at], &word[at..])
        }
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn full_width(text: &str) -> String {
    let wide = |c: char| match c {
        '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap_or(c),
        c => c,
    };
    text.chars().map(wide).collect()
}

fn emoji(text: &str) -> String {
    text.replace(['\u{200d}', '\u{fe0f}'], "")
}

fn reflow(text: &str) -> String {
    let lines = text.chars().collect::<Vec<_>>();
    lines.chunks(20).map(String::from_iter).collect::<Vec<_>>().join("\n")
}

/// Adds a vowel point after each letter.
fn harakat(text: &str) -> String {
    let pointed = |c: char| [Some(c), c.is_alphabetic().then_some('\u{64e}')];
    text.chars().flat_map(pointed).flatten().collect()
}

fn plain(text: &str) -> String {
    text.nfd().filter(|c| !('\u{300}'..='\u{36f}').contains(c)).collect()
}

fn upper_plain(text: &str) -> String {
    plain(&text.to_uppercase())
}

/// The text to which a variant's edit is applied: unchanged, or with added characters that the edit
/// replaces.
fn text_for(what: &str, text: &str) -> String {
    match what {
        "curly quotes in every word" => {
            text.split(' ').map(|word| format!("{word}'s")).collect::<Vec<_>>().join(" ")
        }
        "en dashes for hyphens" => text.replace(", ", "-"),
        "emoji with and without joiners" => {
            text.replace('.', " \u{1f468}\u{200d}\u{1f469} \u{2764}\u{fe0f}.")
        }
        "no-break spaces" | "every word a line" => text.replace('\n', " "),
        _ => text.to_owned(),
    }
}

/// Writes the table of the page.
pub(crate) fn write(folder: &Path, page: &str) -> Result<(), Box<dyn Error>> {
    let mut texts = HashMap::new();
    for line in unpack(folder, "udhr2.jsonl")?.lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        if let (Some(id), Some(text)) = (value["id"].as_str(), value["text"].as_str()) {
            texts.insert(id.to_owned(), text.to_owned());
        }
    }
    let mut out = "| variant | language | words:3, case | chars:5, case ".to_owned();
    out.push_str("| normalisation | words:3 | chars:5 |\n|---|---|---|---|---|---|---|\n");
    for (what, language, change, normalise) in ROWS {
        let text = texts.get(language).ok_or_else(|| format!("no text of {language}"))?;
        let text = text_for(what, text);
        let variant = change(&text);
        if variant == text {
            return Err(format!("{what}: changes nothing").into());
        }
        write!(out, "| {what} | {language} |")?;
        for shown in [Normalise::Case, normalise.parse()?] {
            if shown != Normalise::Case {
                write!(out, " `{shown}` |")?;
            }
            for shingles in [Shingles::Words(3), Shingles::Chars(5)] {
                let params = Params::builder().shingles(shingles).normalise(shown).build()?;
                let sketcher = Sketcher::new(&params);
                let [a, b] = [&text, &variant].map(|text| sketcher.original_text(text));
                write!(out, " {:.3} |", a?.similarity(&b?))?;
            }
        }
        out.push('\n');
    }
    write_tables(page, "benches/accuracy -- variants", &out)
}
