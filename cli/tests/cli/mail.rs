//! What belongs to a message, and what it only quotes.

use super::*;

const ORIGINAL: &str = "Shall we meet at six at the old harbour, and bring tea, bread and the maps \
    of the islands that Jane has drawn for us? The boat leaves at seven.";

fn message(id: u32, body: &str) -> String {
    format!("Received: by x\nFrom: a@b\nSubject: Plan\nMessage-ID: <{id}@b>\n\n{body}\n")
}

fn answer(id: u32, own: &str) -> String {
    message(id, &format!("{own}\n\nOn Monday, Jane Example wrote:\n> {ORIGINAL}\n> -- \n> Jane"))
}

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("d")).unwrap();
    let original = message(1, ORIGINAL);
    scratch.write("d/1", &original);
    scratch.write("d/1-delivered-twice", format!("X-Spam: 1\n{original}"));
    scratch.write("d/2", answer(2, "No, please cancel everything."));
    scratch.write("d/3", answer(3, "Yes, go ahead."));
    scratch.write("d/4", answer(4, "Yes, go ahead."));
    scratch.write("d/5", answer(5, "-- \nAnn"));
    scratch
}

/// The near-copies, without the folder, in the order of their names.
fn groups(scratch: &Scratch, options: &str) -> Vec<Vec<String>> {
    let found = scratch.ok(format!("dups d --json --no-cache {options}").trim_end()).objects();
    let files = found.iter().filter_map(|group| group["files"].as_array());
    let name = |file: &Value| slashes(file["path"].as_str().unwrap()).replace("d/", "");
    let sorted = |files: &Vec<Value>| {
        let mut names: Vec<_> = files.iter().map(name).collect();
        names.sort_unstable();
        names
    };
    files.map(sorted).collect()
}

#[test]
fn answers_are_no_copies_of_what_they_quote() {
    let scratch = scratch();
    // 5 is forwarded without a word: its text is that of the quoted message.
    assert_eq!(groups(&scratch, ""), [["1", "1-delivered-twice", "5"]]);
    let kept = groups(&scratch, "--quoted keep --threshold .6");
    assert_eq!(kept.concat().len(), 6, "{kept:?}");
    scratch.ok("add i d");
    let found = scratch.ok("query i d/2 --json --threshold .3").objects();
    assert_eq!(found.len(), 1, "{found:?}");
    let wrong = scratch.run("dups d --quoted some").ends_with(2);
    assert!(wrong.stderr.contains("must be drop or keep"), "{}", wrong.stderr);
}

#[test]
fn messages_are_read_again_if_quotations_are_kept() {
    let scratch = scratch();
    let read = |options: &str| {
        let ran = scratch.ok(format!("mirror i d --json {options}").trim_end()).objects();
        ran.last().unwrap()["read"].clone()
    };
    assert_eq!(read(""), 6);
    let text = "query i --json --threshold .5 --text";
    let found = |scratch: &Scratch| {
        let arguments = text.split(' ').chain([ORIGINAL]).collect::<Vec<_>>();
        Ran::new(scratch.command(&arguments).output().unwrap()).ends_with(0).objects().len()
    };
    assert_eq!(found(&scratch), 3);
    assert_eq!(read("--quoted keep"), 6);
    assert_eq!(found(&scratch), 6);
    assert_eq!(read("--quoted drop"), 6);
    assert_eq!(found(&scratch), 3);
}

#[test]
fn messages_that_python_makes_have_the_text_of_their_author() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/mail/compare.py");
    let python = Command::new("python3").arg("--version").output();
    if !script.exists() || !python.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: this test needs python3, and benches/mail of the repository");
        return;
    }
    let mut compare = Command::new("python3");
    compare.arg(script).arg(env!("CARGO_BIN_EXE_nearkin")).args(["--count", "200"]);
    let output = compare.output().unwrap();
    let [table, notes] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    println!("{notes}{table}");
    assert!(output.status.success(), "a text is another one than its author wrote");
    assert!(table.contains("200 have the text of their author"), "{table}");
}
