//! No command replaces a file that it reads, or a file or folder that it did not make.

use super::*;

#[test]
fn dedup_keeps_the_texts_of_its_archive() {
    let scratch = Scratch::new();
    let line = |id: u32, text: &str| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    let archive = line(1, "the ferry was cancelled") + &line(2, "a list of birds seen in March");
    scratch.write("raw.jsonl", &archive);
    // An archive that `dedup` made may be replaced by `dedup`, but not while it is read.
    scratch.ok("dedup raw.jsonl --out a.jsonl");
    scratch.ok("add a.nearkin --jsonl a.jsonl");
    scratch.write("new.jsonl", line(3, "the ferry was cancelled"));
    let run = "dedup new.jsonl --exact --index a.nearkin --from a.jsonl";
    scratch.fails(&format!("{run} --out a.jsonl"), &["a.jsonl is an input"]);
    scratch.fails(&format!("{run} --out a.jsonl --force"), &["is an input"]);
    let dropped = format!("{run} --out o.jsonl --dropped a.jsonl --force");
    scratch.fails(&dropped, &["is an input"]);
    assert_eq!(fs::read_to_string(scratch.path("a.jsonl")).unwrap(), archive);
}

#[test]
fn dedup_keeps_a_folder_that_only_has_the_name_of_its_own() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", "{\"id\":1,\"text\":\"the ferry was cancelled\"}\n");
    scratch.write("o.jsonl.nearkin-work/thesis.txt", "mine");
    let ran = scratch.run("dedup in.jsonl --out o.jsonl").ends_with(2);
    ran.says(&["o.jsonl.nearkin-work exists, and no run of this command made it"]);
    assert!(scratch.path("o.jsonl.nearkin-work/thesis.txt").exists());
}

#[test]
fn a_report_or_an_export_replaces_only_its_like() {
    let scratch = Scratch::with_licences();
    for command in ["report i --out docs/MIT.txt", "report i --out docs/MIT.txt --no-texts"] {
        scratch.fails(command, &["docs/MIT.txt exists", "`nearkin report`"]);
    }
    assert_eq!(fs::read_to_string(scratch.path("docs/MIT.txt")).unwrap(), licence("MIT"));
    scratch.write("texts.jsonl", "{\"id\":1,\"text\":\"the only copy\"}\n");
    let ran = scratch.run("export i --out texts.jsonl").ends_with(2);
    ran.says(&["texts.jsonl exists and was not written by `nearkin export`"]);
    scratch.write("r.html", "");
    scratch.write("e.jsonl", "");
    for _ in 0..2 {
        scratch.ok("report i --out r.html");
        scratch.ok("export i --out e.jsonl");
    }
}

#[test]
fn documents_that_could_not_be_compared_are_counted() {
    let scratch = Scratch::with_licences();
    scratch.write("elsewhere/x", "");
    let run = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let mut command = scratch.command(&words);
        Ran::new(command.current_dir(scratch.path("elsewhere")).output().unwrap()).ends_with(0)
    };
    let ran = run("clusters ../i --exact --at-least 0.5");
    ran.says(&["documents could not be compared", "0 clusters"]);
    let found = run("pairs ../i --threshold 0.5").stdout.lines().count() - 1;
    assert!(found > 0);
    let ran = run("pairs ../i --exact --threshold 0.5 --at-least 0.5");
    ran.says(&["could not be compared", "--from", "0 pairs"]);
}
