//! The words that only one of two texts has.

use xxhash_rust::xxh3::xxh3_64;

use crate::Sketcher;
use crate::details::{is_number, words};

/// The words that only one of two texts has, in their order there. Made by
/// [`Sketcher::difference`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Words of the first text. A word that it has twice, and the other text once, counts once.
    pub only_here: Vec<String>,
    /// Words of the second text.
    pub only_there: Vec<String>,
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
        let [here, there] = [here, there].map(|text| self.plain_letters(text));
        let hashes = |text: &str| {
            let mut hashes: Vec<u64> = words(text).map(hash_of).collect();
            hashes.sort_unstable();
            hashes
        };
        let (a, b) = (hashes(&here), hashes(&there));
        let only = |text: &str, missing: Vec<u64>| {
            let mut found = Vec::new();
            // How many of equal hashes were found, at the place of the first of them.
            let mut taken = vec![0; missing.len()];
            for word in words(text) {
                if found.len() == missing.len() {
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
        };
        let found = [only(&here, without(&a, &b)), only(&there, without(&b, &a))];
        let numbers_differ = found.iter().flatten().any(|word| is_number(word));
        let [here, there] = found;
        Difference { only_here: here, only_there: there, numbers_differ }
    }
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
}
