//! Text to signature per script: Nearkin, and gaoya on the words of UAX #29, on one thread.
//!
//! gaoya does not select code by CPU features at run time, so the same stage also runs in a build
//! with `-C target-cpu=native`.

use crate::corpus::Corpus;
use crate::engines::params;
use crate::made::ROWS;
use crate::options::{Options, repository};
use crate::results::{Result, Results, Subject};
use gaoya::minhash::{MinHasher, MinHasher32};
use nearkin::{Params, Scheme, Shingles, Sketcher};
use std::hint::black_box;
use std::time::Instant;
use unicode_segmentation::UnicodeSegmentation;

/// Whether this build may use AVX2 everywhere, as a build with `-C target-cpu=native` does.
pub const NATIVE: bool = cfg!(target_feature = "avx2");
/// File name, without `.tsv`, of the results of a build in which `NATIVE` is true.
pub const NATIVE_RESULTS: &str = "scripts-native";
/// The name of the texts that are the reference for all others.
const ASCII: &str = "English, ASCII";

/// Number of characters per document.
const CHARS: usize = 1_200;
/// Number of turns per kind of text and run.
const TURNS: usize = 20;
/// Languages by their code in the corpus, and their names.
const LANGUAGES: [(&str, &str); 18] = [
    ("fra", "French"),
    ("deu_1901", "German"),
    ("spa", "Spanish"),
    ("pol", "Polish"),
    ("tur", "Turkish"),
    ("vie", "Vietnamese"),
    ("rus", "Russian"),
    ("ell_monotonic", "Greek"),
    ("hye", "Armenian"),
    ("kat", "Georgian"),
    ("heb", "Hebrew"),
    ("arb", "Arabic"),
    ("hin", "Hindi"),
    ("ben", "Bengali"),
    ("tam", "Tamil"),
    ("kor", "Korean"),
    ("tha", "Thai"),
    ("cmn_hans", "Chinese"),
];

/// The documents of one kind of text, which are timed together.
struct ScriptTexts {
    name: String,
    documents: Vec<String>,
    sketcher: Sketcher,
    /// The time of a document is divided by this, so that the times of long documents are reported
    /// per `CHARS` bytes.
    parts: f64,
}

pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    let folder = options.data.clone().unwrap_or_else(|| repository().join("tests/data"));
    let path = folder.join("udhr2.jsonl.zst");
    let Ok(packed) = std::fs::read(&path) else {
        println!("SKIPPED: {} is not there; --data names the folder of corpora", path.display());
        return Ok(());
    };
    let languages = String::from_utf8(zstd::decode_all(&packed[..])?)?;
    let all = texts(&languages, &Corpus::read(options)?)?;
    let hasher = MinHasher32::new(ROWS);
    let names = if NATIVE { ["nearkin, native", "gaoya, native"] } else { ["nearkin", "gaoya"] };
    for _ in 0..options.runs {
        for texts in &all {
            let mut least = [f64::INFINITY; 2];
            for _ in 0..TURNS {
                let start = Instant::now();
                for text in &texts.documents {
                    black_box(texts.sketcher.text(text)?);
                }
                let between = Instant::now();
                for text in &texts.documents {
                    black_box(gaoya(&hasher, text));
                }
                let seconds = [between - start, between.elapsed()];
                least = std::array::from_fn(|at| least[at].min(seconds[at].as_secs_f64()));
            }
            let documents = texts.documents.len() as f64;
            for (engine, seconds) in names.into_iter().zip(least) {
                let durability = "nothing stored";
                let of = Subject { stage: "scripts", engine, durability, documents: 1 };
                results.note(of, &texts.name, "us", seconds * 1e6 / documents / texts.parts);
            }
        }
    }
    Ok(())
}

/// Sketches with gaoya: the words are those of UAX #29, found in the simplest way for ASCII.
fn gaoya(hasher: &MinHasher32<impl std::hash::BuildHasher>, text: &str) -> Vec<u32> {
    if text.is_ascii() {
        let lower = text.to_ascii_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        return hasher.create_signature(words.windows(3));
    }
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.unicode_words().collect();
    hasher.create_signature(words.windows(3))
}

/// The documents of each language, and English documents of several sizes.
fn texts(languages: &str, corpus: &Corpus) -> Result<Vec<ScriptTexts>> {
    let mut documents = Vec::new();
    for line in languages.lines() {
        let value: serde_json::Value = serde_json::from_str(line)?;
        let (id, text) = (value["id"].as_str(), value["text"].as_str());
        let text = text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        documents.push((id.unwrap_or_default().to_owned(), text));
    }
    let text_of = |id: &str| {
        let found = documents.iter().find(|(other, _)| other == id);
        found.map(|(_, text)| text.as_str()).ok_or_else(|| format!("{id} is not in the corpus"))
    };
    let fast = || Ok::<_, crate::results::Error>(Sketcher::new(&params()?));
    let cut = |text: &str, name: &str| -> Result<ScriptTexts> {
        let chars: Vec<char> = text.chars().collect();
        let documents = chars.chunks_exact(CHARS).map(String::from_iter).collect();
        Ok(ScriptTexts { name: name.to_owned(), documents, sketcher: fast()?, parts: 1.0 })
    };
    let ascii: String = text_of("eng")?.chars().filter(char::is_ascii).collect();
    let curly = ascii.replace(" the ", " \u{2018}the\u{2019} ").replace('\'', "\u{2019}");
    let mut all = vec![cut(&ascii, ASCII)?, cut(&curly, "English, typographic quotes")?];
    for (id, name) in LANGUAGES {
        all.push(cut(text_of(id)?, name)?);
    }
    let words: Vec<&str> = ascii.split(' ').collect();
    let join = |count: usize| words.chunks_exact(count).map(|words| words.join(" ")).collect();
    let name = "8 English words".to_owned();
    all.push(ScriptTexts { name, documents: join(8), sketcher: fast()?, parts: 1.0 });
    let textbook = Params::builder().shingles(Shingles::Words(3)).scheme(Scheme::Textbook);
    let sketcher = Sketcher::new(&textbook.build()?);
    let name = "200 English words, scheme textbook".to_owned();
    all.push(ScriptTexts { name, documents: join(200), sketcher, parts: 1.0 });
    let mut english = String::new();
    for number in 0.. {
        if english.len() >= 10_000_000 {
            break;
        }
        english.push_str(&corpus.document(number));
        english.push('\n');
    }
    for (name, bytes) in [("100 KB", 100_000), ("1 MB", 1_000_000), ("10 MB", 10_000_000)] {
        let documents = vec![english.get(..bytes).unwrap_or(&english).to_owned()];
        let name = format!("{name} of English, for 1,200 bytes of it");
        let parts = bytes as f64 / CHARS as f64;
        all.push(ScriptTexts { name, documents, sketcher: fast()?, parts });
    }
    Ok(all)
}
