//! `nearkin query`, `pairs` and `clusters`: results and their output.

use super::*;

#[test]
fn a_file_is_asked_by_its_content() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("query i docs/MIT.txt");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].split_whitespace().eq(["similarity", "error", "key"]), "{}", ran.stdout);
    // The document itself comes first, then similar ones.
    assert!(lines[1].contains(">0.99") && lines[1].ends_with("docs/MIT.txt"), "{}", ran.stdout);
    assert!(lines[2].ends_with("docs/JSON.txt"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn json_has_a_match_a_line() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("query i --json ./docs/MIT.txt");
    assert_eq!(ran.fields().len(), 4);
    for object in ran.objects() {
        assert_eq!(object["query"], "./docs/MIT.txt");
        assert!(object["key"].is_string());
        assert!(object["similarity"].as_f64().unwrap() >= 0.7);
        assert!(object["standard_error"].as_f64().unwrap() > 0.0);
    }
    assert!(ran.stdout.starts_with("{\"query\":"), "{}", ran.stdout);
    let text = licence("MIT");
    let ran = scratch.run_split(&["query", "i", "--json", "--text", &text]).ends_with(0);
    assert_eq!(ran.objects()[0]["query"], "text");
    assert_eq!(ran.objects()[0]["key"], "docs/MIT.txt");
}

#[test]
fn a_query_by_key_does_not_find_the_key() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("query i --json --key docs/MIT.txt");
    let objects = ran.objects();
    assert_eq!(objects[0]["query"], "docs/MIT.txt");
    assert!(objects.iter().all(|object| object["key"] != "docs/MIT.txt"));
    assert_eq!(objects[0]["key"], "docs/JSON.txt");
    scratch.fails("query i --key MIT", &["key"]);
}

#[test]
fn no_match_is_status_0_and_said() {
    let scratch = Scratch::with_licences();
    for arguments in ["query i --text nothing", "query i --json --text nothing"] {
        scratch.ok(arguments).says(&["no document of estimated similarity 0.7"]).prints_just("");
    }
}

#[test]
fn a_part_of_a_text_that_finds_nothing_leads_to_containment() {
    let scratch = Scratch::with_licences();
    let text = licence("MIT");
    scratch.write("part", &text[..text.len() / 3]);
    let ran = scratch.ok("query i part");
    ran.says(&["a part of a longer text?", "misses about", "rebuild INDEX NEW --threshold 0.3"]);
    scratch.ok("rebuild i low --threshold 0.3");
    scratch.ok("query low part -t 0.9").says(&["a part of a longer text? try --contained 0.8"]);
    let ran = scratch.ok("query low part --contained 0.8");
    assert!(ran.stdout.contains("docs/MIT.txt") && !ran.stderr.contains("part of a longer"));
    scratch.ok("query low --text nothing --contained 0.8").says_not("part of a longer");
}

#[test]
fn more_matches_than_the_limit_are_announced() {
    let scratch = Scratch::new();
    scratch.write("l", equal_lines(30));
    scratch.ok("add i --jsonl l");
    let ran = scratch.ok("query i --key 0").says(&["10 of 29", "--limit 29"]);
    assert_eq!(ran.stdout.lines().count(), 11);
    let ran = scratch.ok("query i --key 0 --limit 29 --json");
    assert_eq!((ran.objects().len(), ran.stderr.as_str()), (29, ""));
    let ran = scratch.ok("query i --jsonl l --json --limit 4");
    assert_eq!(ran.objects().len(), 30 * 4);
    ran.says(&["--limit 30"]);
}

#[test]
fn a_threshold_that_the_index_cannot_serve_warns() {
    let scratch = Scratch::with_licences();
    scratch.ok("query i docs/MIT.txt --threshold 0.2").says(&["warning", "0.2", "0.7"]);
    scratch.ok("query i docs/MIT.txt --threshold 0.69").says_not("warning");
    let ran = scratch.ok("query i docs/MIT.txt --threshold 0.85 --json");
    assert!(ran.objects().iter().all(|found| found["similarity"].as_f64().unwrap() >= 0.85));
}

#[test]
fn many_files_make_a_block_each() {
    let scratch = Scratch::with_licences();
    scratch.write("other.txt", "nothing like a licence at all, is it");
    let ran = scratch.ok("query i docs/MIT.txt other.txt docs/Zlib.txt");
    let blocks: Vec<_> = ran.stdout.trim_end().split("\n\n").collect();
    assert_eq!(blocks.len(), 2, "{}", ran.stdout);
    assert!(blocks[0].starts_with("docs/MIT.txt\n  >0.99"), "{}", ran.stdout);
    assert!(blocks[1].starts_with("docs/Zlib.txt\n  >0.99"), "{}", ran.stdout);
    ran.says(&["3 asked, 2 with matches"]);
}

#[test]
fn an_unreadable_query_file_is_status_2() {
    let scratch = Scratch::with_licences();
    scratch.fails("query i typo.txt", &["typo.txt"]);
    scratch.write("zero", b"\0");
    scratch.fails("query i zero", &["NUL"]);
    let ran = scratch.run("query i --json typo.txt docs/MIT.txt").ends_with(2);
    assert_eq!(ran.objects()[0]["key"], "docs/MIT.txt");
    ran.says(&["typo.txt", "1 file could not be read"]);
}

#[test]
fn lines_are_answered_as_they_come() {
    use std::io::{BufRead as _, BufReader};
    let scratch = Scratch::with_licences();
    let mut child = scratch.start("query i --json --jsonl -");
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for (id, name) in [("a", "ISC"), ("b", "Zlib")] {
        let line = serde_json::json!({ "id": id, "text": licence(name) });
        writeln!(stdin, "{line}").unwrap();
        // If the tool answers only after the next line, this blocks forever.
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["query"], id);
        assert_eq!(answer["key"], format!("docs/{name}.txt"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn pairs_are_printed_and_sorted() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("pairs i --sort --threshold 0.6 --json");
    assert_eq!(ran.fields().len(), 3);
    let pairs = ran.objects();
    assert!(pairs.len() >= 3);
    for pair in &pairs {
        assert!(pair["a"].as_str() < pair["b"].as_str(), "{pair}");
    }
    let order = |pair: &Value| {
        let key = |name: &str| pair[name].as_str().unwrap().to_owned();
        (-pair["similarity"].as_f64().unwrap(), key("a"), key("b"))
    };
    assert!(pairs.is_sorted_by_key(order), "{}", ran.stdout);
    let unsorted = scratch.ok("pairs i --threshold 0.6 --json");
    assert_eq!(unsorted.objects().len(), pairs.len());
    let table = scratch.ok("pairs i --threshold 0.6").says(&["pairs of estimated similarity"]);
    let title = table.stdout.lines().next().unwrap();
    assert!(title.split_whitespace().eq(["similarity", "a", "b"]), "{title}");
    assert_eq!(table.stdout.lines().count(), pairs.len() + 1);
}

#[test]
fn clusters_are_printed() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("clusters i --json");
    assert_eq!(ran.fields(), ["cluster", "direct", "key", "least", "similarity", "time"]);
    let members: Vec<_> = ran.objects().iter().map(|one| one["key"].clone()).collect();
    assert_eq!(members, ["docs/JSON.txt", "docs/MIT.txt", "docs/Xnet.txt"]);
    assert!(ran.objects().iter().all(|one| one["cluster"] == "docs/JSON.txt"));
    let ran = scratch.ok("clusters i");
    let (head, others) = ran.stdout.split_once('\n').unwrap();
    assert!(head.starts_with("docs/JSON.txt  (3 documents on 2"), "{head}");
    let similarity = |key: &str| {
        let ran = scratch.ok("query i --key docs/JSON.txt -t 0 --json");
        let found = ran.objects().into_iter().find(|one| one["key"] == key);
        found.unwrap()["similarity"].as_f64().unwrap()
    };
    let (mit, xnet) = (similarity("docs/MIT.txt"), similarity("docs/Xnet.txt"));
    assert_eq!(others, format!("  {mit:.3}  docs/MIT.txt\n  {xnet:.3}  docs/Xnet.txt\n\n"));
    ran.says(&["1 cluster of 3 documents, of 5 in all"]);
}

/// The first and the last text share 60 words of 140; the other one is similar to both.
#[test]
fn a_chain_that_joins_what_is_not_alike_is_said() {
    let scratch = Scratch::new();
    for (name, from) in [("a", 0), ("b", 20), ("c", 40)] {
        scratch.write(name, words(from, from + 100));
    }
    scratch.ok("add i a b c --threshold 0.55 --shingles words:1 --hashes 512");
    for options in ["--threshold 0.55", "--exact"] {
        let run = |more: &str| scratch.ok(&format!("clusters i {options}{more}"));
        let text = run("").stdout;
        assert!(text.contains("; 1 similar to others only)"), "{text}");
        assert!(text.contains("  c  (similar to others only)"), "{text}");
        let rows = run(" --json").objects();
        let direct: Vec<_> = rows.iter().map(|one| one["direct"].clone()).collect();
        assert_eq!(direct, [true, true, false]);
        let least = rows[0]["least"].as_f64().unwrap();
        assert!((least - 60.0 / 140.0).abs() < 0.08, "{least}");
        let rows = run(" --json --direct").objects();
        let keys: Vec<_> = rows.iter().map(|one| one["key"].clone()).collect();
        assert_eq!(keys, ["a", "b"]);
    }
}

#[test]
fn clusters_are_sorted_and_limited() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    for (key, from, to) in [
        ("b1", 0, 100),
        ("b2", 0, 90),
        ("b3", 2, 100),
        ("a1", 1_000, 1_100),
        ("a2", 1_000, 1_085),
        ("c1", 2_000, 2_100),
        ("c2", 2_000, 2_100),
    ] {
        lines.extend([format!("{{\"id\":\"{key}\",\"text\":\"{}\"}}\n", words(from, to))]);
    }
    scratch.run_with_stdin("add i --jsonl - --threshold 60%", lines.as_bytes()).ends_with(0);
    let heads = |arguments: &str| -> Vec<String> {
        let ran = scratch.ok(&format!("clusters i {arguments} --json"));
        let all = ran.objects().into_iter().map(|one| one["cluster"].as_str().unwrap().to_owned());
        let mut heads: Vec<_> = all.collect();
        heads.dedup();
        heads
    };
    assert_eq!(heads("--sort size"), ["b1", "a1", "c1"]);
    assert_eq!(heads("--sort similarity"), ["c1", "b1", "a1"]);
    assert_eq!(heads("--sort similarity -n 1"), ["c1"]);
    assert_eq!(heads("--limit 2").len(), 2);
    scratch.ok("clusters i -n 2").says(&["2 of 3 clusters shown", "3 clusters of 7"]);
}

#[test]
fn the_nearest_below_the_threshold_are_named() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("query i --key docs/MIT.txt -t 99%").prints_just("");
    let ran =
        ran.says(&["no document of estimated similarity 0.99 or more", "below the threshold: 0."]);
    assert!(ran.stderr.contains("docs/Xnet.txt") && !ran.stderr.contains("MIT.txt"));
    let quiet = scratch.ok("query i --key docs/MIT.txt -t 99% -q");
    assert_eq!((quiet.stdout, quiet.stderr), (String::new(), String::new()));
}

#[test]
fn another_threshold_names_rebuild() {
    let scratch = Scratch::with_licences();
    let ran = scratch.run("add i docs --threshold 50%").ends_with(2);
    ran.says(&["--threshold is 0.5, but the index has", "nearkin rebuild i NEW --threshold 0.5"]);
    scratch.run("add i docs --bag").ends_with(2).says_not("rebuild");
}

#[cfg(unix)]
#[test]
fn keys_not_in_utf8_are_lossy_in_tables_and_whole_in_json() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::with_licences();
    let name = std::ffi::OsStr::from_bytes(b"docs/\xff\x1b.txt");
    fs::write(scratch.dir.path().join(name), licence("MIT")).unwrap();
    scratch.ok("add i docs");
    scratch.ok("query i docs/MIT.txt --threshold 1").prints("docs/\u{fffd}\\u{1b}.txt");
    let ran = scratch.ok("query i docs/MIT.txt --threshold 1 --json");
    // The bytes of the name in base64.
    let whole = serde_json::json!({"base64": "ZG9jcy//Gy50eHQ="});
    assert_eq!(ran.objects()[1]["key"], whole);
    let of = |command: &str, field: &str| {
        let ran = scratch.ok(command);
        let all = ran.objects();
        all.iter().filter(|object| object[field] == whole).count()
    };
    assert_eq!(of("list i --json", "key"), 1);
    let pairs = scratch.ok("pairs i").stdout.matches('\u{fffd}').count();
    assert!(pairs > 0);
    assert_eq!(of("pairs i --json", "a") + of("pairs i --json", "b"), pairs);
    assert_eq!(of("clusters i --json", "key"), 1);
    let removed = scratch.command(&["remove", "i"]).arg(name).output().unwrap();
    Ran::new(removed).ends_with(0);
}

#[test]
fn bidi_keys_are_escaped_in_tables_not_in_json() {
    let scratch = Scratch::new();
    let lines = "{\"id\":\"a\",\"text\":\"one two three four\"}\n\
        {\"id\":\"in\\u202etxt.exe\",\"text\":\"one two three four\"}\n";
    scratch.write("l", lines);
    scratch.ok("add i --jsonl l");
    for arguments in ["query i --key a", "pairs i", "clusters i"] {
        let ran = scratch.ok(arguments).prints("in\\u{202e}txt.exe");
        assert!(!ran.stdout.contains('\u{202e}'), "{}", ran.stdout);
    }
    scratch.ok("query i --key a --json").has("key", "in\u{202e}txt.exe");
    scratch.ok("query i --key a --threshold=-0").says_not("-0");
}

#[test]
fn several_keys_are_one_query() {
    let scratch = Scratch::with_licences();
    let ran = scratch.run("query i --keys docs/MIT.txt,docs/JSON.txt --threshold 0.3 --json");
    let objects = ran.ends_with(0).objects();
    assert_eq!(objects[0]["key"], "docs/Xnet.txt");
    assert_eq!(objects[0]["query"], "docs/MIT.txt,docs/JSON.txt");
    assert!(
        objects.iter().all(|one| one["key"] != "docs/MIT.txt" && one["key"] != "docs/JSON.txt")
    );
    // The similarity is the highest over all keys of the query.
    let similarity = |key| {
        let ran = scratch.run(&format!("query i --key docs/{key}.txt --threshold 0.3 --json"));
        let objects = ran.ends_with(0).objects();
        let found = objects.iter().find(|one| one["key"] == "docs/Xnet.txt").unwrap();
        found["similarity"].as_f64().unwrap()
    };
    let best = similarity("MIT").max(similarity("JSON"));
    assert!((objects[0]["similarity"].as_f64().unwrap() - best).abs() < 1e-9);
    scratch.fails("query i --keys docs/MIT.txt,nobody", &["nobody"]);
}

#[test]
fn max_candidates_warns_of_missing_matches() {
    let scratch = Scratch::new();
    scratch.run_with_stdin("add i --jsonl -", equal_lines(50).as_bytes()).ends_with(0);
    let ran = scratch.ok("query i --key 7 --max-candidates 20 --limit 100 --json");
    assert!((1..=20).contains(&ran.objects().len()), "{}", ran.stdout);
    ran.says(&["not all candidates were compared"]);
    let ran = scratch.run("query i --key 7 --max-candidates 100000 --limit 100 --json");
    let ran = ran.ends_with(0);
    assert_eq!((ran.objects().len(), ran.stderr.as_str()), (49, ""));
}

#[test]
fn crowds_are_collapsed() {
    let scratch = Scratch::new();
    let other = "{\"id\":\"x\",\"text\":\"all of the same and more\"}\n";
    let lines = equal_lines(300) + other;
    scratch
        .run_with_stdin("add i --jsonl - --shingles words:1 --threshold 0.3", lines.as_bytes())
        .ends_with(0);
    let ran = scratch.ok("pairs i --threshold 0.3 --collapse --json");
    let objects = ran.objects();
    assert_eq!(objects.len(), 2, "{}", ran.stdout);
    assert_eq!((&objects[0]["crowd"], &objects[0]["count"]), (&"0".into(), &300.into()));
    assert_eq!((&objects[1]["a"], &objects[1]["a_count"]), (&"0".into(), &300.into()));
    assert_eq!((&objects[1]["b"], &objects[1]["b_count"]), (&"x".into(), &1.into()));
    let ran = scratch.ok("pairs i --threshold 0.3 --collapse --sort");
    assert!(
        ran.stdout.contains("0 (300)") && ran.stdout.contains("and 299 with"),
        "{}",
        ran.stdout
    );
    ran.says(&["1 crowd of equal signatures, 1 pair of others"]);
}
