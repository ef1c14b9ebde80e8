//! Compares processor-specific code and fast paths with the portable implementation.

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::steps;
use crate::hash::split_mix;
use crate::inner::Inner;
use crate::masks::{Cut, UnitKind, plain_blanks, plain_masks};
use crate::scratch::{self, Scratch};
use crate::simd::{self, Processor};
use crate::split::Split;
use crate::unit::UnitHash;
use crate::{Normalise, Params, Scheme, Shingles, Signature, Sketcher};
use crate::{fast, rounds};

/// The signatures of a text by every code path that this processor supports, the plain path first.
fn all_ways(inner: &Inner, text: &str, scratch: &mut Scratch) -> Vec<Option<Signature>> {
    let mut found = vec![inner.text(None, text, scratch)];
    for processor in Processor::all() {
        found.push(processor.text(inner, text, scratch));
    }
    found
}

/// Compares the signatures of all paths with each other, and the units with those of a splitter
/// that uses no masks.
fn check(text: &str) {
    let kinds = [Shingles::Words(3), Shingles::Words(1), Shingles::Tokens(2), Shingles::Chars(5)];
    for shingles in kinds {
        for (hashes, keep_case) in [(128, false), (100, true)] {
            let params = Params::builder().shingles(shingles).keep_case(keep_case).hashes(hashes);
            let sketcher = Sketcher::new(&params.bands(2, 8).build().unwrap());
            let found = scratch::with(|scratch| all_ways(&sketcher.inner, text, scratch));
            for other in &found[1..] {
                assert_eq!(*other, found[0], "{shingles} {text:?}");
            }
        }
    }
    if text.is_ascii() {
        check_units(text);
        let cut = |kind| Split::units(text, Cut { kind, lower: true });
        let lower = text.to_ascii_lowercase();
        let tokens: Vec<_> = lower.split_whitespace().map(str::to_owned).collect();
        assert_eq!(cut(UnitKind::Tokens), tokens, "{text:?}");
        assert_eq!(cut(UnitKind::Words), steps::words(&lower), "{text:?}");
    }
}

/// Tests texts in which a few different shingles, or only one, are repeated many times.
#[test]
fn texts_that_repeat_themselves_are_the_same_on_every_processor() {
    for count in (1..60).chain([1_000, 1_027, 1_100, 3_000]) {
        for words in ["a ", "a b ", "a b c d e f g h i j k l m n o p q r s t u v w x y z "] {
            check(&words.repeat(count));
        }
    }
}

/// Tests every length over several blocks, and every position of a word in them.
#[test]
fn every_length_and_place_is_the_same_on_every_processor() {
    let long = "It's 3.14 o'clock; the_QUICK __ fox:jumps over 1,000 (lazy) dogs' \tx-ray\r\n ";
    let long = long.repeat(4);
    for end in 0..long.len() {
        check(&long[..end]);
        check(&long[end..]);
    }
    for len in 0..40 {
        for before in 0..70 {
            check(&format!("{}{} a", " ".repeat(before), "Ab'c_9".repeat(7).split_at(len).0));
        }
    }
}

/// Tests texts longer than a piece. `split` ends a piece at the first position after 8 KiB that no
/// unit spans. Some of these texts have many such positions, and some have none.
#[test]
fn long_texts_are_the_same_on_every_processor() {
    let words: Vec<_> = (0..6_000).map(|n| format!("w{} ", n * n % 977)).collect();
    let words = words.concat();
    check(&words);
    check(&words.replace(' ', "_"));
    check(&words.replace(' ', "'"));
    check(&words.replace(' ', "\n"));
    check(&words.replace("w7", "\u{e9}"));
    for around in 8_180..8_200 {
        check(&format!("{}'b c", "a".repeat(around)));
        check(&format!("{} b.c", "a b ".repeat(around / 4)));
    }
}

/// The buffers of one text do not affect the next.
#[test]
fn buffers_that_were_used_change_nothing() {
    let sketcher = Sketcher::new(&Params::builder().build().unwrap());
    let short = sketcher.text("one two three four").unwrap();
    let expected = std::thread::scope(|scope| {
        let other = scope.spawn(|| sketcher.text("one two three four").unwrap());
        other.join().unwrap()
    });
    for n in [10, 1_000, 100_000, 3] {
        let words: Vec<_> = (0..n).map(|n| format!("{n}a ")).collect();
        sketcher.text(&words.concat()).unwrap();
        assert_eq!(sketcher.text("one two three four").unwrap(), expected);
    }
    assert_eq!(short, expected);
}

/// Items are signed on every processor as on none, and a hash stands for its item.
#[test]
fn items_and_their_hashes_are_the_same_on_every_processor() {
    let items = || Params::builder().shingles(Shingles::Items);
    let several = [
        items(),
        items().hashes(100).bands(2, 8),
        items().normalise(Normalise::FOLD),
        items().scheme(Scheme::Textbook),
        items().bag(true),
    ];
    for params in several {
        let sketcher = Sketcher::new(&params.build().unwrap());
        for count in [1, 2, 7, 60, 128, 129, 150, 200, 1_000, 5_000] {
            let names = (0..count).map(|n| format!("Item {}", split_mix(1, n) % (3 * count)));
            let names: Vec<String> = names.collect();
            let found = sketcher.items(&names).unwrap();
            let hashes = || names.iter().map(|name| sketcher.hash_item(name));
            assert_eq!(sketcher.items(hashes()).unwrap(), found);
            let original = sketcher.original_items(hashes()).unwrap();
            assert_eq!(original.signature(), &found);
            let sums: Vec<u64> = hashes().map(|hash| hash.0).collect();
            let rows = &mut scratch::Rows::default();
            for processor in Processor::all() {
                let signed = processor.sign(&sketcher.inner, &mut sums.clone(), rows);
                assert_eq!(signed.as_ref(), Some(&found), "{processor:?} {count}");
            }
            let portable = sketcher.inner.sign(None, &mut sums.clone(), rows);
            assert_eq!(portable, Some(found));
        }
        let forms = [sketcher.hash_item("17"), sketcher.hash_item(17), sketcher.hash_item(b"17")];
        assert_eq!(forms, [sketcher.hash_item(forms[0]); 3]);
    }
}

/// An iterator of items may itself sketch: the inner call uses its own buffers.
#[test]
fn items_may_be_made_by_sketching() {
    let items = Sketcher::new(&Params::builder().shingles(Shingles::Items).build().unwrap());
    let texts = Sketcher::new(&Params::builder().build().unwrap());
    let name = |text: &&str| texts.text(text).unwrap().shingle_count().to_string();
    let found = items.items(["a b c d", "e", "f g h i j"].iter().map(name)).unwrap();
    assert_eq!(found, items.items(["2", "1", "3"]).unwrap());
}

#[test]
fn textbook_signatures_are_the_same_on_every_processor() {
    let params = Params::builder().scheme(Scheme::Textbook).build().unwrap();
    let sketcher = Sketcher::new(&params);
    let text = "The quick brown fox jumps over the lazy dog";
    let found = scratch::with(|scratch| all_ways(&sketcher.inner, text, scratch));
    assert!(found.iter().all(|signature| *signature == found[0] && signature.is_some()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn short_units_have_the_hash_of_the_crate(
        bytes in prop::collection::vec(any::<u8>(), 32), seed in any::<u64>()
    ) {
        for seed in [0, 1, seed, u64::MAX, 1 << 31, 1 << 32] {
            let hash = UnitHash::new(seed);
            let head = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
            for len in 1..=32_u32 {
                let end = len as usize;
                let expected = xxh3_64_with_seed(&bytes[..end], seed);
                // `head(0)` may contain bytes after the unit; they do not matter.
                let found = match len {
                    1..=8 => hash.short(head(0), len),
                    17.. => {
                        let last = [head(end - 16), head(end - 8)];
                        hash.large([head(0), head(8)], last, len)
                    }
                    _ => hash.medium(head(0), head(end - 8), len),
                };
                prop_assert_eq!(found, expected, "{} {}", len, seed);
            }
        }
    }

    #[test]
    fn masks_are_what_they_say(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let block: [u8; 64] = bytes.try_into().unwrap();
        prop_assert_eq!(simd::masks(&block), plain_masks(&block));
        prop_assert_eq!(simd::blanks(&block), plain_blanks(&block));
    }

    /// The kernels pick exactly the hashes that fall into open rows. They may also pick a hash
    /// whose carry is uncertain, but that is far too rare to happen here.
    #[test]
    fn rows_of_128_are_picked_on_every_processor(
        seed in any::<u64>(), count in 1..140_usize, round in 1..20_usize,
        open in any::<[u64; 2]>()
    ) {
        let hashes: Vec<_> = (0..count as u64).map(|n| split_mix_of(seed, n)).collect();
        let constants = rounds::ROUNDS[round];
        let is_open = |hash: &u64| {
            let row = rounds::rehash(*hash, constants) >> 57;
            open[usize::from(row > 63)] >> (row & 63) & 1 == 1
        };
        let mut expected: Vec<u64> =
            hashes.as_flattened().iter().copied().filter(is_open).collect();
        expected.sort_unstable();
        for processor in Processor::all() {
            let mut picked = vec![0; 8 * count + 8];
            let found = processor.pick_of_128(&hashes, constants, open, &mut picked);
            picked.truncate(found);
            picked.sort_unstable();
            prop_assert_eq!(&picked, &expected);
        }
    }

    #[test]
    fn units_are_hashed_the_same_on_every_processor(
        units in prop::collection::vec("[a-z0-9]{1,20}", 1..40), seed in any::<u64>()
    ) {
        let text = units.join(" ");
        let cut = Cut { kind: UnitKind::Words, lower: true };
        for hash in [0, seed, u64::MAX].map(UnitHash::new) {
            let expected = units.iter().map(|unit| hash.hash_bytes(unit.as_bytes()));
            let expected: Vec<_> = expected.collect();
            for processor in Processor::all().map(Some).chain([None]) {
                let mut found = Vec::new();
                Split::default().hash(text.as_bytes(), cut, hash, processor, &mut found);
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn random_texts_are_the_same_on_every_processor(text in "[ -~\n\t]{0,300}") {
        check(&text);
    }
}

/// Eight pseudo-random numbers that depend only on the arguments.
fn split_mix_of(seed: u64, n: u64) -> [u64; 8] {
    std::array::from_fn(|nth| split_mix(seed, 8 * n + nth as u64))
}

/// Fails unless all paths agree on the values of 128 rows.
fn check_values(hashes: &[u64]) {
    let values = |processor| {
        let mut slots = vec![0; 128];
        fast::values(&mut hashes.to_vec(), &mut slots, &mut Vec::new(), processor);
        slots
    };
    for processor in Processor::all() {
        assert_eq!(values(Some(processor)), values(None));
    }
}

/// In later rounds, the kernels compute the high half of a product without the carry from the low
/// halves. Here this carry changes the row.
#[test]
fn a_carry_into_the_row_is_seen_on_every_processor() {
    for (add, factor) in &rounds::ROUNDS[1..6] {
        for row in 1..128_u64 {
            let least = (u128::from(row) << 121) / u128::from(*factor) + 1;
            let Ok(mixed) = u64::try_from(least) else { continue };
            let pair = [mixed ^ add, (mixed - 1) ^ add];
            let others = |count| (0..count).map(move |n: u64| split_mix(row, n));
            check_values(&pair.into_iter().chain(others(40)).collect::<Vec<_>>());
            // Once more with the pair after 520 other hashes, because the AVX2 kernel processes 512
            // hashes together.
            check_values(&others(520).chain(pair).collect::<Vec<_>>());
        }
    }
}

/// The greatest hash cannot be distinguished from an empty slot.
#[test]
fn the_greatest_hash_is_a_hash_on_every_processor() {
    for count in [1, 30, 200, 2_000] {
        let mut hashes: Vec<_> = (0..count).map(|n| split_mix(7, n)).collect();
        hashes.push(u64::MAX);
        check_values(&hashes);
        hashes.retain(|hash| hash >> 57 != 127);
        hashes.push(u64::MAX);
        check_values(&hashes);
        hashes.extend([u64::MAX - 1, u64::MAX << 9, 127 << 57, 0]);
        check_values(&hashes);
    }
}

#[test]
fn every_byte_has_its_masks_at_every_place() {
    for byte in 0..=255 {
        for at in 0..64 {
            let mut block = [b' '; 64];
            block[at] = byte;
            assert_eq!(simd::masks(&block), plain_masks(&block), "{byte}");
            assert_eq!(simd::blanks(&block), plain_blanks(&block), "{byte}");
            // Between two letters, between two digits, and between a letter and a digit.
            for (before, after) in [(b'a', b'b'), (b'1', b'2'), (b'c', b'3')] {
                let mut text = [b'x'; 64 + 2];
                (text[at], text[at + 1], text[at + 2]) = (before, byte, after);
                if let Ok(text) = std::str::from_utf8(&text) {
                    check_units(text);
                }
            }
        }
    }
}

#[test]
fn words_of_bars_alone_are_dropped_wherever_they_stand() {
    for before in 0..130 {
        let text = format!("{}a._ _.a 1,_ _'_ __ _b c_ _", " ".repeat(before));
        check_units(&text);
        let mut found = Vec::new();
        let (cut, hash) = (Cut { kind: UnitKind::Words, lower: true }, UnitHash::new(3));
        Split::default().hash(text.as_bytes(), cut, hash, None, &mut found);
        let words = ["a", "a", "1", "_b", "c_"].map(|word| hash.hash_bytes(word.as_bytes()));
        assert_eq!(found, words, "{before}");
    }
}

/// Eight units that begin within 120 bytes are read by one load of 128 bytes; otherwise the first
/// bytes of each unit are gathered. The last group of a text has fewer units.
#[test]
fn units_near_and_far_are_the_same_on_every_processor() {
    for gap in 1..40 {
        for count in [1, 7, 8, 9, 15, 16, 17, 40] {
            let words = (0..count).map(|nth| "abcdefghi".repeat(1 + nth % 3).split_off(nth % 8));
            let text = words.collect::<Vec<_>>().join(&" ".repeat(gap));
            check_units(&text);
            check_units(&text.replacen(' ', &" ".repeat(1 + gap % 30), 1));
        }
    }
    // These include the greatest distance that counts as near, and the next one.
    for last in 80..140 {
        for (nth, _) in "abcdefgh".char_indices() {
            let last_word = &"abcdefgh"[nth..];
            check_units(&format!("a b c d e f g{}{last_word} i", " ".repeat(last)));
            check_units(&format!("a b c d e f g{}{last_word}", " ".repeat(last)));
        }
    }
}

/// `Processor::all` must end with the variant that this machine uses, so that the tests cover it.
/// The test prints a notice if this processor does not support all variants.
#[test]
fn the_way_of_this_processor_is_tested() {
    let ways: Vec<_> = Processor::all().map(|way| format!("{way:?}")).collect();
    let taken = Processor::detect().map(|way| format!("{way:?}"));
    assert_eq!(ways.last(), taken.as_ref());
    if ways.len() < 2 {
        println!("SKIPPED: AVX2 or AVX-512 with VBMI2; tested beside the plain code: {ways:?}");
    }
}

/// Fails unless all paths divide a text into the same units, with fresh buffers.
fn check_units(text: &str) {
    let hash = UnitHash::new(3);
    for (kind, lower) in
        [(UnitKind::Words, true), (UnitKind::Words, false), (UnitKind::Tokens, true)]
    {
        let units = |processor| {
            let mut found = Vec::new();
            Split::default().hash(
                text.as_bytes(),
                Cut { kind, lower },
                hash,
                processor,
                &mut found,
            );
            found
        };
        let expected = units(None);
        for processor in Processor::all() {
            assert_eq!(units(Some(processor)), expected, "{text:?}");
        }
    }
}
