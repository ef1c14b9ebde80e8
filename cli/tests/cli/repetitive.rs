//! Tests of warnings about texts with so few distinct shingles that unrelated ones look like
//! copies.

use super::*;

/// Random digits below five, from a seed.
fn digits(seed: u64, count: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{} ", (state >> 33) % 5)
    };
    (0..count).map(|_| next()).collect()
}

fn lines() -> String {
    let usual = "A text of its own words, each of them once, about a mill, a weir and a long road";
    let line = |id: &str, text: &str| format!("{}\n", serde_json::json!({"id": id, "text": text}));
    let tables: String = (1..9).map(|at| line(&format!("t{at}"), &digits(at, 900))).collect();
    line("usual", usual) + &tables + &line("spam", &"spam ".repeat(50))
}

#[test]
fn dedup_marks_and_counts_repetitive_texts() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines());
    let ran = scratch.ok("dedup in.jsonl --out out.jsonl --json");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&object["repetitive"], &object["read"]), (&9.into(), &10.into()));
    assert_eq!(ran.stderr.matches("repetitive: ").count(), 5, "the first ones: {}", ran.stderr);
    ran.says(&[
        "repetitive: in.jsonl line 2: 898 shingles, only 125 different",
        "9 texts repeat few distinct shingles",
        "--shingles words:9",
        "--bag",
    ]);
    // The tables were dropped as copies although they are not copies of each other, so their
    // entries in the report of dropped documents are marked as repetitive.
    let dropped = fs::read_to_string(scratch.path("out.jsonl.dropped.jsonl")).unwrap();
    assert_eq!(dropped.lines().count(), 6);
    assert!(dropped.lines().all(|line| line.contains("\"repetitive\":true")), "{dropped}");
    // Following the advice solves the problem.
    let ran = scratch.ok("dedup in.jsonl --out o9.jsonl --shingles words:9 --json");
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["dropped"], 0, "spam stays so");
    assert_eq!(object["repetitive"], 1, "spam stays so");
    scratch.ok("dedup in.jsonl --out bag.jsonl --bag").says_not("repet");
}

#[test]
fn admit_marks_and_counts_repetitive_texts() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines());
    let ran = scratch.ok("admit i --jsonl in.jsonl --reject 0.7");
    assert!(ran.stdout.contains("admitted   t1  (repetitive)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("admitted   usual\n"), "{}", ran.stdout);
    ran.says(&["repetitive: t1: 898 shingles, only 125 different", "9 texts repeat few"]);
    let ran = scratch.ok("admit j --jsonl in.jsonl --reject 0.7 --json");
    let marked = ran.objects().iter().filter(|object| object["repetitive"] == true).count();
    assert_eq!(marked, 9);
}

#[test]
fn usual_texts_are_not_marked() {
    let scratch = Scratch::new();
    fs::copy(data("pydocs.jsonl"), scratch.path("docs.jsonl")).unwrap();
    for shingles in ["words:3", "words:2", "chars:7"] {
        let out = format!("out-{}.jsonl", shingles.replace(':', "-"));
        let run = format!("dedup docs.jsonl --out {out} --shingles {shingles} --json");
        let object: Value = serde_json::from_str(&scratch.ok(&run).stdout).unwrap();
        assert_eq!(object["repetitive"], 0, "{shingles}");
    }
}

#[test]
fn a_threshold_below_what_the_bands_find_is_warned_of() {
    let scratch = Scratch::with_licences();
    scratch.ok("add high docs --threshold 0.8");
    for command in [
        "query high docs/MIT.txt --threshold 0.6",
        "pairs high --threshold 0.6",
        "clusters high --threshold 0.6",
        "admit high docs --reject 0.6",
    ] {
        let ran = scratch.ok(command);
        ran.says(&[
            "warning: this index, made for similarities of 0.8 and above, misses ",
            " % of the documents of similarity 0.6",
            "rebuild INDEX NEW --threshold 0.6",
        ]);
    }
    for command in
        ["query high docs/MIT.txt --threshold 0.8", "query high docs/MIT.txt --threshold 0"]
    {
        scratch.ok(command).says_not("misses");
    }
}
