//! What programs that call the tool rely on: errors as JSON, variables, threads, signs of life.

use super::*;

const LINE: &str = "{\"id\":1,\"text\":\"some words of a text that is long enough\"}\n";

/// The only line of stderr, as JSON.
#[track_caller]
fn error_of(ran: &Ran) -> serde_json::Value {
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{}", ran.stderr);
    serde_json::from_str(lines[0]).expect(lines[0])
}

#[test]
fn errors_are_objects_with_json() {
    let scratch = Scratch::with_licences();
    let error = error_of(&scratch.run("stats nowhere --json").ends_with(2));
    let said = error["error"].as_str().unwrap();
    assert!(said.contains("nowhere") && !said.starts_with("error"), "{said}");
    assert!(error["advice"].is_string());
    // The arguments themselves are refused.
    let error = error_of(&scratch.run("add i docs --json --threshold 7").ends_with(2));
    let said = error["error"].as_str().unwrap();
    assert!(said.contains("--threshold") && !said.starts_with("error"), "{said}");
    let error = error_of(&scratch.run("ad i docs --json").ends_with(2));
    assert!(error["advice"].as_str().unwrap().contains("--help"), "{error}");
    // Without --json, and for the help, nothing changes.
    assert!(scratch.run("stats nowhere").ends_with(2).stderr.starts_with("nearkin: error: "));
    assert!(scratch.run("ad i docs").ends_with(2).stderr.starts_with("error: "));
    assert!(scratch.ok("add --help --json").stdout.contains("Usage:"));
}

#[test]
fn variables_stand_for_options() {
    let scratch = Scratch::with_licences();
    let ran = |name: &str, value: &str, arguments: &str| {
        let arguments: Vec<_> = arguments.split(' ').collect();
        Ran::new(scratch.command(&arguments).env(name, value).output().unwrap())
    };
    scratch.write("docs/old.txt", b"caf\xe9 and some more words of a text");
    ran("NEARKIN_ENCODING", "windows-1251", "add i docs").ends_with(0);
    scratch.write("told.txt", "caf\u{439} and some more words of a text");
    let found = scratch.ok("query i told.txt").stdout;
    assert!(found.contains(">0.99") && found.contains("docs/old.txt"), "{found}");
    let wrong = ran("NEARKIN_THREADS", "0", "add i docs").ends_with(2);
    wrong.says(&["the variable NEARKIN_THREADS is \"0\": must be a number from 1", "unset it"]);
    let error = error_of(&ran("NEARKIN_ENCODING", "no such", "add i docs --json").ends_with(2));
    assert!(error["error"].as_str().unwrap().contains("NEARKIN_ENCODING"), "{error}");
    // An option counts more than a variable, and an empty variable is none.
    ran("NEARKIN_THREADS", "0", "add i docs --threads 2").ends_with(0);
    for name in [
        "NEARKIN_THREADS",
        "NEARKIN_MEMORY",
        "NEARKIN_ENCODING",
        "NEARKIN_PDF_COMMAND",
        "NEARKIN_QUOTED",
    ] {
        ran(name, "", "add i docs").ends_with(0);
    }
    scratch.write("docs/a.pdf", b"%PDF-1.4\ngarbage");
    let ran = ran("NEARKIN_PDF_COMMAND", "nearkin-no-such-program", "add j docs").ends_with(0);
    assert!(ran.stderr.contains("nearkin-no-such-program"), "{}", ran.stderr);
}

#[test]
fn a_small_machine_is_told_how_much_memory_there_is() {
    let scratch = Scratch::new();
    // Keys, so that no document replaces another, and bodies that need several batches.
    let line = |nth: u32| format!("{{\"id\":\"d{nth}\",\"text\":\"{nth} of many {}\"}}\n", nth * 7);
    scratch.write("many.jsonl", (0..60_000).map(line).collect::<String>());
    let small = "--memory 16M --durability os --read-mode pread";
    let said = scratch.ok(&format!("add i --jsonl many.jsonl {small}")).stdout;
    assert!(said.starts_with("60,000 documents inserted"), "{said}");
    let stats = |small: &str| {
        let stats = scratch.ok(&format!("stats i --json {small}")).stdout;
        serde_json::from_str::<serde_json::Value>(&stats).unwrap()
    };
    assert!(stats(small)["segments"].as_u64() > Some(1), "{}", stats(small));
    assert_eq!(scratch.ok("verify i").stderr, "");
    let found = |small: &str| scratch.ok(&format!("query i --key d5 --threshold 0 {small}")).stdout;
    assert_eq!(found(small), found("--threads 1"));
    for (wrong, why) in [
        ("--memory 15M", "at least 16M"),
        ("--memory lots", "number of bytes"),
        ("--durability often", "sync, os, or a number of milliseconds"),
        ("--read-mode fast", "mmap, pread"),
    ] {
        let said = scratch.run(&format!("stats i {wrong}")).ends_with(2).stderr;
        assert!(said.contains(why), "{wrong}: {said}");
    }
}

/// Three chunks, which are decided while others are sketched.
#[test]
fn dedup_decides_alike_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let line = |nth: u32| {
        let (own, word) = (nth % 4_000, ["one", "another", "other"][nth as usize / 4_000]);
        let words: Vec<_> = (0..40).map(|at| format!("w{}", own * 31 + at * 7)).collect();
        let text = words.join(" ");
        format!("{{\"id\":\"d{nth}\",\"text\":\"{text} {word}\"}}\n")
    };
    scratch.write("many.jsonl", (0..10_000).map(line).collect::<String>());
    let decided = |more: &str| {
        scratch.ok(&format!("dedup many.jsonl -o out.jsonl --force {more}"));
        let read = |name| fs::read(scratch.path(name)).unwrap();
        [read("out.jsonl"), read("out.jsonl.dropped.jsonl")]
    };
    for by in ["--guard rare", "--estimate"] {
        let [kept, dropped] = decided(&format!("--threads 1 {by}"));
        assert!(!kept.is_empty() && !dropped.is_empty());
        for threads in 2..6 {
            assert!(
                decided(&format!("--threads {threads} {by}")) == [kept.clone(), dropped.clone()]
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn threads_are_as_many_as_asked_for() {
    use std::io::Read as _;

    let scratch = Scratch::new();
    let threads = |arguments: &str| {
        let arguments: Vec<_> = arguments.split(' ').collect();
        let mut command = scratch.command(&arguments);
        // An option counts more than the variable.
        command.env("NEARKIN_THREADS", "5");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Waits for its input, with the threads of its pool.
        child.stdin.as_mut().unwrap().write_all(LINE.repeat(100).as_bytes()).unwrap();
        let tasks = format!("/proc/{}/task", child.id());
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm"));
        let mut most = 0;
        for _ in 0..50 {
            std::thread::sleep(std::time::Duration::from_millis(10));
            let names = fs::read_dir(&tasks).unwrap().filter_map(|task| name(task.unwrap()).ok());
            most = most.max(names.count());
        }
        drop(child.stdin.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success(), "{said}");
        most
    };
    let one = threads("add i --jsonl - --threads 1");
    let nine = threads("add j --jsonl - --threads 9");
    let five = threads("add k --jsonl -");
    assert_eq!([nine - one, five - one], [8, 4]);
}

#[test]
fn long_work_says_where_it_is_without_a_terminal() {
    let scratch = Scratch::new();
    scratch.write("many.jsonl", LINE.repeat(20_000));
    let ran = |seconds: &str, more: &[&str]| {
        let arguments = [&["admit", "i", "--jsonl", "many.jsonl"][..], more].concat();
        let mut command = scratch.command(&arguments);
        Ran::new(command.env("NEARKIN_HEARTBEAT", seconds).output().unwrap()).ends_with(0).stderr
    };
    let beats = |said: &str| said.lines().filter(|line| line.contains(" after ")).count();
    let said = ran("0.01", &[]);
    assert!(beats(&said) > 0, "{said}");
    let line = said.lines().find(|line| line.contains(" after ")).unwrap();
    assert!(line.starts_with("nearkin: admitting: ") && line.contains("iB of "), "{line}");
    assert_eq!(beats(&ran("0.01", &["--quiet"])), 0);
    assert_eq!(beats(&ran("0", &[])), 0);
    assert_eq!(beats(&ran("1000", &[])), 0);
}
