//! Texts of about 200 words sampled from real English sentences; one in ten is a near-duplicate.

use crate::made::Random;
use crate::options::{Options, repository};
use crate::results::Result;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const WORDS_MIN: usize = 190;
/// Fewer than this many words of 200 are replaced in a near-duplicate: its similarity is .86 to 1.
const REPLACED_MAX: u64 = 6;
/// Corpora of English prose. If a folder has none of them, every file in it is used.
const PROSE: [&str; 4] = ["inaugural", "state_union", "reuters21578", "debian_descriptions"];
/// With more sentences than this, no further file is read.
const SENTENCES_MAX: usize = 400_000;

/// The sentences from which texts are made.
pub struct Corpus {
    sentences: Vec<String>,
    pub source: String,
}

impl Corpus {
    pub fn read(options: &Options) -> Result<Self> {
        let folder = options.data.clone().unwrap_or_else(|| repository().join("tests/data"));
        let mut seen = HashSet::new();
        let mut sentences = Vec::new();
        let mut names = Vec::new();
        for path in chosen(&folder)? {
            let text = unpack(&path)?;
            for line in text.lines() {
                let document: serde_json::Value = serde_json::from_str(line)?;
                let text = document["text"].as_str().unwrap_or_default();
                for sentence in split(text) {
                    if seen.insert(sentence.clone()) {
                        sentences.push(sentence);
                    }
                }
            }
            names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
            if sentences.len() > SENTENCES_MAX {
                break;
            }
        }
        if sentences.len() < 1_000 {
            let (count, folder) = (sentences.len(), folder.display());
            return Err(format!("only {count} English sentences in {folder}").into());
        }
        let source = format!("{} sentences of {}", sentences.len(), names.join(", "));
        Ok(Self { sentences, source })
    }

    fn fresh(&self, stream: u64) -> String {
        let mut random = Random(stream.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut text = String::new();
        let mut words = 0;
        while words < WORDS_MIN {
            let at = random.below(self.sentences.len() as u64) as usize;
            let sentence = &self.sentences[at];
            words += sentence.split(' ').count();
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(sentence);
        }
        text
    }

    /// A copy with 0 to 5 words replaced.
    fn changed(&self, text: &str, stream: u64) -> String {
        let mut random = Random(stream);
        let mut words: Vec<&str> = text.split(' ').collect();
        for _ in 0..random.below(REPLACED_MAX) {
            let sentence = &self.sentences[random.below(self.sentences.len() as u64) as usize];
            let word = sentence.split(' ').next_back().unwrap_or("word");
            let at = random.below(words.len() as u64) as usize;
            words[at] = word;
        }
        words.join(" ")
    }

    /// The text of a document.
    pub fn document(&self, number: u32) -> String {
        let number = u64::from(number);
        if number % 10 == 9 {
            let original = self.fresh(1 + number - 9);
            return self.changed(&original, number);
        }
        self.fresh(1 + number)
    }

    /// Queries that have a match, each with the number of the document from which it was made.
    pub fn hits(&self, count: usize, stored: u32) -> Vec<(u32, String)> {
        let mut random = Random(77);
        let mut hit = || {
            let of = random.below(u64::from(stored)) as u32;
            (of, self.changed(&self.document(of), random.number()))
        };
        (0..count).map(|_| hit()).collect()
    }

    /// Queries without a match.
    pub fn misses(&self, count: usize) -> Vec<String> {
        (0..count as u64).map(|number| self.fresh((1 << 40) + number)).collect()
    }
}

fn chosen(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let texts = name.ends_with(".jsonl") || name.ends_with(".jsonl.zst");
        if texts && !name.contains(".sets.") {
            paths.push((name, path));
        }
    }
    paths.sort();
    let prose = |name: &str| PROSE.iter().any(|prose| name.starts_with(prose));
    if paths.iter().any(|(name, _)| prose(name)) {
        paths.retain(|(name, _)| prose(name));
    }
    Ok(paths.into_iter().map(|(_, path)| path).collect())
}

fn unpack(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path)?;
    let packed = path.extension().is_some_and(|ending| ending == "zst");
    let bytes = if packed { zstd::decode_all(bytes.as_slice())? } else { bytes };
    Ok(String::from_utf8(bytes)?)
}

/// The sentences of a text: white space collapsed, 5 to 60 words, ASCII, mostly letters.
fn split(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut sentences = Vec::new();
    for sentence in words.split_inclusive(|word| word.ends_with(['.', '!', '?'])) {
        let joined = sentence.join(" ");
        let letters = joined.bytes().filter(|byte| byte.is_ascii_alphabetic()).count();
        let prose = letters * 4 > joined.len() * 3 && joined.is_ascii();
        if (5..=60).contains(&sentence.len()) && prose {
            sentences.push(joined);
        }
    }
    sentences
}
