//! Quotations that are planted: texts of speeches, and words of news around what is quoted.

use std::error::Error;

use super::{corpora, random};

/// The words of a collection, in order.
type Words = Vec<String>;

/// Why nothing is measured.
pub(crate) const NO_CORPORA: &str =
    "SKIPPED: no corpora (default ../shared/data; NEARKIN_DATA names a folder)";

/// All words of the speeches, and of the news; `None` without the corpora.
pub(crate) fn speeches_and_news() -> Result<Option<(Words, Words)>, Box<dyn Error>> {
    let folder = corpora::folder();
    if !folder.join("state_union.jsonl.zst").exists() {
        return Ok(None);
    }
    let words = |name: &str| -> Result<Words, Box<dyn Error>> {
        let text = corpora::texts(&corpora::unpack(&folder, &format!("{name}.jsonl"))?)?.join(" ");
        Ok(text.split_whitespace().map(str::to_owned).collect())
    };
    Ok(Some((words("state_union")?, words("reuters21578")?)))
}

/// What is quoted, and how.
#[derive(Clone, Copy)]
pub(crate) struct Quotation {
    /// Number of words that are quoted.
    pub(crate) words: usize,
    /// Percentage of them that are replaced.
    pub(crate) edited: u64,
    /// Number of words of another text, before and after the quotation together.
    pub(crate) around: usize,
}

impl Quotation {
    /// A text that quotes `book` between words of `news`.
    pub(crate) fn text(self, book: &[String], news: &[String], state: &mut u64) -> String {
        let mut below = |most: usize| {
            let most = u64::try_from(most).unwrap_or(1).max(1);
            usize::try_from(random(state) % most).unwrap_or(0)
        };
        let begin = below(book.len() - self.words + 1);
        let quoted = book[begin..begin + self.words].iter().map(String::as_str);
        let mut quoted: Vec<&str> = quoted.collect();
        for word in &mut quoted {
            if below(100) < usize::try_from(self.edited).unwrap_or(0) {
                *word = "else";
            }
        }
        let (other, before) = (below(news.len() - self.around), below(self.around + 1));
        let other = news[other..other + self.around].iter().map(String::as_str);
        let (before, behind): (Vec<_>, Vec<_>) =
            (other.clone().take(before).collect(), other.skip(before).collect());
        [before, quoted, behind].concat().join(" ")
    }
}
