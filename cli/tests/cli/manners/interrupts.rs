//! Ctrl-C and SIGTERM in the middle of commands: the index is intact, the message says how far the
//! command came, and the same command continues.
#![cfg(unix)]

use std::thread;
use std::time::Duration;

use super::*;

/// Exit status after a signal.
const INTERRUPTED: i32 = 130;

fn lines(count: usize) -> String {
    let words = |id: usize| (0..40).map(move |at| format!("w{} ", (id / 3 * 31 + at * at) % 5_000));
    let line = |id| format!("{{\"id\":{id},\"text\":\"{}{id}\"}}\n", words(id).collect::<String>());
    (0..count).map(line).collect()
}

impl Scratch {
    /// Runs a command and interrupts it after a delay; `None` if the command had not installed its
    /// handler yet.
    fn interrupted_after(&self, arguments: &str, delay: Duration) -> Option<Ran> {
        let mut command = self.command(&arguments.split(' ').collect::<Vec<_>>());
        // Stdout is discarded and not a pipe, because a full pipe would block the command.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        thread::sleep(delay);
        signal(child.id(), "-INT");
        let output = child.wait_with_output().unwrap();
        output.status.code().is_some().then(|| Ran::new(output))
    }

    fn count(&self, index: &str) -> u64 {
        let stats = self.run(&format!("stats {index} --json"));
        if stats.status == 0 { stats.objects()[0]["documents"].as_u64().unwrap() } else { 0 }
    }

    /// Keys and signatures of all documents, without times, which depend on the run.
    fn content(&self, index: &str) -> Vec<String> {
        let exported = self.ok(&format!("export {index} --out -"));
        let documents = exported.objects().into_iter().skip(1);
        let mut content: Vec<_> =
            documents.map(|one| format!("{} {}", one["key"], one["signature"])).collect();
        content.sort_unstable();
        content
    }
}

/// The moment of the signal is deterministic: the command waits for a line that never comes.
#[test]
fn a_signal_ends_add_while_it_waits_for_stdin() {
    if !signals_are_heard() {
        return;
    }
    for (name, arguments) in
        [("-INT", "add i --jsonl -"), ("-TERM", "add i --jsonl -"), ("-INT", "admit i --jsonl -")]
    {
        let scratch = Scratch::new();
        let text = lines(10_000);
        let mut child = scratch.start(arguments);
        // `admit` prints a line per document. This thread reads them, because a full pipe would
        // block the command.
        let mut stdout = child.stdout.take().unwrap();
        let reader = thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        stdin.write_all(b"{\"id\":\"half a li").unwrap();
        while scratch.count("i") < 1_000 {
            thread::sleep(Duration::from_millis(10));
        }
        signal(child.id(), name);
        let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(INTERRUPTED);
        drop(stdin);
        reader.join().unwrap().unwrap();
        assert!(!ran.stderr.contains("error") && !ran.stderr.contains("half"), "{}", ran.stderr);
        let ran = ran.says(&["stopping", "interrupted\n", "stored before that: ", "same command"]);
        let stored = scratch.count("i");
        let printed = ran.stderr.split("stored before that: ").nth(1).unwrap();
        let printed: String = printed.chars().take_while(|one| *one != ' ').collect();
        assert_eq!(printed.replace(',', "").parse(), Ok(stored), "{}", ran.stderr);
        scratch.ok("verify i");
        let stats = scratch.run("stats i --json").objects();
        assert_eq!(stats[0]["changes_replayed"], 0, "it was closed: nothing is left to replay");
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines(40_000));
    let mut child = scratch.start("add i --jsonl -");
    // More input follows, so the command cannot finish before the signals.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&fs::read(scratch.path("l.jsonl")).unwrap()).unwrap();
    while scratch.count("i") == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it waits for more");
        thread::sleep(Duration::from_millis(2));
    }
    // Both signals are sent while the process is stopped, so that they arrive together. If the
    // first arrived alone, the command would end regularly before the second.
    for name in ["-STOP", "-INT", "-TERM", "-CONT"] {
        signal(child.id(), name);
    }
    let ran = Ran::new(child.wait_with_output().unwrap()).ends_with(INTERRUPTED);
    drop(stdin);
    assert!(ran.stderr.contains("exited at once"), "{}", ran.stderr);
    scratch.ok("verify i");
    scratch.ok("add i --jsonl l.jsonl");
    assert_eq!(scratch.count("i"), 40_000);
}

/// Interrupts a command repeatedly, each time a little later, until it runs to the end. The result
/// must equal that of an undisturbed run. Returns the number of interruptions.
fn disturbed(scratch: &Scratch, arguments: &str, index: Option<&str>) -> usize {
    let mut interrupted = 0;
    let mut delay = Duration::from_millis(8);
    loop {
        if let Some(ran) = scratch.interrupted_after(arguments, delay) {
            if ran.status == 0 {
                return interrupted;
            }
            let ran = ran.ends_with(INTERRUPTED).says(&["interrupted\n", "command again"]);
            assert!(!ran.stderr.contains("error"), "{arguments}: {}", ran.stderr);
            interrupted += 1;
            if let Some(index) = index.filter(|index| scratch.path(index).exists()) {
                scratch.ok(&format!("verify {index}"));
            }
        }
        delay = delay * 3 / 2;
    }
}

#[test]
fn interrupted_writers_continue_to_the_same_result() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines(30_000));
    for (number, line) in lines(4_000).lines().enumerate() {
        scratch.write(&format!("d/{number}.txt"), line);
    }
    let keys: Vec<_> = (0..30_000).step_by(2).map(|id: u32| id.to_string()).collect();
    scratch.write("keys", keys.join("\n"));
    for (arguments, whole) in [
        ("add i --jsonl l.jsonl", "add w --jsonl l.jsonl"),
        ("mirror m d", "mirror mw d"),
        ("import c i", "import cw w"),
        ("compact i", "compact w"),
        ("dedup l.jsonl --out o.jsonl", "dedup l.jsonl --out ow.jsonl"),
    ] {
        scratch.ok(whole);
        let names = [arguments, whole].map(|line| line.split(' ').nth(1).unwrap());
        let is_index = names[0] != names[1];
        let times = disturbed(&scratch, arguments, is_index.then_some(names[0]));
        if arguments.starts_with("add") {
            assert!(times > 0, "{arguments} was never interrupted");
        }
        if is_index {
            let [disturbed, whole] = names.map(|index| scratch.content(index));
            assert!(disturbed == whole, "{arguments}");
        } else {
            let [disturbed, whole] =
                ["o.jsonl", "ow.jsonl"].map(|out| fs::read(scratch.path(out)).unwrap());
            assert!(disturbed == whole, "{arguments}");
        }
    }
    // An interrupted `remove` has already removed some keys. The next run reports these as missing,
    // so its status may be 1.
    let again = scratch.interrupted_after("remove i --from keys", Duration::from_millis(15));
    if let Some(ran) = again.filter(|ran| ran.status == INTERRUPTED) {
        ran.says(&["before that: ", "documents removed", "same command"]);
    }
    scratch.ok("verify i");
    assert!(scratch.run("remove i --from keys").status < 2);
    assert_eq!(scratch.count("i"), 15_000);
}

#[test]
fn readers_that_are_interrupted_leave_nothing_behind() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines(30_000));
    scratch.ok("add i --jsonl l.jsonl");
    for arguments in [
        "pairs i --sort",
        "clusters i",
        "verify i",
        "report i --out r.html",
        "export i --out e.jsonl",
    ] {
        disturbed(&scratch, arguments, Some("i"));
        let names = fs::read_dir(scratch.dir.path()).unwrap();
        let left = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(left.into_iter().all(|name| !name.contains("tmp")), "{arguments}");
    }
}

/// The texts share a third of their words, so that most bands are compared and no pair is found.
#[test]
fn a_signal_ends_a_search_that_finds_no_pair() {
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    let common = (0..30).map(|word| format!("c{word} ")).collect::<Vec<_>>().concat();
    let own = |id: usize| (0..30).map(move |at| format!("w{} ", id * 30 + at));
    let line =
        |id| format!("{{\"id\":{id},\"text\":\"{common}{}\"}}\n", own(id).collect::<String>());
    scratch.write("lines.jsonl", (0..20_000).map(line).collect::<String>());
    let bands = "--hashes 32 --bands 32 --rows-per-band 1";
    scratch.ok(&format!("add i --jsonl lines.jsonl --shingles words:1 {bands}"));
    for arguments in ["pairs i --threshold 0.99", "pairs i --threshold 0.99 --collapse"] {
        let began = std::time::Instant::now();
        let delay = Duration::from_secs(1);
        let interrupted = || scratch.interrupted_after(arguments, delay);
        let ran = std::iter::repeat_with(interrupted).flatten().next().unwrap();
        ran.ends_with(INTERRUPTED).says(&["the results are incomplete"]);
        assert!(began.elapsed() < Duration::from_secs(8), "{arguments}: {:?}", began.elapsed());
    }
}

/// Every command at many moments: prints a table, which `--nocapture` shows.
#[test]
fn every_command_ends_within_a_second_of_a_signal() {
    if !signals_are_heard() || std::env::var("NEARKIN_CAMPAIGNS").as_deref() != Ok("signals") {
        return;
    }
    match oracle("signals.py", &[]) {
        Some(ran) => println!("{}", ran.ends_with(0).stdout),
        None => println!("SKIPPED: no Python; NEARKIN_PYTHON may name it"),
    }
}
