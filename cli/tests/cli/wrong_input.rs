//! Input in another format than the options say: an error, and no index is left behind.

use super::*;

fn lines(field: &str, count: usize) -> String {
    let line =
        |at| format!("{{\"id\":{at},\"title\":\"t\",\"{field}\":\"some words, {at} times\"}}\n");
    (0..count).map(line).collect()
}

fn names(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.path("")).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_field_named_wrongly_is_status_2_in_every_command() {
    let scratch = Scratch::with_licences();
    scratch.write("l.jsonl", lines("body", 3));
    let before = names(&scratch);
    for command in [
        "add new --jsonl l.jsonl",
        "add new --jsonl l.jsonl --passages 200:100",
        "admit new --jsonl l.jsonl",
        "query i --jsonl l.jsonl",
        "dedup l.jsonl --out out.jsonl",
        "tune --jsonl l.jsonl",
        "add i --jsonl l.jsonl",
    ] {
        let ran = scratch.run(command).ends_with(2).says(&[
            "none of 3 lines could be used: there is no \"text\"",
            "l.jsonl line 1 has the fields body, id, title: --text-field body?",
        ]);
        assert!(!ran.stdout.contains("saved"), "{command}: {}", ran.stdout);
        assert_eq!(names(&scratch), before, "{command}");
        scratch.run(&format!("{command} --text-field body --threshold 0.7")).stderr.clear();
        for left in ["new", "out.jsonl", "out.jsonl.dropped.jsonl"] {
            let path = scratch.path(left);
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else if path.exists() {
                fs::remove_file(path).unwrap();
            }
        }
    }
    for command in ["pairs i --exact --from l.jsonl", "report i --out r.html --from l.jsonl"] {
        scratch.fails(command, &["l.jsonl line 1 has the fields", "--from-field body?"]);
        assert!(!scratch.path("r.html").exists());
    }
}

#[test]
fn mostly_bad_lines_are_an_error_unless_lenient() {
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines("body", 3) + &lines("text", 2));
    let ran = scratch.run("add i --jsonl l.jsonl").ends_with(2);
    ran.says(&["3 of 5 lines could not be used", "stored before that: 2 documents", "--lenient"]);
    assert_eq!(scratch.run("stats i --json").objects()[0]["documents"], 2);
    scratch.ok("add i --jsonl l.jsonl --lenient");
    scratch.fails("dedup l.jsonl --out out.jsonl", &["3 of 5 lines"]);
    assert!(
        !scratch.path("out.jsonl").exists() && !scratch.path("out.jsonl.nearkin-work").exists()
    );
    let ran = scratch.ok("dedup l.jsonl --out out.jsonl --lenient --json");
    let counts = &ran.objects()[0];
    let bytes = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!(bytes("bytes_read"), bytes("bytes_kept") + bytes("bytes_skipped"));
    assert_eq!((bytes("kept"), bytes("skipped")), (2, 3));
    scratch.ok("dedup l.jsonl --out out.jsonl --lenient").prints("saved: 0 bytes of ");
    // A file is still added if exactly half of its lines are unusable.
    scratch.write("l.jsonl", lines("body", 2) + &lines("text", 2));
    scratch.run("add i --jsonl l.jsonl").ends_with(3);
    // Without any usable line, reading stops early.
    scratch.write("l.jsonl", lines("body", 9_000) + &lines("text", 9_000));
    let ran = scratch.fails("add new --jsonl l.jsonl", &["none of 4,096 lines"]);
    assert!(!ran.stderr.contains("8,000"), "{}", ran.stderr);
    assert!(!scratch.path("new").exists());
}

#[test]
fn a_failed_command_creates_and_deletes_no_index() {
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines("body", 3));
    scratch.write("l.csv", "user,film\nann,\nbob,\n");
    fs::create_dir(scratch.path("folder")).unwrap();
    scratch.ok("create i");
    for index in ["new", "folder", "i"] {
        let ran = scratch.run(&format!("add {index} --jsonl l.jsonl")).ends_with(2);
        assert_eq!(ran.stderr.contains("was deleted again"), index != "i", "{}", ran.stderr);
        scratch.run(&format!("add {index} --jsonl l.jsonl --items-field x")).ends_with(2);
        scratch.run(&format!("mirror {index} nowhere")).ends_with(2);
        scratch.run(&format!("import {index} l.jsonl")).ends_with(2);
    }
    scratch
        .run("add new --transactions l.csv --columns user,film")
        .ends_with(2)
        .says(&["2 of 2 rows of l.csv have no key or no item", "--columns"]);
    assert_eq!(names(&scratch), ["folder", "i", "l.csv", "l.jsonl"]);
    assert_eq!(fs::read_dir(scratch.path("folder")).unwrap().count(), 0);
    scratch.ok("verify i");
}

#[test]
fn a_file_of_many_documents_is_not_one_text() {
    let scratch = Scratch::with_licences();
    scratch.write("l.jsonl", lines("body", 3));
    scratch.write("l.csv", "id,text\n1,a\n2,b\n");
    for command in ["add new", "admit new", "query i", "tune"] {
        let ran = scratch.run(&format!("{command} docs/MIT.txt l.jsonl")).ends_with(2);
        ran.says(&[
            "l.jsonl holds many documents",
            "--jsonl l.jsonl --text-field body",
            "--as-text",
        ]);
        scratch.fails(&format!("{command} l.csv"), &["it is a table", "id, text", "--as-text"]);
    }
    assert!(!scratch.path("new").exists());
    let ran = scratch.ok("add new l.jsonl --as-text");
    assert!(ran.stdout.starts_with("1 document inserted"), "{}", ran.stdout);
    // Files inside a folder are not checked, because the user did not name them.
    scratch.write("folder/l.jsonl", lines("body", 3));
    scratch.ok("add new folder");
}

/// A script that goes by the status must notice that lines are missing.
#[test]
fn unreadable_lines_end_with_status_3() {
    let scratch = Scratch::new();
    let line =
        |key: &str, word: &str| format!("{{\"id\":{key:?},\"text\":\"four {word} of text\"}}\n");
    let whole = [line("a", "words"), line("b", "kinds"), line("c", "pages")].concat();
    let blank = "{\"id\":\"d\",\"text\":\" \"}\n";
    scratch.write("whole.jsonl", format!("{whole}{blank}"));
    scratch.write("bad.jsonl", format!("{whole}{blank}garbage\n"));
    scratch.write("bad.csv", "id,text\na,four words of text\nb,one,two\nc,x\n");
    scratch.ok("add i --jsonl whole.jsonl");
    let quoted = "create quoted --passages 4:2";
    scratch.ok(quoted);
    for command in ["add i", "admit i", "query i", "tune", "add quoted", "query quoted"] {
        let run = |rest: &str| scratch.run(&format!("{command} --jsonl {rest}"));
        // A blank text was read: it has nothing to compare.
        run("whole.jsonl").ends_with(0);
        let summary = "1 line could not be read (status 3; --lenient: status 0)";
        run("bad.jsonl").ends_with(3).says(&["bad.jsonl line 5: bad line (not JSON", summary]);
        run("bad.jsonl --lenient").ends_with(0);
        run("bad.csv").ends_with(2).says(&["line 3"]);
        run("bad.csv --lenient").ends_with(0);
    }
}
