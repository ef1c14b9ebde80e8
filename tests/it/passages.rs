//! Passage indexes: quotations are found with their positions, and texts are written atomically.

use crate::support::{Random, Scratch, assert_whole, inline, kind};
use nearkin::passages::{PassageAnswer, PassageIndex, PassageMatch, PassageView};
use nearkin::{Admit, Conditions, Durability, ErrorKind, Index, Outcome, Params, Reader, Windows};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn params(window: u32, stride: u32) -> Params {
    let windows = Windows::new(window, stride).unwrap();
    Params::for_threshold(0.5).passages(windows).build().unwrap()
}

fn unsynced() -> nearkin::Options {
    inline().durability(Durability::OsBuffer)
}

/// Distinct words, one for each number.
fn words(begin: u32, count: u32) -> String {
    (begin..begin + count).map(|word| format!("w{word} ")).collect::<Vec<_>>().concat()
}

fn place(range: &std::ops::Range<u64>) -> std::ops::Range<usize> {
    usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
}

/// The texts in a JSON lines file, by key.
fn texts(lines: &str) -> BTreeMap<String, String> {
    let document = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| value[field].as_str().unwrap().to_owned();
        (text("id"), text("text"))
    };
    lines.lines().map(document).collect()
}

/// The texts of a corpus, by key. `None` if the folder of corpora is not there.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn corpus(name: &str) -> Option<BTreeMap<String, String>> {
    let folder = std::env::var_os("NEARKIN_DATA").map(PathBuf::from);
    let path = folder.map(|folder| folder.join(format!("{name}.jsonl.zst")));
    let Some(path) = path.filter(|path| path.exists()) else {
        println!("SKIPPED: NEARKIN_DATA names no folder with {name}.jsonl.zst");
        return None;
    };
    let lines = zstd::decode_all(&fs::read(path).unwrap()[..]).unwrap();
    Some(texts(&String::from_utf8(lines).unwrap()))
}

/// The byte range of `count` words in a text.
fn word_bytes(text: &str, begin: usize, count: usize) -> std::ops::Range<usize> {
    let at = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
    let mut parts = text.split_whitespace().skip(begin);
    let first = parts.next().unwrap();
    let last = parts.nth(count - 2).unwrap();
    at(first)..at(last) + last.len()
}

/// A text with a paragraph pasted into its middle, and the byte range of the paragraph in the
/// result.
fn paste(paragraph: &str, into: &str) -> (String, std::ops::Range<usize>) {
    let half = word_bytes(into, 0, into.split_whitespace().count() / 2).end;
    let mixed = format!("{}\n\n{paragraph}\n\n{}", &into[..half], &into[half..]);
    (mixed, half + 2..half + 2 + paragraph.len())
}

/// Returns how many bytes of a range the passages cover, and how many bytes they extend beyond it.
fn cover(
    passages: &[PassageMatch],
    side: impl Fn(&PassageMatch) -> std::ops::Range<usize>,
    range: &std::ops::Range<usize>,
) -> (usize, usize) {
    let begin = passages.iter().map(|found| side(found).start).min().unwrap();
    let end = passages.iter().map(|found| side(found).end).max().unwrap();
    let inside = end.min(range.end).saturating_sub(begin.max(range.start));
    (inside, (end - begin) - inside)
}

/// Pastes a paragraph of `donor` into `host`, which makes a text at least ten times as long as the
/// paragraph. A query with this text must find its two sources, and a query with the paragraph must
/// find this text. The answers must say where the paragraph is.
fn a_pasted_paragraph_is_found(texts: &BTreeMap<String, String>, donor: &str, host: &str) {
    let scratch = Scratch::new();
    let index = PassageIndex::create(scratch.dir(), &params(40, 20), unsynced()).unwrap();
    let paragraph_at = word_bytes(&texts[donor], 30, 80);
    let paragraph = &texts[donor][paragraph_at.clone()];
    let (mixed, mixed_at) = paste(paragraph, &texts[host]);
    assert!(mixed.len() >= 10 * paragraph.len(), "{} of {}", paragraph.len(), mixed.len());
    for (key, text) in texts {
        let outcome = match index.insert(key, text) {
            Err(error) if error.kind() == ErrorKind::Empty => continue,
            outcome => outcome.unwrap(),
        };
        assert_eq!(outcome, Outcome::Inserted);
    }
    // A query with the mixture finds its sources.
    let view = index.view();
    let answer = view.query(&mixed).run().unwrap();
    assert_eq!(answer.texts[0].key, host.as_bytes());
    assert!(answer.texts[0].share > 0.8, "{}", answer.texts[0].share);
    let of_donor = answer.texts.iter().find(|text| text.key == donor.as_bytes()).unwrap();
    let count = |text: &str| f64::from(u32::try_from(text.split_whitespace().count()).unwrap());
    let part = count(paragraph) / count(&mixed);
    assert!((0.7..2.0).contains(&(of_donor.share / part)), "{} {part}", of_donor.share);
    let (inside, outside) = cover(&of_donor.passages, |found| place(&found.query), &mixed_at);
    assert!(inside * 10 > mixed_at.len() * 8 && outside < mixed_at.len(), "{of_donor:?}");
    let (inside, outside) = cover(&of_donor.passages, |found| place(&found.stored), &paragraph_at);
    assert!(inside * 10 > paragraph_at.len() * 7 && outside < paragraph_at.len());
    // A query with the paragraph finds the mixture.
    index.insert("mixed", &mixed).unwrap();
    let answer = index.view().query(paragraph).run().unwrap();
    let found = answer.texts.iter().find(|text| text.key == b"mixed").unwrap();
    assert!(found.share > 0.9, "{}", found.share);
    let (inside, outside) = cover(&found.passages, |found| place(&found.stored), &mixed_at);
    assert!(inside * 10 > mixed_at.len() * 7 && outside < mixed_at.len(), "{found:?}");
    let rest = words(0, 200);
    assert_eq!(index.view().query(&rest).run().unwrap().texts, []);
}

#[test]
fn a_paragraph_is_located_in_a_text_ten_times_as_long() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/pydocs.jsonl");
    if !path.exists() {
        println!("SKIPPED: there is no tests/data here; it is in the repository");
        return;
    }
    let mut all = texts(&fs::read_to_string(path).unwrap());
    all.retain(|key, _| key.starts_with("3.13"));
    let long = |words: usize| {
        move |(_, text): &(&String, &String)| text.split_whitespace().count() >= words
    };
    // The host is the longest text, because it must have ten times the length of the paragraph.
    let host = all.iter().max_by_key(|(_, text)| text.len()).unwrap().0.clone();
    let donor = all.iter().filter(long(200)).find(|(key, _)| **key != host).unwrap().0.clone();
    a_pasted_paragraph_is_found(&all, &donor, &host);
}

#[test]
fn a_paragraph_of_one_speech_is_located_in_another() {
    for name in ["inaugural", "state_union"] {
        let Some(all) = corpus(name) else { return };
        let counts = |key: &String| all[key].split_whitespace().count();
        let mut speeches = all.keys().filter(|key| counts(key) >= 1_100);
        let (donor, host) = (speeches.next().unwrap(), speeches.next_back().unwrap());
        a_pasted_paragraph_is_found(&all, donor, host);
    }
}

/// The answer without its change number, the only part that may depend on the history of the index.
fn without_change(mut answer: PassageAnswer) -> PassageAnswer {
    answer.change = 0;
    answer
}

/// Texts and payloads by key.
type TextModel = BTreeMap<Vec<u8>, (String, Vec<u8>)>;

/// Applies `set_payload` to the model, and returns the expected outcome.
fn set_in_model(model: &mut TextModel, key: &[u8], payload: &[u8]) -> Outcome {
    let Some((_, own)) = model.get_mut(key) else { return Outcome::Missing };
    let before = std::mem::replace(own, payload.to_vec());
    if before == payload { Outcome::Unchanged } else { Outcome::Replaced }
}

#[test]
fn texts_stay_whole_whatever_is_done_to_them() {
    let (scratch, params) = (Scratch::new(), params(8, 4));
    let mut index = PassageIndex::create(scratch.dir(), &params, unsynced()).unwrap();
    let mut model = TextModel::new();
    // Keys that are prefixes of each other, including some that end like a passage number.
    let keys: [&[u8]; 5] = [b"a", b"a\0\0\0\0", b"a\0\0\0\x01", b"\xff\xff\xff\xff\xff", b"b"];
    let mut random = Random(7);
    for step in 0..400 {
        let key = keys[random.below(5) as usize];
        match random.below(12) {
            0..6 => {
                let text = words(random.below(60), 1 + random.below(60));
                let mut payload = vec![b'p'; random.below(3) as usize];
                let outcome = if random.below(3) == 0 {
                    // In this case the stored payload stays.
                    let stored = model.get(key).map(|(_, payload)| payload.clone());
                    payload = stored.unwrap_or_default();
                    index.insert(key, &text).unwrap()
                } else {
                    index.insert_with_payload(key, &text, &payload).unwrap()
                };
                let before = model.insert(key.to_vec(), (text.clone(), payload.clone()));
                assert_eq!(outcome == Outcome::Inserted, before.is_none(), "{step}");
                let same = before == Some((text, payload));
                assert_eq!(outcome == Outcome::Unchanged, same, "{step}");
            }
            6..8 => {
                let there = model.remove(key).is_some();
                let expected = if there { Outcome::Removed } else { Outcome::Missing };
                assert_eq!(index.remove(key).unwrap(), expected);
            }
            8..10 => {
                let payload = vec![b'q'; random.below(3) as usize];
                let expected = set_in_model(&mut model, key, &payload);
                assert_eq!(index.set_payload(key, &payload).unwrap(), expected, "{step}");
            }
            10 => index.index().flush().unwrap(),
            _ => {
                // The index is not closed, so that the log is replayed.
                drop(index);
                index = PassageIndex::open(scratch.dir(), unsynced()).unwrap();
            }
        }
        let view = index.view();
        assert_eq!(view.count_texts().unwrap(), u64::try_from(model.len()).unwrap());
        let cut = |(key, (text, _)): (&Vec<u8>, &(String, Vec<u8>))| {
            index.cutter().prepare(key, text, None).unwrap().passages()
        };
        let passages: usize = model.iter().map(cut).sum();
        assert_eq!(index.index().len(), u64::try_from(passages).unwrap(), "{step}");
        if step % 40 == 0 {
            let anew = Scratch::new();
            let other = PassageIndex::create(anew.dir(), &params, unsynced()).unwrap();
            for (key, (text, payload)) in &model {
                other.insert_with_payload(key, text, payload).unwrap();
            }
            let text = words(random.below(60), 40);
            let [here, there] = [view, other.view()]
                .map(|view| without_change(view.query(&text).limit(4).run().unwrap()));
            assert_eq!(here, there, "{step}");
        }
    }
    for (key, (text, payload)) in &model {
        let answer = index.view().query(text).run().unwrap();
        let own = answer.texts.iter().find(|found| found.key == *key).unwrap();
        assert_eq!((own.share, &own.payload), (1.0, payload));
    }
    assert_whole(index.index());
}

#[test]
fn a_text_without_words_is_one_passage() {
    let folder = Scratch::new();
    for stop in [false, true] {
        let windows = Windows::new(20, 10).unwrap();
        let builder = Params::for_threshold(0.5).passages(windows);
        let builder = if stop { builder.stop_words(["the", "of"]) } else { builder };
        let dir = folder.path(&stop.to_string());
        let index = PassageIndex::create(dir, &builder.build().unwrap(), unsynced()).unwrap();
        let (arrows, other) =
            if stop { ("The OF, the?", "of") } else { (" ===> \n!", "\u{1f600}") };
        assert_eq!(index.insert("arrows", arrows).unwrap(), Outcome::Inserted);
        index.insert("words", &format!("{} of the {arrows}", words(0, 100))).unwrap();
        let quoting = |text: &str| {
            let answer = index.view().query(text).run().unwrap();
            let texts = answer.texts.iter();
            (texts.map(|text| (text.key.clone(), text.share)).collect::<Vec<_>>(), answer.words)
        };
        let found = (vec![(b"arrows".to_vec(), 1.0)], 1);
        assert_eq!(quoting(&format!("\t{}", arrows.to_lowercase())), found);
        assert_eq!(quoting(other), (Vec::new(), 1));
        assert_eq!(index.insert("arrows", arrows).unwrap(), Outcome::Unchanged);
        assert_eq!(index.insert("arrows", other).unwrap(), Outcome::Replaced);
        assert_eq!(quoting(arrows).0, []);
        assert_eq!(kind(index.insert("arrows", " \u{200b}")), ErrorKind::Empty);
        index.close().unwrap();
    }
}

#[test]
fn two_threads_replacing_one_text_leave_no_passages_behind() {
    let scratch = Scratch::new();
    let index = PassageIndex::create(scratch.dir(), &params(8, 4), unsynced()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let index = &index;
            scope.spawn(move || {
                for round in 0..50 {
                    let length = 10 + (round * 37 + thread * 11) % 90;
                    index.insert("k", &words(thread * 1_000, length)).unwrap();
                }
            });
        }
    });
    index.remove("k").unwrap();
    assert_eq!(index.index().len(), 0);
}

#[test]
fn several_texts_of_one_write_are_one_change() {
    let scratch = Scratch::new();
    let index = PassageIndex::create(scratch.dir(), &params(8, 4), inline()).unwrap();
    let text = |key: &str, count| index.cutter().prepare(key, &words(0, count), None).unwrap();
    let all = [text("a", 90), text("b", 20), text("a", 12)];
    let outcomes = index.write(&all).unwrap();
    assert_eq!(outcomes, [Outcome::Superseded, Outcome::Inserted, Outcome::Inserted]);
    assert_eq!(index.view().query("w1").run().unwrap().change, 1);
    assert_eq!(index.write(&all[1..]).unwrap(), [Outcome::Unchanged, Outcome::Unchanged]);
    assert_eq!(index.write(&[text("a", 13)]).unwrap(), [Outcome::Replaced]);
    index.close().unwrap();
    let reader = Reader::open(scratch.dir(), inline()).unwrap();
    let view = PassageView::new(&reader.snapshot()).unwrap();
    assert!(view.contains("a").unwrap() && !view.contains("c").unwrap());
    assert_eq!(view.query(&words(0, 20)).run().unwrap().texts[0].key, b"b");
}

#[test]
fn indexes_of_passages_and_of_documents_are_not_mixed_up() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    let of_documents = Params::for_threshold(0.5).build().unwrap();
    assert_eq!(
        kind(PassageIndex::create(scratch.dir(), &of_documents, inline())),
        ErrorKind::Invalid
    );
    let passages = params(8, 4);
    let index = PassageIndex::create(scratch.dir(), &passages, inline()).unwrap();
    index.insert("a", &words(0, 30)).unwrap();
    assert_eq!(kind(index.insert("a", " \n")), ErrorKind::Empty);
    assert_eq!(kind(index.insert(vec![b'k'; 4_093], "a b c")), ErrorKind::Invalid);
    // Writes that bypass the passage layer are refused, because they could leave parts of texts.
    let (inner, signature) = (index.index(), index.index().sketcher().text("a b c").unwrap());
    let change = inner.snapshot().change();
    assert_eq!(kind(inner.insert("a", &signature)), ErrorKind::Invalid);
    assert_eq!(kind(inner.remove(b"a\0\0\0\0")), ErrorKind::Invalid);
    assert_eq!(kind(inner.remove_before(u64::MAX)), ErrorKind::Invalid);
    assert_eq!(kind(inner.admit("b", &signature, &Admit::at(0.9))), ErrorKind::Invalid);
    assert_eq!(inner.snapshot().change(), change);
    let documents = Index::create(other.dir(), &of_documents, inline()).unwrap();
    assert_eq!(kind(documents.import(&index.index().snapshot())), ErrorKind::Mismatch);
    assert_eq!(kind(index.index().import(&documents.snapshot())), ErrorKind::Mismatch);
    assert_eq!(kind(PassageView::new(&documents.snapshot())), ErrorKind::Invalid);
    let out = other.path("out");
    let snapshot = index.index().snapshot();
    assert_eq!(kind(Index::rebuild(&snapshot, &out, &of_documents, inline())), ErrorKind::Mismatch);
    // A rebuild with other bands is allowed.
    let bands = passages.to_builder().bands(32, 4).build().unwrap();
    Index::rebuild(&snapshot, &out, &bands, inline()).unwrap();
    let again = PassageIndex::open(&out, inline()).unwrap();
    let share = again.view().query(&words(0, 30)).run().unwrap().texts[0].share;
    assert!((share - 1.0).abs() < 1e-12);
    index.close().unwrap();
    let opened = Index::open_or_create(scratch.dir(), &of_documents, inline());
    assert_eq!(kind(opened), ErrorKind::Mismatch);
    let ttl = inline().ttl(std::time::Duration::from_secs(60));
    assert_eq!(kind(PassageIndex::open(scratch.dir(), ttl)), ErrorKind::Invalid);
}

/// The texts of an answer and their shares.
fn shares(answer: PassageAnswer) -> Vec<(String, f64)> {
    assert!(answer.complete && answer.found == answer.texts.len() as u64);
    let share =
        |text: nearkin::passages::Contained| (String::from_utf8(text.key).unwrap(), text.share);
    answer.texts.into_iter().map(share).collect()
}

#[test]
fn conditions_restrict_a_query_to_the_texts_that_pass() {
    let scratch = Scratch::new();
    let time = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&time);
    let options = unsynced().clock(move || clock.load(Ordering::Relaxed));
    let index = PassageIndex::create(scratch.dir(), &params(20, 10), options).unwrap();
    // The last 20 words of each text are those of the query.
    let asked = words(1_000, 20);
    let keys = ["north/1", "north/2", "northern", "south/1"];
    for (at, key) in (1_u8..).zip(keys) {
        time.store(u64::from(at) * 1_000, Ordering::Relaxed);
        let text = words(u32::from(at) * 100_000, 60) + &asked;
        index.insert_with_payload(key, &text, [at]).unwrap();
    }
    let view = index.view();
    let keys_of = |conditions: Conditions<'static>| {
        let found = shares(view.query(&asked).conditions(conditions).run().unwrap());
        found.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
    };
    let all = Conditions::default();
    assert_eq!(keys_of(all.clone()), keys);
    assert_eq!(keys_of(all.clone().prefix("north/")), ["north/1", "north/2"]);
    assert_eq!(keys_of(all.clone().prefix("north")), ["north/1", "north/2", "northern"]);
    // Not a prefix of the key, but of the key with the number of a passage.
    assert_eq!(keys_of(all.clone().prefix("south/1\0")), [""; 0]);
    assert_eq!(keys_of(all.clone().after(2_000).before(4_000)), ["north/2", "northern"]);
    let payloads = all.clone().filter(|key, payload| key.starts_with(b"n") && payload != [2]);
    assert_eq!(keys_of(payloads.clone()), ["north/1", "northern"]);
    assert_eq!(keys_of(payloads.prefix("north/")), ["north/1"]);
    let first = view.query(&asked).after(2_000).limit(1).run().unwrap();
    assert_eq!((first.found, first.texts[0].key.as_slice()), (3, &b"north/2"[..]));
    let stopped = view.query(&asked).cancel_if(|| true).run().unwrap();
    assert!(!stopped.complete && stopped.texts.is_empty());
    let refused = view.query(&asked).conditions(all.after(5).before(5)).run();
    assert_eq!(kind(refused), ErrorKind::Invalid);
}
