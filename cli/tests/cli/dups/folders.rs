//! Whole folders that are copies.

use super::*;

/// Files of the `folder` with these numbers.
fn fill(scratch: &Scratch, folder: &str, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        scratch.write(&format!("{folder}/{number}.txt"), format!("file {number}"));
    }
}

/// What is printed, with dates and sizes left out.
fn printed(scratch: &Scratch, arguments: &str) -> Vec<String> {
    let ran = scratch.ok(&format!("dups {arguments} --exact"));
    let text = slashes(&ran.stdout);
    let lines = text.lines().filter(|line| !line.is_empty());
    let lines = lines.map(|line| line.split([',', '(']).next().unwrap().trim());
    lines.map(|line| line.rsplit("bytes  ").next().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_that_is_a_copy_is_one_line() {
    let scratch = Scratch::new();
    fill(&scratch, "s/a", 0..200);
    fill(&scratch, "s/b/old/a", 0..200);
    let ran = scratch.ok("dups s --exact");
    let bytes = 200 * on_disk(&scratch.path("s/a/1.txt"));
    let said = "folder s/b/old/a is a copy of s/a (200 files, ";
    assert!(slashes(&ran.stdout).starts_with(said), "{}", ran.stdout);
    assert_eq!(ran.stdout.trim_end().lines().count(), 1, "{}", ran.stdout);
    ran.says(&["200 groups named by folder only; --verbose prints all", "200 exact copies in 200"]);
    let ran = scratch.ok("dups s --exact --verbose");
    assert_eq!(ran.stdout.matches("exact  2 files").count(), 200);
    let objects = scratch.ok("dups s --exact --json --plan p").objects();
    let folder = &objects[0];
    assert_eq!((objects.len(), &folder["kind"]), (202, &"folder".into()));
    assert_eq!((&folder["copies"], &folder["files_in_folder"]), (&200.into(), &200.into()));
    assert_eq!((&folder["whole"], &folder["bytes_freed"]), (&true.into(), &bytes.into()));
    let plan = slashes(&fs::read_to_string(scratch.path("p")).unwrap());
    assert_eq!(plan.matches(&format!("\n# {said}")).count(), 1, "{plan}");
    assert_eq!(plan.matches("\nremove\t").count(), 200);

    // Ten files differ, and another file is copied elsewhere.
    for number in 0..10 {
        scratch.write(&format!("s/b/old/a/{number}.txt"), format!("other {number}"));
    }
    scratch.write("s/one", "single");
    scratch.write("s/b/copy of one", "single");
    let expected = [
        "190 of 200 files of folder s/b/old/a are in s/a",
        "exact  2 files",
        "s/one",
        "s/b/copy of one",
    ];
    assert_eq!(printed(&scratch, "s"), expected);
    // The plan has the groups that are printed.
    scratch.ok("dups s --exact --limit 1 --plan p").says(&["1 of 191 groups"]);
    assert_eq!(printed(&scratch, "s --limit 1"), expected);
}

#[test]
fn folders_are_named_where_they_say_most() {
    let scratch = Scratch::new();
    fill(&scratch, "s/hr/x", 0..3);
    fill(&scratch, "s/hr/y", 3..6);
    fill(&scratch, "s/sales", 10..13);
    fill(&scratch, "s/backup/2023/hr/x", 0..3);
    fill(&scratch, "s/backup/2023/hr/y", 3..6);
    fill(&scratch, "s/backup/2023/sales", 10..13);
    // Copies among the originals; all files of one folder in a larger one; other names.
    fill(&scratch, "s/photos", 20..25);
    fill(&scratch, "s/photos/copy", 20..25);
    fill(&scratch, "s/more", 30..36);
    fill(&scratch, "s/old more", 30..32);
    fill(&scratch, "s/names", 40..42);
    for number in 40..42 {
        scratch.write(&format!("s/old names/x{number}"), format!("file {number}"));
    }
    // Too few.
    fill(&scratch, "s/few", 50..60);
    fill(&scratch, "s/old few", 56..70);
    let mut lines = printed(&scratch, "s");
    let groups = lines.iter().position(|line| line.starts_with("exact")).unwrap();
    assert_eq!(lines.split_off(groups).len(), 3 * 4, "{lines:?}");
    lines.sort_unstable();
    let expected = [
        "2 of 2 files of folder s/old more are in s/more",
        "2 of 2 files of folder s/old names are in s/names",
        "5 of 5 files of folder s/photos/copy are in s/photos",
        "folder s/backup/2023/hr is a copy of s/hr",
        "folder s/backup/2023/sales is a copy of s/sales",
    ];
    assert_eq!(lines, expected);
    // What lies above the searched folders was not looked at as a whole.
    let lines = printed(&scratch, "s/backup/2023/hr s/backup/2023/sales --against s/hr");
    assert_eq!(lines, ["folder s/backup/2023/hr is a copy of s/hr"]);
}

#[cfg(unix)]
#[test]
fn files_of_a_list_are_compared() {
    let scratch = Scratch::new();
    for name in ["d/a", "d/b", "d/sub/new\nline", "top", "e/not listed"] {
        scratch.write(name, "content");
    }
    let list = b"d/a\0d/sub/new\nline\0./d/a\0top\0d/sub\0";
    scratch.write("list", list);
    let groups = |arguments: &str| dups(&scratch, &format!("{arguments} --exact --keep first")).0;
    assert_eq!(groups("--files-from list"), ["exact d/a d/sub/new\nline top"]);
    assert_eq!(groups("d --files-from list"), ["exact d/a d/b d/sub/new\nline top"]);
    let ran = scratch.run_with_stdin("dups --exact --files-from - --plan p", list).ends_with(0);
    ran.says(&["3 files looked at", "2 exact copies in 1 group"]).says_not("more path");
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    assert!(plan.contains("/d/sub/new%0Aline\t"), "{plan}");
    let ran = scratch.ok("dups --files-from list --exact --unique --against e");
    assert_eq!(ran.stdout, "");
    // A file that is not there is named, and the others are compared.
    scratch.write("list", [&list[..], b"gone\0"].concat());
    let ran = scratch.run("dups --exact --files-from list").ends_with(3);
    ran.says(&["skipped gone: ", "3 files looked at"]);
    scratch.write("list", "d/a\nd/b\n");
    scratch.fails("dups --exact --files-from list", &["no NUL bytes", "-print0"]);
    scratch.run("dups --files-from list").ends_with(2);
}

/// A "no" of a person counts for contents, wherever the files are.
#[test]
fn groups_that_are_none_are_not_listed_again() {
    let scratch = with_copies();
    let (groups, _) = dups(&scratch, "d --plan p");
    assert_eq!(groups.len(), 3);
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    let group = |name: &str| plan.split("\n\n").find(|part| part.contains(name)).unwrap();
    let (picture, near) = (group("c.png"), group("one more"));
    fs::rename(scratch.path("d/sub/c.png"), scratch.path("d/moved.png")).unwrap();
    fs::rename(scratch.path("d/one more"), scratch.path("d/sub/more")).unwrap();
    let listed = |no: &str| {
        scratch.write("no.txt", no);
        dups(&scratch, "d --not-duplicates no.txt").0
    };
    let all = ["exact d/a.png d/moved.png", "exact d/one d/one copy", "near d/one d/sub/more"];
    assert_eq!(listed(""), all);
    assert_eq!(listed(picture), all[1..]);
    // Two contents that are no near-copies may each have exact copies.
    assert_eq!(listed(near), all[..2]);
    assert_eq!(listed(&format!("{picture}\r\n\r\n{near}\r\n")), all[1..2]);
    // In one group, two contents say nothing of the copies of each.
    assert_eq!(listed(&format!("{picture}\n{near}")), all[..2]);
    let ran = scratch.ok("dups d --not-duplicates no.txt");
    ran.says(&["1 group not listed, as --not-duplicates says"]);
    scratch.write("d/sub/more", text(1, 6));
    assert_eq!(listed(near), [all[0], all[1], "near d/sub/more d/one"]);
    scratch.write("no.txt", "d/one");
    scratch.fails("dups d --not-duplicates no.txt", &["no group of a plan", "--plan FILE"]);
}

/// A share with versions, copies and a backup, looked at by a program that shares no code.
/// `NEARKIN_SEED` is for another one.
#[cfg(unix)]
#[test]
fn a_share_keeps_every_content_and_every_living_file() {
    let is_long = std::env::var("NEARKIN_CAMPAIGNS").is_ok_and(|length| length == "long");
    let seed = std::env::var("NEARKIN_SEED").unwrap_or_else(|_| "1".to_owned());
    match oracle("share.py", &[if is_long { "20000" } else { "600" }, &seed]) {
        Some(ran) => drop(ran.ends_with(0).prints("passed")),
        None => println!("SKIPPED: no Python; NEARKIN_PYTHON may name it"),
    }
}
