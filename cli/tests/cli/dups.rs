//! `nearkin dups`: copies and near-copies in folders.

use super::*;
use std::time::{Duration, SystemTime};

#[path = "dups/apply.rs"]
mod apply;
#[path = "dups/cache.rs"]
mod cache;
#[path = "dups/choice.rs"]
mod choice;
#[path = "dups/folders.rs"]
mod folders;

/// A text long enough to be compared: 200 words that only texts of this `number` contain, then the
/// first `others` words of a list that all numbers share. Two texts of one number are near-copies.
fn text(number: usize, others: usize) -> String {
    let word = |at: usize| format!("w{} ", spelled((number * 1_000 + at) as u64));
    (0..200).map(word).chain((0..others).map(|at| format!("o{} ", spelled(at as u64)))).collect()
}

/// The groups that a run prints, as `KIND FILE FILE ...`, and the totals.
fn dups(scratch: &Scratch, arguments: &str) -> (Vec<String>, Value) {
    let ran = scratch.ok(&format!("dups {arguments} --json"));
    read(&ran)
}

fn read(ran: &Ran) -> (Vec<String>, Value) {
    let mut objects = ran.objects();
    let totals = objects.pop().unwrap();
    let line = |object: Value| {
        let files = object["files"].as_array().unwrap().iter();
        let files: Vec<_> = files.map(|file| slashes(file["path"].as_str().unwrap())).collect();
        format!("{} {}", object["kind"].as_str().unwrap(), files.join(" "))
    };
    let groups = objects.into_iter().filter(|object| object["kind"] != "folder");
    (groups.map(line).collect(), totals)
}

fn with_copies() -> Scratch {
    let scratch = Scratch::new();
    let image = |number: u8| [b"\x89PNG\0".to_vec(), vec![number; 100_000]].concat();
    scratch.write("d/a.png", image(1));
    scratch.write("d/b.png", image(2));
    scratch.write("d/sub/c.png", image(1));
    scratch.write("d/one", text(1, 0));
    scratch.write("d/one copy", text(1, 0));
    scratch.write("d/one more", text(1, 5));
    // The newest of near-copies stays.
    let file = fs::File::options().write(true).open(scratch.path("d/one more")).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    scratch.write("d/two", text(2, 0));
    scratch.write("d/empty 1", "");
    scratch.write("d/empty 2", "");
    scratch.write("d/.hidden", text(1, 0));
    scratch
}

#[test]
fn copies_and_near_copies_are_told_apart() {
    let scratch = with_copies();
    fs::hard_link(scratch.path("d/two"), scratch.path("d/two linked")).unwrap();
    let expected = ["exact d/a.png d/sub/c.png", "exact d/one d/one copy", "near d/one d/one more"];
    let (groups, totals) = dups(&scratch, "d");
    assert_eq!(groups, expected);
    let bytes = |name: &str| on_disk(&scratch.path(name));
    assert_eq!(totals["exact_bytes_freed"], bytes("d/a.png") + bytes("d/one"));
    assert_eq!(totals["near_bytes_freed"], bytes("d/one more"));
    assert_eq!((&totals["exact_copies"], &totals["near_copies"]), (&2.into(), &1.into()));
    let ran = scratch.ok("dups d");
    let freed = format!("{:.1} KiB", bytes("d/a.png") as f64 / 1024.0);
    let first = format!("exact  2 files, {freed} could be freed\n  20");
    assert!(slashes(&ran.stdout).starts_with(&first), "{}", ran.stdout);
    assert!(slashes(&ran.stdout).contains("   97.7 KiB  d/a.png\n"), "{}", ran.stdout);
    let ran = ran.says(&["7 files looked at, 2 empty, 1 more path", "2 exact copies in 2 groups"]);
    ran.says(&["1 near-copy in 1 group"]);
    // Later runs use the index that the first run has cached: a run from another working directory,
    // and a run after two files have changed.
    let mut command = scratch.command(&["dups", ".", "--json"]);
    let ran = Ran::new(command.current_dir(scratch.path("d")).output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("\"one more\""), "{}", ran.stdout);
    assert_eq!(fs::read_dir(scratch.path(".cache/nearkin/dups")).unwrap().count(), 1);
    scratch.write("d/one more", text(3, 0));
    scratch.write("d/two more", text(2, 3));
    let (groups, _) = dups(&scratch, "d");
    assert_eq!(groups[2..], ["near d/two more d/two"]);
    assert_eq!(dups(&scratch, "d --exact").0, expected[..2]);
    assert_eq!(dups(&scratch, "d --exact -n 1").0, expected[..1]);
    assert!(dups(&scratch, "d --hidden").0[1].contains("d/.hidden"));
    scratch.fails("dups nowhere", &["nowhere"]);
    scratch.fails("dups d/one", &["not a folder"]);
}

#[test]
fn against_a_folder_whose_files_stay() {
    let scratch = with_copies();
    scratch.write("archive/x.png", fs::read(scratch.path("d/b.png")).unwrap());
    scratch.write("archive/2", text(2, 4));
    scratch.write("archive/y", text(7, 0));
    scratch.write("archive/z", text(7, 0));
    let (groups, totals) = dups(&scratch, "d --against archive");
    assert_eq!(groups, ["exact archive/x.png d/b.png", "near archive/2 d/two"]);
    assert_eq!(totals["exact_bytes_freed"], on_disk(&scratch.path("d/b.png")));
    scratch.ok("dups d --against archive --plan p");
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    let gone: Vec<_> = plan.lines().filter(|line| line.starts_with("remove")).collect();
    assert!(gone.len() == 1 && slashes(gone[0]).contains("d/b.png\t"), "{plan}");
    scratch.fails("dups d --against d/sub", &["overlap"]);
}

#[test]
fn files_without_text_are_counted_and_named() {
    let scratch = with_copies();
    scratch.write("d/broken.txt.gz", b"\x1f\x8b\x08\0broken");
    scratch.write("d/old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1of Word");
    let expected = [
        "7 files not compared by text: 3 binary, 2 empty, 1 unparsable, 1 unread format",
        "  1 file: gzip: ",
        "  1 file: a Word 97 document (.doc) is not read: save it as .docx",
    ];
    let named = ["  unparsable: d/broken.txt.gz", "  unread format: d/old.doc", "  binary: d/"];
    scratch.ok("dups d").says(&expected).says(&named);
    // Once the files have not changed for a while, a run keeps the reasons in the cache, and the
    // next one reads them from there and reports the same.
    for name in ["d/broken.txt.gz", "d/b.png"] {
        let file = fs::File::options().write(true).open(scratch.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(150));
    scratch.ok("dups d");
    scratch.ok("dups d").says(&expected).says(&named).says_not("--verbose names all");
    let ran = scratch.ok("dups d --verbose");
    ran.says(&["d/broken.txt.gz: unparsable (as before)", "d/b.png: binary (as before)"]);
    for at in 0..9 {
        scratch.write(&format!("d/{at}.jpg"), [&[at, 0, 255][..], b"picture"].concat());
    }
    let ran = scratch.ok("dups d");
    ran.says(&["16 files not compared by text: 12 binary", "(--verbose names all)", ", 9 more"]);
    scratch.ok("dups d").says(&[", 9 more"]);
    let ran = scratch.ok("dups d --verbose");
    assert_eq!(ran.stderr.matches(".jpg: binary").count(), 9, "{}", ran.stderr);
    (0..9).for_each(|at| fs::remove_file(scratch.path(&format!("d/{at}.jpg"))).unwrap());
    let ran = scratch.ok("dups d --no-cache --verbose");
    ran.says(&["d/broken.txt.gz: unparsable", "b.png: binary"]);
    let (_, totals) = dups(&scratch, "d");
    assert_eq!(totals["texts_not_read"]["unparsable"], 1);
    let advice = &totals["texts_not_read_advice"];
    assert!(advice[1]["advice"].as_str().unwrap().contains("save it as .docx"), "{advice}");
    assert_eq!(advice[1]["files"], 1);
    scratch.ok("dups d --exact").says_not("not compared by text");
}
