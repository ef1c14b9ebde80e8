//! `nearkin dedup --cut-passages`: repeated passages are cut out.

use super::*;

const NOTICE: &str = "All rights reserved by the publisher of this page.";

fn input() -> String {
    [
        format!("{{\"id\":1,\"text\":\"First text. {NOTICE}\"}}\n"),
        format!(
            "{{ \"n\": NaN, \"id\":2,  \"text\":\"Second \\u0041. {NOTICE}\\n\\nThe end\" }}\n"
        ),
        format!("{{\"id\":3,\"text\":\"{NOTICE}\"}}\n"),
        "no JSON\n".to_owned(),
        "{\"id\":5,\"text\":\"\"}\n".to_owned(),
    ]
    .concat()
}

#[test]
fn all_but_the_first_occurrence_is_cut_out() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", input());
    let run = "dedup in.jsonl --out out.jsonl --cut-passages 6";
    scratch.run(run).ends_with(3).says(&["what was cut out is in out.jsonl.dropped.jsonl"]);
    let input = input();
    let expected = [
        input.lines().next().unwrap(),
        "{ \"n\": NaN, \"id\":2,  \"text\":\"Second \\u0041.\\n\\nThe end\" }",
        "{\"id\":5,\"text\":\"\"}\n",
    ];
    assert_eq!(text(&scratch, "out.jsonl"), expected.join("\n"));
    let dropped = text(&scratch, "out.jsonl.dropped.jsonl");
    let dropped: Vec<serde_json::Value> =
        dropped.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let cut = NOTICE.trim_end_matches('.');
    let second = serde_json::json!({
        "key": "2", "file": "in.jsonl", "line": 2, "cut": cut, "at_byte": 10, "at_word": 2,
        "cut_words": 9, "of_file": "in.jsonl", "of_line": 1, "of_word": 2,
    });
    assert_eq!(dropped[0], second);
    assert_eq!((&dropped[1]["line"], &dropped[1]["row_dropped"]), (&3.into(), &true.into()));
    assert_eq!(
        (&dropped[2]["skipped"], &dropped[2]["row"]),
        (&"bad line".into(), &"no JSON".into())
    );
    assert_eq!(dropped.len(), 3);
    // A second run may replace what the first one wrote, and no other file.
    let again = scratch.run(&format!("{run} --json")).ends_with(3);
    again.prints("\"kept\":3,\"rows_cut\":1,\"dropped\":1,\"skipped\":1,\"passages\":2");
    scratch.write("other.jsonl", "mine\n");
    scratch
        .run("dedup in.jsonl --out other.jsonl --cut-passages 6")
        .ends_with(2)
        .says(&["other.jsonl exists"]);
    assert_eq!(text(&scratch, "other.jsonl"), "mine\n");
    assert!(!scratch.path("out.jsonl.nearkin-work").exists());
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", "{\"text\":[\"a b c\",\"d e\"]}\n{\"text\":\"a b c d e f\"}\n");
    scratch.write("list.jsonl", "{\"text\":[\"a b c\",\"a b c\"]}\n");
    scratch.run("dedup in.jsonl --out out.jsonl --cut-passages 3").ends_with(0);
    assert_eq!(text(&scratch, "out.jsonl").lines().nth(1), Some("{\"text\":\"f\"}"));
    let run = |options: &str| scratch.run(&format!("dedup list.jsonl --cut-passages 3 {options}"));
    run("--out no.jsonl").ends_with(2).says(&["is not one string"]);
    run("--out no.csv").ends_with(2).says(&["no.csv"]);
    run("--out -").ends_with(2).says(&["--out FILE"]);
    run("--out no.jsonl --keep longest").ends_with(2).says(&["--keep"]);
    run("--out no.jsonl --text-field a --text-field b").ends_with(2).says(&["one field"]);
    run("--out no.jsonl --cut-passages 2").ends_with(2).says(&["--cut-passages"]);
    for option in [
        "--threshold 0.5",
        "--recall 0.9",
        "--hashes 64",
        "--bands 8 --rows-per-band 2",
        "--bag",
        "--ignore-common 3%",
        "--keep-space",
        "--shingles chars:5",
        "--shingles lines:1",
    ] {
        let said =
            format!("{} has no effect with --cut-passages", option.split(' ').next().unwrap());
        run(&format!("--out no.jsonl {option}")).ends_with(2).says(&[&said]);
    }
    for option in ["--shingles tokens:2", "--shingles words:2", "--normalise nfc", "--for short"] {
        scratch.ok(&format!("dedup in.jsonl --cut-passages 3 --out out.jsonl {option}"));
    }
    assert!(!scratch.path("no.jsonl").exists() && !scratch.path("no.jsonl.nearkin-tmp").exists());
}
