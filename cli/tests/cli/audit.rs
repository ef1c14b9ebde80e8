//! Tests of `nearkin audit`.

use super::*;

const KEPT: &str =
    "{\"id\":1,\"text\":\"the bridge is closed until further notice by order of the mayor\"}
{\"id\":2,\"text\":\"pay 40 euros for the lessons of March and April this year please\"}
{\"id\":3,\"text\":\"\"}
";
const REMOVED: &str =
    "{\"id\":1,\"text\":\"The bridge is closed until further notice by order of the mayor!\"}
{\"id\":9,\"text\":\"pay 55 euros for the lessons of March and April this year please\"}
not json
{\"id\":10,\"text\":\"  \"}
{\"id\":11,\"text\":\"nothing at all is like this </script> row in any way\"}
";

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("kept.jsonl", KEPT);
    scratch.write("removed.jsonl", REMOVED);
    scratch
}

/// `NEARKIN_CAMPAIGNS=long` takes other seeds each time.
#[cfg(unix)]
#[test]
fn counts_equal_a_brute_force() {
    let [one, other] = ["pydocs.jsonl", "spdx.jsonl"].map(|name| data(name).display().to_string());
    let long = std::env::var("NEARKIN_CAMPAIGNS").as_deref() == Ok("long");
    let seed: &[&str] = if long { &[] } else { &["--seed", "1"] };
    match oracle("audit.py", &[&[&*one, &*other], seed].concat()) {
        Some(ran) => println!("{}", ran.ends_with(0).stdout),
        None => println!("SKIPPED: no Python; NEARKIN_PYTHON may name it"),
    }
}

#[test]
fn what_cannot_be_read_is_said_and_not_judged() {
    let scratch = scratch();
    let ran = scratch.run("audit removed.jsonl --kept kept.jsonl --threshold 0.5").ends_with(3);
    let ran = ran.says(&["removed.jsonl line 3", "1 row: of the removed ones could not be read"]);
    let ran = ran.says(&["1 row: removed, with nothing to compare", "by their keys"]);
    ran.prints("3 removed rows, compared with 2 kept").prints("1  similar to a kept row, but");
    let ran = scratch.ok("audit removed.jsonl --kept kept.jsonl --threshold 0.5 --lenient --json");
    let told = &ran.objects()[0];
    for (field, expected) in
        [("wrong", 1), ("equal", 1), ("differ_in_numbers", 1), ("same_keys", 1)]
    {
        assert_eq!(told[field], expected, "{field} in {told}");
    }
    assert_eq!(told["blank"], serde_json::json!([1, 1]));
    assert_eq!(told["skipped"], serde_json::json!([0, 1]));
    let command = "audit removed.jsonl --kept kept.jsonl --threshold 0.5 --lenient --guard none";
    let ran = scratch.ok(command);
    assert!(!ran.stdout.contains("differ"), "not looked at: {}", ran.stdout);
    assert!(scratch.ok(&format!("{command} --json")).objects()[0]["differ_in_rare"].is_null());
    // A kept row that cannot be read is missing in the input: its own row counts as removed.
    let rows = |from: u8| (from..b'i').map(|c| format!("{{\"id\": {c}, \"text\": \"no {c}\"}}\n"));
    scratch.write("all.jsonl", rows(b'a').collect::<String>());
    scratch.write("cut.jsonl", rows(b'b').collect::<String>() + "{\"id\": 97, \"te\n");
    let ran = scratch.run("audit --all all.jsonl --kept cut.jsonl").ends_with(3);
    ran.says(&["their rows of the input count as removed"]);
    // Files without a row.
    scratch.write("empty.jsonl", "");
    scratch
        .ok("audit empty.jsonl --kept kept.jsonl")
        .prints("0 removed rows, compared with 2 kept");
    let ran = scratch.run("audit removed.jsonl --kept empty.jsonl --lenient").ends_with(0);
    ran.prints("3 removed rows, compared with 0 kept").prints("3  (100.0 %) without");
    // Garbage, a column that is missing, files that are.
    scratch.write("garbage.jsonl", [0xff, 0xfe, 0, 1, 2, b'\n'].repeat(99));
    scratch.fails("audit garbage.jsonl --kept kept.jsonl", &["garbage.jsonl"]);
    let ran = scratch.fails("audit removed.jsonl --kept kept.jsonl --text-field body", &["body"]);
    ran.says(&["has the fields id, text: --text-field text?"]);
    scratch.fails("audit missing.jsonl --kept kept.jsonl", &["missing.jsonl"]);
    scratch.fails("audit removed.jsonl", &["--kept"]);
}

#[test]
fn rows_are_told_by_their_keys_or_by_their_texts() {
    let scratch = Scratch::new();
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let [a, b] = ["one two three four five", "six seven eight nine ten"];
    scratch.write("all.jsonl", [line("a", a), line("b", b), line("c", a), line("d", b)].concat());
    scratch.write("kept.jsonl", [line("c", a), line("d", b)].concat());
    let told = scratch.ok("audit --all all.jsonl --kept kept.jsonl --list list --json").objects();
    assert_eq!((&told[0]["removed"], &told[0]["wrong"]), (&2.into(), &0.into()));
    let listed = objects(&fs::read_to_string(scratch.path("list")).unwrap());
    let keys: Vec<_> =
        listed.iter().map(|row| (row["key"].clone(), row["of_key"].clone())).collect();
    assert_eq!(keys, [("a".into(), "c".into()), ("b".into(), "d".into())]);
    // By text, the first ones stay.
    scratch.write("bare.jsonl", format!("{{\"text\":\"{a}\"}}\n{{\"text\":\"{b}\"}}\n"));
    let ran = scratch.ok("audit --all all.jsonl --kept bare.jsonl --list list");
    ran.says(&["rows were told by their texts"]);
    let listed = objects(&fs::read_to_string(scratch.path("list")).unwrap());
    assert_eq!((&listed[0]["key"], &listed[1]["key"]), (&"c".into(), &"d".into()));
    // Other keys, other texts, some keys only.
    scratch.write("other.jsonl", [line("1", a), line("2", b)].concat());
    scratch.fails("audit --all all.jsonl --kept other.jsonl", &["by their key", "--key-field"]);
    scratch.write("other.jsonl", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n");
    scratch.fails("audit --all all.jsonl --kept other.jsonl", &["by their texts", "--text-field"]);
    scratch.write("other.jsonl", format!("{}{{\"text\":\"{b}\"}}\n", line("a", a)));
    scratch.fails("audit --all all.jsonl --kept other.jsonl", &["other.jsonl line 2 has no key"]);
}

#[test]
fn a_page_and_a_list_replace_nothing_of_others() {
    let scratch = scratch();
    let command = "audit removed.jsonl --kept kept.jsonl --lenient";
    for option in ["--page", "--list"] {
        scratch.fails(&format!("{command} {option} kept.jsonl"), &["is an input"]);
        scratch.write("mine", "of mine\n");
        scratch.fails(&format!("{command} {option} mine"), &["was not written by"]);
        for _ in 0..2 {
            scratch.ok(&format!("{command} {option} made{option}"));
        }
    }
    scratch.fails(&format!("{command} --page both --list both"), &["are one file, both"]);
    scratch.fails(&format!("{command} --page both --list ./both"), &["are one file"]);
    assert!(!scratch.path("both").exists());
    // A report is no page of an audit, and the reverse.
    scratch.ok("add i --jsonl kept.jsonl");
    scratch.ok("report i --out report.html");
    scratch.fails(&format!("{command} --page report.html"), &["was not written by"]);
    scratch.fails("report i --out made--page", &["was not written by"]);
    let page = fs::read_to_string(scratch.path("made--page")).unwrap();
    assert!(page.contains("nothing at all is like this \\u003c/script\\u003e row"));
    assert!(page.contains("\"wrong\":2,"), "{page}");
    assert_eq!(fs::read_to_string(scratch.path("mine")).unwrap(), "of mine\n");
}

/// The kept rows cannot be read, either: the path of an output is refused before they are.
#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_work() {
    let scratch = Scratch::new();
    scratch.write("garbage.jsonl", "not json\n".repeat(9));
    for option in ["--page", "--list"] {
        let command = format!("audit garbage.jsonl --kept garbage.jsonl {option} missing/made");
        scratch.fails(&command, &["missing/made"]);
    }
    // A failed run leaves neither.
    let command = "audit garbage.jsonl --kept garbage.jsonl --page page --list list";
    scratch.fails(command, &["garbage.jsonl"]);
    assert_eq!(names_in(scratch.dir.path()), ["garbage.jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_text_is_shown_in_json() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = scratch();
    let name = std::ffi::OsStr::from_bytes(b"page\xff");
    let mut command =
        scratch.command(&["audit", "removed.jsonl", "--kept=kept.jsonl", "--lenient", "--json"]);
    let ran = Ran::new(command.arg("--page").arg(name).output().unwrap()).ends_with(0);
    assert_eq!(ran.objects()[0]["page"], "page\u{fffd}");
    assert!(scratch.dir.path().join(name).exists());
}

#[test]
fn stdin_is_read_once() {
    let scratch = scratch();
    for command in ["audit - --kept -", "audit - - --kept kept.jsonl", "audit --all - --kept -"] {
        scratch.fails(command, &["stdin (`-`) is given more than once"]);
    }
}

#[test]
fn half_of_a_surrogate_pair_is_said() {
    let scratch = scratch();
    scratch.write("half.jsonl", "{\"id\":1,\"text\":\"one two three \\ud83d\"}\n");
    scratch
        .ok("audit half.jsonl --kept kept.jsonl")
        .says(&["1 text with half of a surrogate pair"]);
}

#[test]
fn sets_are_judged_too() {
    let scratch = Scratch::new();
    scratch.write("kept.jsonl", "{\"id\":1,\"items\":[\"tea\",\"milk\",3]}\n");
    scratch.write("removed.jsonl", "{\"id\":2,\"items\":[3,\"tea\"]}\n{\"id\":3,\"items\":[4]}\n");
    let command = "audit removed.jsonl --kept kept.jsonl --items-field items --json";
    let told = &scratch.ok(command).objects()[0];
    assert_eq!(told["worst"][1]["similarity"].as_f64(), Some(2.0 / 3.0), "{told}");
    // Nothing sets two sets apart.
    scratch.fails(&format!("{command} --guard rare"), &["--guard does nothing with --items-field"]);
    scratch.ok(&format!("{command} --guard none"));
    // Without keys, sets are told by their items, in any order and each as often as it is there.
    let bare = |items: &[&str]| -> String {
        items.iter().map(|items| format!("{{\"items\":[{items}]}}\n")).collect::<Vec<_>>().concat()
    };
    scratch.write("all.jsonl", bare(&["1,2", "\"a\",\"b\"", "2,1", "\"a,b\"", "5,6,7"]));
    scratch.write("kept.jsonl", bare(&["2,1", "\"b\",\"a\""]));
    let ran = scratch.ok("audit --all all.jsonl --kept kept.jsonl --items-field items --list list");
    ran.says(&["rows were told by their items"]);
    let listed = objects(&fs::read_to_string(scratch.path("list")).unwrap());
    let lines: Vec<_> = listed.iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 5]);
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A signal comes while rows are read from stdin, and while rows are compared: the list is a pipe
/// that nobody reads any further.
#[cfg(unix)]
#[test]
fn a_signal_ends_it_and_leaves_nothing() {
    use std::io::Read as _;
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("kept.jsonl", KEPT);
    fs::create_dir(scratch.path("tmp")).unwrap();
    let start = |arguments: &str| {
        let mut command = scratch.command(&arguments.split(' ').collect::<Vec<_>>());
        command.env("TMPDIR", scratch.path("tmp"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let is_clean = || {
        assert_eq!(names_in(&scratch.path("tmp")), [""; 0]);
        assert_eq!(names_in(scratch.dir.path()), ["kept.jsonl", "tmp"]);
    };
    let mut child = start("audit - --kept kept.jsonl --list list --page page");
    child.stdin.as_mut().unwrap().write_all(REMOVED.as_bytes()).unwrap();
    // The work folder is there.
    while names_in(&scratch.path("tmp")).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    signal(child.id(), "-INT");
    let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(130);
    ran.says(&["interrupted"]);
    is_clean();
    // The first row of the list has come, and more than a pipe holds is still to come.
    let mut child = start("audit - --kept kept.jsonl --list /dev/stdout --page page");
    let row = REMOVED.lines().next().unwrap();
    let rows = format!("{row}\n").repeat(20_000);
    child.stdin.take().unwrap().write_all(rows.as_bytes()).unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    signal(child.id(), "-INT");
    let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(130);
    ran.says(&["interrupted", "incomplete; run the command again"]);
    is_clean();
}
