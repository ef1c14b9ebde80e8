//! Links that somebody put in place of the tool's temporary files, whose names can be foreseen.

use super::*;

use std::os::unix::fs::symlink;

/// Plants links to `victim` under these names, runs a command, and checks the victim.
fn run_among_links(scratch: &Scratch, names: &[&str], arguments: &str) {
    scratch.write("victim", "precious");
    for name in names {
        symlink(scratch.path("victim"), scratch.path(name)).unwrap();
    }
    scratch.ok(arguments);
    assert_eq!(text(scratch, "victim"), "precious", "{arguments}");
    for name in names {
        let there = fs::symlink_metadata(scratch.path(name));
        assert!(there.is_err(), "{arguments}: {name} stays");
    }
}

#[test]
fn no_output_is_written_through_a_link() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", "{\"id\":\"a\",\"text\":\"one of all these texts\"}\n");
    scratch.write("in.csv", "id,text\na,one of all these texts\n");
    scratch.ok("add x.nearkin --jsonl in.jsonl");
    for (out, arguments) in [
        ("o.jsonl", "dedup in.jsonl --out o.jsonl"),
        ("o.jsonl.gz", "dedup in.jsonl --out o.jsonl.gz"),
        ("o.csv", "dedup in.csv --out o.csv"),
        ("e.jsonl", "export x.nearkin --out e.jsonl"),
        ("e.parquet", "export x.nearkin --out e.parquet"),
        ("o.parquet", "dedup e.parquet --text-field key --out o.parquet"),
        ("r.html", "report x.nearkin --out r.html"),
    ] {
        let names = [format!("{out}.nearkin-tmp"), format!("{out}.dropped.jsonl.nearkin-tmp")];
        let names = names.each_ref().map(String::as_str);
        let names = if arguments.starts_with("dedup") { &names[..] } else { &names[..1] };
        run_among_links(&scratch, names, arguments);
    }
}

#[test]
fn no_note_of_a_run_is_written_through_a_link() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a", "one of all these texts")]);
    scratch.ok("mirror x.nearkin d");
    scratch.write_old(&[("d/b", "a\0b")]);
    run_among_links(&scratch, &["x.nearkin/mirror.skipped.tmp"], "mirror x.nearkin d");
}

#[test]
fn a_link_in_place_of_the_work_folder_is_not_emptied() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", "{\"id\":\"a\",\"text\":\"one of all these texts\"}\n");
    fs::create_dir(scratch.path("home")).unwrap();
    scratch.write("home/letter", "precious");
    symlink("home", scratch.path("o.jsonl.nearkin-work")).unwrap();
    scratch.fails("dedup in.jsonl --out o.jsonl", &["it is a link"]);
    assert_eq!(text(&scratch, "home/letter"), "precious");
    fs::remove_file(scratch.path("o.jsonl.nearkin-work")).unwrap();
    // In a folder that another user has made, the lock is no link, either.
    fs::create_dir(scratch.path("o.jsonl.nearkin-work")).unwrap();
    symlink(scratch.path("none"), scratch.path("o.jsonl.nearkin-work/lock")).unwrap();
    scratch.run("dedup in.jsonl --out o.jsonl").ends_with(2);
    assert!(!scratch.path("none").exists());
}
