//! Files that appear, or that another run writes, while a run is interrupted or under way.

use super::*;

/// Interrupts a run of `a.jsonl` and `b.jsonl.zst`: the second file is cut off, and then whole.
fn interrupt(scratch: &Scratch, command: &str) {
    scratch.write("a.jsonl", lines(100));
    let packed = zstd::encode_all(lines(200).as_bytes(), 1).unwrap();
    scratch.write("b.jsonl.zst", &packed[..packed.len() - 9]);
    scratch.run(command).ends_with(2).says(&["the same command continues"]);
    scratch.write("b.jsonl.zst", &packed);
}

/// Begins a run that reads stdin, which stays open.
fn begin(scratch: &Scratch, options: &str) -> (std::process::Child, std::process::ChildStdin) {
    let mut child = scratch.start(&format!("dedup - {options}"));
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines(100).as_bytes()).unwrap();
    while !scratch.path("a.jsonl.nearkin-work/stdin").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, stdin)
}

#[test]
fn a_continued_run_replaces_no_file_of_the_user() {
    let scratch = Scratch::new();
    let command = "dedup a.jsonl b.jsonl.zst --out u.jsonl";
    interrupt(&scratch, command);
    scratch.write("u.jsonl", "mine\n");
    scratch.fails(command, &["u.jsonl exists, and no run of this command made it", "--force"]);
    assert_eq!(text(&scratch, "u.jsonl"), "mine\n");
    scratch.ok(&format!("{command} --force --json")).says(&["continuing the run"]).has("read", 300);
    // What this command made itself is replaced by a continued run, too.
    interrupt(&scratch, &format!("{command} --threshold 0.6"));
    scratch.ok(&format!("{command} --threshold 0.6")).says(&["continuing the run"]);
}

#[test]
fn rows_of_another_encoding_are_other_rows() {
    let scratch = Scratch::new();
    let command = "dedup a.jsonl b.jsonl.zst --out u.jsonl";
    interrupt(&scratch, &format!("{command} --encoding windows-1252"));
    let other = scratch.ok(&format!("{command} --encoding windows-1251"));
    other.says(&["had other input or options: starting from the beginning"]);
    interrupt(&scratch, &format!("{command} --encoding windows-1251 --force"));
    scratch.ok(&format!("{command} --encoding windows-1251")).says(&["continuing the run"]);
}

#[test]
fn a_file_that_appears_during_a_run_is_not_replaced() {
    let scratch = Scratch::new();
    let (child, stdin) = begin(&scratch, "--out a.jsonl");
    scratch.write("a.jsonl", "mine\n");
    drop(stdin);
    let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(2);
    ran.says(&["a.jsonl exists, and no run of this command made it"]);
    assert_eq!(text(&scratch, "a.jsonl"), "mine\n");
}

#[test]
fn no_two_runs_write_one_file() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", lines(100));
    for (first, second) in [
        ("--out a.jsonl --dropped d.jsonl", "--out b.jsonl --dropped d.jsonl"),
        ("--out a.jsonl --apart d.jsonl", "--out b.jsonl --apart d.jsonl"),
        ("--out a.jsonl --dropped d.jsonl", "--out d.jsonl"),
        ("--out a.jsonl --dropped d.jsonl", "--out b.jsonl --dropped d.jsonl --cut-passages 9"),
    ] {
        let (child, stdin) = begin(&scratch, first);
        let second = format!("dedup in.jsonl {second}");
        scratch.fails(&second, &["another run is writing d.jsonl"]);
        drop(stdin);
        Ran::new(child.wait_with_output().unwrap()).ends_with(0);
        for left in ["a", "b", "d"].map(|name| format!("{name}.jsonl.nearkin-work")) {
            assert!(!scratch.path(&left).exists(), "{left}: {second}");
        }
        scratch.ok(&format!("{second} --force"));
        for name in ["a.jsonl", "d.jsonl"] {
            fs::remove_file(scratch.path(name)).unwrap();
        }
    }
}

#[test]
fn a_run_does_not_go_on_with_an_index_that_was_made_anew() {
    let scratch = Scratch::new();
    scratch.write("old.jsonl", lines(100));
    scratch.write("new.jsonl", lines(100).replace(" w", " v"));
    scratch.ok("add i --jsonl old.jsonl");
    let command = "dedup a.jsonl b.jsonl.zst --index i --json";
    let interrupted = format!("{command} --out o.jsonl");
    interrupt(&scratch, &interrupted);
    fs::remove_dir_all(scratch.path("i")).unwrap();
    scratch.ok("add i --jsonl new.jsonl");
    let ran = scratch.ok(&interrupted);
    ran.says(&["had other input or options: starting from the beginning"]);
    scratch.ok(&format!("{command} --out whole.jsonl"));
    assert_eq!(text(&scratch, "o.jsonl"), text(&scratch, "whole.jsonl"));
    // The same index is the same in another process.
    interrupt(&scratch, &interrupted);
    scratch.ok(&interrupted).says(&["continuing the run"]);
}

/// The folder of DROPPED moves away while lines are written, so that the complete files cannot be
/// given their names.
#[cfg(unix)]
#[test]
fn a_run_that_only_has_to_publish_replaces_no_file_of_the_user() {
    let scratch = Scratch::new();
    let command = "dedup a.jsonl --out o.jsonl --dropped sub/d.jsonl";
    let (sub, away) = (scratch.path("sub"), scratch.path("away"));
    // On a fast machine, all lines may be written before the folder moves.
    let is_caught = [5_000, 20_000, 80_000, 320_000].into_iter().any(|count| {
        std::fs::create_dir_all(&sub).unwrap();
        scratch.write("a.jsonl", lines(count));
        let mut child = scratch.start(command);
        let unfinished = sub.join("d.jsonl.nearkin-tmp");
        while child.try_wait().unwrap().is_none() && !unfinished.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::rename(&sub, &away).unwrap();
        let ran = Ran::new(child.wait_with_output().unwrap());
        std::fs::rename(&away, &sub).unwrap();
        ran.stderr.contains("is gone: something else removed or renamed it")
    });
    assert!(is_caught, "no run ended between its last line and its publication");
    scratch.write("o.jsonl", "mine\n");
    scratch.fails(command, &["o.jsonl exists, and no run of this command made it"]);
    assert_eq!(text(&scratch, "o.jsonl"), "mine\n");
    std::fs::remove_file(scratch.path("o.jsonl")).unwrap();
    // Some lines are no JSON.
    scratch.run(command).ends_with(3).says(&["continuing the run"]);
    assert!(text(&scratch, "o.jsonl").lines().count() > 1_000);
}
