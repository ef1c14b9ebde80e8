//! `nearkin admit`: which documents are admitted or rejected, and the output.

use super::*;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

const FOX: &str = "the quick brown fox jumps over the lazy dog and runs into the deep dark wood";

fn line(key: &str, text: &str) -> String {
    format!("{{\"id\":\"{key}\",\"text\":\"{text}\"}}\n")
}

/// Two copies, a similar document, and an unrelated one.
fn stream() -> String {
    let alike = FOX.replace("wood", "night");
    [line("a", FOX), line("b", FOX), line("c", &alike), line("d", "words of another kind")].concat()
}

#[test]
fn admit_prints_a_decision_per_document_in_order() {
    let scratch = Scratch::new();
    let command = "admit i --jsonl - --reject 0.95 --relate 0.3";
    let ran = scratch.run_with_stdin(command, stream().as_bytes()).ends_with(0);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "admitted   a");
    assert_eq!(lines[1], "rejected   b  duplicate of a (1.000)");
    assert!(lines[2].starts_with("admitted   c  related to a (0."), "{}", lines[2]);
    assert_eq!(lines[3], "admitted   d");
    let counts = "3 documents admitted, 0 replaced, 0 unchanged, 1 rejected, 0 skipped";
    let ran = ran.says(&["created i: threshold 0.3", counts]);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    // A second run: stored documents are unchanged, duplicates are still rejected.
    let ran = scratch.run_with_stdin(command, stream().as_bytes()).ends_with(0);
    assert!(ran.stdout.starts_with("unchanged  a"), "{}", ran.stdout);
    ran.says(&["0 documents admitted, 0 replaced, 3 unchanged, 1 rejected"]);
}

#[test]
fn admit_with_a_prefix_decides_within_it() {
    let scratch = Scratch::new();
    let lines = |tenant: &str| {
        [line(&format!("{tenant}/1"), FOX), line(&format!("{tenant}/2"), FOX)].concat()
    };
    for tenant in ["north", "south"] {
        for keep in ["first", "longest"] {
            let command = format!("admit i --jsonl - --prefix {tenant}/ --keep {keep}");
            let ran = scratch.run_with_stdin(&command, lines(tenant).as_bytes()).ends_with(0);
            let decided: Vec<_> = ran.stdout.lines().collect();
            assert!(decided[0].ends_with(&format!("{tenant}/1")), "{decided:?}");
            let expected = format!("rejected   {tenant}/2  duplicate of {tenant}/1 (1.000)");
            assert_eq!(decided[1], expected);
        }
    }
    let refused =
        scratch.run_with_stdin("admit i --jsonl - --prefix west/", lines("north").as_bytes());
    refused.ends_with(2).says(&["\"north/1\" does not begin with the prefix \"west/\""]);
}

#[test]
fn admit_json_has_all_matches_and_the_change() {
    let scratch = Scratch::new();
    let command = "admit i --jsonl - --reject 0.95 --relate 0.3 --keep newest --json";
    let ran = scratch.run_with_stdin(command, stream().as_bytes()).ends_with(0);
    let fields = ["key", "decision", "duplicates", "related", "removed", "change"];
    let mut found = ran.fields();
    found.sort();
    let mut expected = fields.map(str::to_owned);
    expected.sort();
    assert_eq!(found, expected);
    let objects = ran.objects();
    assert_eq!(objects[1]["decision"], "admitted");
    assert_eq!(objects[1]["removed"][0]["key"], "a");
    assert_eq!(objects[1]["removed"][0]["similarity"], 1.0);
    assert_eq!(objects[2]["related"][0]["key"], "b");
    let changes: Vec<_> = objects.iter().map(|object| object["change"].as_u64()).collect();
    assert_eq!(changes, [Some(0), Some(1), Some(2), Some(3)]);
    ran.says(&["4 documents admitted", "; 1 duplicate removed"]);
}

#[test]
fn the_longest_of_copies_stays() {
    let scratch = Scratch::new();
    let longer = format!("{FOX} for good");
    let lines = [line("a", FOX), line("b", &longer), line("c", FOX)].concat();
    let command = "admit i --jsonl - --reject 0.7 --keep longest";
    let ran = scratch.run_with_stdin(command, lines.as_bytes()).ends_with(0);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[1].starts_with("admitted   b  instead of a (0."), "{}", lines[1]);
    assert!(lines[2].starts_with("rejected   c  duplicate of b (0."), "{}", lines[2]);
}

#[test]
fn files_are_admitted_too_and_a_bad_one_is_skipped() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", FOX);
    scratch.write("docs/b.txt", FOX);
    scratch.write("docs/empty", "");
    let ran = scratch.ok("admit i docs");
    assert_eq!(
        ran.stdout,
        "admitted   docs/a.txt\nrejected   docs/b.txt  duplicate of docs/a.txt (1.000)\n"
    );
    ran.says(&["skipped docs/empty: empty", "1 rejected, 1 skipped"]);
}

#[test]
fn a_relation_closer_than_a_duplicate_is_refused() {
    let scratch = Scratch::new();
    scratch.write("a.txt", FOX);
    let ran = scratch.run("admit i a.txt --reject 0.5 --relate 0.6").ends_with(2);
    ran.says(&["--relate 0.6 is above --reject 0.5"]);
    scratch.fails("admit i a.txt --keep best", &["first, newest, longest"]);
    assert!(!scratch.path("i").exists());
}

/// Bills of one form, a copy of the first, and a text of another kind.
fn bills(first: usize) -> String {
    let letter = |at: u8| char::from(b'a' + at);
    let words = (0..120).map(|at| format!("word{}{}", letter(at / 26), letter(at % 26)));
    let words: Vec<String> = words.collect();
    let form = |number: usize| format!("{FOX} {} please pay {number} euros", words.join(" "));
    let mut lines: String =
        (first..first + 4).map(|at| line(&format!("bill{at}"), &form(at * 17))).collect();
    lines += &line(&format!("copy{first}"), &form(first * 17));
    lines + &line(&format!("other{first}"), &format!("{FOX} {first}"))
}

fn decisions(ran: &Ran) -> Vec<String> {
    let word = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    ran.stdout.lines().map(word).collect()
}

#[test]
fn forms_that_differ_in_numbers_are_admitted_and_copies_are_not() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", bills(3));
    let admitted = ["admitted"; 4].into_iter();
    let expected: Vec<_> = admitted.clone().chain(["rejected", "admitted"]).collect();
    for options in ["--reject 0.9", "--exact", "--reject 1"] {
        let ran = scratch.ok(&format!("admit i{} --jsonl in.jsonl {options}", options.len()));
        assert_eq!(decisions(&ran), expected, "{options}");
        assert!(ran.stdout.contains("copy3  duplicate of bill3 (1.000)"), "{}", ran.stdout);
        assert!(!ran.stderr.contains("the estimate"), "{}", ran.stderr);
    }
    let ran = scratch.ok("admit j --jsonl in.jsonl");
    assert!(ran.stdout.contains("bill4  but for numbers like bill3 (0.9"), "{}", ran.stdout);
    ran.says(&["3 documents differ from a stored one in numbers", "--guard none rejects them"]);
    let rejected: Vec<_> = ["admitted"].into_iter().chain(["rejected"; 4]).collect();
    let rejected: Vec<_> = rejected.into_iter().chain(["admitted"]).collect();
    for options in ["--guard none", "--estimate"] {
        let ran = scratch.ok(&format!("admit k{} --jsonl in.jsonl {options}", options.len()));
        assert_eq!(decisions(&ran), rejected, "{options}");
        assert_eq!(ran.stdout.contains("(estimated"), options == "--estimate", "{}", ran.stdout);
    }
    scratch.fails("admit l --jsonl in.jsonl --estimate --exact", &["cannot be used with"]);
    scratch.fails("admit l --jsonl in.jsonl --guard rare", &["none, numbers"]);
}

#[test]
fn rejections_by_the_estimate_are_named_and_counted() {
    let scratch = Scratch::new();
    scratch.write("old.jsonl", bills(3));
    scratch.write("new.jsonl", bills(3).replace("{\"id\":\"", "{\"id\":\"new-"));
    scratch.ok("add i --jsonl old.jsonl");
    scratch.ok("backup i j");
    let ran = scratch.ok("admit i --jsonl new.jsonl");
    assert_eq!(decisions(&ran), ["rejected"; 6], "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.contains(" (estimated ")), "{}", ran.stdout);
    ran.says(&["6 of 6 rejections rest on the estimate", "--from FILE names them"]);
    let ran = scratch.ok("admit j --jsonl new.jsonl --from old.jsonl --json");
    assert!(!ran.stderr.contains("estimate"), "{}", ran.stderr);
    let objects = ran.objects();
    let first = &objects[0]["duplicates"];
    assert_eq!((&first[0]["key"], &first[0]["exact"]), (&"bill3".into(), &1.0.into()));
    assert_eq!(first[0]["only_here_count"], 0);
    // The other bills are set apart from the first one, but each is a copy of its own.
    let apart = &objects[1]["apart"][0];
    assert_eq!((&apart["only_here"][0], &apart["only_there"][0]), (&"68".into(), &"51".into()));
    assert!(apart["numbers_differ"].as_bool().unwrap() && apart["exact"].as_f64().unwrap() < 1.0);
}

#[test]
fn stored_files_are_read_again_unless_they_have_changed() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", FOX);
    scratch.ok("add i docs");
    scratch.write("new/b.txt", FOX);
    scratch.write("new/c.txt", FOX.replace("wood", "night"));
    let ran = scratch.ok("admit i new --relate 0.3");
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "rejected   new/b.txt  duplicate of docs/a.txt (1.000)");
    assert!(lines[1].contains("new/c.txt  related to docs/a.txt (0."), "{}", lines[1]);
    scratch.write("docs/a.txt", "something else");
    let ran = scratch.ok("admit i new/b.txt");
    assert!(ran.stdout.contains("duplicate of docs/a.txt (estimated >0.99)"), "{}", ran.stdout);
    ran.says(&["1 of 1 rejections rest on the estimate"]);
}

#[test]
fn stored_lines_are_found_in_the_input() {
    let scratch = Scratch::new();
    // The stored lines come after those that are compared with them.
    let changed = bills(3).replace("copy3", "again");
    scratch.write("in.jsonl", bills(3));
    scratch.ok("admit i --jsonl in.jsonl");
    scratch.write("more.jsonl", bills(40) + &changed.lines().rev().collect::<Vec<_>>().join("\n"));
    let ran = scratch.ok("admit i --jsonl more.jsonl");
    assert!(ran.stdout.contains("again  duplicate of bill3 (1.000)"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("rest on the estimate"), "{}", ran.stderr);
}

#[test]
fn a_text_that_has_changed_in_one_place_is_found_in_another() {
    let scratch = Scratch::new();
    scratch.write("old.jsonl", line("a", FOX));
    scratch.write("new.jsonl", line("x", FOX) + &line("a", "words of another kind"));
    scratch.ok("add i --jsonl old.jsonl");
    let ran = scratch.ok("admit i --jsonl new.jsonl --from old.jsonl");
    assert!(ran.stdout.starts_with("rejected   x  duplicate of a (1.000)\n"), "{}", ran.stdout);
}

/// A program that sends one line and waits gets its decision, even if a blank line follows.
#[test]
fn a_line_is_decided_on_before_the_next_one_comes() {
    let scratch = Scratch::new();
    let mut child = scratch.start("admit i --jsonl - --json");
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    for (at, end) in ["", "\n", "\r\n", " \n\n"].into_iter().enumerate() {
        let text = format!("{FOX} {at}");
        stdin.write_all((line(&format!("k{at}"), &text) + end).as_bytes()).unwrap();
        let line = receiver.recv_timeout(Duration::from_secs(30));
        assert!(line.is_ok_and(|line| line.contains(&format!("k{at}"))), "{at} {end:?}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    reader.join().unwrap();
}
