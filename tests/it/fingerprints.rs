//! An index of fingerprints: every shared run of eight words is found, whatever was done to the
//! index. A brute force over the words is the model.

use crate::support::{Random, Scratch, assert_whole, inline, kind};
use nearkin::passages::{PassageAnswer, PassageIndex, PassageView};
use nearkin::{
    Common, Conditions, Durability, ErrorKind, Outcome, Params, Preset, Reader, Shingles,
};
use std::collections::BTreeMap;

fn quotes() -> Params {
    Params::preset(Preset::Quotes).build().unwrap()
}

fn unsynced() -> nearkin::Options {
    inline().durability(Durability::OsBuffer)
}

/// The longest run of equal words of two texts.
fn longest(ours: &str, theirs: &str) -> u64 {
    let (ours, theirs): (Vec<&str>, Vec<&str>) =
        (ours.split_whitespace().collect(), theirs.split_whitespace().collect());
    let (mut best, mut before) = (0, vec![0_u64; theirs.len() + 1]);
    for word in &ours {
        let mut now = vec![0; theirs.len() + 1];
        for (at, other) in theirs.iter().enumerate() {
            if word == other {
                now[at + 1] = before[at] + 1;
                best = best.max(now[at + 1]);
            }
        }
        before = now;
    }
    best
}

/// What the model wants: for each text that shares a run of eight words, or of the whole of a
/// shorter one, the longest run.
fn expected(model: &BTreeMap<Vec<u8>, String>, query: &str) -> BTreeMap<Vec<u8>, u64> {
    let count = |text: &str| u64::try_from(text.split_whitespace().count()).unwrap();
    let of = |(key, text): (&Vec<u8>, &String)| {
        let run = longest(query, text);
        (run >= 8.min(count(text)) && run >= 4).then(|| (key.clone(), run))
    };
    model.iter().filter_map(of).collect()
}

fn found(answer: &PassageAnswer) -> BTreeMap<Vec<u8>, u64> {
    let longest = |text: &nearkin::passages::Contained| {
        text.passages.iter().filter_map(|one| one.longest).max().unwrap()
    };
    answer.texts.iter().map(|text| (text.key.clone(), longest(text))).collect()
}

/// Holds a view to the model. Words that replace others may join runs to a text that the model does
/// not want; these must have eight equal words.
fn check(view: &PassageView, model: &BTreeMap<Vec<u8>, String>, query: &str) {
    let answer = view.query(query).run().unwrap();
    let (found, wanted) = (found(&answer), expected(model, query));
    for (key, run) in &wanted {
        // Eight bits of a word are compared: one in 256 that end a run does not end it.
        assert!(found.get(key).is_some_and(|found| found >= run), "{query}\n{}", model[key]);
    }
    for text in answer.texts.iter().filter(|text| !wanted.contains_key(&text.key)) {
        assert!(text.passages.iter().all(|one| one.words >= 4), "{text:?}");
        assert!(model.contains_key(&text.key), "{text:?}");
    }
    let (mut alike, mut ends) = (0, 0);
    for text in &answer.texts {
        let stored = &model[&text.key];
        for one in &text.passages {
            let range = |range: &std::ops::Range<u64>| {
                usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
            };
            let (ours, theirs) = (&query[range(&one.query)], &stored[range(&one.stored)]);
            assert!(!ours.starts_with(' ') && !theirs.ends_with(' '));
            alike += usize::from(ours.split(' ').next() == theirs.split(' ').next());
            alike += usize::from(ours.split(' ').next_back() == theirs.split(' ').next_back());
            ends += 2;
            let (words, _) = one.in_words.clone().unwrap();
            assert!(query.split_whitespace().nth(range(&words).start).is_some());
        }
    }
    assert!(2 * alike >= ends, "{alike} of {ends}");
}

/// Random words, and parts of the texts of the model.
fn text(random: &mut Random, model: &BTreeMap<Vec<u8>, String>, words: u32) -> String {
    let mut text = Vec::new();
    while text.len() < words as usize {
        if !model.is_empty() && random.below(3) == 0 {
            let from = model
                .values()
                .nth(random.below(u32::try_from(model.len()).unwrap()) as usize)
                .unwrap();
            let all: Vec<&str> = from.split_whitespace().collect();
            let begin = random.below(u32::try_from(all.len()).unwrap()) as usize;
            let length = 1 + random.below(20) as usize;
            text.extend(all.iter().skip(begin).take(length).map(|word| (*word).to_owned()));
        } else {
            text.push(format!("w{}", random.below(120)));
        }
    }
    text.truncate(words as usize);
    text.join(" ")
}

#[test]
fn every_run_is_found_whatever_is_done_to_the_index() {
    let scratch = Scratch::new();
    let mut index = PassageIndex::create(scratch.dir(), &quotes(), unsynced()).unwrap();
    let (mut model, mut random) = (BTreeMap::new(), Random(11));
    for step in 0..400_u32 {
        let key = format!("k{}", random.below(40)).into_bytes();
        match random.below(12) {
            0..7 => {
                let words = [1 + random.below(9), 20 + random.below(100), 900][step as usize % 3];
                let text = text(&mut random, &model, words);
                let outcome = index.insert(&key, &text).unwrap();
                let before = model.insert(key, text.clone());
                let is_same = before.as_ref() == Some(&text);
                assert_eq!(outcome == Outcome::Inserted, before.is_none(), "{step}");
                assert_eq!(outcome == Outcome::Unchanged, is_same, "{step}");
            }
            7..9 => {
                let there = model.remove(&key).is_some();
                let outcome = if there { Outcome::Removed } else { Outcome::Missing };
                assert_eq!(index.remove(&key).unwrap(), outcome);
            }
            9 => index.index().flush().unwrap(),
            10 => index.index().compact().unwrap(),
            _ => {
                // Not closed, so that the log is replayed.
                drop(index);
                index = PassageIndex::open(scratch.dir(), unsynced()).unwrap();
            }
        }
        let query = text(&mut random, &model, 30);
        check(&index.view(), &model, &query);
        if step % 50 == 49 {
            assert_eq!(index.view().count_texts().unwrap(), u64::try_from(model.len()).unwrap());
            // A reader sees what is safe.
            index.index().flush().unwrap();
            let reader = Reader::open(scratch.dir(), unsynced()).unwrap();
            check(&PassageView::new(&reader.snapshot()).unwrap(), &model, &query);
            pairs_are_those_of_the_model(&index.view(), &model);
        }
    }
    assert_whole(index.index());
}

fn pairs_are_those_of_the_model(view: &PassageView, model: &BTreeMap<Vec<u8>, String>) {
    let pairs = view.pairs(&Conditions::default()).unwrap();
    let found: BTreeMap<(Vec<u8>, Vec<u8>), u64> =
        pairs.iter().map(|pair| ((pair.a.clone(), pair.b.clone()), pair.longest)).collect();
    assert_eq!(found.len(), pairs.len());
    let keys: Vec<&Vec<u8>> = model.keys().collect();
    for (at, a) in keys.iter().enumerate() {
        for b in &keys[at + 1..] {
            let run = longest(&model[*a], &model[*b]);
            if run >= 8 {
                let found = found.get(&((*a).clone(), (*b).clone()));
                assert!(found.is_some_and(|found| *found >= run), "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn a_long_text_has_its_words_in_several_documents() {
    let scratch = Scratch::new();
    let index = PassageIndex::create(scratch.dir(), &quotes(), unsynced()).unwrap();
    // Many words and few fingerprints; then many of both.
    let repeated = "to and fro ".repeat(20_000);
    let long: String = (0..60_000).map(|word| format!("w{word} ")).collect::<Vec<_>>().concat();
    for text in [&repeated, &long] {
        index.insert_with_payload("a", text, "kept").unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let part = words[50_000..50_040].join(" ");
        let answer = index.view().query(&part).run().unwrap();
        assert_eq!(
            (answer.texts[0].share, answer.texts[0].payload.as_slice()),
            (1.0, &b"kept"[..])
        );
    }
    let begin = long.find("w50000 ").unwrap();
    let answer =
        index.view().query("w50000 w50001 w50002 w50003 w50004 w50005 w50006 w50007").run();
    assert_eq!(answer.unwrap().texts[0].passages[0].stored.start, u64::try_from(begin).unwrap());
    index.insert("a", "short again").unwrap();
    assert_eq!(index.index().len(), 1);
    assert_whole(index.index());
}

#[test]
fn shares_decide_what_is_contained_and_templates_do_not_count() {
    let form = "write your name and number here and answer all of the questions below in full";
    let builder = || Params::preset(Preset::Quotes);
    let common = Common::of_texts(&quotes(), [form]).unwrap();
    for (params, is_plain) in [(quotes(), true), (builder().common(common).build().unwrap(), false)]
    {
        let scratch = Scratch::new();
        let index = PassageIndex::create(scratch.dir(), &params, unsynced()).unwrap();
        let text = |own: &str| format!("{form} {own} one two three four five six seven eight");
        index.insert("a", &text("whales are no fish and breathe air")).unwrap();
        index.insert("b", &text("bees dance in the hive to say where")).unwrap();
        let view = index.view();
        let answer = view.query(&format!("{form} but I will not answer at all")).run().unwrap();
        assert_eq!(answer.found, if is_plain { 2 } else { 0 }, "{answer:?}");
        let pairs = view.pairs(&Conditions::default()).unwrap();
        assert_eq!((pairs.len(), pairs[0].words), (1, if is_plain { 23 } else { 8 }), "{pairs:?}");
        let half = view.query("whales are no fish and breathe air one but not two or so").run();
        assert_eq!(half.unwrap().texts[0].passages[0].words, 8);
        let contained = |share| {
            let conditions = Conditions::default().contained(share);
            view.query("x x one two three four five six seven eight").conditions(conditions).run()
        };
        assert_eq!(contained(0.8).unwrap().found, 2);
        assert_eq!(contained(0.9).unwrap().found, 0);
        let refused = view.query(form).conditions(Conditions::default().threshold(0.5)).run();
        assert_eq!(kind(refused), ErrorKind::Invalid);
    }
}

#[test]
fn any_script_and_code_by_tokens() {
    let scratch = Scratch::new();
    let index = PassageIndex::create(scratch.path("w"), &quotes(), unsynced()).unwrap();
    // The letters of each script follow each other; Han and Thai have no spaces.
    let letters = |first: u32, count: u32, space: u32| -> String {
        let letter = |at| char::from_u32(first + at).unwrap();
        (0..count).map(|at| if at % space == space - 1 { ' ' } else { letter(at) }).collect()
    };
    let texts = [
        ("han", letters(0x4e00, 26, 100)),
        ("thai", letters(0xe01, 46, 100)),
        ("cyrillic", letters(0x430, 32, 2) + &letters(0x410, 32, 2)),
        ("latin", "All human beings are born free and equal in dignity and rights".to_owned()),
    ];
    for (key, text) in &texts {
        index.insert(*key, text).unwrap();
    }
    let view = index.view();
    for (key, text) in &texts {
        let chars: Vec<char> = text.chars().collect();
        let half: String = chars[chars.len() / 4..].iter().collect();
        let found = view.query(&half).run().unwrap();
        assert_eq!(found.texts[0].key, key.as_bytes());
    }
    // Cyrillic letters that look Latin, ligatures, a word broken at a line end.
    let disguised = "All hum\u{430}n beings \u{430}re born free and equ-\nal in dignity and rights";
    let answer = view.query(disguised).run().unwrap();
    assert_eq!((answer.texts[0].share, answer.texts[0].key.as_slice()), (1.0, &b"latin"[..]));
    let tokens = Params::preset(Preset::Quotes).shingles(Shingles::Tokens(4)).build().unwrap();
    let code = PassageIndex::create(scratch.path("t"), &tokens, unsynced()).unwrap();
    let line = "for ( i = 0 ; i < n ; i ++ ) { a [ i ] = 0 ; }";
    code.insert("c", line).unwrap();
    assert!(code.view().query(line).run().unwrap().texts[0].share > 0.99);
    assert_eq!(
        code.view().query(&line.replace('<', ">")).run().unwrap().texts[0].passages.len(),
        1
    );
}
