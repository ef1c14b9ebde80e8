//! Imports of documents from another index, also if the target has other bands.

use super::copies::{answers, disk, index, options, params, signature};
use crate::index::tests::copies::DIR;
use crate::testing::sim::Sim;
use crate::{
    Batch, Durability, ErrorKind, Imported, Index, Options, Params, Scheme, Shingles, Signature,
    Sketcher,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

const OTHER: &str = "/elsewhere/other.nearkin";

fn create(sim: &Sim, params: &Params) -> Index {
    Index::create_on(disk(sim), Path::new(OTHER), params, options()).expect("created")
}

/// The index has deaths in a dead file, and deaths and births that are only in the WAL. Every live
/// document must arrive unchanged.
#[test]
fn every_live_document_arrives_as_it_is() {
    let sim = Sim::new();
    let (from, to) = (index(&sim), create(&sim, &params()));
    let imported = to.import(&from.snapshot()).expect("imported");
    assert_eq!(imported, Imported { inserted: from.len(), ..Imported::default() });
    assert_eq!(answers(&to.snapshot()), answers(&from.snapshot()));
    let again = to.import(&from.snapshot()).expect("imported");
    assert_eq!(again, Imported { unchanged: from.len(), ..Imported::default() });
    to.close().expect("closed");
    let to = Index::open_on(disk(&sim), Path::new(OTHER), options()).expect("opened");
    assert_eq!(answers(&to.snapshot()), answers(&from.snapshot()));
}

#[test]
fn an_imported_document_replaces_its_key_and_keeps_its_time() {
    let sim = Sim::new();
    let params = params();
    let (from, to) = (index(&sim), create(&sim, &params));
    let late = Options { clock: std::sync::Arc::new(|| 99), ..options() };
    drop(to);
    let to = Index::open_on(disk(&sim), Path::new(OTHER), late).expect("opened");
    to.insert("new", &signature(&params, 77)).expect("inserted");
    to.insert("mine", &signature(&params, 78)).expect("inserted");
    let imported = to.import(&from.snapshot()).expect("imported");
    assert_eq!((imported.inserted, imported.replaced), (from.len() - 1, 1));
    let new = to.get("new").expect("read").expect("there");
    assert_eq!(Some(new.clone()), from.get("new").expect("read"));
    assert_eq!((new.time, to.get("mine").expect("read").map(|mine| mine.time)), (7, Some(99)));
    assert_eq!(to.len(), from.len() + 1);
}

#[test]
fn an_index_can_take_from_its_own_past() {
    let sim = Sim::new();
    let index = index(&sim);
    let (past, before) = (index.snapshot(), answers(&index.snapshot()));
    index.insert([b'k', 5], &signature(&params(), 250)).expect("replaced");
    index.remove("new").expect("removed");
    let imported = index.import(&past).expect("imported");
    assert_eq!((imported.inserted, imported.replaced), (1, 1));
    assert_eq!(answers(&index.snapshot()), before);
}

#[test]
fn signatures_of_other_parameters_are_refused_and_named() {
    let sim = Sim::new();
    let from = index(&sim);
    let other = params().to_builder().shingles(Shingles::Chars(5)).seed(9).build().expect("valid");
    let to = create(&sim, &other);
    let refused = to.import(&from.snapshot()).expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Mismatch);
    let message = refused.to_string();
    assert!(message.contains("chars:5 here, words:3 asked; seed"), "{message}");
    assert_eq!(to.len(), 0);
}

#[test]
fn other_bands_are_no_obstacle() {
    let sim = Sim::new();
    let from = index(&sim);
    let to = create(&sim, &params().to_builder().bands(8, 2).threshold(0.9).build().expect("ok"));
    assert_eq!(to.import(&from.snapshot()).expect("imported").inserted, from.len());
}

/// Batches of 1 KiB, so that the import takes several; it is cancelled after the first.
#[test]
fn a_cancelled_import_keeps_its_writes_and_continues_there() {
    let sim = Sim::new();
    let from = index(&sim);
    for number in 0..200_u8 {
        from.insert([b'x', number], &signature(&params(), number)).expect("inserted");
    }
    let small = options().batch_bytes_max(1 << 10);
    let to = Index::create_on(disk(&sim), Path::new(OTHER), &params(), small).expect("created");
    let mut seen = Vec::new();
    let cancelled = to.import_with(&from.snapshot(), &mut |progress| {
        seen.push(progress);
        if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(cancelled.expect_err("cancelled").kind(), ErrorKind::Cancelled);
    assert!(seen[0].done < seen[1].done && seen[1].done < from.len(), "{seen:?}");
    assert_eq!(to.len(), seen[1].done);
    let rest = to.import(&from.snapshot()).expect("imported");
    assert_eq!((rest.unchanged, rest.inserted), (seen[1].done, from.len() - seen[1].done));
}

#[test]
fn a_document_is_written_with_the_time_it_has() {
    let sim = Sim::new();
    let (from, to) = (index(&sim), create(&sim, &params()));
    let document = from.get("new").expect("read").expect("there");
    let batch = Batch::new().insert_document(&crate::Document { time: 3, ..document.clone() });
    to.write(batch.insert("now", &document.signature)).expect("written");
    let time = |key: &str| to.get(key).expect("read").map(|document| document.time);
    assert_eq!((time("new"), time("now")), (Some(3), Some(7)));
    assert_eq!(to.signature("new").expect("read"), Some(document.signature.clone()));
    assert_eq!(to.signature("none").expect("read"), None);
    to.flush().expect("flushed");
    assert_eq!(to.signature("new").expect("read"), Some(document.signature));
}

#[test]
fn a_rebuild_that_needs_texts_says_so_and_creates_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let sim = Sim::new();
    let from = index(&sim).snapshot();
    let base = || params().to_builder();
    let external = Scheme::external("m").expect("a name");
    let cases = [
        ("scheme: fast here, textbook asked", base().scheme(Scheme::Textbook)),
        ("scheme", base().scheme(external).shingles(Shingles::Items)),
        ("seed", base().seed(1)),
        ("hashes: 16 here, 32 asked", base().hashes(32)),
        ("lane bits: 8 here, 16 asked", base().lane_bits(16)),
        ("shingles: words:3 here, words:4 asked", base().shingles(Shingles::Words(4))),
        ("bag", base().bag(true)),
        ("normalisation: fold here, nfc asked", base().keep_case(true)),
    ];
    for (what, builder) in cases {
        let params = builder.build().expect("valid");
        let out = folder.path().join("out");
        let refused = Index::rebuild(&from, &out, &params, options()).expect_err(what);
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{what}");
        let message = refused.to_string();
        assert!(message.contains(what) && message.contains("texts"), "{message}");
        assert!(!out.exists(), "{what}");
    }
}

/// The expected content: for each key, the value of its signature, and its payload.
type Expected = BTreeMap<[u8; 1], (u8, Vec<u8>)>;

/// Does some random writes, removes and flushes with few keys, both in the index and in the
/// expected content.
fn shuffle(index: &Index, expected: &mut Expected, random: &mut u64) {
    let mut below = |end: u64| {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        u8::try_from((*random >> 33) % end).expect("small")
    };
    for _ in 0..below(40) {
        let key = [b'a' + below(12)];
        match below(8) {
            0 => index.flush().expect("flushed"),
            1 | 2 => {
                index.remove(key).expect("removed");
                expected.remove(&key);
            }
            _ => {
                let (value, payload) = (below(4), vec![b'p'; usize::from(below(3))]);
                let signature = signature(&params(), value);
                let batch = Batch::new().insert_with_payload(key, &signature, &payload);
                index.write(batch).expect("written");
                expected.insert(key, (value, payload));
            }
        }
    }
}

fn held(index: &Index) -> Expected {
    let documents =
        index.snapshot().iter().map(|document| document.expect("read")).collect::<Vec<_>>();
    let one = |document: &crate::Document| {
        let key = document.key.as_slice().try_into().expect("one byte");
        (key, (document.signature.as_bytes()[0], document.payload.clone()))
    };
    documents.iter().map(one).collect()
}

/// Writes two indexes at random, and repeatedly imports one into the other. The contents and the
/// reported counts must equal those computed with two maps, also after a kill.
#[test]
fn imports_at_random_come_to_what_two_maps_come_to() {
    for seed in 0..20 {
        let mut random = seed;
        let sim = Sim::new();
        let create = |dir: &str| {
            Index::create_on(disk(&sim), Path::new(dir), &params(), options()).expect("created")
        };
        let (from, to) = (create(DIR), create(OTHER));
        let (mut of_from, mut of_to) = (Expected::new(), Expected::new());
        for _ in 0..4 {
            shuffle(&from, &mut of_from, &mut random);
            shuffle(&to, &mut of_to, &mut random);
            let mut expected = Imported::default();
            for (key, version) in &of_from {
                match of_to.insert(*key, version.clone()) {
                    None => expected.inserted += 1,
                    Some(old) if old == *version => expected.unchanged += 1,
                    Some(_) => expected.replaced += 1,
                }
            }
            assert_eq!(to.import(&from.snapshot()).expect("imported"), expected, "seed {seed}");
            assert_eq!(held(&to), of_to, "seed {seed}");
            assert_eq!(held(&from), of_from, "seed {seed}");
        }
        // Acknowledged changes survive the kill.
        let sim = sim.kill();
        let to = Index::open_on(disk(&sim), Path::new(OTHER), options()).expect("opened");
        assert_eq!(held(&to), of_to, "seed {seed}");
        assert!(to.verify().expect("verified").problems.is_empty());
    }
}

/// A text with words from a small vocabulary, so that many texts are similar.
fn text(number: u64) -> String {
    let word = |at: u64| format!("w{}", (number * number * 31 + at * (number % 7)) % 40);
    (0..30 + number % 50).map(word).collect::<Vec<_>>().join(" ")
}

fn filled(index: Index, sketcher: &Sketcher) -> Index {
    for number in 0..300 {
        let signature = sketcher.text(&text(number)).expect("sketched");
        index.insert(format!("d{number}"), &signature).expect("inserted");
        if number % 70 == 0 {
            index.flush().expect("flushed");
        }
    }
    for number in (0..300).step_by(9) {
        index.remove(format!("d{number}")).expect("removed");
    }
    index
}

/// All answers at three thresholds: queries and pairs.
fn all_matches(index: &Index, queries: &[Signature]) -> Vec<String> {
    let mut all = Vec::new();
    for threshold in [0.0, 0.4, 0.8] {
        for query in queries {
            let answer = index.query(query).threshold(threshold).run().expect("answered");
            all.push(format!("{:?}", answer.matches));
        }
        let mut pairs: Vec<_> = index.pairs(threshold).expect("pairs").collect();
        pairs.sort_by_key(|pair| format!("{pair:?}"));
        all.push(format!("{pairs:?}"));
    }
    all
}

#[test]
fn a_rebuilt_index_answers_as_one_made_from_the_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let base = Params::for_threshold(0.7).shingles(Shingles::Words(2)).hashes(64).lane_bits(16);
    let base = base.build().expect("valid");
    let create = |name: &str, params: &Params| {
        let options = options().durability(Durability::OsBuffer);
        Index::create(path(name), params, options).expect("created")
    };
    let from = filled(create("from", &base), &Sketcher::new(&base));
    let targets = [
        base.to_builder().threshold(0.4).choose_bands(),
        base.to_builder().threshold(0.9).choose_bands(),
        base.to_builder().bands(32, 2),
        base.to_builder().lane_bits(8),
        base.to_builder().lane_bits(8).threshold(0.5).choose_bands(),
    ];
    for (number, target) in targets.into_iter().enumerate() {
        let params = target.build().expect("valid");
        let sketcher = Sketcher::new(&params);
        let out = path(&format!("out{number}"));
        let documents = Index::rebuild(&from.snapshot(), &out, &params, options());
        assert_eq!(documents.expect("rebuilt"), from.len());
        let rebuilt = Index::open(&out, options()).expect("opened");
        assert_eq!(rebuilt.params(), &params);
        let made = filled(create(&format!("made{number}"), &params), &sketcher);
        assert_eq!(answers(&rebuilt.snapshot()), answers(&made.snapshot()), "{params:?}");
        let queries: Vec<_> =
            (0..60).map(|n| sketcher.text(&text(n * 11)).expect("sketched")).collect();
        let (found, expected) = (all_matches(&rebuilt, &queries), all_matches(&made, &queries));
        assert!(expected.iter().map(String::len).sum::<usize>() > 10_000, "something is found");
        assert_eq!(found, expected, "{params:?}");
    }
}

#[test]
fn rows_made_elsewhere_are_found_again() {
    let sim = Sim::new();
    let scheme = Scheme::external("datasketch-seed1").expect("a name");
    let params = Params::for_threshold(0.5).scheme(scheme).hashes(64).build().expect("valid");
    let index = Index::create_on(disk(&sim), Path::new(DIR), &params, options()).expect("created");
    let rows = |change: u32| (0..64).map(|at| at * 77_777 + u32::from(at < change)).collect();
    let sign = |rows: Vec<u32>| Signature::from_rows(&params, &rows, 0).expect("64 rows");
    index.insert("a", &sign(rows(0))).expect("inserted");
    index.close().expect("closed");
    let index = Index::open_on(disk(&sim), Path::new(DIR), options()).expect("opened");
    assert_eq!(index.params().scheme().to_string(), "external:datasketch-seed1");
    let found = index.query(&sign(rows(16))).run().expect("answered");
    assert_eq!((found.matches[0].key.as_slice(), found.matches[0].equal_rows), (&b"a"[..], 48));
    let refused = index.sketcher().text("some text").expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let other = Params::for_threshold(0.5).scheme(Scheme::external("m").expect("a name"));
    let other = other.hashes(64).build().expect("valid");
    let other = Signature::from_rows(&other, &vec![1_u64; 64], 0).expect("64 rows");
    assert_eq!(index.insert("b", &other).expect_err("refused").kind(), ErrorKind::Mismatch);
}
