//! Texts, with words and without: the model knows which of them are equal, not how they are
//! sketched.

use super::script::Rng;
use crate::{Admit, ErrorKind, Index, Options, Outcome, Params, Shingles};
use std::collections::BTreeMap;

/// Texts of which no two are alike, in several spellings of each.
const TEXTS: [&[&str]; 10] = [
    &["===>", " ===>\n"],
    &["<==="],
    &["===>>"],
    &["\u{1f600}"],
    &["\u{1f600}\u{1f600}\u{1f602}"],
    &["\u{2211} \u{2260} \u{221e}", "\u{2211}  \u{2260}\t\u{221e}"],
    &["?!"],
    &["The ferry to the islands was cancelled", "the FERRY to the islands was cancelled"],
    &["A small grey cat with one white paw"],
    &["Council meets on Monday at nine"],
];
const BLANK: [&str; 3] = ["", " \n", "\u{3000}"];
const KEYS: usize = 12;
const OPS: usize = 600;
/// Equal texts reach it, and no others.
const THRESHOLD: f64 = 0.95;

/// The key and the place of the text in `TEXTS` of each live document.
type Model = BTreeMap<String, usize>;

fn like(model: &Model, text: usize, except: Option<&str>) -> Vec<Vec<u8>> {
    let equal = model.iter().filter(|(key, of)| **of == text && Some(&***key) != except);
    equal.map(|(key, _)| key.clone().into_bytes()).collect()
}

fn run(shingles: Shingles, seed: u64) {
    let params = Params::builder().shingles(shingles).seed(seed).build().unwrap();
    let index = Index::temporary(&params, Options::default()).unwrap();
    let (mut model, mut rng) = (Model::new(), Rng::new(seed));
    for at in 0..OPS {
        let place = format!("{shingles:?}, seed {seed}, operation {at}");
        let (key, text) = (format!("k{:02}", rng.below(KEYS)), rng.below(TEXTS.len()));
        let spelt = rng.pick(TEXTS[text]);
        let signature = index.sketcher().text(spelt).unwrap();
        match rng.below(10) {
            0..4 => {
                index.insert(&key, &signature).unwrap();
                model.insert(key, text);
            }
            4..6 => {
                let admission = index.admit(&key, &signature, &Admit::at(THRESHOLD)).unwrap();
                let is_new = like(&model, text, Some(&key)).is_empty();
                assert_eq!(admission.is_admitted(), is_new, "{place}: {spelt:?} as {key}");
                if is_new {
                    model.insert(key, text);
                }
            }
            6 => {
                let was_there = model.remove(&key).is_some();
                assert_eq!(index.remove(&key).unwrap() == Outcome::Removed, was_there, "{place}");
            }
            7 => index.flush().unwrap(),
            8 => {
                let blank = index.sketcher().text(rng.pick(&BLANK));
                assert_eq!(blank.unwrap_err().kind(), ErrorKind::Empty, "{place}");
            }
            _ => {
                let query = index.query(&signature).threshold(THRESHOLD).limit(2 * KEYS);
                let found: Vec<_> =
                    query.run().unwrap().matches.into_iter().map(|m| m.key).collect();
                assert_eq!(found, like(&model, text, None), "{place}: {spelt:?}");
            }
        }
    }
}

#[test]
fn equal_texts_alone_are_copies_with_words_and_without() {
    for shingles in
        [Shingles::Words(3), Shingles::Words(1), Shingles::Tokens(3), Shingles::Chars(5)]
    {
        (1..=3).for_each(|seed| run(shingles, seed));
    }
}
