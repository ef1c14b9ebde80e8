//! An index of passages on the command line.

use super::*;

fn words(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("w{word} ")).collect::<Vec<_>>().concat()
}

#[test]
fn a_quotation_is_found_with_its_place() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 300));
    scratch.write("texts/b.txt", words(1_000, 1_300));
    scratch.write("q.txt", words(2_000, 2_100) + &words(100, 200));
    let added = scratch.ok("add i texts --passages 40:20 --json").stdout;
    assert_eq!(serde_json::from_str::<Value>(&added).unwrap()["inserted"], 2);
    let out = scratch.ok("query i q.txt --json").stdout;
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["query"], &found["key"]), (&"q.txt".into(), &"texts/a.txt".into()));
    let share = found["share"].as_f64().unwrap();
    assert!((0.47..0.53).contains(&share), "{share}");
    assert_eq!(found["passages"].as_array().unwrap().len(), 1, "overlapping hits are one: {found}");
    let matching = found["passages"][0]["words"].as_u64().unwrap();
    assert!((94..=106).contains(&matching), "{matching}");
    assert!(found["passages"][0]["stored"][0].as_u64().unwrap() > 0, "{found}");
    let table = scratch.ok("query i q.txt").stdout;
    assert!(table.contains("texts/a.txt") && table.contains(" words: bytes "), "{table}");
    let text = ["query", "i", "--text", &words(1_050, 1_100)];
    assert!(scratch.run_split(&text).ends_with(0).stdout.starts_with("1.000  texts/b.txt"));
    let stats = scratch.ok("stats i --json").stdout;
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!((&stats["documents"], &stats["passages"]), (&2.into(), &"40:20".into()));
    scratch.ok("stats i");
    // Each line is answered under its id. The other lines are, too, if one is malformed; the
    // status says that it is missing.
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let lines = line("none", &words(5_000, 5_100)) + "garbage\n" + &line("some", &words(100, 200));
    scratch.write("q.jsonl", lines);
    let ran = scratch.run("query i --jsonl q.jsonl").ends_with(3);
    assert!(ran.stdout.starts_with("some:\n1.000  texts/a.txt\n"), "{}", ran.stdout);
    ran.says(&["2 texts queried, quotations found in 1, 1 skipped"]);
    let ran = scratch.ok("query i --jsonl q.jsonl --json --lenient");
    let objects = ran.objects();
    assert_eq!((objects.len(), &objects[0]["query"]), (1, &"some".into()));
    // Several files, or folders, are answered under their names.
    scratch.write("new/other.txt", words(8_000, 8_100));
    scratch.write("new/own.txt", words(1_050, 1_150));
    let ran = scratch.ok("query i new/other.txt q.txt new/own.txt");
    assert!(ran.stdout.starts_with("q.txt:\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nnew/own.txt:\n1.000  texts/b.txt\n"), "{}", ran.stdout);
    ran.says(&["no text holds passages of new/other.txt"]);
    scratch.write("new/picture.png", b"\x89PNG\r\n\x1a\n\0\0");
    let ran = scratch.run("query i new --show");
    assert!(ran.stdout.starts_with("new/own.txt:\n1.000  texts/b.txt\n"), "{}", ran.stdout);
    ran.says(&["2 texts queried, quotations found in 1, 1 skipped"]);
    scratch.ok("add documents texts");
    let ran = scratch.ok("query documents texts --json");
    assert_eq!(ran.objects().len(), 2);
    scratch.ok("remove i texts/a.txt");
    scratch.run("remove i texts/a.txt").ends_with(1);
    scratch.ok("query i q.txt").says(&["no text"]);
    let again = scratch.ok("add i texts").stdout;
    assert!(again.starts_with("1 document inserted, 0 replaced, 1 unchanged"), "{again}");
    scratch.ok("verify i");
}

#[test]
fn the_threshold_defaults_to_that_of_the_index() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 40));
    // 24 of 52 shingles are common: similarity 0.46.
    scratch.write("q.txt", words(14, 54));
    scratch.ok("add low texts --passages 40:20 --threshold 0.4 --hashes 512");
    scratch.ok("add high texts --passages 40:20 --threshold 0.9 --hashes 512");
    assert!(scratch.ok("query low q.txt").stdout.contains("texts/a.txt"));
    assert_eq!(scratch.ok("query high q.txt").stdout, "");
}

#[test]
fn commands_on_documents_refuse_passages() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 100));
    scratch.ok("create i --passages 40:20");
    scratch.ok("add i texts");
    scratch.ok("create d");
    for command in [
        "pairs i",
        "clusters i",
        "admit i texts",
        "export i --out i.jsonl",
        "import d i",
        "import i d",
        "query i --key texts/a.txt",
        "query i texts/a.txt --exact",
        "remove i --before 2020-01-01",
        "remove i --prefix texts/",
        "compact i --ttl 1d",
    ] {
        scratch.fails(command, &["of passages (40:20)"]);
    }
    scratch.fails("add i texts --passages 50:25", &["50:25", "40:20"]);
    scratch.fails("add d texts --passages 50:25", &["50:25"]);
    scratch.fails("create x --passages 40:20 --shingles chars:5", &["words"]);
    scratch.fails("create x --passages 40", &["WINDOW:STRIDE"]);
}

#[test]
fn quoted_words_are_shown_from_both_sides() {
    let scratch = Scratch::new();
    let quoted = "Whoever grinds at the mill of the valley gives the miller one measure of every \
                  twelve and the miller keeps the wheel the weir and the road";
    let book = format!("{}{quoted}. {}", words(0, 100), words(100, 200));
    scratch.write("texts/law.txt", &book);
    let line = serde_json::json!({ "id": "l", "text": book }).to_string();
    scratch.write("law.jsonl", &line);
    let query = format!("{}{} {}", words(500, 530), quoted.to_uppercase(), words(600, 630));
    scratch.write("q.txt", &query);
    scratch.ok("add i texts --passages 20:10 --threshold 0.3");
    scratch.ok("add lines --jsonl law.jsonl --passages 20:10 --threshold 0.3");
    let shown = scratch.ok("query i q.txt --show").stdout;
    let quoted = shown.lines().find_map(|line| line.trim().strip_prefix("asked:")).unwrap();
    let stored = shown.lines().find_map(|line| line.trim().strip_prefix("stored:")).unwrap();
    assert!(quoted.contains("GRINDS AT THE MILL OF THE VALLEY"), "{shown}");
    assert!(stored.contains("grinds at the mill of the valley"), "{shown}");
    // The shown text is the quotation alone, give or take a word or two at its ends.
    assert!(!quoted.contains("w50") && !quoted.contains("w605"), "{shown}");
    assert!(!stored.contains("w90") && !stored.contains("w105"), "{shown}");
    let found = scratch.ok("query i q.txt --show --json").objects();
    let text = |field: &str| found[0]["passages"][0][field].as_str().unwrap().to_owned();
    assert!(text("query_text").contains("MEASURE OF EVERY"), "{found:?}");
    assert!(text("stored_text").contains("measure of every"), "{found:?}");
    // Lines are read again only if --from names their file.
    let shown = scratch.ok("query lines q.txt --show --from law.jsonl").stdout;
    let stored = shown.lines().find_map(|line| line.trim().strip_prefix("stored:")).unwrap();
    assert!(stored.contains("grinds at the mill of the valley"), "{shown}");
    let shown = scratch.ok("query lines q.txt --show").stdout;
    assert!(shown.contains("stored: not readable"), "{shown}");
    // Without --show no words are printed. In an index of documents, --show is refused.
    assert!(!scratch.ok("query i q.txt").stdout.contains("GRINDS"));
    scratch.ok("add d texts");
    scratch.fails("query d q.txt --show", &["holds documents", "--for quotes"]);
    scratch.run("query i q.txt --from law.jsonl").ends_with(2);
}

#[test]
fn passages_warn_of_quotations_that_are_too_short() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 300));
    let made = scratch.ok("create i --passages 200:100");
    let said = made.stderr.clone();
    made.says(&["quotations under 1", "need a smaller window than 200:100", "--passages 100:50"]);
    scratch.ok("add i texts");
    let missed = scratch.run_split(&["query", "i", "--text", &words(900, 930)]).ends_with(0);
    missed.says(&["no text holds passages", "need a smaller window than 200:100"]);
    // No warning if no quotation can be missed.
    scratch.ok("query i texts/a.txt").says_not("smaller window");
    // The stated minimum length is right: quotations of that length are found, much shorter ones
    // are not.
    let needed = said.split("quotations under ").nth(1).unwrap().split(' ').next().unwrap();
    let needed: u32 = needed.parse().unwrap();
    let (mut found, mut short) = (0, 0);
    for begin in (0..100).step_by(7) {
        let ask = |length: u32| {
            let text = words(2_000, 2_100) + &words(begin, begin + length) + &words(3_000, 3_100);
            let ran = scratch.run_split(&["query", "i", "--text", &text]).ends_with(0);
            u32::from(!ran.stdout.is_empty())
        };
        (found, short) = (found + ask(needed + 5), short + ask(needed / 2));
    }
    assert!(found >= 14 && short <= 1, "{needed}: {found} of 15, {short} short ones");
}

/// Sentences of which no two essays share eight words.
fn essay(number: u32) -> String {
    words(1_000 * number, 1_000 * number + 120)
}

#[test]
fn fingerprints_say_who_copied_from_whom() {
    let scratch = Scratch::new();
    let form = "Name, number, and your answer to question one in full sentences please.\n";
    scratch.write("form.txt", form);
    for number in 1..8 {
        scratch.write(&format!("essays/{number}.txt"), form.to_owned() + &essay(number));
    }
    // 30 words of essay 1, of which one is replaced; 12 of essay 3.
    let copied = words(1_040, 1_070).replace("w1050 ", "ELSE ");
    scratch.write("essays/8.txt", format!("{form}{}{copied}{}", essay(8), words(3_005, 3_017)));
    scratch.ok("add i essays --for quotes --template form.txt").says(&["9 common ones"]);
    let pairs = scratch.ok("pairs i --json").objects();
    let told =
        pairs.iter().map(|pair| serde_json::json!([pair["a"], pair["longest"], pair["words"]]));
    let told = Value::Array(told.collect());
    assert_eq!(told, serde_json::json!([["essays/1.txt", 19, 29], ["essays/3.txt", 12, 12]]));
    assert_eq!(pairs[1]["stands_out"], true);
    let table = scratch.ok("pairs i");
    assert!(table.stdout.contains("!       19     29"), "{}", table.stdout);
    table.says(&["2 pairs share a run of words; 2 stand out"]);
    assert_eq!(scratch.ok("pairs i --contained 0.2 --json").objects().len(), 1);
    let groups = scratch.ok("clusters i").stdout;
    assert_eq!(groups, "3 texts\n  essays/1.txt\n  essays/3.txt\n  essays/8.txt\n");
    // Each file is answered under its name, with the places and the words.
    let ran = scratch.ok("query i essays/8.txt form.txt --show");
    assert!(ran.stdout.starts_with("essays/8.txt:\n1.000  essays/8.txt\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("29 words, 19 in one run: bytes "), "{}", ran.stdout);
    assert!(ran.stdout.contains("stored: w1040 w1041"), "{}", ran.stdout);
    ran.says(&["no text holds passages of form.txt"]);
    let found = scratch.ok("query i essays/8.txt --json").objects();
    let passage = &found.iter().find(|one| one["key"] == "essays/3.txt").unwrap()["passages"][0];
    assert_eq!(passage["stored_words"], serde_json::json!([17, 29]), "{passage}");
    assert_eq!(scratch.ok("query i essays/8.txt --json --contained 0.3").objects().len(), 1);
    scratch.ok("stats i").says_not("recall");
    scratch.ok("add i essays --template form.txt --for quotes").says_not("differ");
    scratch.fails("add i essays --template essays/1.txt", &["created without this --template"]);
    // A list and a template: the same command again.
    scratch.write("list", "nearkin-common-1 any 00000000000000a1 00000000000000a2\n");
    let both = "add both essays --for quotes --ignore-common list --template essays/1.txt";
    scratch.ok(both);
    scratch.ok(both).says_not("differ");
    let other = "add both essays --for quotes --ignore-common list --template essays/2.txt";
    scratch.fails(other, &["created without this --template"]);
    scratch.fails("query i essays/1.txt --threshold 0.5", &["no threshold"]);
    scratch.fails("pairs i --sort", &["--sort is for similar documents"]);
    scratch.fails("clusters i --direct", &["--direct is for similar documents"]);
    scratch.fails("create x --for quotes --threshold 0.5", &["winnow", "leave these out"]);
    scratch.fails("create x --for quotes --template none.txt", &["--template", "none.txt"]);
    scratch.ok("remove i essays/1.txt");
    assert_eq!(scratch.ok("pairs i --json").objects().len(), 1);
    scratch.ok("verify i");
    // Windows are made as before, and an index of an older version is still `--for quotes`.
    scratch
        .ok("add w essays --for quotes --passages 50:25")
        .says(&["passages 50:25, threshold 0.3"]);
    scratch.ok("add w essays --for quotes").says_not("different settings");
    scratch.fails("pairs w", &["of passages (50:25)"]);
}

#[test]
fn a_query_refuses_what_it_cannot_do() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 60));
    scratch.ok("add windows texts --passages 20:10 --threshold 0.3");
    scratch.ok("add prints texts --for quotes");
    scratch.write("q.txt", words(10, 40));
    scratch
        .fails("query windows q.txt --contained 0.8", &["--contained does nothing", "--threshold"]);
    let both = "query prints q.txt --contained 0.5 --threshold 0.4";
    scratch.fails(both, &["--threshold does nothing", "leave it out"]);
    let line = serde_json::json!({"id": 1, "text": words(10, 40)});
    scratch.write("bad.jsonl", format!("{line}\nno json\n{line}\n"));
    assert_eq!(scratch.run("query prints --jsonl bad.jsonl --json").objects().len(), 2);
    let ran = scratch.run("query prints --jsonl bad.jsonl --json --strict").ends_with(2);
    assert_eq!(ran.says(&["--strict: stopped at bad.jsonl line 2"]).objects().len(), 1);
}
