//! `nearkin report`: the data in the page. `cli/tests/browser` tests its look and behaviour.

use super::*;

/// The data embedded in a page.
#[track_caller]
pub(super) fn data_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

impl Scratch {
    #[track_caller]
    pub(super) fn page(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `nearkin report` and returns the data of the page.
    #[track_caller]
    pub(super) fn report(&self, arguments: &str) -> Value {
        self.ok(&format!("report {arguments} --out r.html"));
        data_of(&self.page("r.html"))
    }
}

/// A hundred words; the last `changed` ones differ.
fn words(changed: usize) -> String {
    let word = |at: usize| format!("word{}", if at < 100 - changed { at } else { at + 1_000 });
    (0..100).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_page_says_what_is_there() {
    let scratch = Scratch::new();
    for (name, changed) in [("a", 0), ("b", 0), ("c", 3), ("z", 99)] {
        scratch.write(&format!("docs/{name}.txt"), words(changed));
    }
    scratch.ok("add i docs");
    let ran = scratch.ok("report i --out r.html --json");
    let object = &ran.objects()[0];
    assert_eq!(
        ran.fields().join(" "),
        "bytes bytes_free bytes_known clustered clusters clusters_shown copies documents \
         documents_shown out pairs pairs_cut surplus texts_changed texts_missing texts_shown \
         threshold"
    );
    assert_eq!(object["bytes"], fs::metadata(scratch.path("r.html")).unwrap().len());
    for (field, expected) in
        [("documents", 4), ("clusters", 1), ("clustered", 3), ("surplus", 2), ("copies", 1)]
    {
        assert_eq!(object[field], expected, "{field}");
    }
    // Removing the copies b and c would free what they take on the disk; a is kept.
    let taken = |name: &str| on_disk(&scratch.path(&format!("docs/{name}.txt")));
    let free = taken("b") + taken("c");
    assert_eq!((&object["bytes_free"], &object["bytes_known"]), (&free.into(), &2.into()));
    assert_eq!((&object["pairs"], &object["texts_shown"]), (&Value::from(3), &Value::from(3)));
    let data = data_of(&scratch.page("r.html"));
    assert_eq!(data["title"], "i");
    let cluster = &data["clusters"][0];
    assert_eq!(cluster["size"], 3);
    assert_eq!(cluster["documents"][0]["key"], "docs/a.txt");
    assert_eq!(cluster["rows"][0], 128, "a and b have one signature");
    assert_eq!(cluster["rows"][1], cluster["rows"][2], "so each is as like c");
    assert_eq!(data["texts"].as_array().unwrap().len(), 2, "equal texts are there once");
    let counts = data["pairs"]["counts"].as_array().unwrap();
    assert_eq!(counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), 3);
    assert_eq!(counts.last().unwrap(), 1);
    let growth = data["growth"]["spans"].as_array().unwrap();
    let sum = |field: usize| growth.iter().map(|span| span[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum(1), sum(2)), (4, 2));
    assert_eq!(data["curve"]["points"].as_array().unwrap().len(), 101);
}

#[test]
fn a_page_is_self_contained_and_deterministic() {
    let scratch = Scratch::with_licences();
    let mut pages = [0, 1].map(|_| {
        scratch.ok("report i --out r.html --title Licences");
        data_of(&scratch.page("r.html"))
    });
    let page = scratch.page("r.html");
    let head = page.split_once("id=\"data\">").unwrap().0;
    assert!(head.contains("default-src 'none'"), "{head}");
    for link in ["src=", "http://", "https://", "@import", "url("] {
        assert!(!head.contains(link), "{link}");
    }
    for data in &mut pages {
        data["made"] = Value::Null;
    }
    assert_eq!(pages[0], pages[1]);
    assert_eq!(pages[0]["title"], "Licences");
    assert!(!scratch.path("r.html.nearkin-tmp").exists());
}

#[cfg(unix)]
#[test]
fn hostile_keys_stay_data() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    let keys: [&[u8]; 4] = [
        b"</script><script>alert(1)",
        b"<!--<script>",
        b"\xff\xfe\x07",
        "\u{2028}\u{202e}x".as_bytes(),
    ];
    let folder = scratch.path("docs");
    fs::create_dir(&folder).unwrap();
    for key in keys {
        // The slash in a key such as `</script>` separates a folder from a file, so the folder is
        // created, too.
        let path = folder.join(std::ffi::OsStr::from_bytes(key));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, words(0)).unwrap();
    }
    scratch.ok("add i docs");
    let data = scratch.report("i --title </script><script>");
    let page = scratch.page("r.html");
    assert_eq!(page.matches("<script").count(), 2, "data and script");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains(['\u{2028}', '\u{202e}']));
    let documents = data["clusters"][0]["documents"].as_array().unwrap();
    let shown: Vec<_> = documents.iter().map(|one| one["key"].as_str().unwrap()).collect();
    let expected = [
        "docs/<!--<script>",
        "docs/</script><script>alert(1)",
        "docs/\\u{2028}\\u{202e}x",
        "docs/\u{fffd}\u{fffd}\\u{7}",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn an_index_without_clusters_has_a_page() {
    let scratch = Scratch::new();
    scratch.ok("create i");
    let data = scratch.report("i");
    assert_eq!(data["totals"]["documents"], 0);
    assert_eq!(data["clusters"], serde_json::json!([]));
    scratch.write("a.txt", words(0));
    scratch.ok("add i a.txt");
    let data = scratch.report("i");
    assert_eq!((&data["totals"]["documents"], &data["totals"]["clusters"]), (&1.into(), &0.into()));
}

#[test]
fn texts_that_are_not_the_indexed_ones_are_not_shown() {
    let scratch = Scratch::new();
    for name in ["a", "b", "c"] {
        scratch.write(&format!("docs/{name}.txt"), words(0));
    }
    scratch.ok("add i docs");
    // Another text under the same name must not be shown: it may be secret.
    scratch.write("docs/b.txt", "a secret that only bears the name of a document");
    fs::remove_file(scratch.path("docs/c.txt")).unwrap();
    scratch.ok("report i --out r.html").says(&["1 text changed"]);
    let page = scratch.page("r.html");
    assert!(!page.contains("a secret"));
    let data = data_of(&page);
    let texts = data["clusters"][0]["documents"].as_array().unwrap().iter();
    let texts: Vec<_> = texts.map(|one| one["text"].clone()).collect();
    assert_eq!(texts, [serde_json::json!({"at": 0}), "changed".into(), "missing".into()]);
    let without = scratch.report("i --no-texts");
    assert_eq!(without["texts"], serde_json::json!([]));
    assert_eq!(without["shown"]["texts_asked"], false);
    assert!(without["clusters"][0]["documents"][0]["text"].is_null());
}

#[test]
fn a_page_without_texts_has_the_bytes() {
    let scratch = Scratch::new();
    for name in ["a", "b"] {
        scratch.write(&format!("docs/{name}.txt"), words(0));
    }
    scratch.ok("add i docs");
    let data = scratch.report("i --no-texts");
    assert_eq!(data["totals"]["free"], on_disk(&scratch.path("docs/b.txt")));
    assert_eq!(data["totals"]["free_known"], 1);
    assert!(!scratch.page("r.html").contains("word1 "));
    let line = |id: u32| serde_json::json!({"id": id, "text": words(0)}).to_string() + "\n";
    scratch.write("all.jsonl", line(1) + &line(2));
    scratch.ok("add j --jsonl all.jsonl");
    let data = scratch.report("j --no-texts --from all.jsonl");
    assert_eq!(data["totals"]["free"], line(2).len());
    assert!(!scratch.page("r.html").contains("word1 "));
    let data = scratch.report("j --no-texts");
    assert_eq!((&data["totals"]["free_known"], &data["texts"]), (&0.into(), &Value::Array(vec![])));
}

#[test]
fn documents_are_linked_and_listed_where_that_is_possible() {
    let scratch = Scratch::new();
    let long = "x".repeat(240);
    for name in ["a", "b", &long] {
        scratch.write(&format!("docs/{name}.txt"), words(0));
    }
    scratch.ok("add i docs");
    fs::remove_file(scratch.path("docs/b.txt")).unwrap();
    let field = |data: &Value, name: &str| {
        let documents = data["clusters"][0]["documents"].as_array().unwrap().iter();
        documents.map(|one| one[name] == true).collect::<Vec<_>>()
    };
    let data = scratch.report("i");
    assert_eq!(data["files"], "");
    assert_eq!(field(&data, "file"), [true, false, false], "one is gone, one is shown shortened");
    assert_eq!(field(&data, "unlisted"), [false, false, true]);
    // Lines are no files.
    let line = |id: &str| serde_json::json!({"id": id, "text": words(0)}).to_string() + "\n";
    scratch.write("all.jsonl", line("docs/a.txt") + &line("docs/b.txt"));
    scratch.ok("add j --jsonl all.jsonl");
    assert_eq!(field(&scratch.report("j --from all.jsonl"), "file"), [false, false]);
}

#[test]
fn lines_hold_texts_and_only_very_long_ones_are_cut() {
    let scratch = Scratch::new();
    // A cut at a fixed byte could split a two-byte character.
    let long = format!("x{}", "\u{e9}t\u{e9} ".repeat(200_000));
    let whole = &long[..long.floor_char_boundary(1_000_000)];
    let line = |id: u32, body: &str| serde_json::json!({"n": id, "body": body}).to_string() + "\n";
    scratch.write("all.jsonl", line(1, &long) + &line(2, &long));
    scratch.write("less.jsonl", line(1, whole) + &line(2, whole));
    scratch.ok("add i --jsonl all.jsonl --key-field n --text-field body");
    scratch.ok("add j --jsonl less.jsonl --key-field n --text-field body");
    scratch.ok("report i --out r.html").says(&["--from FILE.jsonl"]);
    let data = scratch.report("i --from all.jsonl --from-key-field n --from-field body");
    let text = &data["texts"][0];
    assert_eq!((&text["bytes"], &text["cut"]), (&long.len().into(), &true.into()));
    let (shown, most) = (text["text"].as_str().unwrap(), 1 << 20);
    assert!(long.starts_with(shown) && (most - 3..=most).contains(&shown.len()), "{}", shown.len());
    let free = data["totals"]["free"].as_u64().unwrap();
    assert_eq!(free, line(2, &long).len() as u64, "the line of the second");
    let data = scratch.report("j --from less.jsonl --from-key-field n --from-field body");
    assert_eq!(data["texts"][0]["text"], whole);
    assert!(data["texts"][0].get("cut").is_none());
    scratch.fails("report i --from nowhere.jsonl --out s.html", &["nowhere.jsonl"]);
    assert!(!scratch.path("s.html").exists() && !scratch.path("s.html.nearkin-tmp").exists());
}

#[test]
fn folders_that_share_documents_are_counted() {
    let scratch = Scratch::new();
    let other = words(0).replace("word", "another");
    for (path, text) in [
        ("old/a.txt", words(0)),
        ("old/b.txt", words(1)),
        ("old/own.txt", "nothing of the kind is anywhere".to_owned()),
        ("new/a.txt", words(0)),
        ("new/c.txt", other.clone()),
        ("new/sub/c.txt", other),
    ] {
        scratch.write(path, text);
    }
    scratch.ok("add i old new");
    let data = scratch.report("i --no-texts");
    let row = |a: &str, b: &str, counts: [u64; 5]| {
        serde_json::json!({"a": a, "b": b, "clusters": counts[0], "documents_a": counts[1],
            "all_a": counts[2], "documents_b": counts[3], "all_b": counts[4]})
    };
    let expected = [
        row("old", "old", [1, 2, 3, 2, 3]),
        row("new", "old", [1, 1, 2, 2, 3]),
        row("new", "new/sub", [1, 1, 2, 1, 1]),
    ];
    assert_eq!(data["folders"], serde_json::json!({"rows": expected, "cut": false}));
    assert_eq!(data["totals"]["free_known"], 3, "sizes are known without texts, too");
    let one = Scratch::with_licences();
    assert_eq!(one.report("i")["folders"]["rows"], serde_json::json!([]), "one folder");
}

#[test]
fn the_largest_clusters_are_shown_the_rest_counted() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    for (cluster, size) in [(1, 2), (2, 40), (3, 5)] {
        for member in 0..size {
            let text =
                format!("cluster {cluster} {}", words(0).replace("word", &format!("w{cluster}")));
            lines += &serde_json::json!({"id": format!("{cluster}/{member:02}"), "text": text})
                .to_string();
            lines.push('\n');
        }
    }
    scratch.write("all.jsonl", lines);
    scratch.ok("add i --jsonl all.jsonl");
    let ran = scratch.ok("report i --clusters 2 --out r.html");
    assert!(ran.stdout.contains("47 of 47 documents in 3 clusters"), "{}", ran.stdout);
    ran.says(&["the 2 largest of 3 clusters"]);
    let data = data_of(&scratch.page("r.html"));
    let clusters = data["clusters"].as_array().unwrap();
    let sizes: Vec<_> = clusters.iter().map(|one| one["size"].as_u64().unwrap()).collect();
    assert_eq!(sizes, [40, 5]);
    let keys: Vec<_> =
        clusters[0]["documents"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!((keys.len(), keys[0], keys[29]), (30, &"2/00".into(), &"2/39".into()));
    assert_eq!(data["totals"]["pairs"], 780 + 10 + 1, "pairs of copies are counted, not walked");
    assert_eq!(data["sizes"].as_array().unwrap().len(), 3);
    scratch.run("report i --clusters 0 --out r.html").ends_with(2);
    scratch.run("report i --threshold 1.5 --out r.html").ends_with(2);
}

#[test]
fn sets_and_signatures_made_elsewhere_have_a_page() {
    let scratch = Scratch::new();
    scratch.write(
        "carts.jsonl",
        "{\"id\":1,\"items\":[\"tea\",2,3]}\n{\"id\":2,\"items\":[2,\"tea\",3]}\n",
    );
    scratch.ok("add sets --jsonl carts.jsonl --items-field items");
    let data = scratch.report("sets");
    assert_eq!(data["shown"]["sets"], true);
    assert_eq!(data["shown"]["texts_asked"], false);
    let data = scratch.report("sets --from carts.jsonl");
    assert_eq!(data["texts"][0]["text"], "2\n3\ntea");
    let rows: Vec<u32> = (0..16).collect();
    let line = |id: &str| serde_json::json!({"id": id, "rows": rows}).to_string() + "\n";
    scratch.write("rows.jsonl", line("a") + &line("b"));
    let new = "--scheme external:other --hashes 16 --bands 4 --rows-per-band 4";
    scratch.ok(&format!("add rows --jsonl rows.jsonl {new}"));
    let data = scratch.report("rows");
    assert_eq!(data["totals"]["clusters"], 1);
    assert_eq!(data["shown"]["texts_possible"], false);
    scratch.fails("report rows --from rows.jsonl --out s.html", &["from another program"]);
}

#[test]
fn passages_and_unwritable_paths_are_refused() {
    let scratch = Scratch::new();
    scratch.write("a.txt", words(0));
    scratch.ok("add quotes a.txt --passages 50:25");
    scratch.fails("report quotes --out r.html", &["passages", "documents"]);
    scratch.ok("add i a.txt");
    scratch.fails("report i --out nowhere/r.html", &["nowhere/r.html"]);
    scratch.fails("report i", &["--out"]);
    scratch.fails("report none --out r.html", &["nearkin create"]);
    assert!(!scratch.path("r.html").exists() && !scratch.path("r.html.nearkin-tmp").exists());
}

#[test]
fn times_that_no_calendar_has_are_survived() {
    let scratch = Scratch::with_licences();
    scratch.ok("export i --out all.jsonl");
    let lines = scratch.page("all.jsonl");
    let mut lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, time) in lines[1..].iter_mut().zip([0, u64::MAX, u64::MAX - 1, 1 << 53, 1]) {
        line["time"] = time.into();
    }
    let lines: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
    scratch.write("odd.jsonl", lines.concat());
    scratch.ok("import odd odd.jsonl");
    let data = scratch.report("odd");
    assert_eq!(data["growth"]["last"], u64::MAX);
    assert!(data["growth"]["spans"].as_array().unwrap().len() <= 60);
}

#[test]
fn a_report_is_not_written_over_what_it_is_made_of() {
    let scratch = Scratch::new();
    let line = "{\"id\":\"a\",\"text\":\"the only text of all these\"}\n";
    scratch.write("in.jsonl", line);
    scratch.ok("add i --jsonl in.jsonl");
    for (out, said) in [
        ("in.jsonl", "in.jsonl is an input"),
        ("./in.jsonl", "in.jsonl is an input"),
        ("i/catalog.redb", "i/catalog.redb lies in the index"),
        ("i/segments/r.html", "lies in the index"),
    ] {
        let arguments = format!("report i --from in.jsonl --out {out}");
        scratch.fails(&arguments, &[said]);
    }
    assert_eq!(scratch.page("in.jsonl"), line);
    scratch.ok("verify i");
}

#[cfg(unix)]
#[test]
fn a_file_is_freed_with_its_last_name_only() {
    let scratch = Scratch::new();
    for name in ["a", "b"] {
        scratch.write(&format!("docs/{name}.txt"), licence("MIT"));
    }
    let link = |name: &str, other: &str| {
        fs::hard_link(scratch.path(name), scratch.path(other)).unwrap();
    };
    let free = |scratch: &Scratch| {
        scratch.ok("add i docs");
        scratch.ok("report i --out r.html --json").objects()[0]["bytes_free"].clone()
    };
    let size = on_disk(&scratch.path("docs/b.txt"));
    link("docs/a.txt", "docs/a2.txt");
    assert_eq!(free(&scratch), size, "a link of the file that stays frees nothing");
    link("docs/b.txt", "docs/b2.txt");
    assert_eq!(free(&scratch), size, "a file with two names is freed once");
    link("docs/b.txt", "elsewhere.txt");
    assert_eq!(free(&scratch), 0, "a name elsewhere keeps the file");
}

#[test]
fn a_folder_of_files_is_told_how_to_become_an_index() {
    let scratch = Scratch::new();
    scratch.write("my papers/mit.txt", licence("MIT"));
    for command in ["report --out r.html", "serve", "serve --read-only", "pairs", "stats"] {
        let command: Vec<&str> = command.split(' ').chain(["my papers"]).collect();
        let ran = scratch.run_split(&command).ends_with(2);
        ran.says(&["`nearkin mirror 'my papers.nearkin' 'my papers'`"]);
    }
    scratch.run_split(&["mirror", "my papers.nearkin", "my papers"]).ends_with(0);
    scratch.run_split(&["report", "my papers.nearkin", "--out", "page.html"]).ends_with(0);
}

#[test]
fn a_plan_has_only_files_that_are_what_was_indexed() {
    let scratch = Scratch::new();
    for (name, changed) in [("a", 0), ("b", 0), ("c", 3), ("d", 4)] {
        scratch.write(&format!("docs/{name}.txt"), words(changed));
    }
    scratch.ok("add i docs");
    scratch.write("docs/c.txt", words(50));
    fs::remove_file(scratch.path("docs/d.txt")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("a.txt", scratch.path("docs/d.txt")).unwrap();
    let data = scratch.report("i");
    let documents = data["clusters"][0]["documents"].as_array().unwrap();
    let planned: Vec<_> = documents.iter().map(|one| one["plan"].as_str()).collect();
    assert_eq!(planned.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, false]);
    let line: Vec<_> = planned[0].unwrap().split('\t').collect();
    assert_eq!((line[0], line[1]), (&*words(0).len().to_string(), "docs/a.txt"));
    let sums = [line[3], planned[1].unwrap().rsplit('\t').next().unwrap()];
    assert!(sums[0] == sums[1] && sums[0].len() == 32, "{sums:?}");
    assert_eq!(documents[0]["length"], words(0).len());
    assert_eq!(documents[2]["bytes"], words(50).len(), "the file as it is now");
    // A page to share has no plan; nor have lines.
    assert_eq!(scratch.report("i --no-texts").to_string().matches("\"plan\"").count(), 0);
    // A page of another folder has the same relative paths, and names no folder.
    let page = scratch.page("r.html");
    assert!(!page.contains(scratch.path("").to_str().unwrap()));
}
