//! Indexes of fingerprints that are incomplete, and pairs of texts.

mod crash;

use super::{PassageIndex, PassagePair, cut};
use crate::{Batch, Conditions, Durability, Options, Params, Preset};

fn index(texts: &[(&str, String)]) -> (tempfile::TempDir, PassageIndex) {
    let folder = tempfile::tempdir().unwrap();
    let params = Params::preset(Preset::Quotes).build().unwrap();
    let options = Options::default().durability(Durability::OsBuffer);
    let index = PassageIndex::create(folder.path().join("i"), &params, options).unwrap();
    for (key, text) in texts {
        index.insert(*key, text).unwrap();
    }
    (folder, index)
}

/// Words of their own.
fn words(name: &str, range: std::ops::Range<u32>) -> String {
    range.map(|word| format!("{name}{word} ")).collect::<Vec<_>>().concat()
}

#[test]
fn a_text_that_is_incomplete_is_left_out() {
    let long = words("w", 0..60_000);
    let short = words("w", 100..140);
    let texts = [("a", long), ("b", short.clone()), ("c", short.clone())];
    let (_folder, index) = index(&texts);
    let found = || {
        let answer = index.view().query(&short).run().unwrap();
        let pairs = index.view().pairs(&Conditions::default()).unwrap();
        (answer.found, pairs.len())
    };
    assert_eq!(found(), (3, 3));
    let key = cut::inner_key(b"a", 1);
    let length = index.view().snapshot.get(&key[..]).unwrap().unwrap().payload.len();
    // Its table is too short, and of the right length but none.
    for payload in [vec![0; length - 1], vec![0xff; length]] {
        index.index.write_to_any(&Batch::new().set_payload(key.clone(), payload)).unwrap();
        assert_eq!(found(), (2, 1));
    }
}

#[test]
fn what_stands_out_does_not_depend_on_the_containment() {
    let phrase = words("all", 0..10);
    let mut texts: Vec<(&str, String)> =
        ["c", "d", "e"].map(|name| (name, format!("{phrase}{}", words(name, 0..60)))).to_vec();
    texts.push(("b", format!("{phrase}{}", words("b", 0..4))));
    texts.push(("a", format!("{phrase}{}{}", words("b", 0..4), words("a", 0..60))));
    let (_folder, index) = index(&texts);
    let pairs = index.view().pairs(&Conditions::default()).unwrap();
    assert_eq!((pairs.len(), pairs[0].longest, pairs[0].stands_out), (10, 14, false));
    let contained = index.view().pairs(&Conditions::default().contained(0.9)).unwrap();
    assert_eq!(contained, pairs[..1]);
}

#[test]
fn groups_are_those_that_pairs_connect() {
    let shared = ["p", "q", "r", "s"].map(|name| words(name, 0..20));
    let [p, q, r, s] = &shared;
    let text = |key, parts: &[&String]| {
        let parts: String = parts.iter().map(|part| part.as_str()).collect();
        (key, format!("{parts}{}", words(key, 0..5)))
    };
    let texts = [text("e", &[p]), text("b", &[q]), text("d", &[p, r]), text("a", &[r, q])];
    let rest = [text("f", &[s]), text("c", &[s]), text("g", &[])];
    let (_folder, index) = index(&[&texts[..], &rest].concat());
    let pairs = index.view().pairs(&Conditions::default()).unwrap();
    assert_eq!(pairs.len(), 4, "{pairs:?}");
    let groups = |limit| index.view().clusters(&Conditions::default().limit(limit)).unwrap();
    let expected = [["a", "b", "d", "e"].as_slice(), &["c", "f"]]
        .map(|group| group.iter().map(|key| key.as_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!(groups(usize::MAX), expected);
    assert_eq!(groups(1), expected[..1]);
}

/// Texts that share runs of many lengths, in more pairs than links are held; the first five share
/// long ones.
fn crowd() -> Vec<(String, String)> {
    let mut state = 0x5eed_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u32::try_from((state >> 33) % below).unwrap()
    };
    let text = |at: u32| {
        let lent = (0..2).map(|_| words(&format!("lent{}x", random(6)), 0..8 + random(60)));
        let lent = lent.collect::<Vec<_>>().join("and ");
        let long = if at < 5 { 200 + at } else { 0 };
        let long = words(&format!("long{}x", at % 2), 0..long);
        let own = words(&format!("own{at}x"), 0..8);
        (format!("{:02}", at * 7 % 40), [own, lent, long].concat())
    };
    (0..40).map(text).collect()
}

#[test]
fn bounded_pairs_are_the_first_and_count_all() {
    let texts = crowd();
    let texts: Vec<_> = texts.iter().map(|(key, text)| (key.as_str(), text.clone())).collect();
    let (_folder, index) = index(&texts);
    let counted = |limit, share: f64| {
        let conditions = Conditions::default().limit(limit).contained(share);
        index.view().counted_pairs(&conditions).unwrap()
    };
    let all = counted(usize::MAX, 0.0);
    assert!(all.pairs.len() > 3 * texts.len(), "{}", all.pairs.len());
    let is_in_order = |pair: &[PassagePair]| {
        let rank = |pair: &PassagePair| (u64::MAX - pair.longest, u64::MAX - pair.words);
        (rank(&pair[0]), &pair[0].a, &pair[0].b) < (rank(&pair[1]), &pair[1].a, &pair[1].b)
    };
    assert!(all.pairs.windows(2).all(is_in_order));
    let least = (2 * all.pairs[texts.len().max(40 * 39 / 2 / 20)].longest).max(12);
    assert!(all.pairs.iter().all(|pair| pair.stands_out == (pair.longest >= least)));
    let few = all.pairs.iter().filter(|pair| pair.stands_out).count();
    assert!(few > 0 && few < all.pairs.len(), "{few}");
    for share in [0.0, 0.5, 1.0] {
        let mut expected = all.pairs.clone();
        expected.retain(|pair| pair.share_of_a.max(pair.share_of_b) >= share);
        let out = expected.iter().filter(|pair| pair.stands_out).count();
        for limit in [0, 1, 2, 40, 100, usize::MAX] {
            let bounded = counted(limit, share);
            assert_eq!(bounded.pairs, expected[..limit.min(expected.len())], "{share} {limit}");
            let counts = [bounded.found, bounded.stand_out, bounded.incomplete];
            assert_eq!(counts, [expected.len() as u64, out as u64, 0]);
        }
        // Each text takes the least key of its group, until nothing changes.
        expected.retain(|pair| share > 0.0 || pair.stands_out);
        let mut names = std::collections::BTreeMap::new();
        for key in expected.iter().flat_map(|pair| [&pair.a, &pair.b]) {
            names.insert(key, key);
        }
        for _ in 0..texts.len() {
            for PassagePair { a, b, .. } in &expected {
                let least = names[a].min(names[b]);
                names.extend([(a, least), (b, least)]);
            }
        }
        let mut groups = std::collections::BTreeMap::<_, Vec<Vec<u8>>>::new();
        for (key, name) in names {
            groups.entry(name).or_default().push(key.clone());
        }
        let found = index.view().clusters(&Conditions::default().contained(share)).unwrap();
        assert_eq!(found, groups.into_values().collect::<Vec<_>>(), "{share}");
    }
}

#[test]
fn pairs_and_groups_refuse_what_they_do_not_bound() {
    let (_folder, index) = index(&[("a", words("w", 0..40)), ("b", words("w", 0..40))]);
    let bounded = Conditions::default().max_candidates(1);
    let refused = [
        index.view().pairs(&bounded).err(),
        index.view().clusters(&bounded).err(),
        index.view().counted_pairs(&bounded).err(),
    ];
    for error in refused {
        let error = error.expect("it would compare all");
        assert!(error.to_string().contains("max_candidates"), "{error}");
    }
}

#[test]
fn a_search_for_pairs_is_stopped_within_a_comparison() {
    let text = words("w", 0..40);
    let (_folder, index) = index(&[("a", text.clone()), ("b", text)]);
    // Documents and texts are read; then the comparison of the only pair is stopped.
    let looks = std::sync::atomic::AtomicUsize::new(0);
    let count = || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let all = Conditions::default().cancel_if(|| count() == usize::MAX);
    assert_eq!(index.view().pairs(&all).unwrap().len(), 1);
    let all = looks.load(std::sync::atomic::Ordering::Relaxed);
    for look in 0..all {
        looks.store(0, std::sync::atomic::Ordering::Relaxed);
        let stopped = Conditions::default().cancel_if(|| count() >= look);
        let kind = index.view().pairs(&stopped).unwrap_err().kind();
        assert_eq!(kind, crate::ErrorKind::Cancelled, "{look} of {all}");
    }
}
