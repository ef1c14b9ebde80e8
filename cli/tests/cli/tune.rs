//! `nearkin tune`: its predictions agree with real indexes.

use super::*;
use std::fmt::Write as _;

fn recommended(objects: &[Value]) -> &Value {
    let mut all = objects.iter().filter(|object| object["recommended"] == true);
    let one = all.next().expect("one is recommended");
    assert!(all.next().is_none(), "only one");
    one
}

#[test]
fn the_recommendation_without_documents_is_the_rule() {
    let scratch = Scratch::new();
    let ran = scratch.ok("tune --threshold 0.8 --json");
    let objects = ran.objects();
    let one = recommended(&objects);
    assert_eq!((&one["bands"], &one["rows_per_band"]), (&13.into(), &7.into()));
    assert!(one["compared_at_threshold"].as_f64().unwrap() >= 0.95);
    assert!(one.get("compared_per_query").is_none(), "nothing was compared");
    let ran = scratch.ok("tune --threshold 0.8").prints("\n>  13 x 7 ");
    assert!(ran.stdout.ends_with("nearkin create my.nearkin --threshold 0.8\n"), "{}", ran.stdout);
    ran.says(&["nearkin tune docs"]);
    // The recommended command works unchanged.
    scratch.ok("create my.nearkin --threshold 0.8");
    let ran = scratch.ok("tune --threshold 0.5 --bands 32 --rows-per-band 3");
    assert!(ran.stdout.contains("--bands 32 --rows-per-band 3"), "{}", ran.stdout);
}

#[test]
fn known_pairs_choose_the_threshold_and_are_counted() {
    let scratch = Scratch::new();
    fs::copy(data("pydocs.jsonl"), scratch.path("docs.jsonl")).unwrap();
    let labels = fs::read_to_string(data("pydocs.labels.tsv")).unwrap();
    // True duplicates: the same page in two versions with few changes.
    let exact = fs::read_to_string(data("pydocs.word3.tsv")).unwrap();
    let alike: Vec<(String, String)> = exact
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|cells| cells[2].parse::<f64>().is_ok_and(|similarity| similarity >= 0.8))
        .map(|cells| (cells[0].to_owned(), cells[1].to_owned()))
        .collect();
    assert!(alike.len() > 30, "{}", alike.len());
    let lines: String = alike.iter().flat_map(|(a, b)| [a, "\t", b, "\t1\n"]).collect();
    scratch.write("known.tsv", lines);
    let ran = scratch.ok("tune --jsonl docs.jsonl --known known.tsv --json");
    let objects = ran.objects();
    let one = recommended(&objects);
    let threshold = one["threshold"].as_f64().unwrap();
    assert!((0.7..=0.9).contains(&threshold), "{threshold}");
    assert!(one["known_found"].as_f64().unwrap() > 0.9, "{one}");
    assert_eq!(one["sampled"], 350);
    ran.says(&["from your pairs: ", "of the pairs of your documents and any others"]);
    // A real index with the recommended parameters finds exactly the reported fraction of the known
    // pairs.
    let given = format!(
        "add i --jsonl docs.jsonl --threshold {threshold} --bands {} --rows-per-band {}",
        one["bands"], one["rows_per_band"]
    );
    scratch.ok(&given);
    let pairs = scratch.ok("pairs i --json").objects();
    let found = |(a, b): &&(String, String)| {
        let is = |object: &Value| {
            let pair = (object["a"].as_str().unwrap(), object["b"].as_str().unwrap());
            pair == (a.as_str(), b.as_str()) || pair == (b.as_str(), a.as_str())
        };
        pairs.iter().any(is)
    };
    let share = alike.iter().filter(found).count() as f64 / alike.len() as f64;
    assert!((share - one["known_found"].as_f64().unwrap()).abs() < 1e-9, "{share} {one}");
    assert!(!labels.is_empty());
}

/// Records whose words in common are more than those of unlike records, and no fewer than those of
/// half of the copies: the threshold that all copies reach would find mostly others.
#[test]
fn known_pairs_weigh_what_else_a_threshold_finds() {
    let scratch = Scratch::new();
    let text = |record: usize, common: usize, own: usize| {
        let common = (0..common).map(|word| format!("common{word}"));
        let own = (0..own).map(|word| format!("own{record}x{word}"));
        common.chain(own).collect::<Vec<_>>().join(" ")
    };
    let mut lines = String::new();
    let mut known = String::new();
    for record in 0..60 {
        // Half of the copies have all words of the record, the others few of them.
        let (one, other) =
            (text(record, 8, 16), text(record, 8, if record % 2 == 0 { 16 } else { 3 }));
        for (key, text) in [("a", one), ("b", other)] {
            writeln!(lines, "{{\"id\":\"{key}{record}\",\"text\":\"{text}\"}}").unwrap();
        }
        writeln!(known, "a{record}\tb{record}").unwrap();
    }
    scratch.write("docs.jsonl", lines);
    scratch.write("known.tsv", known);
    let ran = scratch.ok("tune --jsonl docs.jsonl --shingles words:1 --known known.tsv --json");
    let objects = ran.objects();
    let threshold = recommended(&objects)["threshold"].as_f64().unwrap();
    assert!(threshold >= 0.6, "{threshold}: {}", ran.stderr);
    ran.says(&["50 % of them reach it", "100 % are yours"]);
}

#[test]
fn tune_explains_wrong_input() {
    let scratch = Scratch::with_licences();
    scratch.write("known.tsv", "docs/MIT.txt\tnowhere\n");
    scratch.fails("tune --known known.tsv", &["none are given", "tune docs"]);
    scratch.fails("tune docs --known known.tsv", &["none of the 1 pair"]);
    scratch.write("bad.tsv", "a\tb\nonly one\n");
    scratch.fails("tune docs --known bad.tsv", &["after 1 pair", "a tab between"]);
    scratch.fails("tune nowhere", &["nowhere"]);
    scratch.fails("tune docs/MIT.txt", &["1 document to look at"]);
    scratch.fails("tune --passages 40:20", &["of passages"]);
    scratch.run("tune --sample 1").ends_with(2);
    scratch.fails("tune --threshold 0.01", &["0.01"]);
    scratch.fails("tune docs --svg no/such/folder.svg", &["no/such/folder.svg"]);
    scratch.ok("tune docs --svg curve.svg").says(&["only 5 documents sampled"]);
    let picture = fs::read_to_string(scratch.path("curve.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    assert_eq!(picture.matches("class=\"strong\"").count(), 3, "curve, legend, threshold");
    scratch.ok("tune docs --svg curve.svg");
    // No file of the user is replaced, and no input.
    let mine = fs::read(scratch.path("docs/MIT.txt")).unwrap();
    scratch.fails("tune docs --svg docs/MIT.txt", &["was not written by `nearkin tune`", "--svg"]);
    let learn = "tune docs --ignore-common 50% --out";
    scratch
        .fails(&format!("{learn} docs/MIT.txt"), &["was not written by `nearkin tune`", "--out"]);
    assert_eq!(fs::read(scratch.path("docs/MIT.txt")).unwrap(), mine);
}

#[test]
fn tune_recommends_a_preset_by_the_texts() {
    let scratch = Scratch::new();
    fs::copy(data("pydocs.jsonl"), scratch.path("docs.jsonl")).unwrap();
    let ran = scratch.ok("tune --jsonl docs.jsonl");
    assert!(ran.stdout.contains("\npreset: --for documents, because texts of "), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("what 350 texts look like\n  words per text: median"),
        "{}",
        ran.stdout
    );
    let objects = scratch.ok("tune --jsonl docs.jsonl --json").objects();
    let object = objects.last().unwrap();
    assert_eq!((&object["preset"], &object["texts"]), (&"documents".into(), &350.into()));
    assert!(object["near_copies_per_text"].as_f64().unwrap() > 0.1, "{object}");
    // Advice for short titles and for program text.
    let titles = |at: u32| format!("{{\"id\":\"{at}\",\"text\":\"The title of book {at}\"}}\n");
    scratch.write("titles.jsonl", (0..50).map(titles).collect::<String>());
    scratch.ok("tune --jsonl titles.jsonl").prints("--for short, because half of the texts have 5");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let ran = scratch.run_split(&["tune", source.to_str().unwrap()]).ends_with(0);
    assert!(ran.stdout.contains("--for code, because"), "{}", ran.stdout);
    // With few texts the advice says that it is uncertain.
    let licences = Scratch::with_licences();
    licences.ok("tune docs").prints("unsure: 5 texts are too few");
}

#[test]
fn the_last_line_is_the_one_command_to_use() {
    let scratch = Scratch::new();
    fs::copy(data("pydocs.jsonl"), scratch.path("docs.jsonl")).unwrap();
    let last = |arguments: &str| {
        let out = scratch.ok(&format!("tune {arguments}")).stdout;
        assert_eq!(out.matches("nearkin create").count(), 1, "one choice is named: {out}");
        let (_, command) = out.split_once("\nuse this:\nnearkin create my.nearkin ").unwrap();
        assert_eq!(command.lines().count(), 1, "{out}");
        command.trim_end().to_owned()
    };
    // Without options the texts decide; options that are given are kept.
    for (arguments, expected) in [
        ("--jsonl docs.jsonl", "--for documents"),
        ("--jsonl docs.jsonl --for archive", "--for archive"),
        ("--jsonl docs.jsonl --for archive --threshold 0.5", "--for archive --threshold 0.5"),
        ("--jsonl docs.jsonl --threshold 0.8", "--threshold 0.8"),
        ("--keep-space", "--keep-space --threshold 0.7"),
        ("--normalise nfc --hashes 256", "--normalise nfc --threshold 0.7 --hashes 256"),
        ("--for training --shingles words:4", "--for training --shingles words:4"),
        (
            "--threshold 0.5 --bands 32 --rows-per-band 3",
            "--threshold 0.5 --bands 32 --rows-per-band 3",
        ),
    ] {
        assert_eq!(last(arguments), expected, "{arguments}");
        // The command makes an index with the parameters that were looked at.
        let _ = fs::remove_dir_all(scratch.path("my.nearkin"));
        scratch.ok(&format!("create my.nearkin {expected}"));
    }
}

#[test]
fn texts_that_differ_only_by_signs_are_noticed() {
    let scratch = Scratch::new();
    let adverts = |languages: [&str; 2]| {
        let line = |at: usize| {
            let (number, language) = (at / 2, languages[at % 2]);
            format!(
                "{{\"id\":\"{at}\",\"text\":\"Wanted: a {language} developer, job {number}\"}}\n"
            )
        };
        (0..60).map(line).collect::<String>()
    };
    scratch.write("signs.jsonl", adverts(["C++", "C#"]));
    let ran = scratch.ok("tune --jsonl signs.jsonl");
    let unseen = "unseen: 60 of 60 texts differ from another only by signs (C++ and C#, -5 and 5), \
                  and words:3 take them for equal; if that matters: --shingles tokens:2, which see \
                  signs\n";
    assert!(ran.stdout.contains(unseen), "{}", ran.stdout);
    let last = |command: &str| scratch.ok(command).objects().last().unwrap().clone();
    let object = last("tune --jsonl signs.jsonl --json");
    assert_eq!(
        (&object["differ_by_signs"], object["unseen"].is_string()),
        (&60.into(), true),
        "{object}"
    );
    // Shingles that see signs, and texts that differ by words.
    let object = last("tune --jsonl signs.jsonl --shingles chars:4 --json");
    assert_eq!(object["differ_by_signs"], 60, "{object}");
    assert_eq!(object["unseen"], Value::Null, "{object}");
    scratch.write("words.jsonl", adverts(["Go", "Rust"]));
    let object = last("tune --jsonl words.jsonl --json");
    assert_eq!(object["differ_by_signs"], 0, "{object}");
    assert_eq!(object["unseen"], Value::Null, "{object}");
    // Program text, in which signs carry much.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let ran = scratch.run_split(&["tune", source.to_str().unwrap()]).ends_with(0);
    assert!(
        ran.stdout
            .contains(" for 100 words, which words:3 do not see; if that matters: --for code")
    );
}

/// A file of a corpus; `None` if the corpora are not installed.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn corpus(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("NEARKIN_DATA").map(PathBuf::from);
    let path = folder.map(|folder| folder.join(format!("{name}.jsonl.zst")));
    let path = path.filter(|path| path.exists());
    if path.is_none() {
        println!("SKIPPED: NEARKIN_DATA names no folder with {name}.jsonl.zst");
    }
    path
}

#[test]
fn the_corpora_get_the_presets_that_they_are_of() {
    for (name, preset) in
        [("reuters21578", "documents"), ("python_docs", "documents"), ("state_union", "documents")]
    {
        let Some(path) = corpus(name) else { return };
        let scratch = Scratch::new();
        let given = ["tune", "--sample", "2000", "--json", "--jsonl", path.to_str().unwrap()];
        let objects = scratch.run_split(&given).ends_with(0).objects();
        assert_eq!(objects.last().unwrap()["preset"], preset, "{name}: {:?}", objects.last());
    }
}

/// Lines of which `a` and `b` share 18 of 60 words, and the others nothing.
pub(super) fn hardly_similar() -> String {
    let words = |range: std::ops::Range<u32>| {
        range.map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ")
    };
    let shared = |own: u32| format!("{} {}", words(0..18), words(own..own + 42));
    let mut texts = vec![("a".to_owned(), shared(100)), ("b".to_owned(), shared(200))];
    texts.extend((0..10).map(|text| (format!("x{text}"), words(1000 * text..1000 * text + 60))));
    let line = |(id, text): &(String, String)| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    texts.iter().map(line).collect()
}

#[test]
fn pairs_that_are_hardly_similar_choose_a_threshold_of_more_hashes() {
    let scratch = Scratch::new();
    scratch.write("docs.jsonl", hardly_similar());
    scratch.write("known.tsv", "a\tb\n");
    for shape in ["", " --hashes 200", " --bands 100 --rows-per-band 1", " --recall 0.99"] {
        let command = format!("tune --jsonl docs.jsonl --known known.tsv --json{shape}");
        let ran = scratch.run(&command);
        if ran.status == 0 {
            let objects = ran.objects();
            let one = recommended(&objects);
            assert!(one["threshold"].as_f64().unwrap() <= 0.2, "{one}");
            assert!(one["compared_at_threshold"].as_f64().unwrap() > 0.9, "{one}");
        } else {
            assert_eq!(ran.status, 2, "{shape}: {}", ran.stderr);
            ran.says(&["give a --threshold"]);
        }
    }
    scratch.ok("tune --jsonl docs.jsonl --known known.tsv").says(&["documents are read again"]);
    let docs = fs::read(scratch.path("docs.jsonl")).unwrap();
    let ran = scratch.run_with_stdin("tune --jsonl - --known known.tsv", &docs);
    ran.ends_with(2).says(&["is a stream", "give a regular file, or a --threshold"]);
}
