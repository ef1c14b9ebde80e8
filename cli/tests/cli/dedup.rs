//! `nearkin dedup`: which documents are dropped, what is reported about them, and how a killed run
//! resumes.

use super::*;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[path = "dedup/columns.rs"]
mod columns;
#[path = "dedup/doors.rs"]
mod doors;
#[path = "dedup/exactly.rs"]
mod exactly;
#[path = "dedup/formats.rs"]
mod formats;
#[path = "dedup/interrupted.rs"]
mod interrupted;
#[path = "dedup/passages.rs"]
mod passages;
#[path = "dedup/peers.rs"]
mod peers;
#[cfg(unix)]
#[path = "dedup/planted.rs"]
mod planted;
#[path = "dedup/rows.rs"]
mod rows;
#[path = "dedup/without.rs"]
mod without;

/// Lines of documents: every fifth is similar to an earlier one, and some are unusable.
fn lines(count: u64) -> String {
    let mut lines = String::new();
    for line in 0..count {
        let like = if line % 5 == 4 { line * line % 7_919 % line } else { line };
        let word = |at: u64| (like * 31 + at * at * 17) % 99_991;
        let text: Vec<_> = (0..20 + like % 9).map(|at| format!("w{}", spelled(word(at)))).collect();
        let last = if line % 10 == 9 { "other" } else { "last" };
        let object = match line % 1_000 {
            500 => "no JSON\n".to_owned(),
            700 => format!("{{\"id\":{line},\"text\":\"\"}}\n"),
            _ => format!("{{\"id\":\"k{line}\",\"text\":\"{} {last}\"}}\n", text.join(" ")),
        };
        lines.push_str(&object);
    }
    lines
}

fn text(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.path(name)).unwrap()
}

#[test]
fn dropped_lines_name_the_kept_document() {
    let scratch = Scratch::new();
    let a = "{\"id\":\"a\",\"text\":\"the first of all these texts\"}\r\n";
    let b = "{\"text\":\"quite another one, without a key\", \"x\": 1.50}\n";
    let bad = "\nno JSON\n{\"id\":\"e\",\"text\":\" \"}\n";
    let again = "{\"id\":7,\"text\":\"The first of ALL these texts!\"}";
    scratch.write("in.jsonl", [a, b, bad, again].concat());
    let ran = scratch.run("dedup in.jsonl in.jsonl --out out.jsonl").ends_with(3).says(&[
        "skipped in.jsonl line 4: bad line (not JSON",
        "reasons are in out.jsonl.dropped.jsonl",
    ]);
    // Kept lines are copied byte for byte, each with its line end.
    let blank = "{\"id\":\"e\",\"text\":\" \"}\n";
    assert_eq!(text(&scratch, "out.jsonl"), [a, b, blank, blank].concat());
    let dropped = text(&scratch, "out.jsonl.dropped.jsonl");
    let dropped: Vec<_> = dropped.lines().collect();
    assert!(dropped[0].starts_with(
        "{\"file\":\"in.jsonl\",\"line\":4,\"skipped\":\"bad line\",\"reason\":\"not JSON: "
    ));
    assert_eq!(
        dropped[1],
        "{\"key\":\"7\",\"file\":\"in.jsonl\",\"line\":6,\"of_key\":\"a\",\"of_file\":\"in.jsonl\",\
         \"of_line\":1,\"similarity\":1.0,\"contained\":1.0,\"shingles\":4,\"of_shingles\":4,\
         \"shared\":4,\"in_index\":false}"
    );
    // The input file is named twice. So each document comes a second time under the same key,
    // counts as another document, and is dropped as a copy of the first.
    assert!(
        dropped[2].starts_with("{\"key\":\"a\",\"file\":\"in.jsonl\",\"line\":1,\"of_key\":\"a\"")
    );
    assert!(
        dropped[3].starts_with("{\"key\":null,\"file\":\"in.jsonl\",\"line\":2,\"of_key\":null")
    );
    let table: Vec<_> = ran.stdout.lines().map(str::trim_start).collect();
    assert_eq!(
        table[..5],
        [
            "10  lines read",
            "4  kept in out.jsonl",
            "4  dropped: similar to a kept one",
            "2  of those kept have nothing to compare (--drop-blank leaves them out)",
            "2  skipped: 2 bad line",
        ]
    );
    assert!(!scratch.path("out.jsonl.nearkin-work").exists());
    assert!(!scratch.path("out.jsonl.nearkin-tmp").exists());
}

/// Texts without words, short texts, blank and null ones: what is unique stays, and of equal texts
/// one.
#[test]
fn texts_without_shingles_stay() {
    let scratch = Scratch::new();
    let line = |id: u32, text: &str| format!("{{\"id\":{id},\"text\":{text}}}\n");
    let lines = [
        line(1, "\"cat\""),
        line(3, "\"Cat!\""),
        line(4, "\"\u{1F44D}\u{1F44D}\""),
        line(5, "\"\u{1F389}\""),
        line(6, "\"{}\""),
        line(12, "\"\""),
        line(13, "null"),
        line(14, "null"),
        line(18, "\"\u{2211} \u{222B}\""),
        line(20, "\"===> <===\""),
        line(21, "\"===> <===\""),
    ];
    scratch.write("in.jsonl", lines.concat());
    let ids = || -> Vec<u64> {
        objects(&text(&scratch, "o.jsonl")).iter().map(|one| one["id"].as_u64().unwrap()).collect()
    };
    for keep in ["first", "longest"] {
        for exact in ["", " --exact"] {
            let run = format!("dedup in.jsonl --out o.jsonl --json --keep {keep}{exact}");
            let counts = &scratch.ok(&run).objects()[0];
            assert_eq!(ids(), [1, 4, 5, 6, 12, 13, 14, 18, 20], "{run}");
            assert_eq!((&counts["kept"], &counts["blank"]), (&9.into(), &3.into()), "{run}");
        }
    }
    let counts = &scratch.ok("dedup in.jsonl --out o.jsonl --drop-blank --json").objects()[0];
    assert_eq!(ids(), [1, 4, 5, 6, 18, 20]);
    assert_eq!((&counts["skipped"], &counts["blank"]), (&3.into(), &0.into()));
    // The same in a table, whose rows are copied.
    scratch.write("in.csv", "id,text\n1,cat\n2,\n3,cat\n4,\n");
    scratch.ok("dedup in.csv --out o.csv");
    assert_eq!(text(&scratch, "o.csv"), "id,text\n1,cat\n2,\n4,\n");
    // A text of which every line is blank is no sign of a wrong field.
    scratch.write("blank.jsonl", line(1, "null").repeat(3));
    scratch.ok("dedup blank.jsonl --out o.jsonl");
    assert_eq!(text(&scratch, "o.jsonl"), line(1, "null").repeat(3));
}

/// Hashes that were not given are chosen: 128 of them find nothing so dissimilar.
#[test]
fn a_low_threshold_chooses_enough_hashes() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines(30));
    for how in ["--threshold 0.2", "--contained 0.5", "--contained 0.5 --exact"] {
        let run = format!("dedup in.jsonl --out o.jsonl {how}");
        scratch.ok(&run);
        scratch.fails(&format!("{run} --hashes 128"), &["148 hashes do"]);
    }
}

/// Brute-force implementation of the rules in docs/guide/DEDUP.md: computes the keys to keep from
/// all similar pairs.
fn by_definition(scratch: &Scratch, keep: &str, archive: &BTreeSet<u64>) -> BTreeSet<u64> {
    let mut alike: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for pair in scratch.ok("pairs all.nearkin --threshold 0.6 --json").objects() {
        let key = |name: &str| pair[name].as_str().unwrap().parse::<u64>().unwrap();
        let (a, b) = (key("a"), key("b"));
        alike.entry(a).or_default().insert(b);
        alike.entry(b).or_default().insert(a);
    }
    scratch.ok("export all.nearkin --out all.jsonl");
    let mut order: Vec<(i64, u64)> = Vec::new();
    for document in objects(&text(scratch, "all.jsonl")).iter().skip(1) {
        let number = document["key"].as_str().unwrap().parse::<u64>().unwrap();
        let by = match keep {
            "first" => 0,
            "newest" => -number.cast_signed(),
            _ => -document["shingle_count"].as_i64().unwrap(),
        };
        order.push((by, number));
    }
    order.sort_unstable();
    let mut kept = BTreeSet::new();
    for (_, number) in order {
        let none = BTreeSet::new();
        let like = alike.get(&number).unwrap_or(&none);
        let in_archive = archive.contains(&number) || !like.is_disjoint(archive);
        if !in_archive && like.is_disjoint(&kept) {
            kept.insert(number);
        }
    }
    kept
}

#[test]
fn the_kept_lines_are_those_of_the_definition() {
    let scratch = Scratch::new();
    // Makes more documents than `dedup` decides on in one batch.
    let usable = |line: &&str| line.starts_with("{\"id\":\"k");
    let made: String = lines(9_000).split_inclusive('\n').filter(usable).collect();
    let documents = objects(&(fs::read_to_string(data("spdx.jsonl")).unwrap() + &made));
    let count = documents.len() as u64;
    let line = |(at, document): (usize, &Value)| {
        format!("{}\n", serde_json::json!({"id": at, "text": document["text"]}))
    };
    let all: Vec<String> = documents.iter().enumerate().map(line).collect();
    let archive: BTreeSet<u64> = (0..count).filter(|at| at % 10 == 3).collect();
    scratch.write("in.jsonl", all.concat());
    let archived: Vec<_> =
        archive.iter().map(|at| all[usize::try_from(*at).unwrap()].as_str()).collect();
    scratch.write("archive.jsonl", archived.concat());
    scratch.ok("add all.nearkin --jsonl in.jsonl --threshold 0.6");
    scratch.ok("add archive.nearkin --jsonl archive.jsonl --threshold 0.6");
    let kept = |name: &str| -> BTreeSet<u64> {
        objects(&text(&scratch, name)).iter().map(|one| one["id"].as_u64().unwrap()).collect()
    };
    let mut all_kept = BTreeSet::new();
    for keep in ["first", "newest", "longest"] {
        let out = format!("dedup in.jsonl --out out.jsonl --estimate --keep {keep}");
        scratch.ok(&format!("{out} --threshold 0.6"));
        let expected = by_definition(&scratch, keep, &BTreeSet::new());
        assert_eq!(kept("out.jsonl"), expected, "{keep}");
        all_kept.insert(expected.clone());
        // Each dropped document names a similar one, which was kept.
        for why in objects(&text(&scratch, "out.jsonl.dropped.jsonl")) {
            let of: u64 = why["of_key"].as_str().unwrap().parse().unwrap();
            assert!(expected.contains(&of) && why["of_line"] == of + 1, "{why}");
            assert!(why["similarity"].as_f64().unwrap() >= 0.6 - 1e-9, "{why}");
        }
        let ran = scratch.ok(&format!("{out} --index archive.nearkin --json"));
        assert_eq!(kept("out.jsonl"), by_definition(&scratch, keep, &archive), "{keep}");
        assert!(ran.objects()[0]["dropped_for_index"].as_u64().unwrap() >= archive.len() as u64);
        let whys = objects(&text(&scratch, "out.jsonl.dropped.jsonl"));
        let mut whys = whys.iter().filter(|why| why["in_index"] == true);
        assert!(
            whys.all(|why| archive.contains(&why["of_key"].as_str().unwrap().parse().unwrap()))
        );
    }
    assert_eq!(all_kept.len(), 3, "the three keep different lines");
    let stats = scratch.ok("stats archive.nearkin --json").objects();
    assert_eq!(stats[0]["documents"], archive.len(), "the archive is not changed");
}

#[test]
fn a_crowd_of_equal_documents_is_one() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", equal_lines(50_000));
    for (keep, line) in [("first", 1), ("newest", 50_000), ("longest", 1)] {
        let arguments = format!("dedup in.jsonl --out out.jsonl --keep {keep} --json");
        scratch.ok(&arguments).has("kept", 1);
        let whys = text(&scratch, "out.jsonl.dropped.jsonl");
        assert_eq!(objects(&whys)[70]["of_line"], line);
    }
}

/// Kills and restarts a command until it finishes. Returns the number of kills.
fn kill_and_finish(scratch: &Scratch, arguments: &str) -> u32 {
    let arguments: Vec<_> = arguments.split(' ').collect();
    let mut delay = Duration::from_millis(60);
    for kills in 0.. {
        let mut command = scratch.command(&arguments);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(delay);
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(3), "lines were skipped");
            return kills;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Each attempt gets further into the pass, so the command finishes eventually.
        delay = delay * 5 / 4;
    }
    unreachable!("it ends")
}

#[test]
fn a_killed_run_continues_to_the_same_output() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines(60_000));
    let mut kills = 0;
    for (keep, out) in [
        ("first", "a.jsonl"),
        ("newest", "a.jsonl.gz"),
        ("longest --guard none", "a.jsonl.zst"),
        ("longest --exact --guard none", "b.jsonl"),
    ] {
        let whole = format!("dedup in.jsonl --out whole-{out} --keep {keep} --dropped whole-d.gz");
        scratch.run(&whole).ends_with(3);
        let killed = format!("dedup in.jsonl --out {out} --keep {keep} --dropped d.gz");
        kills += kill_and_finish(&scratch, &killed);
        let bytes = |name: &str| fs::read(scratch.path(name)).unwrap();
        assert!(bytes(out) == bytes(&format!("whole-{out}")), "{keep}");
        assert!(bytes("d.gz") == bytes("whole-d.gz"), "{keep}");
        assert!(!scratch.path(&format!("{out}.nearkin-work")).exists());
        if !keep.contains("--guard") {
            continue;
        }
        // Compressed output can be read again, and no two documents in it are similar.
        let exact = if keep.contains("--exact") { "--exact " } else { "" };
        let again = format!("dedup {out} {exact}--guard none --out again.jsonl --json");
        let again = scratch.ok(&again);
        let counts = &again.objects()[0];
        assert_eq!((&counts["dropped"], &counts["skipped"]), (&0.into(), &0.into()), "{keep}");
    }
    assert!(kills >= 3, "{kills}");
}

/// Rows that only the guard keeps are listed, and the list of an earlier run is replaced.
#[test]
fn what_is_kept_apart_is_listed() {
    let scratch = Scratch::new();
    let form = "on monday the council of the town meets in the old hall near the river to hear \
                what the office has found and then to decide on the bridge number ";
    let line = |id: u32| format!("{{\"id\":\"k{id}\",\"text\":\"{form}{id} of this year\"}}\n");
    scratch.write("in.jsonl", (1..4).map(line).collect::<String>());
    for _ in 0..2 {
        let ran = scratch.ok("dedup in.jsonl --out o.jsonl --apart a.jsonl --json");
        assert_eq!(ran.objects()[0]["kept_apart"], 2);
        ran.says(&["2 lines differ from a kept one only in numbers or in rare words: kept"]);
    }
    let apart = objects(&text(&scratch, "a.jsonl"));
    assert_eq!((&apart[0]["key"], &apart[0]["of_key"]), (&"k2".into(), &"k1".into()));
    assert_eq!(
        (&apart[0]["apart"], &apart[0]["only_here"]),
        (&"numbers".into(), &["2"][..].into())
    );
    assert_eq!(text(&scratch, "o.jsonl").lines().count(), 3);
    scratch.ok("dedup in.jsonl --out none.jsonl --guard none --json").has("dropped", 2);
    scratch.write("mine.jsonl", "{\"id\": 1}\n");
    for (apart, said) in [
        ("mine.jsonl", "no run of this command made it"),
        ("p.jsonl", "is --out or --dropped"),
        ("p.jsonl.nearkin-tmp", "is --out or --dropped"),
        ("p.jsonl.nearkin-work/x", "temporary files, which it removes"),
        ("nowhere/x", "there is no folder nowhere"),
        ("in.jsonl", "is an input"),
    ] {
        scratch.fails(&format!("dedup in.jsonl --out p.jsonl --apart {apart}"), &[said]);
        assert!(!scratch.path("p.jsonl").exists(), "{apart}");
    }
    scratch.fails("dedup in.jsonl --out p.jsonl --apart x --guard none", &["keeps nothing"]);
}

#[test]
fn a_changed_input_or_option_restarts_the_run() {
    let scratch = Scratch::new();
    let (mut texts, more) = (lines(100), "{\"id\":\"bad\"}\n");
    texts += more;
    scratch.write("in.jsonl", &texts);
    let strict = "dedup in.jsonl --out out.jsonl --strict";
    scratch.run(strict).ends_with(2).says(&[
        "--strict: stopped at in.jsonl line 101: bad line (there is no \"text\")",
        "the same command continues",
    ]);
    assert!(!scratch.path("out.jsonl").exists(), "it is not there before it is whole");
    assert!(scratch.path("out.jsonl.nearkin-work").exists());
    scratch.write("in.jsonl", lines(200));
    scratch.ok("dedup in.jsonl --out out.jsonl --json").has("read", 200);
    // Stdin cannot be read twice, so each run starts from the beginning.
    for _ in 0..2 {
        let ran = scratch.run_with_stdin("dedup - --out s.jsonl --json", lines(50).as_bytes());
        assert_eq!(ran.ends_with(0).objects()[0]["read"], 50);
        let why = objects(&text(&scratch, "s.jsonl.dropped.jsonl"));
        assert_eq!(why[0]["file"], "stdin");
    }
}

#[test]
fn invalid_options_are_refused_before_any_write() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines(10));
    scratch.ok("add i --jsonl in.jsonl");
    scratch.ok("add p --jsonl in.jsonl --passages 10:5");
    scratch.ok("create e --scheme external:x");
    for (arguments, said) in [
        ("dedup in.jsonl --out in.jsonl", "is an input"),
        ("dedup in.jsonl --out ./in.jsonl", "is an input"),
        ("dedup in.jsonl --out o --dropped in.jsonl", "is an input"),
        ("dedup in.jsonl --out o --dropped o", "same file"),
        ("dedup in.jsonl --out o --dropped -", "is not a regular file"),
        ("dedup in.jsonl --out i", "is not a regular file"),
        ("dedup - - --out o", "more than once"),
        ("dedup typo.jsonl --out o", "typo.jsonl"),
        #[cfg(unix)]
        ("dedup /dev/null --out o", "cannot be read twice"),
        ("dedup in.jsonl --out o --index typo", "typo"),
        ("dedup in.jsonl --out i/catalog.redb --index i", "is inside the folder of the index"),
        (
            "dedup in.jsonl --out o --dropped i/parameters --index i",
            "is inside the folder of the index",
        ),
        (
            "dedup in.jsonl --out o --index i --shingles chars:5",
            "differ from the settings of the index",
        ),
        ("dedup in.jsonl --out o --index i --items-field x", "words:3"),
        ("dedup in.jsonl --out o --index p", "passages"),
        ("dedup in.jsonl --out o --passages 10:5", "passages"),
        ("dedup in.jsonl --out o --index e", "come from another program"),
        ("dedup in.jsonl --out no/such/o", "no/such/o"),
        ("dedup in.jsonl --out o --dropped o.nearkin-work/d", "temporary files, which it removes"),
    ] {
        scratch.fails(arguments, &[said]);
        assert!(!scratch.path("o").exists() && !scratch.path("o.nearkin-work").exists());
    }
    assert_eq!(text(&scratch, "in.jsonl"), lines(10));
}

#[test]
fn of_runs_that_begin_at_once_for_one_file_one_works() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines(2_000));
    scratch.run("dedup in.jsonl --out alone.jsonl").ends_with(3);
    for _ in 0..10 {
        let begin = |_| {
            let mut command = scratch.command(&["dedup", "in.jsonl", "--out", "o.jsonl"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let runs: Vec<_> = (0..4).map(begin).collect();
        let mut done = 0;
        for run in runs {
            let ran = run.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            let has_ended = ran.status.code() == Some(3);
            assert!(has_ended || said.contains("another run is writing"), "{said}");
            done += u32::from(has_ended);
        }
        assert!(done >= 1);
        assert_eq!(text(&scratch, "o.jsonl"), text(&scratch, "alone.jsonl"));
        assert!(!scratch.path("o.jsonl.nearkin-work").exists());
        fs::remove_file(scratch.path("o.jsonl")).unwrap();
    }
}

#[test]
fn no_file_of_another_is_written_over() {
    let scratch = Scratch::new();
    // The name `o.tmp` is one that other tools give to unfinished files; here it is an input.
    scratch.write("o.tmp", lines(10));
    scratch.write("o.nearkin-tmp", lines(10));
    for arguments in [
        "dedup o.nearkin-tmp --out o",
        "dedup ./o.nearkin-tmp --out o",
        "dedup o.tmp o.nearkin-tmp --out p --dropped o",
    ] {
        scratch.fails(arguments, &["o.nearkin-tmp is an input"]);
    }
    for arguments in [
        "dedup o.tmp --out a --dropped ./a",
        "dedup o.tmp --out a --dropped a.nearkin-tmp",
        "dedup o.tmp --out a.nearkin-tmp --dropped a",
    ] {
        scratch.fails(arguments, &["same file"]);
    }
    scratch.ok("dedup o.tmp --out o --dropped d");
    scratch.ok("dedup o --out a --dropped a.tmp");
    assert_eq!(text(&scratch, "a"), text(&scratch, "o"));
    assert_eq!(text(&scratch, "a.tmp"), "", "nothing was dropped");
    assert_eq!(text(&scratch, "o.tmp"), lines(10));
}

#[test]
fn sets_and_empty_inputs_are_as_good_as_texts() {
    let scratch = Scratch::new();
    scratch.write("sets", "{\"items\":[1,2,3]}\n{\"items\":[\"3\",2,1]}\n{\"items\":[9]}\n");
    scratch.ok("dedup sets --items-field items --out o.jsonl --json").has("kept", 2);
    scratch.write("none.jsonl", "\n");
    for out in ["n.jsonl", "n.jsonl.gz", "n.jsonl.zst"] {
        let arguments = format!("dedup none.jsonl --out {out} --keep longest --dropped d{out}");
        scratch.ok(&arguments);
        scratch.ok(&format!("dedup {out} d{out} --out again --json")).has("read", 0);
    }
}
