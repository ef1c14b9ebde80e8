//! `nearkin report` of an index of fingerprints: the passages in the page, and their places.

use super::report::data_of;
use super::*;

/// All maximal runs of at least `least` words that both texts have, as places in words: by brute
/// force.
fn shared_runs(ours: &[&str], theirs: &[&str], least: usize) -> Vec<(usize, usize, usize)> {
    let mut runs = Vec::new();
    for a in 0..ours.len() {
        for b in 0..theirs.len() {
            let is_begin = a == 0 || b == 0 || ours[a - 1] != theirs[b - 1];
            let run = ours[a..].iter().zip(&theirs[b..]).take_while(|(a, b)| a == b).count();
            if is_begin && run >= least {
                runs.push((a, b, run));
            }
        }
    }
    runs
}

fn number_of(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Essays with Greek words of two bytes, and parts of essay 1 in essays 2 and 3: in another order,
/// and with a word replaced.
fn essays() -> Vec<(String, String)> {
    let own = |essay: usize, words: std::ops::Range<usize>| {
        words.map(move |word| format!("\u{3c9}{essay}x{word}")).collect::<Vec<_>>()
    };
    let replaced = [own(1, 200..220), vec!["else".to_owned()], own(1, 221..240)].concat();
    [
        own(1, 0..300),
        [own(2, 0..90), own(1, 150..165), own(2, 90..200), own(1, 40..61)].concat(),
        [own(3, 0..120), replaced, own(3, 120..220)].concat(),
        own(4, 0..200),
    ]
    .into_iter()
    .zip(1..)
    .map(|(words, number)| (format!("essays/{number}.txt"), words.join(" ")))
    .collect()
}

#[test]
fn a_page_of_fingerprints_has_each_passage_at_its_places() {
    let scratch = Scratch::new();
    let essays = essays();
    for (name, text) in &essays {
        scratch.write(name, text);
    }
    scratch.ok("add i essays --for quotes");
    let ran = scratch.ok("report i --out r.html");
    assert!(ran.stdout.ends_with("\n2 pairs of 4 texts share a run of words; 2 stand out\n"));
    let page = scratch.page("r.html");
    assert_eq!(page.matches("<script").count(), 2, "data and script");
    let data = data_of(&page);
    let text_of = |document: &Value| {
        let key = document["key"].as_str().unwrap();
        let (_, text) = essays.iter().find(|(name, _)| name == key).unwrap();
        let at = number_of(&document["text"]["at"]);
        assert_eq!(data["texts"][at]["text"], text.as_str(), "{key}");
        text.as_str()
    };
    let pairs = data["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2);
    for pair in pairs {
        let side = |name: &str| text_of(&data["documents"][number_of(&pair[name])]);
        let (a, b) = (side("a"), side("b"));
        let (words_a, words_b): (Vec<&str>, Vec<&str>) =
            (a.split(' ').collect(), b.split(' ').collect());
        let runs = shared_runs(&words_a, &words_b, 4);
        assert!(!runs.is_empty());
        let range = |passage: &Value, name: &str| {
            let number = |at: usize| number_of(&passage[name][at]);
            number(0)..number(1)
        };
        let passages = pair["passages"].as_array().unwrap();
        let (mut longest, mut equal) = (0, 0);
        for passage in passages {
            // The bytes are those of the words, on both sides.
            let (of_a, of_b) = (range(passage, "a_words"), range(passage, "b_words"));
            assert_eq!(a[range(passage, "a")], words_a[of_a.clone()].join(" "));
            assert_eq!(b[range(passage, "b")], words_b[of_b.clone()].join(" "));
            // The runs in it, and their words, are those of the brute force.
            let inside = |&(at, other, run): &(usize, usize, usize)| {
                let ends = at + run <= of_a.end && other + run <= of_b.end;
                (at >= of_a.start && other >= of_b.start && ends).then_some(run as u64)
            };
            let own: Vec<u64> = runs.iter().filter_map(inside).collect();
            assert_eq!(passage["words"], own.iter().sum::<u64>(), "{passage}");
            assert_eq!(passage["longest"], own.iter().copied().max().unwrap(), "{passage}");
            longest = longest.max(own.iter().copied().max().unwrap());
            equal += own.iter().sum::<u64>();
        }
        assert_eq!(
            equal,
            runs.iter().map(|(.., run)| *run as u64).sum::<u64>(),
            "no run is left out"
        );
        assert_eq!((&pair["longest"], &pair["words"]), (&longest.into(), &equal.into()));
        assert_eq!(pair["stands_out"], true);
    }
    // What `pairs` prints, in its order.
    let printed = scratch.ok("pairs i --json").objects();
    for (printed, pair) in printed.iter().zip(pairs) {
        for field in ["share_of_a", "share_of_b", "words", "longest", "stands_out"] {
            assert_eq!(printed[field], pair[field], "{field}");
        }
    }
}

#[test]
fn a_page_of_fingerprints_shows_what_is_unchanged() {
    let scratch = Scratch::new();
    let essays = essays();
    for (name, text) in &essays {
        scratch.write(name, text);
    }
    scratch.ok("add i essays --for quotes");
    // A text that has changed is not shown; one that is unchanged still is.
    scratch.write("essays/2.txt", essays[1].1.replacen("\u{3c9}2x7 ", "zother ", 1));
    let ran = scratch.ok("report i --out r.html --json");
    assert_eq!(
        (&ran.objects()[0]["texts_shown"], &ran.objects()[0]["texts_changed"]),
        (&2.into(), &1.into())
    );
    assert!(!scratch.page("r.html").contains("zother"));
    assert_eq!(
        ran.fields().join(" "),
        "bytes out pairs pairs_shown stand_out texts texts_changed texts_missing texts_shown"
    );
    let data = scratch.report("i --no-texts --clusters 1");
    assert_eq!(
        (data["texts"].as_array().unwrap().len(), data["pairs"].as_array().unwrap().len()),
        (0, 1)
    );
    // What is not on the page is counted.
    assert_eq!((&data["totals"]["pairs"], &data["totals"]["stand_out"]), (&2.into(), &2.into()));
    let ran = scratch.ok("pairs i --limit 1");
    assert!(ran.stderr.contains("2 pairs share a run of words; 2 stand out (!)"), "{}", ran.stderr);
    scratch.fails("report i --out r.html --threshold 0.5", &["--threshold", "drop it"]);
    scratch.ok("add w essays --passages 50:25");
    scratch.fails("report w --out r.html", &["of passages (50:25)"]);
}

#[test]
fn hostile_texts_of_a_page_of_fingerprints_stay_data() {
    let scratch = Scratch::new();
    let hostile = "</script><script>alert(1)</script> <!--<script> \u{2028}\u{202e} &lt; ${x} ";
    let text: String = (0..30).map(|at| format!("{hostile}w{at} ")).collect::<Vec<_>>().concat();
    let line = |id: &str| format!("{}\n", serde_json::json!({ "id": id, "text": text }));
    scratch.write("l.jsonl", line("</script><script>alert(2)") + &line("\u{2028}<img src=x>\u{7}"));
    scratch.ok("add i --jsonl l.jsonl --for quotes");
    let data = scratch.report("i --from l.jsonl --title </script><script>");
    let page = scratch.page("r.html");
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert!(!page.contains(['\u{2028}', '\u{7}']) && !page.contains("<img"));
    assert_eq!(data["texts"][0]["text"], text.as_str());
    let keys: Vec<_> =
        data["documents"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(keys, ["</script><script>alert(2)", "\\u{2028}<img src=x>\\u{7}"]);
}
