//! Limits, choice of bands, ids and messages of the parameters.

use super::stored::Stored;
use super::{Common, Normalise, Params, ParamsBuilder, Scheme, Shingles};
use crate::ErrorKind;

fn bands(threshold: f64) -> (usize, usize, u32) {
    let params = Params::for_threshold(threshold).build().unwrap();
    (params.bands(), params.rows_per_band(), params.lane_bits())
}

#[test]
fn only_rows_made_elsewhere_are_kept_whole() {
    let scheme = Scheme::external("maker").unwrap();
    for bits in [32, 64] {
        let params = Params::builder().scheme(scheme).lane_bits(bits).build().unwrap();
        let bytes = bits as usize / 8;
        assert_eq!((params.signature_bytes(), params.band_bytes()), (128 * bytes, 5 * bytes));
        assert_eq!((params.similarity(32), params.equal_rows_min(0.25)), (0.25, 32));
        assert!(Params::builder().scheme(scheme).bands(16, 1).lane_bits(bits).build().is_ok());
        let refused = Params::builder().lane_bits(bits).build().unwrap_err().to_string();
        assert!(refused.contains(&format!("external:NAME), not {bits}")), "{refused}");
    }
    for bits in [0, 1, 24, 63, 65, 128, u32::MAX] {
        assert!(Params::builder().scheme(scheme).lane_bits(bits).build().is_err(), "{bits}");
    }
}

#[test]
fn bands_are_those_of_the_design() {
    assert_eq!(bands(0.5), (23, 3, 8));
    assert_eq!(bands(0.6), (22, 4, 8));
    assert_eq!(bands(0.7), (17, 5, 8));
    assert_eq!(bands(0.8), (13, 7, 8));
    assert_eq!(bands(0.9), (9, 12, 8));
    assert_eq!(Params::builder().build().unwrap(), Params::for_threshold(0.7).build().unwrap());
}

#[test]
fn chosen_bands_are_the_longest_that_reach_the_recall_target() {
    for percent in 20..=100 {
        let threshold = f64::from(percent) / 100.0;
        let Ok(params) = Params::for_threshold(threshold).hashes(256).build() else { continue };
        assert!(params.candidate_probability(threshold) >= 0.95, "{threshold}");
        let (fewer, rows) = (params.bands() - 1, params.rows_per_band());
        if fewer > 0 {
            let fewer = Params::for_threshold(threshold).hashes(256).bands(fewer, rows);
            assert!(fewer.build().unwrap().candidate_probability(threshold) < 0.95, "{threshold}");
        }
        if rows < 256 {
            let longer = Params::for_threshold(threshold).hashes(256);
            let longer = longer.bands(256 / (rows + 1), rows + 1).build().unwrap();
            assert!(longer.candidate_probability(threshold) < 0.95, "{threshold}");
        }
    }
}

#[test]
fn bands_of_two_rows_get_wide_lanes() {
    let params = Params::for_threshold(0.3).hashes(128).build().unwrap();
    assert_eq!((params.rows_per_band(), params.lane_bits()), (2, 16));
    assert_eq!((params.signature_bytes(), params.band_bytes()), (256, 4));
    assert!(params.warnings().is_empty());
}

#[test]
fn the_error_names_the_hashes_that_would_do() {
    assert_eq!(Params::for_threshold(0.2).build().unwrap().hashes(), 192, "chosen");
    let error = Params::for_threshold(0.2).hashes(128).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let needed: usize = error
        .to_string()
        .split("; ")
        .nth(1)
        .and_then(|part| part.split(' ').next()?.parse().ok())
        .unwrap();
    assert!(Params::for_threshold(0.2).hashes(needed).build().is_ok());
    assert!(Params::for_threshold(0.2).hashes(needed - 1).build().is_err());
    let error = Params::for_threshold(0.01).build().unwrap_err();
    assert!(error.to_string().contains("no number of hashes up to 1024 does"), "{error}");
}

#[test]
fn values_out_of_range_are_refused() {
    let good = || Params::for_threshold(0.7);
    let bad = [
        good().hashes(15),
        good().hashes(1025),
        good().hashes(usize::MAX),
        good().bands(0, 5),
        good().bands(5, 0),
        good().bands(13, 10),
        good().bands(usize::MAX, usize::MAX),
        good().bands(1 << 31, 1 << 31),
        good().lane_bits(0),
        good().lane_bits(32),
        good().threshold(0.0),
        good().threshold(1.001),
        good().threshold(f64::NAN),
        good().threshold(f64::INFINITY),
        good().recall_target(0.0),
        good().recall_target(1.0),
        good().recall_target(f64::NAN),
        good().shingles(Shingles::Words(0)),
        good().shingles(Shingles::Chars(65)),
        good().shingles(Shingles::Items).keep_case(true),
    ];
    for builder in bad {
        let refused = builder.clone().build().err().map(|error| error.kind());
        assert_eq!(refused, Some(ErrorKind::Invalid), "{builder:?}");
    }
    assert!(good().hashes(16).bands(1, 16).build().is_ok());
    assert!(good().hashes(1024).threshold(1.0).build().is_ok());
}

#[test]
fn hostile_stored_values_are_an_error_not_a_panic() {
    let config = bincode::config::standard();
    let params = Params::builder().build().unwrap();
    let good = bincode::serde::encode_to_vec(&params, config).unwrap();
    let (back, _): (Params, usize) = bincode::serde::decode_from_slice(&good, config).unwrap();
    assert_eq!(back, params);
    for at in 0..good.len() {
        for byte in 0..=255 {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let decoded = bincode::serde::decode_from_slice::<Params, _>(&bytes, config);
            if let Ok((params, _)) = decoded {
                assert!(params.validate().is_ok());
                let _ = (params.expected_recall(0.5, 0.5), params.warnings(), params.id());
            }
        }
    }
    let hashes = Stored { hashes: u32::MAX, ..Stored::from(params.clone()) };
    let bytes = bincode::serde::encode_to_vec(hashes, config).unwrap();
    assert!(bincode::serde::decode_from_slice::<Params, _>(&bytes, config).is_err());
    let product = Stored { bands: 1 << 16, rows: 1 << 16, ..Stored::from(params) };
    assert!(Params::try_from(product).is_err());
}

#[test]
fn names_are_read_as_they_are_written() {
    let all = [
        Shingles::Words(3),
        Shingles::Tokens(64),
        Shingles::Chars(5),
        Shingles::Lines(1),
        Shingles::Items,
    ];
    for shingles in all {
        assert_eq!(shingles.to_string().parse::<Shingles>().unwrap(), shingles);
    }
    for bad in ["", "words", "words:", "words:0", "words:65", "words:-1", "Items", "items:1", "x:3"]
    {
        assert!(bad.parse::<Shingles>().is_err(), "{bad}");
    }
    for scheme in [Scheme::Fast, Scheme::Textbook, Scheme::external("maker-1.0_x").unwrap()] {
        assert_eq!(scheme.to_string().parse::<Scheme>().unwrap(), scheme);
    }
    assert_eq!(Scheme::external("m").unwrap().to_string(), "external:m");
    for bad in ["Fast", "external", "external:", "external:a;b", "external:a:b"] {
        assert!(bad.parse::<Scheme>().is_err(), "{bad}");
    }
}

#[test]
fn an_external_scheme_has_no_shingles_of_its_own() {
    let external = || Params::builder().scheme(Scheme::external("m").unwrap());
    let params = external().build().unwrap();
    assert_eq!(params.shingles(), Shingles::Items);
    let text = params.text();
    assert!(text.contains(";scheme=external:m;seed=0;"), "{text}");
    assert!(text.contains(";shingles=items;bag=false;keep-case=false;"), "{text}");
    for bad in [external().shingles(Shingles::Words(3)), external().bag(true)] {
        assert_eq!(bad.build().unwrap_err().kind(), ErrorKind::Invalid);
    }
    let other = Params::builder().scheme(Scheme::external("n").unwrap()).build().unwrap();
    assert_ne!(other.signature_id(), params.signature_id());
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(&params, config).unwrap();
    let (back, _): (Params, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
    assert_eq!(back, params);
}

fn with_stop(words: &[&str]) -> super::ParamsBuilder {
    Params::builder().shingles(Shingles::Words(1)).stop_words(words)
}

#[test]
fn a_stop_list_is_unordered_and_part_of_the_signature_id() {
    let params = with_stop(&["The", "over", "The"]).build().unwrap();
    assert_eq!(with_stop(&["over The\n"]).build().unwrap(), params);
    assert_eq!(params.stop_words().collect::<Vec<_>>(), ["The", "over"]);
    assert!(params.text().contains(";normalise=fold;keep-space=false;stop="), "{}", params.text());
    let none = with_stop(&[" "]).build().unwrap();
    assert!(!none.text().contains("stop"));
    assert_eq!(none, Params::builder().shingles(Shingles::Words(1)).build().unwrap());
    assert_ne!(none.signature_id(), params.signature_id());
    let other = with_stop(&["a", "b"]).build().unwrap();
    assert_eq!(params.differences(&other), ["stop words: 2 here, others 2 asked"]);
    assert_eq!(none.signature_differences(&other), ["stop words: 0 here, 2 asked"]);
    assert_eq!(params.to_builder().build().unwrap(), params);
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(&params, config).unwrap();
    let (back, _): (Params, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
    assert_eq!(back, params);
}

#[test]
fn a_stop_list_that_makes_no_sense_is_refused() {
    let list = "x".repeat(64 << 10);
    assert!(with_stop(&[&list]).build().is_ok());
    let refused = [
        with_stop(&[&list, "y"]),
        with_stop(&["a"]).shingles(Shingles::Tokens(1)),
        with_stop(&["a"]).shingles(Shingles::Items),
        with_stop(&["a"]).shingles(Shingles::Chars(5)),
    ];
    for builder in refused {
        assert_eq!(builder.build().unwrap_err().kind(), ErrorKind::Invalid);
    }
    // Forges stored stop lists that no version of this code writes: not in order, separated by a
    // space, with a word twice, and with an empty word. Decoding must refuse them.
    let config = bincode::config::standard();
    let params = with_stop(&["abc", "def"]).build().unwrap();
    let bytes = bincode::serde::encode_to_vec(&params, config).unwrap();
    let at = bytes.windows(7).position(|part| part == b"abc\ndef").unwrap();
    for wrong in [b"def\nabc", b"abc def", b"abc\nabc", b"abc\n\nde"] {
        let forged = [&bytes[..at], wrong, &bytes[at + 7..]].concat();
        assert!(bincode::serde::decode_from_slice::<Params, _>(&forged, config).is_err());
    }
}

#[test]
fn a_builder_of_parameters_makes_them_again() {
    let params = Params::for_threshold(0.6).shingles(Shingles::Chars(5)).bag(true).keep_case(true);
    let params = params.seed(7).hashes(200).lane_bits(16).recall_target(0.9).build().unwrap();
    assert_eq!(params.to_builder().build().unwrap(), params);
    let changed = params.to_builder().threshold(0.9).choose_bands().build().unwrap();
    assert_eq!(changed.signature_id(), params.signature_id());
    assert!(changed.rows_per_band() > params.rows_per_band());
}

#[test]
fn the_signature_id_covers_just_what_signatures_depend_on() {
    let base = Params::builder().build().unwrap();
    let same = [
        Params::builder().bands(32, 3).build().unwrap(),
        Params::builder().threshold(0.9).bands(17, 5).build().unwrap(),
        Params::builder().recall_target(0.9501).bands(17, 5).build().unwrap(),
    ];
    for other in &same {
        assert_eq!(other.signature_id(), base.signature_id());
        assert_ne!(other.id(), base.id());
    }
    let other = [
        Params::builder().scheme(Scheme::Textbook),
        Params::builder().seed(1),
        Params::builder().hashes(129).bands(17, 5),
        Params::builder().lane_bits(16),
        Params::builder().shingles(Shingles::Words(4)),
        Params::builder().shingles(Shingles::Tokens(3)),
        Params::builder().bag(true),
        Params::builder().keep_case(true),
        Params::builder().keep_space(true),
        Params::builder().no_nfc(true),
        Params::builder().keep_case(true).no_nfc(true),
        Params::builder().normalise(Normalise::Case),
        Params::builder().normalise("fold,diacritics".parse().unwrap()),
        Params::builder().normalise("fold,dehyphenate".parse().unwrap()),
        Params::builder().normalise("fold,turkish".parse().unwrap()),
        Params::builder().normalise("fold,digits".parse().unwrap()),
        Params::builder().common(Common::from_hashes([7]).unwrap()),
        Params::builder().common(Common::from_hashes([7, 8]).unwrap()),
    ];
    let mut ids: Vec<u64> = vec![base.signature_id()];
    ids.extend(other.iter().map(|builder| builder.clone().build().unwrap().signature_id()));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), other.len() + 1);
}

#[test]
fn differences_name_each_field_but_not_the_seeds() {
    let here = Params::builder().build().unwrap();
    assert!(here.differences(&here).is_empty());
    let requested = Params::builder().shingles(Shingles::Chars(5)).seed(77).build().unwrap();
    let expected = ["shingles: words:3 here, chars:5 asked", "seed: another one asked"];
    assert_eq!(here.differences(&requested), expected);
    let requested = Params::for_threshold(0.5).build().unwrap();
    let differences = here.differences(&requested);
    assert_eq!(differences.len(), 3, "{differences:?}");
}

#[test]
fn costly_parameters_are_warned_of() {
    let warned = |builder: super::ParamsBuilder| builder.build().unwrap().warnings().len();
    assert_eq!(warned(Params::builder()), 0);
    assert_eq!(warned(Params::builder().bands(128, 1)), 1);
    assert_eq!(warned(Params::builder().bands(64, 2).lane_bits(8)), 1);
    assert_eq!(warned(Params::builder().bands(4, 32)), 1);
}

#[test]
fn a_normalisation_is_its_text_and_its_stored_form() {
    let texts = [
        "none",
        "lower",
        "nfc",
        "case",
        "fold",
        "fold,turkish",
        "fold,diacritics,dehyphenate,digits",
        "fold,turkish,lookalikes",
    ];
    for text in texts {
        let normalise: Normalise = text.parse().unwrap();
        assert_eq!(normalise.to_string(), text);
        let params = Params::builder().normalise(normalise).build().unwrap();
        assert_eq!(params.normalise(), normalise);
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&json).unwrap(), params, "{json}");
        let config = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&params, config).unwrap();
        let (back, _): (Params, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
        assert_eq!(back, params);
    }
    let other_order: Normalise = "fold,turkish,diacritics".parse().unwrap();
    assert_eq!(other_order.to_string(), "fold,diacritics,turkish");
    for text in ["", "Fold", "fold,", "fold,accents", "case,turkish", "fold diacritics"] {
        assert_eq!(text.parse::<Normalise>().unwrap_err().kind(), ErrorKind::Invalid, "{text}");
    }
}

#[test]
fn the_older_options_are_normalisations() {
    let of = |builder: ParamsBuilder| builder.build().unwrap().normalise();
    assert_eq!(of(Params::builder()), Normalise::FOLD);
    assert_eq!(of(Params::builder().keep_case(false).no_nfc(false)), Normalise::FOLD);
    assert_eq!(of(Params::builder().keep_case(true)), Normalise::Nfc);
    assert_eq!(of(Params::builder().no_nfc(true)), Normalise::Lower);
    assert_eq!(of(Params::builder().no_nfc(true).keep_case(true)), Normalise::None);
    assert_eq!(of(Params::builder().keep_case(true).keep_case(false)), Normalise::Case);
    let items = || Params::builder().shingles(Shingles::Items);
    assert_eq!(of(items()), Normalise::Case);
    assert_eq!(of(items().normalise(Normalise::FOLD)), Normalise::FOLD);
}
