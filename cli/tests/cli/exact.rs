//! Tests of `--exact`.

use super::*;

fn exact_of(rows: &[Value], key: &str) -> Value {
    let row = rows.iter().find(|row| row["key"] == key || row["b"] == key);
    row.unwrap_or_else(|| panic!("{key} in {rows:?}")).clone()
}

#[test]
fn files_are_read_again_and_what_changed_is_stale() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", words(0, 100));
    scratch.write("docs/b.txt", words(0, 90));
    scratch.write("docs/c.txt", words(0, 80));
    scratch.write("docs/d.txt", words(5, 100));
    scratch.ok("add ix docs --shingles words:1 --threshold 0.5");
    let rows = scratch.ok("query ix --key docs/a.txt --exact --json").objects();
    assert_eq!(exact_of(&rows, "docs/b.txt")["exact"], 0.9);
    assert_eq!(exact_of(&rows, "docs/c.txt")["exact"], 0.8);
    assert_eq!(exact_of(&rows, "docs/d.txt")["exact"], 0.95);
    // A query by file and a query by text have equal results.
    let rows = scratch.ok("query ix docs/a.txt --exact --json --at-least 0.85").objects();
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!(exact_of(&rows, "docs/a.txt")["exact"], 1.0);
    // One file changes, another is deleted.
    scratch.write("docs/b.txt", words(0, 91));
    fs::remove_file(scratch.path("docs/c.txt")).unwrap();
    let rows = scratch.ok("query ix --key docs/a.txt --exact --json").objects();
    let b = exact_of(&rows, "docs/b.txt");
    assert_eq!((&b["stale"], &b["exact"]), (&Value::Bool(true), &Value::Null));
    let c = exact_of(&rows, "docs/c.txt");
    assert_eq!((&c["missing"], &c["exact"]), (&Value::Bool(true), &Value::Null));
    let table = scratch.ok("pairs ix --exact --sort").stdout;
    assert!(table.contains("stale") && table.contains("missing"), "{table}");
    let d = table.lines().find(|line| line.contains("a.txt") && line.contains("d.txt"));
    assert!(d.is_some_and(|line| line.trim_start().starts_with("0.950")), "{table}");
}

#[test]
fn pairs_are_sorted_by_either_column() {
    let scratch = Scratch::new();
    for (name, from) in [("a", 0), ("b", 1), ("c", 3), ("d", 6), ("e", 9)] {
        scratch.write(&format!("docs/{name}.txt"), words(from, from + 100));
    }
    scratch.ok("add ix docs --shingles words:1 --threshold 0.5");
    let sorted = |by: &str, column: &str| {
        let rows = scratch.ok(&format!("pairs ix {by} --json")).objects();
        let values: Vec<_> = rows.iter().map(|row| row[column].as_f64().unwrap()).collect();
        (values.is_sorted_by(|one, next| one >= next), values.len())
    };
    assert_eq!(sorted("--exact --sort", "similarity"), (true, 10));
    assert_eq!(sorted("--exact --sort=similarity", "similarity"), (true, 10));
    assert_eq!(sorted("--exact --sort=exact", "exact"), (true, 10));
    assert!(!sorted("--exact --sort", "exact").0, "the two orders differ");
    assert_eq!(sorted("--contained 0.5 --sort=contained", "contained"), (true, 10));
    assert_eq!(sorted("--contained 0.5 --exact --sort=contained", "exact_contained"), (true, 10));
    assert_eq!(sorted("--exact --sort=exact -n 3", "exact"), (true, 3));
    // What cannot be compared comes last.
    fs::remove_file(scratch.path("docs/a.txt")).unwrap();
    let rows = scratch.ok("pairs ix --exact --sort=exact --json").objects();
    assert!(rows[6..].iter().all(|row| row["missing"] == true), "{rows:?}");
    scratch.fails("pairs ix --sort=exact", &["--exact"]);
    scratch.fails("pairs ix --sort=contained", &["--contained"]);
    scratch.run("pairs ix --sort=size").ends_with(2);
}

/// One more word in a long text often leaves its signature unchanged.
#[test]
fn a_longer_text_of_equal_signature_is_stale() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", words(0, 3_000));
    scratch.write("docs/b.txt", words(0, 2_990));
    scratch.ok("add ix docs --shingles words:1");
    let stale = |scratch: &Scratch, command: &str| {
        let rows = scratch.ok(&format!("{command} --exact --json")).objects();
        exact_of(&rows, "docs/b.txt")["stale"] == Value::Bool(true)
    };
    let commands = ["query ix --key docs/a.txt", "query ix docs/a.txt", "pairs ix"];
    assert!(commands.iter().all(|command| !stale(&scratch, command)));
    let added = |word: u32| words(0, 2_990) + &format!(" other{word}");
    let same = (0..50).find(|word| {
        scratch.write("c.txt", added(*word));
        let ran = scratch.ok("query ix c.txt --json --threshold 0.9");
        exact_of(&ran.objects(), "docs/b.txt")["similarity"] == 1.0
    });
    scratch.write("docs/b.txt", added(same.unwrap()));
    assert!(commands.iter().all(|command| stale(&scratch, command)));
    scratch.ok("report ix --out r.html").says(&["changed"]);
}

/// The pairs have a similarity of exactly 0.7. About half of their estimates are lower, so the
/// exact comparison must start from lower estimates to find all pairs, and each as a cluster.
#[test]
fn at_least_looks_from_three_standard_errors_below() {
    let scratch = Scratch::new();
    for pair in 0..60 {
        let first = pair * 1_000;
        scratch.write(&format!("docs/{pair}a.txt"), words(first, first + 85));
        scratch.write(&format!("docs/{pair}b.txt"), words(first + 15, first + 100));
    }
    scratch.ok("add ix docs --shingles words:1 --threshold 0.6");
    let count = |command: &str| scratch.ok(command).objects().len();
    let estimated = count("pairs ix --threshold 0.7 --json");
    assert!((10..50).contains(&estimated), "{estimated}");
    assert_eq!(count("pairs ix --threshold 0.7 --exact --at-least 0.7 --json"), estimated);
    assert!(count("pairs ix --exact --at-least 0.7 --json") >= 59);
    assert_eq!(count("pairs ix --exact --at-least 0.71 --json"), 0);
    let found = (0..60).filter(|pair| {
        let command = format!("query ix --key docs/{pair}a.txt --exact --at-least 0.7 --json");
        count(&command) == 1
    });
    assert!(found.count() >= 59);
    let clusters = |options: &str| {
        let rows = scratch.ok(&format!("clusters ix --json {options}")).objects();
        rows.iter().filter(|row| row["cluster"] == row["key"]).count()
    };
    assert!((10..50).contains(&clusters("--threshold 0.7")));
    assert!(clusters("--exact --at-least 0.7") >= 59);
    assert!(clusters("--exact --threshold 0.7") >= 59);
    assert_eq!(clusters("--exact --at-least 0.71"), 0);
    assert!(clusters("--exact --contained 0.8") >= 59);
    assert_eq!(clusters("--exact --contained 0.83"), 0);
}

#[test]
fn the_limit_counts_what_was_verified() {
    let scratch = Scratch::new();
    scratch.write("asked.txt", words(0, 400));
    for other in 0..60 {
        let shared = 320 + other;
        let own = words(1_000 * (other + 1), 1_000 * (other + 1) + 400 - shared);
        scratch.write(&format!("docs/{other:02}.txt"), format!("{} {own}", words(0, shared)));
    }
    scratch.ok("add ix docs --shingles words:1 --threshold 0.5");
    let command = "query ix asked.txt --exact --at-least 0.82 --json --limit";
    let all = scratch.ok(&format!("{command} 100")).objects();
    let some = scratch.ok(&format!("{command} 5")).objects();
    assert!(all.len() > 10 && all.iter().all(|row| row["exact"].as_f64().unwrap() >= 0.82));
    assert_eq!(some, all[..5]);
}

#[test]
fn lines_are_found_again_by_their_keys() {
    let scratch = Scratch::new();
    let line = |id: u32, text: &str| format!("{{\"n\":{id},\"body\":\"{text}\"}}\n");
    let lines = [line(1, &words(0, 50)), "\n".to_owned(), line(2, &words(0, 45))].concat();
    scratch.write("all.jsonl", lines);
    let fields = "--key-field n --text-field body";
    let new = "--shingles words:1 --threshold 0.5";
    scratch.ok(&format!("add ix --jsonl all.jsonl {fields} {new}"));
    let again = "--exact --from all.jsonl --from-key-field n --from-field body --json";
    let rows = scratch.ok(&format!("pairs ix {again}")).objects();
    assert_eq!((rows.len(), &rows[0]["exact"]), (1, &Value::from(0.9)));
    let query = format!("query ix --jsonl all.jsonl {fields} {again} --at-least 0.95");
    let rows = scratch.ok(&query).objects();
    assert_eq!(rows.len(), 2, "each itself: {rows:?}");
    let refused = scratch.run("query ix --key 1 --exact --from nowhere.jsonl").ends_with(2);
    assert!(refused.stderr.contains("nowhere.jsonl"), "{}", refused.stderr);
}

#[test]
fn sets_are_verified_as_sets() {
    let scratch = Scratch::new();
    scratch.write(
        "carts.jsonl",
        "{\"id\":\"a\",\"items\":[1,2,3,4]}\n{\"id\":\"b\",\"items\":[\"1\",2,3]}\n",
    );
    scratch.ok("add ix --jsonl carts.jsonl --items-field items --threshold 0.3");
    let rows = scratch.ok("query ix --key a --exact --from carts.jsonl --json").objects();
    assert_eq!((&rows[0]["key"], &rows[0]["exact"]), (&Value::from("b"), &Value::from(0.75)));
    let refused = scratch.run("query ix --key a --exact").ends_with(2);
    assert!(refused.stderr.contains("--from"), "{}", refused.stderr);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_document_does_not_block() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", words(0, 100));
    scratch.write("docs/b.txt", words(0, 90));
    scratch.ok("add ix docs --shingles words:1 --threshold 0.5");
    fs::remove_file(scratch.path("docs/b.txt")).unwrap();
    let made = Command::new("mkfifo").arg(scratch.path("docs/b.txt")).status();
    assert!(made.unwrap().success());
    let out = scratch.ok("query ix --key docs/a.txt --exact --json").stdout;
    assert_eq!(exact_of(&objects(&out), "docs/b.txt")["missing"], true);
}
