//! Measures which windows find quotations of which length, what they cost, and how precise the
//! reported share is.
//!
//! `cargo bench --bench passages` reads corpora in the folder `NEARKIN_DATA` (default
//! `../shared/data`), plants quotations, and writes the table of `docs/guide/PASSAGES.md`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

#[path = "support/mod.rs"]
mod support;

use std::error::Error;
use std::fmt::Write as _;

use nearkin::passages::PassageIndex;
use nearkin::{Durability, FoldOptions, Maintenance, Normalise, Options, Params};
use support::corpora;
use support::quotations::{self, Quotation};

/// The measured windows, each with its threshold.
const WINDOWS: [(&str, f64); 8] = [
    ("20:10", 0.3),
    ("30:15", 0.3),
    ("30:15", 0.5),
    ("50:25", 0.3),
    ("50:25", 0.5),
    ("100:50", 0.3),
    ("100:50", 0.5),
    ("200:100", 0.5),
];
/// Lengths of a quotation in words.
const LENGTHS: [usize; 6] = [20, 30, 50, 100, 200, 400];
/// Number of quotations per length.
const EACH: usize = 200;
/// Percentage of words of a quotation that are replaced.
const EDITED: u64 = 3;
/// Number of words per stored text.
const BOOK: usize = 1_000;
const BOOKS: usize = 400;
/// Number of words of another text in which a quotation is embedded, before and after it together.
const AROUND: usize = 300;
/// The page that contains the table.
const PAGE: &str = "docs/guide/PASSAGES.md";

fn main() -> Result<(), Box<dyn Error>> {
    let Some((speeches, news)) = quotations::speeches_and_news()? else {
        println!("{}", quotations::NO_CORPORA);
        return Ok(());
    };
    let books: Vec<&[String]> = speeches.chunks_exact(BOOK).take(BOOKS).collect();
    let mut table = format!(
        "{EACH} quotations of each length from {} texts of {BOOK} words (speeches), {EDITED} % of \
         their words replaced, each in {AROUND} words of news.\n\n| windows | threshold |",
        books.len()
    );
    for length in LENGTHS {
        let _ = write!(table, " {length} words |");
    }
    let rest = " needs | share off | wrong texts | bytes a text |";
    let _ = writeln!(table, "{rest}\n|---|{}", "---:|".repeat(LENGTHS.len() + 5));
    for (windows, threshold) in WINDOWS {
        let row = row(windows, threshold, &books, &news)?;
        println!("{row}");
        table.push_str(&row);
        table.push('\n');
    }
    corpora::write_tables(PAGE, "benches/passages.rs", &table)
}

fn row(
    windows: &str,
    threshold: f64,
    books: &[&[String]],
    news: &[String],
) -> Result<String, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let fold = Normalise::Fold(FoldOptions::default().dehyphenate(true));
    let builder = Params::for_threshold(threshold).passages(windows.parse()?).normalise(fold);
    let params = builder.build()?;
    let options =
        Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline);
    let index = PassageIndex::create(scratch.path().join("books"), &params, options)?;
    for (number, book) in (0_u64..).zip(books) {
        index.insert(number.to_le_bytes(), &book.join(" "))?;
    }
    index.index().compact()?;
    let mut bytes = 0;
    for file in std::fs::read_dir(scratch.path().join("books/segments"))? {
        bytes += file?.metadata()?.len();
    }
    let (view, mut state) = (index.view(), 5);
    let (mut wrong, mut off, mut found_in_all) = (0, 0.0, 0_u32);
    let mut row = format!("| {windows} | {threshold} |");
    for length in LENGTHS {
        let mut found = 0_u32;
        for query in 0..EACH {
            let book = query % books.len();
            let text = Quotation { words: length, edited: EDITED, around: AROUND }.text(
                books[book],
                news,
                &mut state,
            );
            let number = u64::try_from(book)?.to_le_bytes();
            let answer = view.query(&text).run()?;
            for quoting_text in &answer.texts {
                if quoting_text.key == number {
                    found += 1;
                    off += (quoting_text.share - length as f64 / (length + AROUND) as f64).abs();
                } else {
                    wrong += 1;
                }
            }
        }
        found_in_all += found;
        let _ = write!(row, " {:.2} |", f64::from(found) / EACH as f64);
    }
    let needs = params.quotation_words(threshold).map_or("-".to_owned(), |all| all.to_string());
    let (off, bytes) = (off / f64::from(found_in_all.max(1)), bytes / books.len() as u64);
    let _ = write!(row, " {needs} | {off:.3} | {wrong} | {bytes} |");
    Ok(row)
}
