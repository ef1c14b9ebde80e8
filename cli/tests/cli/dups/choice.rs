//! What `nearkin dups` looks at, which file it keeps, and what counts as freed.

use super::*;

#[cfg(unix)]
use std::time::{Duration, SystemTime};

/// Writes a file that was modified so many days ago.
#[cfg(unix)]
fn write_old(scratch: &Scratch, name: &str, content: &str, days: u32) {
    scratch.write(name, content);
    let file = fs::File::options().write(true).open(scratch.path(name)).unwrap();
    let day = Duration::from_secs(86_400);
    let now = SystemTime::UNIX_EPOCH + 20_000 * day;
    file.set_modified(now - days * day).unwrap();
}

#[cfg(unix)]
#[test]
fn the_user_says_which_file_stays() {
    let scratch = Scratch::new();
    for (name, days) in
        [("d/copy of x", 9), ("d/x.txt", 9), ("d/new", 1), ("e/y", 30), ("d/aa/z", 3)]
    {
        write_old(&scratch, name, "content", days);
    }
    for (rule, kept) in [
        ("", "d/x.txt"),
        (" --keep oldest", "e/y"),
        (" --keep newest", "d/new"),
        (" --keep shortest", "d/aa/z"),
        (" --keep first", "d/aa/z"),
    ] {
        let (groups, _) = dups(&scratch, &format!("d e --exact{rule}"));
        assert!(groups[0].starts_with(&format!("exact {kept} ")), "{rule}: {groups:?}");
    }
    // The first folder given wins, also if it lies in another one.
    assert!(dups(&scratch, "e d --exact").0[0].starts_with("exact e/y "));
    assert!(dups(&scratch, "d/aa d --exact").0[0].starts_with("exact d/aa/z "));
    let (groups, _) = dups(&scratch, "e --against d --exact --keep oldest");
    assert!(groups[0].starts_with("exact d/x.txt "), "{groups:?}");
}

/// A share and its backup, all files of one time: the living copy stays.
#[cfg(unix)]
#[test]
fn the_living_copy_stays() {
    for (live, backup, rule) in [
        ("HR", "Backup 2023/HR", "name"),
        ("HR", "Alt", "name"),
        ("Sales", "Archiv/Sales", "name"),
        ("x", "a_old", "name"),
        ("x", "C\u{f3}pia de x", "name"),
        ("x", "\u{30d0}\u{30c3}\u{30af}\u{30a2}\u{30c3}\u{30d7}", "name"),
        ("old", "backup/old", "depth"),
        ("x/HR", "2023-11/disk/HR", "depth"),
        ("x", "a", "unique_files"),
        ("x/deep", "a/deep", "unique_files"),
    ] {
        for keep in ["", " --keep oldest", " --keep newest"] {
            let scratch = Scratch::new();
            for at in 0..3 {
                for folder in [live, backup] {
                    write_old(&scratch, &format!("s/{folder}/{at}.txt"), &format!("file {at}"), 9);
                }
            }
            // In the folder above, if there is one: nothing beside the copies sets them apart.
            let top = live.split('/').next().unwrap();
            write_old(&scratch, &format!("s/{top}/new.txt"), "since then", 1);
            let ran = scratch.ok(&format!("dups s --exact{keep} --json"));
            let mut objects = ran.objects();
            let folder = objects.remove(0);
            assert_eq!(slashes(folder["of"].as_str().unwrap()), format!("s/{live}"));
            assert_eq!(objects.len(), 4, "{ran:?}", ran = ran.stdout);
            for group in &objects[..3] {
                let kept = slashes(group["files"][0]["path"].as_str().unwrap());
                assert!(kept.starts_with(&format!("s/{live}/")), "{live} {backup}{keep}: {group}");
                assert_eq!(group["kept_by"], rule, "{live} {backup}{keep}: {group}");
            }
        }
    }
    let scratch = Scratch::new();
    for (name, days) in [("d/a (1).pdf", 9), ("d/a.pdf", 2), ("e/b.pdf", 1)] {
        write_old(&scratch, name, "content", days);
    }
    let kept_by = |arguments: &str| {
        let objects = scratch.ok(&format!("dups {arguments} --exact --json")).objects();
        let group = objects.iter().find(|object| object["kind"] == "exact").unwrap();
        let path = slashes(group["files"][0]["path"].as_str().unwrap());
        format!("{path} {}", group["kept_by"].as_str().unwrap())
    };
    assert_eq!(kept_by("d"), "d/a.pdf name");
    assert_eq!(kept_by("d --keep oldest"), "d/a (1).pdf keep");
    assert_eq!(kept_by("d --keep first"), "d/a (1).pdf path");
    assert_eq!(kept_by("e d"), "e/b.pdf folder");
    assert_eq!(kept_by("d --against e"), "e/b.pdf against");
    scratch.ok("dups d --exact --plan p");
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    assert!(plan.contains("; the first stays: the other name says that it is a copy\n"), "{plan}");
}

/// Near-copies are versions: the latest stays, and in a backup the one of the share does.
#[cfg(unix)]
#[test]
fn the_newest_near_copy_stays_and_the_oldest_exact_one() {
    let scratch = Scratch::new();
    for (name, others, days) in [
        ("d/draft", 0, 9),
        ("d/draft (1)", 1, 3),
        ("d/old/draft", 1, 2),
        ("d/final", 2, 5),
        ("d/signed", 2, 4),
        ("e/last", 3, 1),
    ] {
        write_old(&scratch, name, &text(1, others), days);
    }
    let kept = |arguments: &str| {
        let objects = scratch.ok(&format!("dups {arguments} --json")).objects();
        let groups = objects.iter().filter(|group| group["kept_by"].is_string());
        let line = |group: &Value| {
            let file = &group["files"][0];
            format!("{} {} {}", group["kind"], file["path"], group["kept_by"]).replace('"', "")
        };
        groups.map(line).collect::<Vec<_>>()
    };
    let mut found = kept("d");
    assert_eq!(found.pop().unwrap(), "near d/draft (1) newest");
    found.sort_unstable();
    assert_eq!(found, ["exact d/draft (1) oldest", "exact d/final oldest"]);
    let near = |arguments: &str| kept(arguments).pop().unwrap();
    assert_eq!(near("d e"), "near d/draft (1) newest");
    assert_eq!(near("e d"), "near e/last folder");
    assert_eq!(near("d --keep oldest"), "near d/draft keep");
    assert_eq!(near("d --keep newest"), "near d/old/draft keep");
    let object = &scratch.ok("dups d --json").objects()[2]["files"][0];
    assert_eq!(object["modified"], (20_000 - 3) * 86_400_000_i64);
    scratch.ok("dups d --plan p");
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    assert!(plan.contains("; the first stays: it is the newest\n# modified 20"), "{plan}");
}

/// Copies inside programs are named, and left; a person's file beside them stays, too.
#[cfg(unix)]
#[test]
fn what_programs_need_is_left() {
    let scratch = Scratch::new();
    for (number, left) in [
        (1, "app1/node_modules/left/index.js"),
        (1, "app2/node_modules/left/index.js"),
        (2, "lib/python3/site-packages/x/data.txt"),
        (3, "tree/sub/notes.txt"),
        (4, "pkg/sub/readme.txt"),
        (5, "Some.app/icon.png"),
        (6, "linked.txt"),
        (7, "releases/3/x"),
    ] {
        let content = format!("content {number}");
        scratch.write(&format!("d/{left}"), &content);
        // Neither the name nor the place makes this one stay, but that the others are left.
        scratch.write(&format!("d/old/deep/deep/deep/mine {number}.txt"), &content);
    }
    scratch.write("d/tree/.git/HEAD", "ref");
    scratch.write("d/pkg/__init__.py", "");
    scratch.write("d/old/deep/second.txt", "content 1");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, scratch.path(name)).unwrap();
    };
    link("../linked.txt", "d/old/link");
    link("../releases/3", "d/old/current");
    // Everything lies below this one: it makes no target of anything.
    link("../..", "d/old/up");
    let ran = scratch.ok("dups d --exact --plan p --json");
    let (groups, totals) = read(&ran);
    assert_eq!(groups.len(), 7, "{groups:?}");
    for group in &groups {
        assert!(group.starts_with("exact d/old/deep/"), "{group}");
    }
    assert_eq!((&totals["exact_copies"], &totals["program_copies"]), (&1.into(), &8.into()));
    let said = "8 copied files left, because programs need them (1 a link leads to it, 1 a link \
        leads to its folder, 1 in a git work tree, 1 in a package, 1 in an application, 2 in \
        node_modules, 1 in site-packages); --programs counts them";
    ran.says(&[said]);
    scratch.ok("dups d --exact").prints("  d/linked.txt  (left: a link leads to it)\n");
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    assert_eq!(plan.lines().filter(|line| line.starts_with("remove\t")).count(), 1, "{plan}");
    assert!(plan.contains("# left, because a program needs it (in a git work tree):\n# remove\t"));
    let (groups, totals) = dups(&scratch, "d --exact --programs");
    assert_eq!((&totals["exact_copies"], &totals["program_copies"]), (&9.into(), &0.into()));
    assert!(groups.contains(&"exact d/linked.txt d/old/deep/deep/deep/mine 6.txt".to_owned()));
}

#[test]
fn files_can_be_left_out() {
    let scratch = with_copies();
    scratch.write("d/skip/a.png", fs::read(scratch.path("d/a.png")).unwrap());
    let all = dups(&scratch, "d --keep first").0;
    assert_eq!(all[0], "exact d/a.png d/skip/a.png d/sub/c.png");
    let without = |options: &str| dups(&scratch, &format!("d --keep first {options}")).0;
    assert_eq!(without("--exclude skip")[0], "exact d/a.png d/sub/c.png");
    assert_eq!(without("--exclude *.png")[0], "exact d/one d/one copy");
    assert_eq!(without("--exclude /a.png")[0], "exact d/skip/a.png d/sub/c.png");
    assert_eq!(without("--exclude skip/ --exclude c.png")[0], "exact d/one d/one copy");
    assert!(without("--exclude one*").iter().all(|group| !group.contains("one")));
    assert_eq!(without("--min-size 90K").len(), 1);
    assert_eq!(without("--min-size 1G").len(), 0);
    scratch.fails("dups d --exclude a[", &["a[", ".gitignore"]);
    scratch.run("dups d --min-size 1X").ends_with(2);
}

/// A text in whose 200 words each of these was replaced.
fn changed(words: std::ops::Range<usize>) -> String {
    let word = |at: usize| {
        let begin = if words.contains(&at) { "new" } else { "w" };
        format!("{begin}{} ", spelled(at as u64))
    };
    (0..200).map(word).collect()
}

#[test]
fn a_near_copy_is_similar_to_the_kept_file() {
    let scratch = Scratch::new();
    // 15 replaced words change 17 of 198 shingles: similarity .84 in a row of texts, .71 over two.
    scratch.write("d/1", changed(0..0));
    scratch.write("d/2", changed(0..15));
    scratch.write("d/3", changed(0..30));
    let (groups, totals) = dups(&scratch, "d --keep first");
    assert_eq!(groups, ["near d/1 d/2"]);
    assert_eq!(totals["near_bytes_freed"], on_disk(&scratch.path("d/2")));
    // What is like the near-copy only stands below it, and is not counted.
    for options in ["", " --estimate"] {
        let ran = scratch.ok(&format!("dups d --keep first{options} --json --plan p"));
        let objects = ran.objects();
        let below = objects[0]["below"].as_array().unwrap();
        assert_eq!((&below[0]["path"], &below[0]["of"]), (&"d/3".into(), &"d/2".into()));
        assert!(below.len() == 1 && below[0]["similarity"].as_f64().unwrap() >= 0.8, "{below:?}");
        assert_eq!((&objects[1]["near_copies"], &objects[1]["near_below"]), (&1.into(), &1.into()));
        ran.says(&["1 file similar to another one of a group only"]);
    }
    let ran = scratch.ok("dups d --keep first");
    let ran = ran.prints("d/2\n    0.8").prints("d/3  (like the one above only)\n");
    assert_eq!(slashes(&ran.stdout).matches("0 bytes  d/").count(), 3, "{}", ran.stdout);
    let plan = fs::read_to_string(scratch.path("p")).unwrap();
    assert!(plan.contains("# similar to this one only, 0.8"), "{plan}");
    assert_eq!(plan.matches("remove\t").count(), 1, "{plan}");
    // What is left forms groups of its own.
    scratch.write("d/4", changed(0..45));
    let mut groups = dups(&scratch, "d --keep first").0;
    // Whether the second frees more depends on what the system calls the size of a file.
    groups.sort_unstable();
    assert_eq!(groups, ["near d/1 d/2", "near d/3 d/4"]);
    let ran = scratch.ok("dups d --keep first --threshold 0.7 --json");
    for object in ran.objects().iter().filter(|object| object["kind"] == "near") {
        for file in object["files"].as_array().unwrap() {
            assert!(file["similarity"].as_f64().unwrap() >= 0.7, "{object}");
        }
    }
}

/// Where the estimate puts a file into a group and its shingles do not, it is compared with the
/// others of the group.
#[test]
fn a_draft_that_only_the_estimate_finds_similar_is_named() {
    let scratch = Scratch::new();
    // 24 replaced words leave .784 of the shingles of the first, and .868 of those of the second.
    // With these words the estimate is .835 and .9.
    for (name, words) in [("1", 0..0), ("2", 0..12), ("3", 0..24)] {
        let words: Vec<_> =
            changed(words).split(' ').map(|word| word.replacen('w', "wax", 1)).collect();
        scratch.write(&format!("d/{name}"), words.join(" "));
    }
    let (groups, _) = dups(&scratch, "d --keep first --estimate");
    assert_eq!(groups, ["near d/1 d/2 d/3"], "this tests nothing");
    let objects = scratch.ok("dups d --keep first --json").objects();
    let below = &objects[0]["below"][0];
    assert_eq!((&below["path"], &below["of"]), (&"d/3".into(), &"d/2".into()), "{objects:?}");
    assert!((below["similarity"].as_f64().unwrap() - 0.868).abs() < 0.001, "{below}");
    assert_eq!((&objects[1]["near_copies"], &objects[1]["near_below"]), (&1.into(), &1.into()));
}

#[test]
fn every_copy_of_something_in_the_archive_is_named() {
    let scratch = Scratch::new();
    scratch.write("ref/a.txt", text(1, 40));
    scratch.write("ref/other.txt", text(2, 0));
    for name in ["b1", "b2", "b3"] {
        scratch.write(&format!("in/{name}.txt"), text(1, 38));
    }
    fs::hard_link(scratch.path("ref/other.txt"), scratch.path("in/link.txt")).unwrap();
    let (groups, totals) = dups(&scratch, "in --against ref");
    let near = "near ref/a.txt in/b1.txt in/b2.txt in/b3.txt";
    assert_eq!(groups, ["exact ref/other.txt", near]);
    assert_eq!((&totals["near_copies"], &totals["exact_copies"]), (&3.into(), &0.into()));
    let ran = scratch.ok("dups in --against ref --exact");
    assert!(slashes(&ran.stdout).contains("  in/link.txt  (the same file)\n"), "{}", ran.stdout);
    let object = &scratch.run("dups in --against ref --exact --json").objects()[0];
    let same = object["files"][0]["same_file"][0].as_str();
    assert_eq!(same.map(slashes).as_deref(), Some("in/link.txt"));
    // A copy is like the reference that it is given to.
    scratch.write("ref/better.txt", text(1, 39));
    let (groups, _) = dups(&scratch, "in --against ref");
    assert!(groups.contains(&near.replace("a.txt", "better.txt")), "{groups:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf_8_are_written_without_loss() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    scratch.write("d/a", "content");
    fs::write(scratch.path("d").join(OsStr::from_bytes(b"a\xff\xfe")), "content").unwrap();
    let object = &scratch.run("dups d --exact --keep first --json").objects()[0];
    assert_eq!(object["files"][0]["path"], "d/a");
    // The base64 of d/a, ff, fe.
    assert_eq!(object["files"][1]["path"], serde_json::json!({"base64": "ZC9h//4="}));
}

#[cfg(unix)]
#[test]
fn holes_take_no_space() {
    let scratch = Scratch::new();
    for name in ["a", "b"] {
        scratch.write(&format!("d/{name}"), "");
        let file = fs::File::options().write(true).open(scratch.path(&format!("d/{name}")));
        file.unwrap().set_len(200 << 20).unwrap();
    }
    let (groups, totals) = dups(&scratch, "d --exact");
    assert_eq!(groups, ["exact d/a d/b"]);
    assert!(totals["exact_bytes_freed"].as_u64().unwrap() < 1 << 20, "{totals}");
}

/// A folder that was named must be read. No copies in it would be a false answer.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_an_error() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let scratch = with_copies();
    let folder = scratch.path("d");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let dups = ["dups", "d", "--exact", "--json"];
    let mut command = scratch.command(&dups);
    if fs::read_dir(&folder).is_ok() {
        // The system lets root read all files, but not in a namespace without their owner.
        chown(&folder, Some(4_321), Some(4_321)).unwrap();
        command = Command::new("unshare");
        command.arg("-r").arg(env!("CARGO_BIN_EXE_nearkin")).args(dups);
        command.current_dir(scratch.path(""));
        if !Command::new("unshare").args(["-r", "true"]).status().is_ok_and(|ran| ran.success()) {
            return;
        }
    }
    let ran = Ran::new(command.output().unwrap()).ends_with(2);
    let ran =
        ran.says(&["cannot read the folder", "/d: Permission denied", "check its permissions"]);
    assert_eq!(ran.stdout, "");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

/// The question before an inbox is deleted.
#[test]
fn what_is_nowhere_else_is_named() {
    let scratch = Scratch::new();
    for at in 0..20 {
        let place = if at < 14 { "arch/sub" } else { "elsewhere" };
        scratch.write(&format!("{place}/a{at}.txt"), text(at, 0));
        scratch.write(&format!("inbox/{at}.txt"), text(at, 0));
    }
    // A copy inside the inbox saves nothing, a hidden name does not either.
    scratch.write("inbox/14 copy.txt", text(14, 0));
    scratch.write("inbox/.note", "hidden");
    scratch.write("inbox/empty", "");
    scratch.write("inbox/near", text(3, 5));
    fs::hard_link(scratch.path("inbox/15.txt"), scratch.path("arch/linked")).unwrap();
    let expected = [
        "inbox/.note",
        "inbox/14 copy.txt",
        "inbox/14.txt",
        "inbox/16.txt",
        "inbox/17.txt",
        "inbox/18.txt",
        "inbox/19.txt",
    ];
    let ran = scratch.ok("dups inbox --unique --against arch");
    assert_eq!(slashes(&ran.stdout).lines().collect::<Vec<_>>(), expected);
    let ran = ran.says(&["7 of 23 files not in a folder of --against: "]);
    ran.says(&["1 more file with a near-copy only", "in all folders: 1 empty, 0 links"]);
    let mut objects = scratch.ok("dups inbox --unique --against arch --json").objects();
    let totals = objects.pop().unwrap();
    assert_eq!((&totals["unique_files"], &totals["files"]), (&7.into(), &23.into()));
    let paths = objects.iter().map(|object| slashes(object["path"].as_str().unwrap()));
    assert_eq!(paths.collect::<Vec<_>>(), expected);
    assert_eq!(totals["near_copies"], 1);
    let ran = scratch.ok("dups inbox --exact --unique --against arch");
    assert_eq!(
        slashes(&ran.stdout).lines().collect::<Vec<_>>(),
        [&expected[..], &["inbox/near"]].concat()
    );
    // Without an archive: what has no copy.
    let ran = scratch.ok("dups inbox --unique");
    assert_eq!(ran.stdout.lines().count(), 19, "{}", ran.stdout);
    assert!(!ran.stdout.contains("14"), "{}", ran.stdout);
    scratch.run("dups inbox --unique --plan p").ends_with(2);
    let ran = scratch.ok("dups inbox --unique --against arch --exclude 1* --min-size 2");
    ran.says(&["--exclude, --min-size: what this leaves out is not named, copied or not"]);
}
