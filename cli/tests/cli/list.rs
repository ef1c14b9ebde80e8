//! `nearkin list` and `nearkin get`: what an index holds.

use super::*;

fn stored() -> Scratch {
    let scratch = Scratch::new();
    let line = |key: &str| format!("{{\"id\":\"{key}\",\"text\":\"some words of {key} here\"}}\n");
    let lines: String = ["b/2", "a/1", "b/10", "b/1"].map(line).concat();
    scratch.run_with_stdin("add i --jsonl -", lines.as_bytes()).ends_with(0);
    scratch
}

#[test]
fn keys_are_listed_in_order_by_prefix_and_in_parts() {
    let scratch = stored();
    let keys = |command: &str| {
        let ran = scratch.ok(command);
        ran.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(keys("list i"), ["a/1", "b/1", "b/10", "b/2"]);
    assert_eq!(keys("list i --prefix b/ -n 2"), ["b/1", "b/10"]);
    assert_eq!(keys("list i --prefix b/ --after b/10"), ["b/2"]);
    assert_eq!(keys("list i --prefix c"), [""; 0]);
    assert_eq!(keys("list i --json -n 1"), ["{\"key\":\"a/1\"}"]);
    // What is listed can be removed.
    let listed = scratch.run("list i --prefix b/").stdout;
    scratch.run_with_stdin("remove i --from -", listed.as_bytes()).ends_with(0);
    assert_eq!(keys("list i"), ["a/1"]);
    scratch.run("list nowhere").ends_with(2);
}

#[test]
fn get_prints_stored_fields_and_reports_missing_keys() {
    let scratch = stored();
    let ran = scratch.run("get i b/1 none a/1").ends_with(1);
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
    assert!(ran.stdout.contains("b/1") && ran.stdout.contains("shingles"), "{}", ran.stdout);
    ran.says(&["none: no document has this key"]);
    let ran = scratch.ok("get i b/1 --json");
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&object["key"], &object["payload"]), (&"b/1".into(), &"".into()));
    assert!(object["shingle_count"].as_u64() > Some(0) && object["time"].as_u64() > Some(0));
    assert_eq!(scratch.ok("get i b/1 --payload").stdout, "");
}

#[test]
fn pairs_are_limited_and_sorted_ones_are_the_most_similar() {
    let scratch = Scratch::new();
    for (file, name) in [("mit", "MIT"), ("mit2", "MIT"), ("x11", "X11"), ("json", "JSON")] {
        scratch.write(&format!("docs/{file}.txt"), licence(name));
    }
    scratch.ok("add i docs --threshold 0.3");
    let all = scratch.ok("pairs i --sort --json").stdout;
    assert!(all.lines().count() > 2, "{all}");
    let some = scratch.ok("pairs i --sort --json --limit 2").stdout;
    assert!(all.starts_with(&some) && some.lines().count() == 2, "{some}");
    let ran = scratch.ok("pairs i -n 1");
    assert_eq!(ran.stdout.lines().count(), 2);
    ran.says(&["1 pair of estimated similarity 0.3 and above, and perhaps more"]);
}

#[test]
fn a_folder_of_which_nothing_is_read_is_no_success() {
    let scratch = Scratch::new();
    for name in ["docs/a.bin", "docs/b.bin"] {
        scratch.write(name, "bytes\0of a program");
    }
    for command in ["add i docs", "admit i docs"] {
        scratch.run(command).ends_with(3).says(&["no file was read (status 3"]);
        scratch.ok(&format!("{command} --lenient"));
    }
    scratch.write("docs/c.txt", "some words in a text");
    scratch.ok("add i docs");
    // An empty folder has nothing that could not be read.
    fs::create_dir(scratch.path("empty")).unwrap();
    scratch.ok("add i empty");
}

#[test]
fn the_version_names_what_this_build_reads() {
    let scratch = Scratch::new();
    let long = scratch.ok("--version").stdout;
    assert!(long.contains("features: text, jsonl, csv"), "{long}");
    assert_eq!(long.contains("pdf"), cfg!(feature = "pdf"));
    let short = scratch.ok("-V").stdout;
    assert_eq!(short.trim_end(), format!("nearkin {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_text_from_stdin_is_a_query() {
    let scratch = stored();
    let ran = scratch.run_with_stdin("query i - --threshold 0.9", b"some words of b/10 here");
    let found = ran.ends_with(0).stdout;
    assert!(found.contains("b/10") && !found.contains("a/1"), "{found}");
    scratch.run_with_stdin("query i -", b" ").ends_with(2).says(&["-"]);
    scratch.run_with_stdin("query i -", b"bytes\0of a program").ends_with(2).says(&["binary"]);
}
