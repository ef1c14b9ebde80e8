//! Shared by the benchmarks: synthetic signatures, indexes filled with them, and texts.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]
#![expect(dead_code, reason = "each benchmark uses some of it")]

pub(crate) mod corpora;
pub(crate) mod quotations;

use nearkin::{Batch, Index, Maintenance, Options, Params, Shingles, Signature};
use std::path::Path;

/// Documents per batch.
pub(crate) const BATCH: u64 = 1_000;

/// Parameters with 128 rows of a byte, in 16 bands of 8.
pub(crate) fn params() -> Params {
    let params = Params::for_threshold(0.8).hashes(128).bands(16, 8).lane_bits(8);
    params.shingles(Shingles::Words(3)).build().unwrap()
}

/// Options without threads and without a clock, so that every run does the same work.
pub(crate) fn options() -> Options {
    Options::default().maintenance(Maintenance::Inline).clock(|| 1)
}

/// A stream of random numbers (SplitMix64).
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The signature of a document. In each group of ten, the last one is a near-duplicate of the
/// first.
pub(crate) fn signature(params: &Params, number: u64) -> Signature {
    let original = if number % 10 == 9 { number - 9 } else { number };
    let mut state = original.wrapping_mul(0x2545_f491_4f6c_dd1d);
    let mut rows: Vec<u8> = (0..16).flat_map(|_| random(&mut state).to_le_bytes()).collect();
    if number != original {
        // These two rows are in different bands, so two bands differ.
        rows[5] ^= 1;
        rows[77] ^= 1;
    }
    Signature::from_bytes(params, &rows, 200).unwrap()
}

/// The key of a document.
pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Batches of `count` documents from number `first`.
pub(crate) fn batches(params: &Params, first: u64, count: u64) -> Vec<Batch> {
    let insert = |batch: Batch, number| batch.insert(key(number), &signature(params, number));
    let one = |first| (first..first + BATCH).fold(Batch::new(), insert);
    (first..first + count).step_by(usize::try_from(BATCH).unwrap()).map(one).collect()
}

/// An index in a folder, filled with documents from number 0 on.
pub(crate) fn filled(folder: &Path, options: Options, documents: u64) -> Index {
    let params = params();
    let index = Index::create(folder.join("bench.nearkin"), &params, options).unwrap();
    for batch in batches(&params, 0, documents) {
        index.write(batch).unwrap();
    }
    index
}

/// Texts of about 200 words with the word lengths, capitals and punctuation of English prose.
pub(crate) fn texts(count: u64) -> Vec<String> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = 1;
    let mut text = || {
        let mut text = String::new();
        for _ in 0..200 {
            let at = random(&mut state) % (words.len() as u64);
            let word = words[usize::try_from(at).unwrap()];
            if text.is_empty() || text.ends_with(". ") {
                text.push_str(&word[..1].to_uppercase());
                text.push_str(&word[1..]);
            } else {
                text.push_str(word);
            }
            text.push_str(match random(&mut state) % 20 {
                0 => ". ",
                1 => ", ",
                _ => " ",
            });
        }
        text
    };
    (0..count).map(|_| text()).collect()
}

const WORDS: &str = "the of and to in a is that for it as was with be by on not he his but at are \
    this have from or had an they which one you were all her she there would their we him been \
    has when who will no more if out so up said what its about than into them can only other \
    alleviating available background between business cannot character city company conditions \
    consider continued country court decision department development different directory document \
    economic education effect energy evidence example experience family federal figure following \
    function general government group heading history house however important increase industry \
    information interest interface justice knowledge language library license machine market \
    material meeting member method modified money month national nature network notice number";
