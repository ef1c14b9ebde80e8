//! Compares the sectioning of large texts, and the path for few shingles, with their definitions.

use proptest::prelude::*;

use super::naive;
use crate::hash::split_mix;
use crate::inner::Inner;
use crate::large::Large;
use crate::rounds::FEW_MAX;
use crate::simd::Processor;
use crate::{FoldOptions, Normalise, Params, ParamsBuilder, Scheme, Shingles, Signature, Sketcher};
use crate::{few, scratch};

/// Sketches the text in sections a little longer than `section`, by every path that this processor
/// supports.
fn in_sections(inner: &Inner, text: &str, section: usize) -> Vec<Option<Signature>> {
    let ways = Processor::all().map(Some).chain([None]);
    let sketch = |processor| {
        let large = Large::new(inner.shingles, inner.units.blank(), text.len()).unwrap();
        let large = large.with_section(section);
        scratch::with(|scratch| inner.large_text(processor, text, large, scratch))
    };
    ways.map(sketch).collect()
}

fn check(params: ParamsBuilder, text: &str) {
    let sketcher = Sketcher::new(&params.build().unwrap());
    let expected = scratch::with(|scratch| sketcher.inner.text(None, text, scratch));
    for section in [1, 7, 40, 200] {
        for found in in_sections(&sketcher.inner, text, section) {
            assert_eq!(found, expected, "{section} {text:?}");
        }
    }
}

fn all_kinds(text: &str) {
    let kinds = [1, 2, 3, 8].map(Shingles::Words).into_iter();
    let others = [Shingles::Tokens(3), Shingles::Chars(1), Shingles::Chars(5)];
    for shingles in kinds.chain(others) {
        let params = || Params::builder().shingles(shingles);
        let options = FoldOptions {
            dehyphenate: true,
            turkish: true,
            digits: true,
            lookalikes: true,
            ..FoldOptions::default()
        };
        check(params(), text);
        check(params().normalise(Normalise::Case).keep_space(true), text);
        check(params().normalise(Normalise::Fold(options)), text);
    }
    check(Params::builder().stop_words(["the", "a"]), text);
    check(Params::builder().scheme(Scheme::Textbook), text);
    check(Params::builder().hashes(96).bands(12, 8), text);
}

#[test]
fn a_text_may_be_cut_between_words() {
    let lines =
        "The cat  sat on-\nthe mat; a na\u{ef}ve a b c d\n I \u{307}sat. \u{5d0} a\u{308} b ";
    all_kinds(lines);
    all_kinds(&lines.repeat(9));
    all_kinds(&"the a ".repeat(40));
    all_kinds(&format!("{}a b", " ".repeat(300)));
    all_kinds(&format!("a b{}", "_ ".repeat(300)));
    all_kinds("a");
    all_kinds("a b");
}

/// A text of many sections of the default length, with repeated shingles.
#[test]
fn a_large_text_has_the_signature_of_the_whole() {
    let word = |n: u64| format!("w{} ", split_mix(1, n % 70_000) % 40_000);
    let text: String = (0..100_000).map(word).collect();
    for shingles in [Shingles::Words(3), Shingles::Words(1), Shingles::Chars(5)] {
        let sketcher = Sketcher::new(&Params::builder().shingles(shingles).build().unwrap());
        let inner = &sketcher.inner;
        assert!(inner.large(&text).is_some());
        let expected = scratch::with(|scratch| inner.text(None, &text, scratch)).unwrap();
        assert_eq!(sketcher.text(&text).unwrap(), expected);
        let (_, variety) = sketcher.text_with_variety(&text).unwrap();
        let words = 100_000 + 1 - shingles.units();
        assert!(variety.shingles == words || shingles == Shingles::Chars(5), "{variety:?}");
        let original = sketcher.original_text(&text).unwrap();
        assert_eq!((original.signature(), original.similarity(&original)), (&expected, 1.0));
    }
}

/// Tests every number of hashes that the path for few hashes accepts, and hashes at the limits.
#[test]
fn few_hashes_have_the_values_of_the_paper() {
    for count in 1..=FEW_MAX as u64 {
        let mut hashes: Vec<u64> = (0..count).map(|n| split_mix(count, n)).collect();
        for last in [hashes[0], 0, u64::MAX, 1 << 57, (1 << 57) - 1] {
            hashes[0] = last;
            let expected = naive::fast(&hashes, 128, &naive::rehash);
            for processor in Processor::all().map(Some).chain([None]) {
                let mut slots = [7; 128];
                few::values(&hashes, &mut slots, processor);
                assert_eq!(slots[..], expected, "{count} {last}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn sections_of_any_text_are_those_of_the_whole(
        text in "([a-cA-C ]{1,4}|[ \n\t\u{a0}\u{301}\u{200d}'.\\-\u{e9}\u{df}\u{130}]{1,2}){0,60}"
    ) {
        all_kinds(&text);
    }
}
