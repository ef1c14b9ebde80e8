//! A slow implementation of the whole path from parameters and a text to a signature, after
//! `docs/reference/SIGNATURES.md`. The production code must equal it on any input.

#![expect(clippy::cast_possible_truncation, reason = "halves of products are wanted")]

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::naive;
use crate::hash::{finalise, split_mix};
use crate::{Common, ErrorKind, FoldOptions, Normalise, Params, Scheme, Shingles, Sketcher};

/// Number of bytes that choose the parameters.
const CHOICES: usize = 5;

/// Reads parameters and a text from `data`, and compares the signatures of both implementations.
pub(crate) fn check(data: &[u8]) {
    #[cfg(test)]
    if !super::definition::comparable() {
        return;
    }
    // Missing bytes are zeros, so that every input is valid.
    let mut choices = [0; CHOICES];
    let (taken, text) = data.split_at(data.len().min(CHOICES));
    choices[..taken.len()].copy_from_slice(taken);
    let Some(params) = params(choices) else { return };
    let text = String::from_utf8_lossy(text);
    let mut sums = sums(&units(&params, &text), &params);
    let params = with_common(params, choices[0] / 5, &mut sums);
    let sketcher = Sketcher::new(&params);
    let sign = || match params.shingles() {
        Shingles::Items => sketcher.items(text.split('|')),
        _ => sketcher.text(&text),
    };
    let hashes = hashes(&params, sums);
    match sign() {
        Ok(signature) => {
            assert_eq!(signature.as_bytes(), rows(&params, &hashes), "{params:?} {text:?}");
            assert_eq!(signature.shingle_count() as usize, hashes.len(), "{params:?} {text:?}");
            assert_eq!(sign().expect("as before"), signature, "the same again");
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Empty, "{params:?} {text:?}");
            assert!(hashes.is_empty(), "{params:?} {text:?}");
        }
    }
}

fn params([kind, width, flags, letters, rows]: [u8; CHOICES]) -> Option<Params> {
    let width = u32::from(width) % 9 + 1;
    let hashes = match flags & 64 {
        0 => 16 + usize::from(rows % 20),
        // The default number of rows, 128, has special paths.
        _ if rows % 2 == 0 => 128,
        _ => 16 + usize::from(rows),
    };
    let shingles = match kind % 5 {
        0 => Shingles::Words(width),
        1 => Shingles::Tokens(width),
        2 => Shingles::Chars(width),
        3 => Shingles::Lines(width),
        _ => Shingles::Items,
    };
    let set = |bit: u8| flags & bit != 0;
    let builder = Params::builder().shingles(shingles).hashes(hashes).bands(2, 4);
    let builder = builder.bag(set(1)).keep_space(set(4)).normalise(normalise(letters, flags));
    let builder = builder.lane_bits(if set(16) { 16 } else { 8 });
    let builder = builder.scheme(if set(32) { Scheme::Textbook } else { Scheme::Fast });
    builder.seed(u64::from(flags >> 7) * 0x1234_5678_9ABC).build().ok()
}

fn normalise(letters: u8, flags: u8) -> Normalise {
    let [two, eight, bits] = [2, 8, 64].map(|bit| flags & bit != 0);
    match letters % 3 {
        0 => match (two, eight) {
            (true, true) => Normalise::None,
            (true, false) => Normalise::Nfc,
            (false, true) => Normalise::Lower,
            (false, false) => Normalise::Case,
        },
        1 => Normalise::FOLD,
        _ => {
            let options = FoldOptions::default().diacritics(two).dehyphenate(eight).turkish(bits);
            Normalise::Fold(options.digits(letters / 3 % 2 == 1).lookalikes(letters / 6 % 2 == 1))
        }
    }
}

/// Normalises a text, except for white space. Fuzzing cannot use the crates of the definition, so
/// it uses the slow path, which the tests compare with the definition.
#[cfg(not(test))]
fn normalised(normalise: Normalise, text: &str) -> String {
    let params = Params::builder().normalise(normalise).build().expect("of words");
    let rules = crate::normalise::Rules::new(&params);
    rules.letters(&rules.options(text)).into_owned()
}

/// Normalises a text by the definition, except for white space.
#[cfg(test)]
pub(super) fn normalised(normalise: Normalise, text: &str) -> String {
    use super::definition;
    use super::options::{self, OptionsCase};
    use unicode_normalization::UnicodeNormalization as _;
    match normalise {
        Normalise::None => text.to_owned(),
        Normalise::Nfc => text.nfc().collect(),
        Normalise::Lower => definition::lower(text).collect(),
        Normalise::Case => definition::case(text),
        Normalise::Fold(FoldOptions { diacritics, dehyphenate, turkish, digits, lookalikes }) => {
            let case = OptionsCase { diacritics, dehyphenate, turkish, digits, lookalikes };
            options::fold_with(text, case)
        }
    }
}

/// The units of a text, as strings; a text without units is one, unless it is blank.
fn units(params: &Params, text: &str) -> Vec<String> {
    let blanks = |text: &str| {
        if params.keep_space() {
            return text.to_owned();
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    if params.shingles() == Shingles::Items {
        let item = |item: &str| match params.normalise() {
            Normalise::Case => item.to_owned(),
            other => blanks(&normalised(other, item)),
        };
        return text.split('|').map(item).collect();
    }
    let text = normalised(params.normalise(), text);
    let units = units_of_kind(params.shingles(), &text, blanks);
    if units.is_empty() && text.split_whitespace().next().is_some() {
        return vec![blanks(&text)];
    }
    units
}

fn units_of_kind(shingles: Shingles, text: &str, blanks: impl Fn(&str) -> String) -> Vec<String> {
    match shingles {
        Shingles::Words(_) => {
            crate::unicode::words::words(&blanks(text)).map(|(_, word)| word.to_owned()).collect()
        }
        Shingles::Tokens(_) => text.split_whitespace().map(str::to_owned).collect(),
        Shingles::Chars(_) => blanks(text).chars().map(String::from).collect(),
        _ => text.split('\n').map(blanks).filter(|line| !line.is_empty()).collect(),
    }
}

/// The sums of all windows.
fn sums(units: &[String], params: &Params) -> Vec<u64> {
    let units: Vec<u64> =
        units.iter().map(|unit| xxh3_64_with_seed(unit.as_bytes(), params.seed())).collect();
    let width = params.shingles().units().min(units.len()).max(1);
    let add = |sum: u64, unit: &u64| sum.wrapping_mul(0xd134_2543_de82_ef93).wrapping_add(*unit);
    units.windows(width).map(|window| window.iter().fold(0, add)).collect()
}

/// Makes some of the shingles common and drops them, unless there are no others.
fn with_common(params: Params, choice: u8, sums: &mut Vec<u64>) -> Params {
    let is_common = |sum: &u64| match choice % 4 {
        0 | 1 => false,
        2 => finalise(*sum).is_multiple_of(3),
        _ => !finalise(*sum).is_multiple_of(8),
    };
    let common: BTreeSet<u64> =
        sums.iter().filter(|sum| is_common(sum)).map(|sum| finalise(*sum)).collect();
    let Ok(list) = Common::from_hashes(common) else { return params };
    if !sums.iter().all(is_common) {
        sums.retain(|sum| !is_common(sum));
    }
    params.to_builder().common(list).build().expect("fits any parameters of texts and sets")
}

/// The distinct hashes of the shingles. For a bag, also the hashes of the repeats.
fn hashes(params: &Params, sums: Vec<u64>) -> Vec<u64> {
    if !params.bag() {
        let distinct: BTreeSet<u64> = sums.into_iter().map(finalise).collect();
        return distinct.into_iter().collect();
    }
    let mut repeats: BTreeMap<u64, u64> = BTreeMap::new();
    let numbered = sums.into_iter().map(|sum| {
        let repeat = repeats.entry(sum).or_default();
        *repeat += 1;
        finalise(sum.wrapping_add((*repeat - 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    });
    numbered.collect()
}

/// The rows as stored.
fn rows(params: &Params, hashes: &[u64]) -> Vec<u8> {
    let values = match params.scheme() {
        Scheme::Fast => naive::fast(hashes, params.hashes(), &naive::rehash),
        Scheme::Textbook => textbook(hashes, params.hashes(), params.seed()),
        Scheme::External(_) | Scheme::Winnow => unreachable!("nothing is sketched for it"),
    };
    let lane = |value: u64| (value.wrapping_mul(0xf135_7aea_2e62_a9c5) >> 48) as u16;
    let lanes = values.into_iter().map(lane);
    if params.lane_bits() == 16 {
        lanes.flat_map(u16::to_le_bytes).collect()
    } else {
        lanes.map(|lane| lane.to_le_bytes()[1]).collect()
    }
}

fn textbook(hashes: &[u64], rows: usize, seed: u64) -> Vec<u64> {
    let prime = (1_u128 << 61) - 1;
    let value = |row: u64, hash: u64| {
        let factor = 1 + u128::from(split_mix(seed, 2 * row)) % (prime - 1);
        let add = u128::from(split_mix(seed, 2 * row + 1)) % prime;
        ((factor * (u128::from(hash) % prime) + add) % prime) as u64
    };
    let least = |row| hashes.iter().map(|hash| value(row, *hash)).min();
    (0..rows as u64).filter_map(least).collect()
}

/// The seeds of the fuzz target `text`, and changed ones, with the stable compiler.
#[cfg(test)]
mod seeds {
    use super::check;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::path::Path;
    use std::sync::LazyLock;

    static SEEDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/text");
        let entries = std::fs::read_dir(folder).expect("seeds are committed");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        #[expect(clippy::disallowed_methods, reason = "there is no storage here")]
        paths.map(|path| std::fs::read(path).expect("a seed")).collect()
    });

    /// `NEARKIN_FUZZ_RUNS`, as for the other targets.
    fn runs() -> u32 {
        std::env::var("NEARKIN_FUZZ_RUNS").map_or(2_000, |n| n.parse().expect("a number"))
    }

    #[test]
    fn the_seeds_have_the_signatures_of_the_slow_way() {
        assert!(SEEDS.len() >= 20, "they are where they are looked for");
        SEEDS.iter().for_each(|seed| check(seed));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(runs()))]
        #[test]
        fn any_text_has_the_signature_of_the_slow_way(
            seed: Index,
            changes in vec((any::<Index>(), 0_usize..12, vec(any::<u8>(), 0..12)), 0..6),
        ) {
            let mut bytes = seed.get(&SEEDS).clone();
            for (at, gone, new) in changes {
                let at = at.index(bytes.len() + 1);
                let end = (at + gone).min(bytes.len());
                bytes.splice(at..end, new);
            }
            check(&bytes);
        }
    }
}
