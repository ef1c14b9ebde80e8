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
    let added = scratch.run("add i texts --passages 40:20 --json").ends_with(0).stdout;
    assert_eq!(serde_json::from_str::<Value>(&added).unwrap()["inserted"], 2);
    let out = scratch.run("query i q.txt --json").ends_with(0).stdout;
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&found["query"], &found["key"]), (&"q.txt".into(), &"texts/a.txt".into()));
    let share = found["share"].as_f64().unwrap();
    assert!((0.5..0.65).contains(&share), "{share}");
    assert!(found["passages"][0]["stored"][0].as_u64().unwrap() > 0, "{found}");
    let table = scratch.run("query i q.txt").ends_with(0).stdout;
    assert!(table.contains("texts/a.txt") && table.contains("  bytes "), "{table}");
    let text = ["query", "i", "--text", &words(1_050, 1_100)];
    assert!(scratch.run_split(&text).ends_with(0).stdout.starts_with("1.000  texts/b.txt"));
    let stats = scratch.run("stats i --json").ends_with(0).stdout;
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!((&stats["documents"], &stats["passages"]), (&2.into(), &"40:20".into()));
    scratch.run("stats i").ends_with(0);
    // Lines are answered each under its name, and bad ones are no failure.
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let lines = line("none", &words(5_000, 5_100)) + "garbage\n" + &line("some", &words(100, 200));
    scratch.write("q.jsonl", lines);
    let ran = scratch.run("query i --jsonl q.jsonl").ends_with(0);
    assert!(ran.stdout.starts_with("some:\n1.000  texts/a.txt\n"), "{}", ran.stdout);
    ran.says(&["2 texts asked, 1 of them quoted somewhere, 1 skipped"]);
    let ran = scratch.run("query i --jsonl q.jsonl --json").ends_with(0);
    let objects = ran.objects();
    assert_eq!((objects.len(), &objects[0]["query"]), (1, &"some".into()));
    scratch.run("remove i texts/a.txt").ends_with(0);
    scratch.run("remove i texts/a.txt").ends_with(1);
    scratch.run("query i q.txt").ends_with(0).says(&["no text"]);
    let again = scratch.run("add i texts").ends_with(0).stdout;
    assert!(again.starts_with("1 document inserted, 0 replaced, 1 unchanged"), "{again}");
    scratch.run("verify i").ends_with(0);
}

#[test]
fn the_threshold_of_the_index_holds_where_none_is_given() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 40));
    // 24 shingles are the same, of 52 in all: similarity 0.46.
    scratch.write("q.txt", words(14, 54));
    scratch.run("add low texts --passages 40:20 --threshold 0.4 --hashes 512").ends_with(0);
    scratch.run("add high texts --passages 40:20 --threshold 0.9 --hashes 512").ends_with(0);
    assert!(scratch.run("query low q.txt").ends_with(0).stdout.contains("texts/a.txt"));
    assert_eq!(scratch.run("query high q.txt").ends_with(0).stdout, "");
}

#[test]
fn what_needs_documents_says_so() {
    let scratch = Scratch::new();
    scratch.write("texts/a.txt", words(0, 100));
    scratch.run("create i --passages 40:20").ends_with(0);
    scratch.run("add i texts").ends_with(0);
    scratch.run("create d").ends_with(0);
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
        scratch.run(command).ends_with(2).says(&["of passages (40:20)"]);
    }
    scratch.run("add i texts --passages 50:25").ends_with(2).says(&["50:25", "40:20"]);
    scratch.run("add d texts --passages 50:25").ends_with(2).says(&["50:25"]);
    scratch.run("create x --passages 40:20 --shingles chars:5").ends_with(2).says(&["words"]);
    scratch.run("create x --passages 40").ends_with(2).says(&["WINDOW:STRIDE"]);
}
