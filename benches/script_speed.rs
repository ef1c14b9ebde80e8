//! Sketching speed for several scripts, on one thread. The documents are parts of 1,200 characters
//! of the Universal Declaration of Human Rights; the shingles are words:3.
//!
//! `cargo bench --bench script_speed -- [NORMALISATION]`; `NEARKIN_DATA` names the folder of
//! `udhr2.jsonl.zst`. The languages are measured in turns, so that other load affects all of them
//! alike. The last column is the speed relative to English in ASCII.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use nearkin::{Params, Sketcher};

/// Number of characters per document.
const CHARS: usize = 1_200;
/// Number of turns per language.
const TURNS: usize = 300;
/// Languages by their code in the corpus.
const LANGUAGES: [&str; 20] = [
    "eng",
    "fra",
    "deu_1901",
    "spa",
    "pol",
    "tur",
    "vie",
    "rus",
    "ell_monotonic",
    "kat",
    "heb",
    "arb",
    "hin",
    "ben",
    "tam",
    "tha",
    "kor",
    "cmn_hans",
    "jpn",
    "hye",
];

/// A language, its documents, and the shortest time of a turn in seconds.
struct Language {
    name: String,
    documents: Vec<String>,
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let normalise = std::env::args().skip(1).find(|argument| argument != "--bench");
    let normalise = normalise.as_deref().unwrap_or("fold").parse()?;
    let Some(folder) = std::env::var_os("NEARKIN_DATA").map(PathBuf::from) else {
        println!("SKIPPED: NEARKIN_DATA does not name the folder of corpora");
        return Ok(());
    };
    let mut languages = read(&folder.join("udhr2.jsonl.zst"))?;
    let sketcher = Sketcher::new(&Params::builder().normalise(normalise).build()?);
    for _ in 0..TURNS {
        for language in &mut languages {
            let start = Instant::now();
            for document in &language.documents {
                std::hint::black_box(sketcher.text(document)?);
            }
            language.seconds = language.seconds.min(start.elapsed().as_secs_f64());
        }
    }
    println!("{normalise}, words:3, documents of {CHARS} characters");
    println!("{:<16} {:>7} {:>7} {:>12} {:>8}", "", "bytes", "us", "documents/s", "of ASCII");
    let per = |language: &Language| language.seconds / language.documents.len() as f64;
    let Some(ascii) = languages.first().map(per) else { return Ok(()) };
    for language in &languages {
        let bytes: usize = language.documents.iter().map(String::len).sum();
        let per = per(language);
        println!(
            "{:<16} {:>7} {:>7.2} {:>12.0} {:>8.2}",
            language.name,
            bytes / language.documents.len(),
            per * 1e6,
            1.0 / per,
            ascii / per
        );
    }
    Ok(())
}

/// Reads English in ASCII, English with curly quotes, then the other languages.
#[expect(clippy::disallowed_methods, reason = "a corpus, not a file of an index")]
fn read(path: &std::path::Path) -> Result<Vec<Language>, Box<dyn Error>> {
    let text = String::from_utf8(zstd::decode_all(&std::fs::read(path)?[..])?)?;
    let mut found = Vec::new();
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let (Some(id), Some(text)) = (value["id"].as_str(), value["text"].as_str()) else {
            return Err("a document without id or text".into());
        };
        if !LANGUAGES.contains(&id) {
            continue;
        }
        if id == "eng" {
            let ascii: String = text.chars().filter(char::is_ascii).collect();
            let curly = ascii.replace(" the ", " \u{2018}the\u{2019} ").replace('\'', "\u{2019}");
            found.push(language("English, ASCII", &ascii));
            found.push(language("English, curly", &curly));
        } else {
            found.push(language(id, text));
        }
    }
    found.sort_by_key(|language| (!language.name.starts_with("English"), language.name.clone()));
    Ok(found)
}

fn language(name: &str, text: &str) -> Language {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = text.chars().collect();
    let documents = chars.chunks_exact(CHARS).map(String::from_iter).collect();
    Language { name: name.to_owned(), documents, seconds: f64::INFINITY }
}
