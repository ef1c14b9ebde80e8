//! Common shingles are left out of signatures and of exact comparison.

use std::collections::BTreeSet;

use crate::hash::finalise;
use crate::scratch::Scratch;
use crate::{Common, ErrorKind, Original, Params, ParamsBuilder, Shingles, Sketcher};

const NOTICE: &str = "sent by the press office, all rights reserved";

fn list(builder: &ParamsBuilder, text: &str) -> Common {
    let plain = Sketcher::new(&builder.clone().bag(false).build().unwrap());
    let hashes = match plain.text_shingles(text) {
        Ok(shingles) => shingles.hashes,
        Err(_) => plain.original_items(text.split(' ')).unwrap().shingle_hashes().to_vec(),
    };
    Common::from_hashes(hashes).unwrap()
}

fn with(builder: &ParamsBuilder, text: &str) -> Sketcher {
    Sketcher::new(&builder.clone().common(list(builder, text)).build().unwrap())
}

fn original(sketcher: &Sketcher, text: &str) -> Original {
    match sketcher.original_text(text) {
        Err(error) if error.kind() == ErrorKind::Invalid => {
            sketcher.original_items(text.split(' ')).unwrap()
        }
        made => made.unwrap(),
    }
}

/// The hashes that are left are those of the other shingles, with and without repeats.
#[test]
fn a_document_is_compared_by_its_other_shingles() {
    let text = format!("Rain fell, rain fell again and again. {NOTICE}; rain fell {NOTICE}.");
    for shingles in ["words:1", "words:3", "tokens:2", "chars:4", "lines:1", "items"] {
        let shingles: Shingles = shingles.parse().unwrap();
        for bag in [false, true] {
            let builder = Params::builder().shingles(shingles).bag(bag);
            let (plain, less) =
                (Sketcher::new(&builder.clone().build().unwrap()), with(&builder, NOTICE));
            let (all, left) = (original(&plain, &text), original(&less, &text));
            let (all, left) = (all.shingle_hashes(), left.shingle_hashes());
            let is_common =
                |hash: &u64| list(&builder, NOTICE).hashes().binary_search(hash).is_ok();
            assert!(!left.iter().any(is_common), "{shingles}");
            if bag {
                assert!(left.iter().all(|hash| all.contains(hash)) && left.len() <= all.len());
            } else {
                let expected: Vec<u64> = all.iter().copied().filter(|h| !is_common(h)).collect();
                assert_eq!(left, expected, "{shingles}");
            }
            assert!(shingles == Shingles::Lines(1) || left.len() < all.len(), "{shingles} {bag}");
            // With nothing else, a text is compared by all its shingles.
            let alone = original(&less, NOTICE);
            assert_eq!(alone.shingle_hashes(), original(&plain, NOTICE).shingle_hashes());
            assert_eq!(
                alone.signature().as_bytes(),
                original(&plain, NOTICE).signature().as_bytes()
            );
        }
    }
}

#[test]
fn a_bag_loses_all_repeats_of_a_common_shingle() {
    let builder = Params::builder().shingles(Shingles::Words(1)).bag(true);
    let less = with(&builder, "the of");
    let text = less.text("the house of the rising sun of the the").unwrap();
    let plain = Sketcher::new(&builder.build().unwrap());
    assert_eq!(text.as_bytes(), plain.text("house rising sun").unwrap().as_bytes());
    assert_eq!(text.shingle_count(), 3);
}

/// All entrances agree, also for a text that is long enough to be sketched in sections.
#[test]
fn every_entrance_leaves_out_the_same() {
    let builder = Params::builder();
    let less = with(&builder, NOTICE);
    let words = |n: u32| format!("w{} x{} {NOTICE}", n % 7_001, n % 13);
    let long = (0..40_000).map(words).collect::<Vec<_>>().join(" ");
    for text in [format!("rain fell again. {NOTICE}"), long] {
        let signature = less.text(&text).unwrap();
        let (again, variety) = less.text_with_variety(&text).unwrap();
        let original = less.original_text(&text).unwrap();
        assert_eq!((&signature, &signature), (&again, original.signature()));
        assert_eq!(signature.shingle_count() as usize, original.shingle_hashes().len());
        assert_eq!(variety.distinct, original.shingle_hashes().len());
        let all = less.text_shingles(&text).unwrap().hashes;
        let is_common = |hash: &&u64| list(&builder, NOTICE).hashes().binary_search(hash).is_ok();
        assert_eq!(variety.shingles, all.len() - all.iter().filter(is_common).count());
    }
}

#[test]
fn the_shown_shingles_are_those_that_are_hashed() {
    let text = "The  Quick\u{a0}br\u{f6}wn fox's 3.14\r\n\r\njumps \u{4f60}\u{597d}\n over the dog";
    for shingles in ["words:1", "words:3", "words:40", "tokens:2", "chars:5", "lines:1", "lines:2"]
    {
        let builder = Params::builder().shingles(shingles.parse().unwrap()).bag(true);
        let builders = match shingles {
            "words:3" => vec![builder.clone(), builder.stop_words(["the", "over"])],
            _ => vec![builder],
        };
        for builder in builders {
            let sketcher = Sketcher::new(&builder.build().unwrap());
            let shown = sketcher.text_shingles(text).unwrap();
            let mut scratch = Scratch::default();
            sketcher.inner.cut(None, text, &mut scratch);
            let cut: Vec<u64> = scratch.sums.iter().map(|sum| finalise(*sum)).collect();
            assert_eq!(shown.hashes, cut, "{shingles}");
            // The words of a shingle are a text with this shingle.
            let one = sketcher.text_shingles(&shown.text(0, 1)).unwrap();
            assert_eq!(one.hashes[..], shown.hashes[..1], "{shingles}: {:?}", shown.text(0, 1));
            assert_eq!(shown.text(0, shown.hashes.len()), shown.text(0, usize::MAX / 2));
        }
    }
    let sketcher = Sketcher::new(&Params::builder().build().unwrap());
    assert!(sketcher.text_shingles("=> !").unwrap().hashes.is_empty());
    assert_eq!(sketcher.text_shingles("a b c d").unwrap().text(1, 1), "b c d");
    let items = Sketcher::new(&Params::builder().shingles(Shingles::Items).build().unwrap());
    assert!(items.text_shingles("a").is_err());
}

#[test]
fn a_list_is_stored_written_and_bound_to_its_settings() {
    let list = list(&Params::builder(), NOTICE);
    let params = Params::builder().common(list.clone()).build().unwrap();
    let bound = params.common().unwrap();
    assert_eq!((bound.hashes(), bound.hashes().len()), (list.hashes(), 6));
    assert_eq!(bound.to_string().parse::<Common>().unwrap(), *bound);
    let commented = bound.to_string().replace('\n', " # 12 of 90: sent by the\n");
    assert_eq!(commented.parse::<Common>().unwrap(), *bound);
    let setting = [("common", bound.to_string())];
    assert_eq!(Params::from_settings(setting).unwrap(), params);
    assert_eq!(params.to_builder().build().unwrap(), params);
    let json = serde_json::to_string(&params).unwrap();
    assert_eq!(serde_json::from_str::<Params>(&json).unwrap(), params);
    let config = bincode::config::standard();
    let stop = Params::builder().stop_words(["the"]).common(list.clone()).build().unwrap();
    let items = Params::builder().shingles(Shingles::Items).common(list.clone()).build().unwrap();
    for params in [&params, &stop, &items] {
        let bytes = bincode::serde::encode_to_vec(params, config).unwrap();
        let (back, _): (Params, usize) = bincode::serde::decode_from_slice(&bytes, config).unwrap();
        assert_eq!(back, *params);
        // Forges lists that no version of this code writes.
        let first = list.hashes()[0].to_le_bytes();
        let at = bytes.windows(8).position(|part| part == first).unwrap();
        for (from, wrong) in [(at, [255; 8]), (at + 8, first)] {
            let forged = [&bytes[..from], &wrong, &bytes[from + 8..]].concat();
            let decoded = bincode::serde::decode_from_slice::<Params, _>(&forged, config);
            assert!(decoded.is_err());
        }
    }
    // Rows, scheme, threshold and bag may change; what hashes depend on may not.
    let others = ["hashes=256", "scheme=textbook", "threshold=0.3", "bag=true", "lane_bits=16"];
    for other in others {
        let params: Params = other.parse().unwrap();
        assert!(params.to_builder().common(bound.clone()).build().is_ok(), "{other}");
    }
    for other in
        ["seed=1", "shingles=words:2", "normalise=case", "stop_words=the", "keep_space=true"]
    {
        let params: Params = other.parse().unwrap();
        let error = params.to_builder().common(bound.clone()).build().unwrap_err();
        assert!(error.to_string().contains("made for other shingles"), "{other}: {error}");
        assert!(params.to_builder().common(list.clone()).build().is_ok(), "{other}");
    }
    for other in ["passages=50:25", "scheme=external:own"] {
        let params: Params = other.parse().unwrap();
        assert!(params.to_builder().common(list.clone()).build().is_err(), "{other}");
    }
}

#[test]
fn a_list_that_makes_no_sense_is_refused() {
    let most = Common::HASHES_MAX as u64;
    assert!(Common::from_hashes([]).is_err());
    assert!(Common::from_hashes(0..most).is_ok() && Common::from_hashes(0..=most).is_err());
    assert_eq!(Common::from_hashes([9, 2, 9]).unwrap().hashes(), [2, 9]);
    let hashes: Vec<String> = (0..=most).map(|hash| format!("{hash:016x}")).collect();
    let long = format!("nearkin-common-1 any {}", hashes.join(" "));
    for wrong in [
        "",
        "nearkin-common-1",
        "nearkin-common-1 any",
        "nearkin-common-2 any 0123456789abcdef",
        "nearkin-common-1 some 0123456789abcdef",
        "nearkin-common-1 any 0123456789abcde",
        "nearkin-common-1 any +123456789abcdef",
        "nearkin-common-1 any # 0123456789abcdef",
        &long,
    ] {
        assert!(wrong.parse::<Common>().is_err(), "{:?}", &wrong[..wrong.len().min(40)]);
    }
    let one = |hashes: &[u64]| {
        let list = Common::from_hashes(hashes.iter().copied()).unwrap();
        Params::builder().common(list).build().unwrap()
    };
    let (a, b, none) = (one(&[1, 2]), one(&[1, 3]), Params::builder().build().unwrap());
    let ids: BTreeSet<u64> = [&a, &b, &none].map(Params::signature_id).into();
    assert_eq!(ids.len(), 3);
    assert_eq!(a.differences(&b), ["common shingles: 2 here, others 2 asked"]);
    assert_eq!(none.signature_differences(&b), ["common shingles: 0 here, 2 asked"]);
    assert!(format!("{:?}", a.common().unwrap()).contains("2 shingles"));
}
