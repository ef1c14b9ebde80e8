//! The share of quoted words, measured with planted quotations of known length.

use crate::support::{Random, Scratch, inline};
use nearkin::passages::{Contained, PassageIndex};
use nearkin::{Durability, Params};

/// Length of a stored text in words.
const BOOK: u32 = 1_500;
const BOOKS: u32 = 12;

/// Random words from a vocabulary of 3,000.
fn prose(random: &mut Random, count: u32) -> Vec<String> {
    (0..count).map(|_| format!("w{}", random.below(3_000))).collect()
}

/// Stored texts in a passage index.
struct Library {
    index: PassageIndex,
    books: Vec<Vec<String>>,
    random: Random,
    _scratch: Scratch,
}

/// A text with a planted quotation.
struct Planted {
    text: String,
    book: usize,
    begin: usize,
    /// Lengths in words: of the quotation, and of the whole text.
    quoted: usize,
    words: usize,
}

impl Library {
    fn new(windows: &str, threshold: f64) -> Self {
        let scratch = Scratch::new();
        let params = Params::for_threshold(threshold).passages(windows.parse().unwrap());
        let options = inline().durability(Durability::OsBuffer);
        let index = PassageIndex::create(scratch.dir(), &params.build().unwrap(), options).unwrap();
        let mut random = Random(11);
        let books: Vec<_> = (0..BOOKS).map(|_| prose(&mut random, BOOK)).collect();
        for (number, book) in books.iter().enumerate() {
            index.insert(key(number), &book.join(" ")).unwrap();
        }
        Self { index, books, random, _scratch: scratch }
    }

    /// Makes a text that quotes `quoted` words of a book, with other words before and after them.
    fn plant(&mut self, quoted: u32, before: u32, behind: u32) -> Planted {
        let book = self.random.below(BOOKS) as usize;
        let begin = self.random.below(BOOK - quoted + 1) as usize;
        let mut all = prose(&mut self.random, before);
        all.extend_from_slice(&self.books[book][begin..begin + quoted as usize]);
        all.extend(prose(&mut self.random, behind));
        let text = all.join(" ");
        Planted { text, book, begin, quoted: quoted as usize, words: all.len() }
    }

    fn ask(&self, planted: &Planted) -> Option<Contained> {
        let answer = self.index.view().query(&planted.text).run().unwrap();
        assert_eq!(answer.words, planted.words as u64);
        answer.texts.into_iter().find(|text| text.key == key(planted.book))
    }
}

fn key(number: usize) -> Vec<u8> {
    format!("book {number}").into_bytes()
}

/// Checks, for each length of quotation, that the reported shares are correct and that most
/// quotations are found.
fn shares_are_honest(windows: &str, threshold: f64, lengths: &[u32]) {
    let mut library = Library::new(windows, threshold);
    for &quoted in lengths {
        let (mut found, mut queries) = (0, 0);
        for others in [0, 15, 40, 150, 400] {
            for turn in 0..12 {
                let before = others * (turn % 4) / 3;
                let planted = library.plant(quoted, before, others - before);
                queries += 1;
                let Some(found_text) = library.ask(&planted) else { continue };
                found += 1;
                let share = planted.quoted as f64 / planted.words as f64;
                assert!(
                    (found_text.share - share).abs() <= 0.05,
                    "{windows} at {threshold}: {quoted} words, {before} before, {others} others: \
                     {} for {share}",
                    found_text.share
                );
            }
        }
        assert!(found * 10 >= queries * 9, "{windows}: {found} of {queries} of {quoted} words");
    }
}

#[test]
fn the_share_of_short_quotations_is_honest() {
    shares_are_honest("20:10", 0.3, &[20, 25, 50, 100]);
    shares_are_honest("50:25", 0.3, &[35, 50, 70, 100, 200, 400]);
}

#[test]
fn the_share_of_long_quotations_is_honest_in_long_windows() {
    shares_are_honest("100:50", 0.5, &[120, 200, 400]);
    shares_are_honest("200:100", 0.5, &[250, 400, 800]);
}

#[test]
fn overlapping_hits_are_one_passage_with_its_places() {
    let mut library = Library::new("50:25", 0.3);
    for quoted in [40, 60, 150, 400] {
        for _ in 0..10 {
            let planted = library.plant(quoted, 100, 100);
            let text = library.ask(&planted).unwrap();
            assert_eq!(text.passages.len(), 1, "{quoted}: {text:?}");
            let passage = &text.passages[0];
            let bytes = |at: u64| usize::try_from(at).unwrap();
            let place = |range: &std::ops::Range<u64>| bytes(range.start)..bytes(range.end);
            let query: Vec<&str> = planted.text[place(&passage.query)].split(' ').collect();
            let book = &library.books[planted.book];
            let exact = &book[planted.begin..planted.begin + planted.quoted];
            let off = query.len().abs_diff(exact.len());
            assert!(off <= 8, "{quoted}: {} words", query.len());
            assert!(bytes(passage.words) <= query.len());
            assert!(bytes(passage.words) * 20 >= query.len() * 19, "{text:?}");
            // The stored range contains the quotation, except for words that determine no row. It
            // is not much longer.
            let whole = book.join(" ");
            let stored: Vec<&str> = whole[place(&passage.stored)].split(' ').collect();
            let inner: Vec<&str> = exact[4..exact.len() - 4].iter().map(String::as_str).collect();
            assert!(stored.windows(inner.len()).any(|words| words == inner), "{text:?}");
            assert!(stored.len() <= exact.len() + 2 * 50, "{} of {quoted}", stored.len());
        }
    }
}

#[test]
fn two_quotations_of_one_text_are_two_passages() {
    let mut library = Library::new("50:25", 0.3);
    let (a, b) = (library.books[3][100..180].join(" "), library.books[3][900..1_000].join(" "));
    let other = prose(&mut library.random, 120).join(" ");
    let text = format!("{other} {b} {other} {a} {other}");
    let answer = library.index.view().query(&text).run().unwrap();
    let passages = &answer.texts[0].passages;
    assert_eq!((answer.texts.len(), passages.len()), (1, 2), "{answer:?}");
    // The passages come in the order of the stored text.
    assert!(passages[0].query.start > passages[1].query.end);
    assert!(passages[0].stored.end < passages[1].stored.start);
    let words = passages.iter().map(|passage| passage.words).sum::<u64>();
    assert!((165..=195).contains(&words), "{words}");
}

#[test]
fn replaced_words_do_not_count_and_their_neighbours_do() {
    let mut library = Library::new("50:25", 0.3);
    for book in 0..8 {
        let mut quoted = library.books[book][200..300].to_vec();
        for word in quoted.iter_mut().skip(5).step_by(10) {
            "else".clone_into(word);
        }
        let other = prose(&mut library.random, 100).join(" ");
        let text = format!("{other} {} {other}", quoted.join(" "));
        let answer = library.index.view().query(&text).run().unwrap();
        assert_eq!(answer.texts[0].key, key(book));
        let share = answer.texts[0].share;
        assert!((0.25..0.345).contains(&share), "{share} for .300");
    }
}

#[test]
fn a_refrain_counts_as_often_as_it_is_quoted() {
    let mut library = Library::new("50:25", 0.3);
    let refrain = prose(&mut library.random, 12).join(" ");
    let song = [refrain.as_str(); 20].join(" ");
    library.index.insert("song", &song).unwrap();
    let other = prose(&mut library.random, 60).join(" ");
    let text = format!("{other} {}", [refrain.as_str(); 10].join(" "));
    let answer = library.index.view().query(&text).run().unwrap();
    assert_eq!(answer.texts[0].key, b"song");
    let share = answer.texts[0].share;
    assert!((share - 120.0 / 180.0).abs() < 0.05, "{share}");
}
