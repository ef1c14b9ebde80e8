//! `nearkin create`, `remove`, `stats`, `verify` and `compact`.

use super::*;

#[test]
fn remove_deletes_and_a_missing_key_is_status_1() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("remove i docs/MIT.txt docs/ISC.txt --json");
    assert_eq!(ran.stdout, "{\"removed\":2,\"missing\":0}\n");
    let ran = scratch.run("remove i docs/MIT.txt ./docs/Zlib.txt docs/Xnet.txt").ends_with(1);
    assert_eq!(ran.stdout, "1 document removed, 2 missing\n");
    ran.says(&["docs/MIT.txt", "did you mean docs/Zlib.txt?"]);
    scratch.ok("stats i --json").has("documents", 2);
}

#[test]
fn keys_to_remove_come_from_lines() {
    let scratch = Scratch::with_licences();
    scratch.write("keys", "docs/MIT.txt\r\n\ndocs/ISC.txt\n");
    let ran = scratch.ok("remove i --from keys docs/Zlib.txt --json");
    assert_eq!(ran.stdout, "{\"removed\":3,\"missing\":0}\n");
    let ran =
        scratch.run_with_stdin("remove i --from - --json", b"docs/Xnet.txt\ntypo").ends_with(1);
    assert_eq!(ran.stdout, "{\"removed\":1,\"missing\":1}\n");
    scratch.fails("remove i --from typo.txt", &["typo.txt"]);
}

#[test]
fn a_document_stays_if_no_similar_one_would() {
    let scratch = Scratch::new();
    let words = |changed: usize| {
        let word = |at: usize| format!("w{}", if at < 100 - changed { at } else { at + 1_000 });
        (0..100).map(word).collect::<Vec<_>>().join(" ")
    };
    // `a`, `b` and `c` are copies, `d` is similar to them, `z` to none.
    for (name, changed) in [("a", 0), ("b", 0), ("c", 0), ("d", 5), ("z", 99)] {
        scratch.write(&format!("docs/{name}"), words(changed));
    }
    let keys = |scratch: &Scratch| {
        let listed = scratch.ok("list i").stdout;
        listed.lines().map(|line| line.replace("docs/", "")).collect::<String>()
    };
    scratch.ok("add i docs");
    // If all copies are named, none goes, because none would stay.
    let ran = scratch.run("remove i docs/a docs/b docs/c docs/d --if-similar 0.7").ends_with(1);
    assert_eq!(ran.stdout, "0 documents removed, 0 missing, 4 kept\n");
    ran.says(&["docs/d stays: no document that stays is 0.7 or more similar to it"]);
    assert_eq!(keys(&scratch), "abcdz");
    // What is not named is what is looked for, at the given similarity.
    scratch.write("list", "docs/b\ndocs/z\ndocs/d\n");
    let ran = scratch.run("remove i --from list --if-similar 0.99 --json").ends_with(1);
    assert_eq!(ran.stdout, "{\"removed\":1,\"missing\":0,\"kept\":2}\n");
    assert_eq!(keys(&scratch), "acdz");
    // The index has changed since the list was made: a line that is gone is reported once.
    let ran = scratch.run("remove i --from list docs/d docs/a --if-similar 0.7").ends_with(1);
    assert_eq!(ran.stdout, "2 documents removed, 2 missing, 1 kept\n");
    ran.says(&["docs/d is named twice", "no document has the key docs/b", "docs/z stays"]);
    assert_eq!(keys(&scratch), "cz");
    scratch.run("remove i docs/z --if-similar 2").ends_with(2);
    scratch.run("remove i --prefix docs --if-similar 0.7").ends_with(2);
    scratch.ok("add quotes docs --passages 50:25");
    scratch.fails("remove quotes docs/a --if-similar 0.7", &["passages"]);
}

/// Each of two commands found the copy that the other one removed: both copies went.
#[test]
fn of_two_copies_one_stays_when_two_commands_remove() {
    let scratch = Scratch::new();
    let pairs = 400;
    let text =
        |pair: usize| (0..40).map(|at| format!("w{pair}x{at}")).collect::<Vec<_>>().join(" ");
    let row = |pair, side| format!("{{\"id\":\"{side}{pair}\",\"text\":\"{}\"}}\n", text(pair));
    let rows: String = (0..pairs).flat_map(|pair| ["a", "b"].map(|side| row(pair, side))).collect();
    scratch.write("rows.jsonl", rows);
    scratch.ok("add i --jsonl rows.jsonl");
    for side in ["a", "b"] {
        let keys: Vec<String> = (0..pairs).map(|pair| format!("{side}{pair}")).collect();
        scratch.write(side, keys.join("\n"));
    }
    let start = |side| scratch.start(&format!("remove i --from {side} --if-similar 0.9"));
    let children = [start("a"), start("b")];
    for child in children {
        let status = child.wait_with_output().unwrap().status.code();
        assert!(status.is_some_and(|status| status < 2), "{status:?}");
    }
    scratch.ok("stats i --json").has("documents", pairs);
}

#[test]
fn documents_are_removed_by_their_age() {
    let scratch = Scratch::with_licences();
    scratch.ok("remove i --before 2020-01-01").prints_just("0 documents removed\n");
    scratch.fails("remove i --before yesterday", &["2024-12-31"]);
    scratch.run("remove i docs/MIT.txt --before 1").ends_with(2);
    let ran = scratch.ok("remove i --before 9999-12-31T23:59:59Z --json");
    assert_eq!(ran.stdout, "{\"removed\":5,\"missing\":0}\n");
    scratch.ok("stats i --json").has("documents", 0);
}

#[test]
fn documents_are_removed_by_key_prefix() {
    let scratch = Scratch::with_licences();
    scratch.ok("remove i --prefix nothing/").prints_just("0 documents removed\n");
    scratch.ok("remove i --prefix docs/X --json").prints_just("{\"removed\":1,\"missing\":0}\n");
    for clash in
        ["docs/MIT.txt --prefix docs/", "--prefix docs/ --before 1", "--prefix docs --from x"]
    {
        scratch.fails(&format!("remove i {clash}"), &["cannot be used with"]);
    }
    let refused = scratch.command(&["remove", "i", "--prefix", ""]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("would remove every document"), "{said}");
    assert_eq!(scratch.ok("stats i --json").objects()[0]["documents"], 4);
    scratch.ok("remove i --prefix docs/").prints_just("4 documents removed\n");
}

/// No command sets a payload directly: `add` and `admit` keep the stored payload, and `import`
/// replaces it by that of the import, even by an empty one.
#[test]
fn payloads_stay_when_texts_are_added_again() {
    let scratch = Scratch::with_licences();
    let lines = scratch.ok("export i --out -").stdout;
    let with =
        lines.replace("\"key\":\"docs/MIT.txt\"", "\"key\":\"docs/MIT.txt\",\"payload\":\"mine\"");
    assert_ne!(with, lines);
    let replaced = |command: &str| {
        let ran = scratch.ok(command);
        assert!(ran.stdout.contains("1 replaced"), "{command}: {}", ran.stdout);
    };
    scratch.write("with.jsonl", &with);
    scratch.write("without.jsonl", &lines);
    replaced("import i with.jsonl");
    let payload = || {
        let objects = scratch.ok("export i --out -").objects();
        let found = objects.into_iter().find(|one| one["key"] == "docs/MIT.txt");
        found.unwrap()["payload"].clone()
    };
    assert_eq!(payload(), "mine");
    scratch.write("docs/MIT.txt", "quite other words than those of the licence");
    replaced("add i docs");
    assert_eq!(payload(), "mine");
    scratch.write("docs/MIT.txt", "and other words again, of which none was there before");
    scratch.ok("admit i docs");
    assert_eq!(payload(), "mine");
    replaced("import i without.jsonl");
    assert_eq!(payload(), Value::Null);
}

#[test]
fn documents_expire_by_their_time_to_live() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("compact i --ttl 1d --json");
    let object = &ran.objects()[0];
    assert_eq!((&object["expired"], &object["documents"]), (&0.into(), &5.into()));
    // The same documents, imported with old times.
    scratch.ok("export i --out new.jsonl");
    let aged = fs::read_to_string(scratch.path("new.jsonl")).unwrap();
    let aged = aged.lines().map(|line| {
        let mut object: Value = serde_json::from_str(line).unwrap();
        if let Some(time) = object.get_mut("time") {
            *time = 1.into();
        }
        object.to_string() + "\n"
    });
    scratch.write("old.jsonl", aged.collect::<String>());
    scratch.ok("import old old.jsonl");
    scratch.write("new.txt", licence("MIT"));
    let ran = scratch.ok("add old new.txt --ttl 1d");
    assert!(ran.stdout.starts_with("1 document inserted"), "{}", ran.stdout);
    assert!(ran.stdout.contains("; 5 documents expired"), "{}", ran.stdout);
    scratch.ok("stats old --json").has("documents", 1);
    let ran = scratch.ok("compact old --ttl 0s");
    assert!(ran.stdout.starts_with("0 documents in 0 segments"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("; 1 document expired\n"), "{}", ran.stdout);
    scratch.ok("admit i new.txt --ttl 1d");
    scratch.fails("add i new.txt --ttl soon", &["90d"]);
}

/// Maintenance removes expired documents while the command runs; these count, too.
#[test]
fn all_documents_that_expired_are_counted() {
    let scratch = Scratch::new();
    let line = |id: u32| format!("{{\"id\":{id},\"text\":\"text number {id}\"}}\n");
    scratch.write("l.jsonl", (0..5_000).map(line).collect::<String>());
    scratch.ok("add i --jsonl l.jsonl");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    scratch.write("new.jsonl", (5_000..9_000).map(line).collect::<String>());
    let ran = scratch.ok("add i --jsonl new.jsonl --ttl 1s --json");
    let left = scratch.ok("stats i --json").objects()[0]["documents"].clone();
    let expired = ran.objects()[0]["expired"].as_u64().unwrap();
    // On a slow machine, new documents may have expired, too.
    assert!(expired >= 5_000, "{expired}");
    assert_eq!(left, 9_000 - expired);
}

#[test]
fn stats_are_complete() {
    let scratch = Scratch::with_licences();
    let ran = scratch.ok("stats i --json");
    let stats = &ran.objects()[0];
    for (field, value) in [
        ("documents", Value::from(5)),
        ("hashes", Value::from(128)),
        ("bands", Value::from(17)),
        ("rows_per_band", Value::from(5)),
        ("lane_bits", Value::from(8)),
        ("shingles", "words:3".into()),
        ("scheme", "fast".into()),
    ] {
        assert_eq!(stats[field], value, "{field}");
    }
    for field in ["dead", "segments", "bytes_on_disk"] {
        assert!(stats[field].is_u64(), "{field}");
    }
    assert_eq!((&stats["sampled"], &stats["scan"]), (&5.into(), &false.into()));
    assert!(stats["compared_per_query"].is_f64() && stats["in_vain_per_query"].is_f64());
    let ran = scratch.ok("stats i");
    assert!(ran.stdout.starts_with("documents        5\n"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");
}

#[test]
fn bands_that_are_a_scan_are_told_by_stats_and_tune() {
    let scratch = Scratch::new();
    fs::copy(data("pydocs.jsonl"), scratch.path("docs.jsonl")).unwrap();
    for (settings, is_scan) in
        [("--shingles chars:5 --threshold 0.3", true), ("--threshold 0.7", false)]
    {
        scratch.ok(&format!("add i{is_scan} --jsonl docs.jsonl {settings}"));
        let json = scratch.ok(&format!("stats i{is_scan} --json"));
        let stats = &json.objects()[0];
        assert_eq!((&stats["scan"], &stats["at_least"]), (&is_scan.into(), &false.into()));
        let in_vain = stats["in_vain_per_query"].as_f64().unwrap();
        assert!(in_vain <= stats["compared_per_query"].as_f64().unwrap());
        let text = scratch.ok(&format!("stats i{is_scan}"));
        let line = format!(" of them in vain ({} documents sampled)\n", stats["sampled"]);
        assert!(text.stdout.contains(&line), "{}", text.stdout);
        let tuned = scratch.ok(&format!("tune --jsonl docs.jsonl {settings} --json"));
        let choices = tuned.objects();
        let one = choices.iter().find(|choice| choice["recommended"] == true).unwrap();
        assert_eq!(one["scan"], is_scan, "{one}");
        for ran in [&json, &text] {
            let warned = format!("a query compares {in_vain:.0} dissimilar documents of 350");
            assert_eq!(ran.stderr.contains(&warned), is_scan, "{}", ran.stderr);
            assert_eq!(ran.stderr.contains("in effect a scan"), is_scan, "{}", ran.stderr);
        }
        assert_eq!(tuned.stderr.contains("in effect a scan"), is_scan, "{}", tuned.stderr);
    }
    let empty = Scratch::new();
    empty.ok("create i");
    assert!(empty.ok("stats i").stdout.contains("no documents to measure with"));
}

#[test]
fn create_says_what_was_made() {
    let scratch = Scratch::new();
    let ran = scratch.ok("create i --bands 32 --rows-per-band 4 --json").has("created", "i");
    assert_eq!(ran.objects()[0]["bands"], 32);
    let ran = scratch.ok("create j --bands 128 --rows-per-band 1");
    assert!(ran.stdout.starts_with("created j: threshold 0.7"), "{}", ran.stdout);
    ran.says(&["warning: bands of one row"]);
    assert_eq!(scratch.ok("pairs i").stdout, "");
    assert_eq!(scratch.ok("clusters i --json").stdout, "");
    scratch.ok("stats i");
}

#[test]
fn an_index_is_verified_and_compacted() {
    let scratch = Scratch::with_licences();
    scratch.ok("verify i --json").prints_just("{\"ok\":true,\"documents\":5}\n");
    scratch.ok("remove i docs/MIT.txt");
    scratch.ok("compact i --json").has("documents", 4);
    scratch.ok("stats i --json").has("dead", 0);
    scratch.ok("verify i").prints_just("i: no damage, 4 documents\n");
    assert!(scratch.ok("compact i").stdout.starts_with("4 documents in 1 segment"));
}

#[test]
fn a_backup_is_an_index_of_its_own() {
    let scratch = Scratch::with_licences();
    scratch.ok("backup i copy --json").prints_just("{\"backup\":\"copy\",\"documents\":5}\n");
    scratch.ok("remove i docs/MIT.txt");
    scratch.ok("verify copy");
    assert_eq!(scratch.ok("stats copy --json").objects()[0]["documents"], 5);
    scratch.fails("backup i copy", &["already"]);
    scratch.fails("backup nothing there", &["no index"]);
}

#[test]
fn an_index_without_its_catalog_is_salvaged() {
    let scratch = Scratch::with_licences();
    fs::remove_file(scratch.path("i/catalog.redb")).unwrap();
    scratch.fails("stats i", &["lost its catalog"]);
    let ran = scratch.run("salvage i saved --json").ends_with(1).has("documents", 5);
    assert_eq!(ran.objects()[0]["catalog_lost"], true);
    scratch.ok("verify saved").prints_just("saved: no damage, 5 documents\n");
    scratch.ok("salvage saved again").says(&[]);
}

#[test]
fn damage_is_status_1_and_named() {
    let scratch = Scratch::with_licences();
    let segments = scratch.path("i/segments");
    let mut damaged = 0;
    for segment in fs::read_dir(segments).unwrap() {
        let path = segment.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "seg") {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
            fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0, "there was no segment to damage");
    let ran = scratch.run("verify i").ends_with(1).says(&["problem", "backup"]);
    assert!(ran.stdout.contains(".seg"), "{}", ran.stdout);
    let ran = scratch.run("verify i --json").ends_with(1).has("ok", false);
    assert!(ran.objects()[0]["problems"][0].as_str().unwrap().contains(".seg"));
}
