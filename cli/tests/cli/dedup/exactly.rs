//! `dedup --exact` and `--contained`, compared with brute force.

use super::*;

/// Texts made from a common template; some are copies, halves, or concatenations of earlier texts.
/// Each word is a number.
fn texts(count: u64) -> Vec<Vec<u64>> {
    let mut state = 11_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut texts: Vec<Vec<u64>> = Vec::new();
    for at in 0..count {
        let own: Vec<u64> = (0..40 + random(30)).map(|word| at * 1_000 + word).collect();
        let other =
            texts.get(usize::try_from(random(at.max(1))).unwrap()).cloned().unwrap_or_default();
        // The common template. It is about two thirds of a text that is made from it.
        let form = 1_000_000_000..1_000_000_090;
        texts.push(match random(6) {
            0 if at > 0 => {
                other.iter().map(|word| if random(9) == 0 { 7 } else { *word }).collect()
            }
            1 if at > 0 => {
                other.iter().map(|word| if random(30) == 0 { 7 } else { *word }).collect()
            }
            2 if at > 0 => other[..other.len() / 2].to_vec(),
            3 if at > 0 => [other, own].concat(),
            4 => form.chain(own).collect(),
            _ => own,
        });
    }
    texts
}

/// Brute-force implementation: in order, drops each document that is similar enough to a kept one,
/// and names the most similar.
fn decided(
    texts: &[Vec<u64>],
    order: &[usize],
    is_alike: &dyn Fn(f64, f64) -> bool,
) -> BTreeMap<u64, (u64, f64, f64)> {
    let sets: Vec<BTreeSet<&u64>> = texts.iter().map(|text| text.iter().collect()).collect();
    let (mut kept, mut dropped) = (Vec::new(), BTreeMap::new());
    for at in order {
        let mut best: Option<(usize, f64, f64)> = None;
        for of in &kept {
            let (a, b): (&BTreeSet<_>, &BTreeSet<_>) = (&sets[*at], &sets[*of]);
            let shared = a.intersection(b).count();
            let similarity = shared as f64 / (a.len() + b.len() - shared) as f64;
            let contained = shared as f64 / a.len().min(b.len()) as f64;
            if is_alike(similarity, contained) && best.is_none_or(|best| similarity > best.1) {
                best = Some((*of, similarity, contained));
            }
        }
        match best {
            None => kept.push(*at),
            Some((of, similarity, contained)) => {
                dropped.insert(*at as u64, (of as u64, similarity, contained));
            }
        }
    }
    dropped
}

fn written(scratch: &Scratch) -> BTreeMap<u64, Value> {
    let dropped = objects(&text(scratch, "out.jsonl.dropped.jsonl"));
    let key = |one: &Value, name: &str| one[name].as_str().unwrap().parse::<u64>().unwrap();
    dropped.into_iter().map(|one| (key(&one, "key"), one)).collect()
}

#[test]
fn exactly_what_is_like_a_kept_one_is_dropped() {
    let scratch = Scratch::new();
    let texts = texts(1_500);
    let line = |(at, text): (usize, &Vec<u64>)| {
        let text: Vec<_> = text.iter().map(|word| format!("w{word}")).collect();
        format!("{}\n", serde_json::json!({"id": at, "text": text.join(" ")}))
    };
    scratch.write("in.jsonl", texts.iter().enumerate().map(line).collect::<String>());
    let first: Vec<usize> = (0..texts.len()).collect();
    let mut longest = first.clone();
    let distinct = |at: usize| texts[at].iter().collect::<BTreeSet<_>>().len();
    longest.sort_by_key(|at| std::cmp::Reverse(distinct(*at)));
    // With bands of one row, practically every pair with common words is a candidate, so that none
    // is missed.
    let how = "--shingles words:1 --hashes 256 --bands 256 --rows-per-band 1 --lane-bits 16 \
               --exact --guard none";
    let similar: &dyn Fn(f64, f64) -> bool = &|similarity, _| similarity >= 0.7;
    let contained: &dyn Fn(f64, f64) -> bool = &|_, contained| contained >= 0.8;
    let both: &dyn Fn(f64, f64) -> bool =
        &|similarity, contained| contained >= 0.8 && similarity >= 0.4;
    for (options, order, is_alike) in [
        ("--threshold 0.7", &first, similar),
        ("--contained 0.8", &first, contained),
        ("--contained 80% --threshold 0.4 --keep longest", &longest, both),
    ] {
        let expected = decided(&texts, order, is_alike);
        scratch.ok(&format!("dedup in.jsonl --out out.jsonl {how} {options}"));
        let found = written(&scratch);
        let keys = |all: &BTreeMap<u64, _>| all.keys().copied().collect::<Vec<_>>();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), keys(&expected), "{options}");
        for (key, (of, similarity, contained)) in &expected {
            let row = &found[key];
            assert_eq!(row["of_key"], Value::from(of.to_string()), "{options}: {row}");
            let is = |name: &str, expected: Option<f64>| match (row[name].as_f64(), expected) {
                (Some(value), Some(expected)) => (value - expected).abs() < 1e-12,
                (value, expected) => value == expected,
            };
            assert!(is("similarity", Some(*similarity)), "{options}: {row}");
            assert!(is("contained", Some(*contained)), "{options}: {row}");
            let count = |name: &str| row[name].as_f64().unwrap();
            let (own, other, shared) = (count("shingles"), count("of_shingles"), count("shared"));
            assert!(is("similarity", Some(shared / (own + other - shared))), "{row}");
            assert!(is("contained", Some(shared / own.min(other))), "{row}");
        }
        assert!(expected.len() > 200, "{options}: {}", expected.len());
        let kept = text(&scratch, "out.jsonl").lines().count();
        assert_eq!(kept, texts.len() - expected.len());
    }
}

#[test]
fn contained_drops_parts_and_prints_the_estimate() {
    let scratch = Scratch::new();
    let line = |key: &str, text: String| format!("{{\"id\":\"{key}\",\"text\":\"{text}\"}}\n");
    scratch.write("whole.jsonl", line("whole", words(0, 400)));
    scratch.write(
        "in.jsonl",
        [line("a", words(0, 200)), line("b", words(5_000, 5_400)), line("c", words(5_200, 5_400))]
            .concat(),
    );
    let run = |options: &str| {
        scratch.ok(&format!("dedup in.jsonl --out out.jsonl {options}"));
        let dropped = objects(&text(&scratch, "out.jsonl.dropped.jsonl"));
        dropped
            .into_iter()
            .map(|one| (one["key"].as_str().unwrap().to_owned(), one))
            .collect::<Vec<_>>()
    };
    assert_eq!(run("--threshold 0.7").len(), 0);
    let dropped = run("--contained 0.8");
    assert_eq!((dropped.len(), dropped[0].0.as_str()), (1, "c"));
    assert!(dropped[0].1["contained"].as_f64().unwrap() > 0.8, "{dropped:?}");
    let dropped = run("--contained 0.8 --exact");
    assert_eq!((dropped.len(), &dropped[0].1["contained"]), (1, &Value::from(1.0)));
    scratch.ok("add ix --jsonl whole.jsonl --threshold 0.3");
    let dropped = run("--contained 0.8 --index ix");
    let of: Vec<_> = dropped.iter().map(|(key, one)| (key.as_str(), &one["in_index"])).collect();
    assert_eq!(of, [("a", &Value::Bool(true)), ("c", &Value::Bool(false))]);
    assert!(dropped[0].1["contained"].as_f64().unwrap() > 0.8, "{dropped:?}");
    scratch.ok("add narrow --jsonl whole.jsonl --threshold 0.9");
    scratch.ok("dedup in.jsonl --out out.jsonl --contained 0.8 --index narrow").says(&["warning"]);
}

/// Documents of the index are read again, and only one that is as it was indexed is a reason to
/// drop a line.
#[test]
fn against_an_index_the_documents_decide() {
    let scratch = Scratch::new();
    let all = texts(900);
    let text_of = |words: &Vec<u64>| {
        words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
    };
    let line = |at: usize| {
        format!("{}\n", serde_json::json!({"id": at.to_string(), "text": text_of(&all[at])}))
    };
    scratch.write("archive.jsonl", (0..600).map(line).collect::<String>());
    scratch.write("in.jsonl", (600..900).map(line).collect::<String>());
    let how = "--shingles words:1 --hashes 256 --bands 256 --rows-per-band 1 --lane-bits 16";
    scratch.ok(&format!("add ix --jsonl archive.jsonl --threshold 0.7 {how}"));
    // Words with a digit are numbers, and all words here are.
    let run = "dedup in.jsonl --out out.jsonl --exact --guard none --threshold 0.7 --index ix";
    scratch.ok(&format!("{run} --from archive.jsonl --json")).has("unread", 0);
    let found: BTreeMap<u64, Value> =
        written(&scratch).into_iter().filter(|(_, one)| one["in_index"] == true).collect();
    let sets: Vec<BTreeSet<&u64>> = all.iter().map(|text| text.iter().collect()).collect();
    let mut expected = 0;
    for at in 600..900 {
        let similarity = |of: usize| {
            let shared = sets[at].intersection(&sets[of]).count();
            shared as f64 / (sets[at].len() + sets[of].len() - shared) as f64
        };
        let best = (0..600).map(similarity).fold(0.0, f64::max);
        let row = found.get(&(at as u64));
        assert_eq!(row.is_some(), best >= 0.7, "{at}: {best} {row:?}");
        if let Some(row) = row {
            expected += 1;
            let of: usize = row["of_key"].as_str().unwrap().parse().unwrap();
            assert!((row["similarity"].as_f64().unwrap() - best).abs() < 1e-12, "{row}");
            assert_eq!(row["shared"], sets[at].intersection(&sets[of]).count(), "{row}");
        }
    }
    assert!(expected > 20, "{expected}");
    // Without the documents nothing is dropped for the index, and it is said.
    let ran = scratch.ok(&format!("{run} --json")).says(&["could not be compared"]);
    assert_eq!(ran.objects()[0]["dropped_for_index"], 0);
    scratch.run("dedup in.jsonl --out o --exact --from archive.jsonl").ends_with(2);
    // Keys that are paths lead to the documents.
    for (at, words) in all.iter().enumerate().take(3) {
        scratch.write(&format!("docs/{at}.txt"), text_of(words));
    }
    let copies = (0..4).map(line).collect::<String>();
    scratch.write("copies.jsonl", copies);
    scratch.ok(&format!("add files docs {how}"));
    scratch.write("docs/1.txt", "another text by now");
    let run = "dedup copies.jsonl --out out.jsonl --exact --guard none --index files --json";
    scratch.ok(run).says(&["1 candidate of the index"]).has("unread", 1);
    let dropped: Vec<u64> = written(&scratch).into_keys().collect();
    assert_eq!(dropped, [0, 2]);
}

/// Another number makes another invoice, also beside an index.
#[test]
fn numbers_set_a_line_apart_from_a_document_of_the_index() {
    let scratch = Scratch::new();
    let text = |number: u64, body: &str| {
        format!("Invoice {number} of this year. {body} Please pay {} euros.", number * 3 + 7)
    };
    let words = ["we ", "sent ", "you ", "goods ", "and "];
    let plain: String = (0..80_usize).map(|at| words[at * at % 5]).collect();
    let line =
        |key: &str, text: &str| format!("{}\n", serde_json::json!({"id": key, "text": text}));
    let body = format!("{plain} to your door with many thanks for all your orders so far.");
    let archived: String =
        (0..20).map(|at| line(&format!("old{at}"), &text(100 + at, &body))).collect();
    scratch.write("old.jsonl", archived);
    let edited = body.replace("many thanks", "some thanks");
    let lines = [
        line("same", &text(105, &body)),
        line("edited", &text(107, &edited)),
        line("other", &text(900, &body)),
        line("third", &text(901, &body)),
        line("again", &text(901, &body)),
    ];
    scratch.write("in.jsonl", lines.concat());
    scratch.ok("add ix --jsonl old.jsonl --threshold 0.6 --shingles words:1");
    let run = "dedup in.jsonl --out out.jsonl --index ix";
    let exact = format!("{run} --exact --from old.jsonl");
    let fates = || {
        let dropped = fs::read_to_string(scratch.path("out.jsonl.dropped.jsonl")).unwrap();
        let rows = dropped.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| (row["key"].to_string(), row["of_key"].to_string())).collect::<Vec<_>>()
    };
    let pair = |one: &str, of: &str| (format!("\"{one}\""), format!("\"{of}\""));
    let note = "3 lines differ in numbers from a document of the index: not dropped for it";
    scratch.ok(&exact).says(&[note, "without a look at rare words"]);
    let copies = [pair("same", "old5"), pair("edited", "old7"), pair("again", "third")];
    assert_eq!(fates(), copies);
    // `again` is apart from the index, too, and a copy of `third`.
    scratch.ok(&format!("{exact} --json")).has("apart_from_index", 3).has("kept", 2);
    scratch.ok(&format!("{exact} --keep all --json")).has("dropped_for_index", 2).has("kept", 3);
    scratch.ok(&format!("{exact} --guard none --json")).has("dropped_for_index", 5);
    let agreeing = scratch.ok(&format!("{exact} --guard agree --json"));
    agreeing.has("dropped_for_index", 2).says_not("a look at rare words");
    scratch.fails(&format!("{exact} --keep all --apart a.jsonl"), &["here it keeps nothing"]);
    // Without their texts, nothing tells them apart, and that is said.
    scratch.ok(run).says(&["without a look at numbers and rare words", "--exact reads them again"]);
    assert_eq!(fates().len(), 5);
}
