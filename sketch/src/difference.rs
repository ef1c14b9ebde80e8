//! The words that only one of two texts has.

use xxhash_rust::xxh3::xxh3_64;

use crate::Sketcher;
use crate::details::hashes;
use crate::plain_words::{is_number, words};

/// Number of bytes that are compared at once.
const BLOCK: usize = 32;

/// The words that only one of two texts has, in their order there. Made by
/// [`Sketcher::difference`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Words of the first text. A word that it has twice, and the other text once, counts once.
    pub only_here: Vec<String>,
    /// Words of the second text.
    pub only_there: Vec<String>,
    /// The number of words that only the first text has, and only the second one: of those that
    /// [`Sketcher::first_difference`] does not list, too.
    pub counts: (usize, usize),
    /// Whether a word with a digit is among them.
    pub numbers_differ: bool,
}

impl Sketcher {
    /// The words that only one of two texts has: runs of letters and digits, normalised as the
    /// parameters say. Costs a look-up for each word.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// let sketcher = nearkin::Sketcher::new(&nearkin::Params::builder().build()?);
    /// let [here, there] = ["Dear Anna, you owe 12 euros", "Dear Otto, you owe 15 euros"];
    /// let found = sketcher.difference(here, there);
    /// assert_eq!(found.only_here, ["anna", "12"]);
    /// assert_eq!(found.only_there, ["otto", "15"]);
    /// assert!(found.numbers_differ);
    /// # Ok(())
    /// # }
    /// ```
    pub fn difference(&self, here: &str, there: &str) -> Difference {
        self.first_difference(here, there, usize::MAX)
    }

    /// Like [`Sketcher::difference`], but lists at most so many words of each text, the first ones.
    /// Costs less: usually, all of them stand at the beginning.
    pub fn first_difference(&self, here: &str, there: &str, most: usize) -> Difference {
        let [here, there] = [here, there].map(|text| self.plain_letters(text));
        let (begin, end) = common_ends(&here, &there);
        let [a, b] = [&here, &there].map(|text| &text[begin..text.len() - end]);
        let [only_a, only_b] = [self.sorted_hashes(a), self.sorted_hashes(b)];
        let parts = [(&here, a, without(&only_a, &only_b)), (&there, b, without(&only_b, &only_a))];
        let counts = (parts[0].2.len(), parts[1].2.len());
        // Without digits, none of the words is a number.
        let has_number = [a, b].into_iter().any(|part| !part.is_ascii() || is_number(part));
        let mut numbers_differ = false;
        let [ours, theirs] = parts.map(|(text, part, missing)| {
            let listed = if has_number { usize::MAX } else { most };
            let mut found = only(part, &missing, listed);
            // A word that the common beginning has, too, is named where it stands first.
            let is_common = |word: &String| text[..begin].contains(&**word);
            if found.len() < missing.len() && begin > 0 || found.iter().any(is_common) {
                found = only(text, &missing, listed);
            }
            numbers_differ |= found.iter().any(|word| is_number(word));
            found.truncate(most);
            found
        });
        Difference { only_here: ours, only_there: theirs, counts, numbers_differ }
    }

    /// The hashes of the words of a text in lower case, ascending.
    fn sorted_hashes(&self, text: &str) -> Vec<u64> {
        let mut all =
            if text.is_ascii() { self.hashes_of_ascii(text) } else { hashes(text).collect() };
        all.sort_unstable();
        all
    }
}

/// The first words of a text with these hashes, each as often as it is there; at most `most`.
fn only(text: &str, missing: &[u64], most: usize) -> Vec<String> {
    let mut found = Vec::new();
    // How many of equal hashes were found, at the place of the first of them.
    let mut taken = vec![0; missing.len()];
    for word in words(text) {
        if found.len() == most.min(missing.len()) {
            break;
        }
        let hash = hash_of(word);
        let first = missing.partition_point(|other| *other < hash);
        if let Some(taken) = taken.get_mut(first)
            && missing.get(first + *taken) == Some(&hash)
        {
            *taken += 1;
            found.push(word.to_owned());
        }
    }
    found
}

/// The number of bytes with which two texts both begin, and with which the rest of both ends. Ends
/// behind and begins before a space, where no word goes on: so the same words are in both.
fn common_ends(one: &str, other: &str) -> (usize, usize) {
    let is_equal = |(one, other): &(&[u8], &[u8])| one == other;
    let (a, b) = (one.as_bytes(), other.as_bytes());
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let equal = blocks.take_while(is_equal).count() * BLOCK;
    let rest = a[equal..].iter().zip(&b[equal..]);
    let equal = equal + rest.take_while(|(one, other)| one == other).count();
    let begin = a[..equal].iter().rposition(|byte| *byte == b' ').map_or(0, |space| space + 1);
    let (a, b) = (&a[begin..], &b[begin..]);
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let equal = blocks.take_while(is_equal).count() * BLOCK;
    let rest = a[..a.len() - equal].iter().rev().zip(b[..b.len() - equal].iter().rev());
    let equal = equal + rest.take_while(|(one, other)| one == other).count();
    let last = &a[a.len() - equal..];
    let end = last.iter().position(|byte| *byte == b' ').map_or(0, |space| equal - space);
    (begin, end)
}

fn hash_of(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

/// The numbers of an ascending list that another one lacks; each as often as it does.
fn without(all: &[u64], others: &[u64]) -> Vec<u64> {
    let mut others = others.iter().peekable();
    let lacks = |one: &&u64| {
        while others.next_if(|other| other < one).is_some() {}
        others.next_if(|other| other == one).is_none()
    };
    all.iter().filter(lacks).copied().collect()
}

#[cfg(test)]
mod tests {
    use crate::{Params, Sketcher};

    #[test]
    fn words_count_as_often_as_they_occur() {
        let sketcher = Sketcher::new(&Params::builder().build().unwrap());
        let found = sketcher.difference("a b b c", "b c c D");
        assert_eq!(
            (found.only_here, found.only_there),
            (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned(), "d".to_owned()],)
        );
        assert!(!found.numbers_differ);
        let same = sketcher.difference("One, two", "two one!");
        assert!(same.only_here.is_empty() && same.only_there.is_empty());
    }

    #[test]
    fn what_texts_have_in_common_at_their_ends_changes_nothing() {
        let sketcher = Sketcher::new(&Params::builder().build().unwrap());
        let mut state = 7_u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % end
        };
        let pieces = ["a", "bb", "ccc", "1", "1.5", ",", ". ", "\u{e9}", "\u{5024}", "\n", "a bb"];
        for _ in 0..3_000 {
            let mut text = |most: usize| {
                let count = below(most);
                (0..count).map(|_| pieces[below(pieces.len())]).collect::<Vec<_>>().join(" ")
            };
            let (begin, end) = (text(30), text(30));
            let [here, there] = [text(6), text(6)].map(|middle| {
                let middle = if middle.len() % 3 == 0 { middle } else { format!(" {middle} ") };
                format!("{begin}{middle}{end}")
            });
            let found = sketcher.difference(&here, &there);
            assert_eq!(found.only_here, by_counting(&here, &there), "{here:?} / {there:?}");
            assert_eq!(found.only_there, by_counting(&there, &here), "{here:?} / {there:?}");
            let first = sketcher.first_difference(&here, &there, 2);
            let some = |all: &[String]| all[..all.len().min(2)].to_vec();
            assert_eq!(first.only_here, some(&found.only_here), "{here:?} / {there:?}");
            assert_eq!(first.only_there, some(&found.only_there), "{here:?} / {there:?}");
            assert_eq!(first.counts, (found.only_here.len(), found.only_there.len()));
            assert_eq!(first.numbers_differ, found.numbers_differ, "{here:?} / {there:?}");
        }
    }

    /// The first words of a text that another one has less often, as many as it lacks.
    fn by_counting(here: &str, there: &str) -> Vec<String> {
        let all = |text: &str| super::words(text).map(str::to_owned).collect::<Vec<_>>();
        let (here, there) = (all(here), all(there));
        let count = |all: &[String], word: &String| all.iter().filter(|one| *one == word).count();
        let mut found = Vec::new();
        for word in &here {
            let lacking = count(&here, word).saturating_sub(count(&there, word));
            if count(&found, word) < lacking {
                found.push(word.clone());
            }
        }
        found
    }
}
