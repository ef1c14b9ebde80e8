//! Measures fingerprints beside windows of words: what they find, what they take, how fast they
//! are.
//!
//! `cargo bench --bench fingerprints` reads corpora in the folder `NEARKIN_DATA` (default
//! `../shared/data`), plants quotations, and writes the tables of `docs/reports/FINGERPRINTS.md`.
//! `NEARKIN_TEXTS=1000000` measures an index of so many texts alone, and writes no page.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

#[path = "support/mod.rs"]
mod support;

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use nearkin::passages::PassageIndex;
use nearkin::{
    Durability, FoldOptions, Maintenance, Normalise, Options, Params, ParamsBuilder, Preset,
    Shingles,
};
use support::quotations::{self, Quotation};
use support::{corpora, random};

/// What is compared: shingles and runs, or windows and their threshold.
const RECIPES: [Recipe; 6] = [
    ("winnowing (4, 5)", 4, "8:1", 0.0),
    ("winnowing (5, 4)", 5, "8:1", 0.0),
    ("winnowing (8, 30)", 8, "37:1", 0.0),
    ("windows 20:10 at 0.3", 3, "20:10", 0.3),
    ("windows 30:15 at 0.3", 3, "30:15", 0.3),
    ("windows 50:25 at 0.3", 3, "50:25", 0.3),
];
/// Lengths of a quotation in words.
const LENGTHS: [usize; 6] = [8, 10, 12, 15, 20, 30];
/// Percentages of the words of a quotation that are replaced.
const EDITED: [u64; 3] = [0, 3, 5];
/// Number of quotations per length and percentage.
const EACH: usize = 300;
/// Number of words per stored text, and of texts.
const BOOK: usize = 300;
const BOOKS: usize = 1_000;
/// Number of words of another text in which a quotation is embedded, before and after it together.
const AROUND: usize = 100;
/// The page that contains the tables.
const PAGE: &str = "docs/reports/FINGERPRINTS.md";

fn main() -> Result<(), Box<dyn Error>> {
    let Some((speeches, news)) = quotations::speeches_and_news()? else {
        println!("{}", quotations::NO_CORPORA);
        return Ok(());
    };
    if let Ok(texts) = std::env::var("NEARKIN_TEXTS") {
        println!("{}", large(&speeches, texts.parse()?)?);
        return Ok(());
    }
    let mut table = format!(
        "{EACH} quotations of each length and share of replaced words, from {BOOKS} texts of \
         {BOOK} words (speeches), each in {AROUND} words of news. Columns: words of the \
         quotation / % of them replaced.\n\n| recipe |"
    );
    for edited in EDITED {
        for length in LENGTHS {
            let _ = write!(table, " {length}/{edited} |");
        }
    }
    let columns = LENGTHS.len() * EDITED.len() + 3;
    let _ = writeln!(table, " wrong texts | bytes / 1,000 words | us a query |");
    let _ = writeln!(table, "|---|{}", "---:|".repeat(columns));
    for recipe in RECIPES {
        let row = row(recipe, &speeches, &news)?;
        println!("{row}");
        let _ = writeln!(table, "{row}");
    }
    table.push_str(&large(&speeches, 100_000)?);
    corpora::write_tables(PAGE, "benches/fingerprints.rs", &table)
}

type Recipe = (&'static str, u32, &'static str, f64);

fn params((_, units, windows, threshold): Recipe) -> Result<Params, Box<dyn Error>> {
    let builder: ParamsBuilder = if threshold > 0.0 {
        let fold = Normalise::Fold(FoldOptions::default().dehyphenate(true));
        Params::for_threshold(threshold).normalise(fold)
    } else {
        Params::preset(Preset::Quotes)
    };
    Ok(builder.shingles(Shingles::Words(units)).passages(windows.parse()?).build()?)
}

fn bytes_of(index: &Path) -> Result<u64, Box<dyn Error>> {
    let mut bytes = 0;
    for file in std::fs::read_dir(index.join("segments"))? {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}

fn options() -> Options {
    Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
}

fn row(recipe: Recipe, speeches: &[String], news: &[String]) -> Result<String, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let at = scratch.path().join("books");
    let index = PassageIndex::create(&at, &params(recipe)?, options())?;
    let books: Vec<&[String]> = speeches.chunks_exact(BOOK).take(BOOKS).collect();
    for (number, book) in (0_u64..).zip(&books) {
        index.insert(number.to_le_bytes(), &book.join(" "))?;
    }
    index.index().compact()?;
    let bytes = bytes_of(&at)? * 1_000 / u64::try_from(books.len() * BOOK)?;
    let (view, mut state, mut wrong) = (index.view(), 5, 0);
    let mut row = format!("| {} |", recipe.0);
    let start = Instant::now();
    for edited in EDITED {
        for length in LENGTHS {
            let mut found = 0_u32;
            for query in 0..EACH {
                let book = (7 * query) % books.len();
                let text = Quotation { words: length, edited, around: AROUND }.text(
                    books[book],
                    news,
                    &mut state,
                );
                let number = u64::try_from(book)?.to_le_bytes();
                for one in &view.query(&text).run()?.texts {
                    if one.key == number { found += 1 } else { wrong += 1 }
                }
            }
            let _ = write!(row, " {:.2} |", f64::from(found) / EACH as f64);
        }
    }
    let queries = u128::try_from(EACH * LENGTHS.len() * EDITED.len())?;
    let _ = write!(row, " {wrong} | {bytes} | {} |", start.elapsed().as_micros() / queries);
    Ok(row)
}

/// A large index of made-up texts of 300 words of the vocabulary of the speeches, as frequent as
/// there: sizes and times.
fn large(speeches: &[String], texts: u64) -> Result<String, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let at = scratch.path().join("texts");
    let index = PassageIndex::create(&at, &Params::preset(Preset::Quotes).build()?, options())?;
    let made = |number: u64, words: usize| {
        let mut state = number;
        let mut word = || {
            let at = random(&mut state) % (speeches.len() as u64);
            speeches[usize::try_from(at).unwrap_or(0)].as_str()
        };
        (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
    };
    let start = Instant::now();
    for first in (0..texts).step_by(200) {
        if first % 50_000 == 0 {
            eprintln!("{first} texts: {}", spent());
        }
        let one =
            |number: u64| index.cutter().prepare(number.to_le_bytes(), &made(number, 300), None);
        let batch =
            (first..texts.min(first + 200)).map(one).collect::<nearkin::Result<Vec<_>>>()?;
        index.write(&batch)?;
    }
    let inserts = texts as f64 / start.elapsed().as_secs_f64();
    eprintln!("all inserted: {}", spent());
    index.index().compact()?;
    eprintln!("compacted: {}", spent());
    let bytes = bytes_of(&at)? as f64 / (texts as f64 * 0.3);
    let view = index.view();
    let mut queries: Vec<(u64, String)> = Vec::new();
    for number in 0..200 {
        // A quotation of 12 words of a stored text in the middle of 988 others.
        let stored = number * 479 % texts;
        let quoted: Vec<String> =
            made(stored, 300).split(' ').skip(100).take(12).map(str::to_owned).collect();
        let (before, behind) = (made(1 << 40 | number, 500), made(2 << 40 | number, 488));
        queries.push((stored, format!("{before} {} {behind}", quoted.join(" "))));
    }
    // The first round reads and verifies the blocks.
    let mut times = Vec::new();
    for round in 0..2 {
        for (stored, text) in &queries {
            let start = Instant::now();
            let answer = view.query(text).run()?;
            if round > 0 {
                times.push(start.elapsed().as_micros());
            }
            if !answer.texts.iter().any(|text| text.key == stored.to_le_bytes()) {
                return Err(format!("the quotation of text {stored} is not found").into());
            }
        }
    }
    eprintln!("400 queries: {}", spent());
    times.sort_unstable();
    let (median, slow) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    Ok(format!(
        "\n{texts} texts of 300 words: {inserts:.0} inserts/s on one thread, {bytes:.0} bytes per \
         1,000 words. Queries of 1,000 words, in memory: median {median} us, 99 of 100 below \
         {slow} us; the planted run of 12 words is found in all of them.\n"
    ))
}

/// What the process has taken so far (Linux): processor time, and memory at most.
fn spent() -> String {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    // In hundredths of a second.
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory =
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"));
    let memory: Vec<&str> = memory.collect();
    format!("{:.1} s of processor time, {}", ticks as f64 / 100.0, memory.join(", "))
}
