//! Which windows find quotations of which length.

use super::options;
use super::support::random;
use nearkin::passages::PassageIndex;
use nearkin::{FoldOptions, Normalise, Params};
use std::error::Error;
use std::fmt::Write as _;

/// Windows, and the threshold.
const WINDOWS: [(&str, f64); 6] = [
    ("20:10", 0.3),
    ("30:15", 0.3),
    ("30:15", 0.5),
    ("50:25", 0.3),
    ("50:25", 0.5),
    ("100:50", 0.5),
];
/// Words of a quotation.
const LENGTHS: [usize; 6] = [20, 30, 50, 100, 200, 400];
/// Quotations of each length.
const EACH: usize = 200;
/// Words of a quotation that are others, per hundred.
const EDITED: u64 = 3;

/// Texts are long ones made of those given; each quotation stands in a text of 300 other words.
pub(crate) fn table(texts: &[String]) -> Result<String, Box<dyn Error>> {
    let words: Vec<Vec<&str>> =
        texts.iter().map(|text| text.split_whitespace().collect()).collect();
    let books: Vec<Vec<&str>> = words[..600].chunks(3).map(<[_]>::concat).collect();
    let others: Vec<Vec<&str>> = words[600..].chunks(2).map(<[_]>::concat).collect();
    let mut table = format!(
        "### Quotations\n\n{EACH} of each length with {EDITED} % of the words replaced, in texts \
         of 300 other words, found among {} texts.\n\n| windows | threshold |",
        books.len()
    );
    for length in LENGTHS {
        let _ = write!(table, " {length} words |");
    }
    let _ = writeln!(table, " wrong texts | passages a text |\n|---|{}", "---:|".repeat(9));
    for (windows, threshold) in WINDOWS {
        let scratch = tempfile::tempdir()?;
        let fold = Normalise::Fold(FoldOptions::default().dehyphenate(true));
        let builder = Params::for_threshold(threshold).passages(windows.parse()?).normalise(fold);
        let params = builder.build()?;
        let index = PassageIndex::create(scratch.path().join("books"), &params, options())?;
        for (number, book) in (0_u64..).zip(&books) {
            index.insert(number.to_le_bytes(), &book.join(" "))?;
        }
        let _ = write!(table, "| {windows} | {threshold} |");
        let (view, mut wrong, mut state) = (index.view(), 0, 5);
        for length in LENGTHS {
            let mut found = 0;
            for asked in 0..EACH {
                let (book, other) = (&books[asked % books.len()], &others[asked % others.len()]);
                let text = quoting(book, other, length, &mut state);
                let answer = view.query(&text).run()?;
                let number = u64::try_from(asked % books.len())?.to_le_bytes();
                for text in &answer.texts {
                    let is_right = text.key == number;
                    (found, wrong) =
                        (found + usize::from(is_right), wrong + usize::from(!is_right));
                }
            }
            let _ = write!(table, " {:.2} |", found as f64 / EACH as f64);
        }
        let passages = index.index().stats()?.documents as f64 / books.len() as f64;
        let _ = writeln!(table, " {wrong} | {passages:.0} |");
    }
    println!("{table}");
    Ok(format!("{table}\n"))
}

/// A quotation in the middle of other words.
fn quoting(book: &[&str], other: &[&str], length: usize, state: &mut u64) -> String {
    let length = length.min(book.len());
    let place = random(state) % u64::try_from(book.len() - length + 1).unwrap_or(1);
    let begin = usize::try_from(place).unwrap_or(0);
    let mut quoted = book[begin..begin + length].to_vec();
    for word in &mut quoted {
        if random(state) % 100 < EDITED {
            *word = "else";
        }
    }
    let before: Vec<&str> = other.iter().copied().cycle().take(150).collect();
    let after = other.iter().rev().copied().cycle().take(150);
    before.into_iter().chain(quoted).chain(after).collect::<Vec<_>>().join(" ")
}
