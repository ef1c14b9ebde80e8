//! `nearkin dups`: copies and near-copies in folders.

use super::*;

/// A text long enough to be compared: 200 words that only texts of this `number` contain, then the
/// first `others` words of a list that all numbers share. Two texts of one number are near-copies.
fn text(number: usize, others: usize) -> String {
    let word = |at: usize| format!("w{} ", number * 1_000 + at);
    (0..200).map(word).chain((0..others).map(|at| format!("o{at} "))).collect()
}

fn dups(scratch: &Scratch, arguments: &str) -> (Vec<String>, Value) {
    let ran = scratch.run(&format!("dups {arguments} --json")).ends_with(0);
    let mut objects = ran.objects();
    let totals = objects.pop().unwrap();
    let line = |object: Value| {
        let files = object["files"].as_array().unwrap().iter();
        let files: Vec<_> = files.map(|file| file["path"].as_str().unwrap().to_owned()).collect();
        format!("{} {}", object["kind"].as_str().unwrap(), files.join(" "))
    };
    (objects.into_iter().map(line).collect(), totals)
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
    let bytes = |name: &str| fs::metadata(scratch.path(name)).unwrap().len();
    assert_eq!(totals["exact_bytes_freed"], 100_005 + bytes("d/one"));
    assert_eq!(totals["near_bytes_freed"], bytes("d/one more"));
    assert_eq!((&totals["exact_copies"], &totals["near_copies"]), (&2.into(), &1.into()));
    let ran = scratch.run("dups d").ends_with(0);
    assert!(ran.stdout.starts_with("exact  2 files, 97.7 KiB could be freed\n  d/a.png\n"));
    ran.says(&["7 files looked at, 2 empty, 1 more hard link", "2 exact copies in 2 groups"]);
    // Later runs use the index that the first run has cached: a run from another working directory,
    // and a run after two files have changed.
    let mut command = scratch.command(&["dups", ".", "--json"]);
    let ran = Ran::new(command.current_dir(scratch.path("d")).output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("\"one more\""), "{}", ran.stdout);
    assert_eq!(fs::read_dir(scratch.path(".cache/nearkin/dups")).unwrap().count(), 1);
    scratch.write("d/one more", text(3, 0));
    scratch.write("d/two more", text(2, 3));
    let (groups, _) = dups(&scratch, "d");
    assert_eq!(groups[2..], ["near d/two d/two more"]);
    assert_eq!(dups(&scratch, "d --exact").0, expected[..2]);
    assert_eq!(dups(&scratch, "d --exact -n 1").0, expected[..1]);
    assert!(dups(&scratch, "d --hidden").0[1].contains("d/.hidden"));
    // A damaged or deleted cache changes no result.
    let cache = scratch.path(".cache/nearkin/dups");
    for entry in fs::read_dir(&cache).unwrap() {
        fs::write(entry.unwrap().path().join("catalog.redb"), "garbage").unwrap();
    }
    assert_eq!(dups(&scratch, "d").0.len(), 3);
    fs::remove_dir_all(scratch.path(".cache")).unwrap();
    assert_eq!(dups(&scratch, "d --no-cache").0.len(), 3);
    assert!(!cache.exists());
    scratch.run("dups nowhere").ends_with(2).says(&["nowhere"]);
    scratch.run("dups d/one").ends_with(2).says(&["not a folder"]);
}

#[cfg(unix)]
#[test]
fn the_script_removes_copies_when_somebody_runs_it_and_not_before() {
    use std::os::unix::fs::MetadataExt as _;
    let scratch = with_copies();
    let names = ["d/it's", "d/new\nline", "d/-f", "d/$(touch x)", "d/a;b"];
    for name in names {
        scratch.write(name, text(9, 0));
    }
    let count = |scratch: &Scratch| fs::read_dir(scratch.path("d")).unwrap().count();
    let before = count(&scratch);
    scratch
        .run("dups d --script clean.sh")
        .ends_with(0)
        .says(&["read the script before you run it"]);
    scratch.run("dups d --script link.sh --link").ends_with(0);
    assert_eq!(count(&scratch), before, "the script was run");
    // A file that has changed since the script was written is not a copy any more; the script must
    // leave it alone.
    scratch.write("d/one copy", text(1, 0).replace("w1007", "w1008"));
    let run = |script: &str| {
        let mut command = Command::new("sh");
        Ran::new(command.arg(script).current_dir(scratch.path("")).output().unwrap())
    };
    let ran = run("link.sh").ends_with(0).says(&["no longer a copy", "one copy"]);
    assert_eq!(ran.stdout, "");
    let inodes = |names: &[&str]| -> Vec<u64> {
        names.iter().map(|name| fs::metadata(scratch.path(name)).unwrap().ino()).collect()
    };
    assert!(inodes(&names).windows(2).all(|two| two[0] == two[1]));
    run("clean.sh").ends_with(0).says(&["no longer a copy"]);
    assert_eq!(names.iter().filter(|name| scratch.path(name).exists()).count(), 1);
    assert!(scratch.path("d/a.png").exists() && !scratch.path("d/sub/c.png").exists());
    assert!(scratch.path("d/one copy").exists() && scratch.path("d/one more").exists());
    assert!(!scratch.path("x").exists());
    assert!(dups(&scratch, "d --exact").0.is_empty());
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
    assert_eq!(totals["exact_bytes_freed"], 100_005);
    scratch.run("dups d --against archive --script s").ends_with(0);
    let script = fs::read_to_string(scratch.path("s")).unwrap();
    let copies: Vec<_> = script.lines().filter(|line| line.starts_with("copy '")).collect();
    assert!(copies.len() == 1 && copies[0].ends_with("d/b.png'"), "{script}");
    scratch.run("dups d --against d/sub").ends_with(2).says(&["overlap"]);
}

#[test]
fn files_that_are_not_compared_by_text_are_counted_and_named() {
    let scratch = with_copies();
    scratch.write("d/broken.txt.gz", b"\x1f\x8b\x08\0broken");
    let expected = "6 files not compared by text: 3 binary, 2 empty, 1 parser failed";
    scratch.run("dups d").ends_with(0).says(&[expected]);
    // The second run reads the reasons from the cache and reports the same.
    scratch.run("dups d").ends_with(0).says(&[expected]);
    let ran = scratch.run("dups d --no-cache --verbose").ends_with(0);
    ran.says(&["d/broken.txt.gz: parser failed", "b.png: binary"]);
    let (_, totals) = dups(&scratch, "d");
    assert_eq!(totals["texts_not_read"]["parser failed"], 1);
    let ran = scratch.run("dups d --exact").ends_with(0);
    assert!(!ran.stderr.contains("not compared by text"), "{}", ran.stderr);
}

#[test]
fn the_script_replaces_no_file_but_another_script() {
    let scratch = with_copies();
    for name in ["d/one", "d/empty 1"] {
        let before = fs::read(scratch.path(name)).unwrap();
        let mut command = scratch.command(&["dups", "d", "--script", name]);
        let ran = Ran::new(command.output().unwrap()).ends_with(2);
        ran.says(&["exists and was not written by `nearkin dups`", "choose another file"]);
        assert_eq!(fs::read(scratch.path(name)).unwrap(), before);
    }
    for _ in 0..2 {
        scratch.run("dups d --script clean.sh").ends_with(0);
    }
}
