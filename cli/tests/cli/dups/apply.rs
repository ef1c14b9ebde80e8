//! The plans that `nearkin dups` writes, and what `nearkin apply` does with them.

use super::*;

#[cfg(unix)]
#[path = "killed.rs"]
mod killed;

/// Runs `nearkin apply`, with a trash in the scratch folder.
fn apply(scratch: &Scratch, arguments: &str) -> Ran {
    let line = format!("apply {arguments}");
    let mut command = scratch.command(&line.split(' ').collect::<Vec<_>>());
    command.env("XDG_DATA_HOME", scratch.path("data")).env("HOME", scratch.path("home"));
    Ran::new(command.output().unwrap())
}

fn plan(scratch: &Scratch, name: &str) -> String {
    fs::read_to_string(scratch.path(name)).unwrap()
}

/// The lines of a plan that do something, as `WORD NAME`.
fn lines(plan: &str) -> Vec<String> {
    let lines = plan.lines().filter(|line| line.contains('\t') && !line.starts_with('#'));
    let short = |line: &str| {
        let parts: Vec<_> = line.split('\t').collect();
        format!("{} {}", parts[0], parts[2].rsplit(['/', '\\']).next().unwrap())
    };
    lines.map(short).collect()
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_plan_is_carried_out_only_by_apply() {
    let scratch = with_copies();
    let ran = scratch.ok("dups d --plan p");
    ran.says(&["wrote p: read it, then `nearkin apply p` carries it out"]);
    let text = plan(&scratch, "p");
    assert!(text.starts_with("nearkin-plan 1\n# 2"), "{text}");
    assert!(
        text.contains("Z: nearkin dups d --plan p\n# 2 files to remove, in 2 groups: frees "),
        "{text}"
    );
    let expected = ["keep a.png", "remove c.png", "keep one", "remove one copy", "keep one"]
        .map(str::to_owned);
    assert_eq!(lines(&text), expected);
    assert!(text.contains("# similarity 0.9") && text.contains("\n# remove\t"), "{text}");
    let before = count(&scratch.path("d"));
    let ran = apply(&scratch, "p --delete --json").ends_with(0);
    let totals = &ran.objects()[0];
    let promised = on_disk(&scratch.path("d/a.png")) + on_disk(&scratch.path("d/one"));
    assert_eq!((&totals["deleted"], &totals["bytes_freed"]), (&2.into(), &promised.into()));
    assert!(!scratch.path("d/sub/c.png").exists() && !scratch.path("d/one copy").exists());
    assert_eq!(count(&scratch.path("d")), before - 1);
    let ran = apply(&scratch, "p --delete").ends_with(0);
    ran.says(&["2 already gone or linked"]);
    assert!(dups(&scratch, "d --exact").0.is_empty());
    // An earlier plan is replaced, and nothing else.
    scratch.ok("dups d --plan p");
    scratch.fails("dups d --plan d/two", &["was not written by `nearkin dups`", "choose another"]);
    scratch.fails("apply d/two", &["d/two is no plan", "--plan FILE"]);
    scratch.fails("apply nowhere", &["nowhere"]);
    scratch.write("q", plan(&scratch, "p").replacen("plan 1", "plan 2", 1));
    scratch.fails("apply q", &["no plan that this version reads"]);
    assert!(!scratch.path("q.journal").exists() && !scratch.path("d/two.journal").exists());
}

#[test]
fn a_person_edits_the_plan() {
    let scratch = with_copies();
    scratch.ok("dups d --plan p");
    let text = plan(&scratch, "p");
    let swap = |line: &str| match line.split_once('\t') {
        Some(("keep", rest)) if rest.contains("a.png") => format!("remove\t{rest}\r\n"),
        Some(("remove", rest)) if rest.contains("c.png") => format!("keep\t{rest}\r\n"),
        // The near-copy is switched on, and the exact copy left alone.
        Some(("# remove", rest)) => format!("remove\t{rest}\r\n"),
        Some(("remove", _)) => String::new(),
        _ => format!("{line}\r\n"),
    };
    scratch.write("p", text.lines().map(swap).collect::<String>());
    let ran = apply(&scratch, "p --delete").ends_with(0);
    ran.says(&["2 deleted"]);
    assert!(!scratch.path("d/a.png").exists() && scratch.path("d/sub/c.png").exists());
    assert!(!scratch.path("d/one more").exists() && scratch.path("d/one copy").exists());

    // A group in which nothing stays, and lines that are spoiled: all else is done.
    let scratch = with_copies();
    scratch.ok("dups d --plan p");
    let text = plan(&scratch, "p");
    let spoil = |line: &str| match line.split_once('\t') {
        Some(("keep", rest)) if rest.contains("a.png") => format!("remove\t{rest}\n"),
        _ => format!("{line}\n"),
    };
    let spoiled: String = text.lines().map(spoil).collect();
    let at = spoiled.lines().count() + 1;
    scratch.write("p", format!("{spoiled}remove /etc/passwd\n"));
    let ran = apply(&scratch, "p --delete").ends_with(3);
    let ran = ran.says(&[&format!("p:{at}: not understood"), "1 deleted, 3 stayed"]);
    assert_eq!(ran.stderr.matches("stays: no file of its group stays").count(), 2);
    assert!(scratch.path("d/a.png").exists() && scratch.path("d/sub/c.png").exists());
    assert!(!scratch.path("d/one copy").exists());
}

/// What has changed since the plan was made stays.
#[test]
fn each_file_is_looked_at_again() {
    let scratch = with_copies();
    for name in ["d/x1", "d/x2", "d/x3"] {
        scratch.write(name, vec![9; 50_000]);
    }
    // The kept file has two lines: each comparison begins anew.
    fs::hard_link(scratch.path("d/one"), scratch.path("d/one linked")).unwrap();
    scratch.ok("dups d --exact --plan p");
    assert_eq!(lines(&plan(&scratch, "p")).iter().filter(|line| line.contains("one")).count(), 3);
    // The same length, and the same time of modification.
    let time = fs::metadata(scratch.path("d/one copy")).unwrap().modified().unwrap();
    scratch.write("d/one copy", text(1, 0).replace("wbaah", "wbaai"));
    let file = fs::File::options().write(true).open(scratch.path("d/one copy")).unwrap();
    file.set_modified(time).unwrap();
    scratch.write("d/x2", vec![9; 50_001]);
    let ran = apply(&scratch, "p --delete").ends_with(3);
    let ran = ran.says(&["one copy stays: it or ", "has changed, or they are no copies"]);
    ran.says(&["x2 stays: it is not the file of the plan, or has changed", "2 deleted, 2 stayed"]);
    assert!(scratch.path("d/one copy").exists() && scratch.path("d/x2").exists());
    // The kept file has changed.
    scratch.write("d/x3", vec![9; 50_000]);
    scratch.ok("dups d --exact --plan p");
    scratch.write("d/x1", vec![8; 50_000]);
    apply(&scratch, "p --delete").ends_with(3).says(&["which would stay"]);
    assert!(scratch.path("d/x3").exists());
    let journal = plan(&scratch, "p.journal");
    assert!(journal.starts_with("nearkin-journal 1\n"), "{journal}");
    for word in ["begin", "done", "stays"] {
        assert!(journal.contains(&format!("\n{word}\tdelete\t")), "{word}: {journal}");
    }
}

#[cfg(unix)]
#[test]
fn emptied_folders_go_on_request_and_come_back() {
    let scratch = Scratch::new();
    for number in 0..4 {
        for folder in ["s/a", "s/old/deep/a", "s/other"] {
            scratch.write(&format!("{folder}/{number}"), format!("file {number}"));
        }
    }
    scratch.write("s/other/.hidden", "mine");
    fs::create_dir(scratch.path("s/was empty")).unwrap();
    scratch.ok("dups s --exact --plan p");
    let ran = apply(&scratch, "p").ends_with(0).says(&["8 moved to the trash"]);
    assert!(scratch.path("s/old/deep/a").exists(), "{}", ran.stderr);
    // Also what an earlier run has emptied.
    let ran = apply(&scratch, "p --remove-empty").ends_with(0);
    ran.says(&["3 empty folders removed, 8 already gone"]);
    assert!(!scratch.path("s/old").exists());
    for stays in ["s/a/0", "s/other/.hidden", "s/was empty"] {
        assert!(scratch.path(stays).exists(), "{stays}");
    }
    let journal = plan(&scratch, "p.journal");
    assert_eq!(journal.matches("done\tfolder\t").count(), 3, "{journal}");
    apply(&scratch, "p --undo").ends_with(0).says(&["8 brought back"]);
    assert!(scratch.path("s/old/deep/a/3").exists());
    // A file beside the copies, and a link to a folder in place of an empty one.
    let ran = apply(&scratch, "p --delete --remove-empty").ends_with(0);
    ran.says(&["8 deleted, 3 empty folders removed"]);
    fs::create_dir_all(scratch.path("s/old/deep")).unwrap();
    fs::create_dir(scratch.path("outside")).unwrap();
    std::os::unix::fs::symlink(scratch.path("outside"), scratch.path("s/old/deep/a")).unwrap();
    let ran = apply(&scratch, "p --delete --remove-empty");
    assert!(!ran.stderr.contains("folders removed"), "{}", ran.stderr);
    assert!(scratch.path("s/old/deep/a").is_symlink() && scratch.path("outside").exists());
}

#[test]
fn a_limit_counts_for_the_plan_too() {
    let scratch = with_copies();
    let ran = scratch.ok("dups d --exact --limit 1 --plan p");
    ran.says(&["1 of 2 groups of exact copies (also in the plan) shown"]);
    assert_eq!(lines(&plan(&scratch, "p")).len(), 2);
    apply(&scratch, "p --delete").ends_with(0).says(&["1 deleted"]);
    assert_eq!(dups(&scratch, "d --exact").0.len(), 1);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    /// Hostile names, mounts, links that appear later, a full disk: see `sandbox.sh`.
    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_lost_in_a_sandbox() {
        let sandbox = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/dups/sandbox.sh");
        let scratch = Scratch::new();
        let ran = |namespaces: &str| {
            let mut command = Command::new("unshare");
            command.arg(namespaces).arg("sh").arg(&sandbox).arg(env!("CARGO_BIN_EXE_nearkin"));
            command.env("TMPDIR", scratch.path("")).output()
        };
        let output = match ran("-m") {
            Ok(output) if output.stdout.is_empty() => ran("-rm"),
            output => output,
        };
        match output {
            Ok(output) if output.status.code() == Some(77) => {
                println!("SKIPPED: no file system can be mounted here");
            }
            Err(error) => println!("SKIPPED: unshare: {error}"),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let stdout = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{stdout}\n{said}");
                assert!(stdout.ends_with("passed\n"), "{stdout}\n{said}");
            }
        }
    }

    #[test]
    fn what_is_in_the_trash_comes_back() {
        let scratch = with_copies();
        let names = ["d/it's", "d/new\nline", "d/-f", "d/a%0A", "d/\u{202e}x", "d/sub/it's"];
        for name in names {
            scratch.write(name, text(9, 0));
        }
        let before: Vec<_> = names.iter().map(|name| fs::read(scratch.path(name))).collect();
        scratch.ok("dups d --exact --plan p");
        let ran = apply(&scratch, "p").ends_with(0);
        ran.says(&["7 moved to the trash", "`nearkin apply p --undo` brings all back"]);
        assert_eq!(names.iter().filter(|name| scratch.path(name).exists()).count(), 1);
        assert!(dups(&scratch, "d --exact").0.is_empty());
        let trash = scratch.path("data/Trash");
        assert_eq!((count(&trash.join("files")), count(&trash.join("info"))), (7, 7));
        let note = fs::read_to_string(trash.join("info/c.png.trashinfo")).unwrap();
        let path = fs::canonicalize(scratch.path("d/sub")).unwrap().join("c.png");
        let head = format!("[Trash Info]\nPath={}\nDeletionDate=2", path.display());
        assert!(note.starts_with(&head) && note.ends_with('\n'), "{note}");
        // The name of one is taken.
        scratch.write("d/one copy", "new");
        let ran = apply(&scratch, "p --undo").ends_with(3);
        ran.says(&["one copy does not come back", "6 brought back, 1 stayed"]);
        for (name, before) in names.iter().zip(before) {
            assert_eq!(fs::read(scratch.path(name)).unwrap(), before.unwrap());
        }
        fs::remove_file(scratch.path("d/one copy")).unwrap();
        apply(&scratch, "p --undo").ends_with(0).says(&["1 brought back"]);
        apply(&scratch, "p --undo").ends_with(0).says(&["nothing to do"]);
        assert_eq!((count(&trash.join("files")), count(&trash.join("info"))), (0, 0));
        assert_eq!(dups(&scratch, "d --exact").0.len(), 3);
        // The plan still holds: a file in the trash is the same file.
        apply(&scratch, "p").ends_with(0).says(&["7 moved to the trash"]);
    }

    /// A copy with two names goes only with both, and only then are its bytes freed.
    #[test]
    fn hard_links_are_freed_with_the_last_name() {
        let scratch = Scratch::new();
        scratch.write("d/a", vec![7; 1 << 20]);
        scratch.write("d/b", vec![7; 1 << 20]);
        fs::hard_link(scratch.path("d/b"), scratch.path("d/c")).unwrap();
        let (groups, totals) = dups(&scratch, "d --exact --plan p");
        assert_eq!(groups, ["exact d/a d/b"]);
        let promised = on_disk(&scratch.path("d/b"));
        assert_eq!(totals["exact_bytes_freed"], promised);
        scratch.ok("dups d --exact").prints("  d/c  (the same file)\n");
        let ran = apply(&scratch, "p --json").ends_with(0);
        let totals = &ran.objects()[0];
        assert_eq!((&totals["trashed"], &totals["bytes_trashed"]), (&2.into(), &promised.into()));
        apply(&scratch, "p --undo").ends_with(0);
        let ran = apply(&scratch, "p --delete --json").ends_with(0);
        let totals = &ran.objects()[0];
        assert_eq!((&totals["deleted"], &totals["bytes_freed"]), (&2.into(), &promised.into()));
        assert!(!scratch.path("d/b").exists() && !scratch.path("d/c").exists());
        assert!(dups(&scratch, "d --exact").0.is_empty());
        apply(&scratch, "p --delete").ends_with(0).says(&["2 already gone"]);
        // A name in another folder keeps the bytes.
        scratch.write("d/b", vec![7; 1 << 20]);
        fs::hard_link(scratch.path("d/b"), scratch.path("outside")).unwrap();
        let (groups, totals) = dups(&scratch, "d --exact");
        assert_eq!((groups.len(), &totals["exact_bytes_freed"]), (1, &0.into()));
        // Links of one file are no copies.
        fs::remove_file(scratch.path("d/a")).unwrap();
        fs::hard_link(scratch.path("d/b"), scratch.path("d/a")).unwrap();
        assert!(dups(&scratch, "d --exact").0.is_empty());
    }

    #[test]
    fn links_keep_owner_and_mode_unless_permitted() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::new();
        for name in ["a", "b", "private", "late"] {
            scratch.write(&format!("d/{name}"), vec![7; 10_000]);
        }
        let chmod = |name: &str, mode| {
            fs::set_permissions(scratch.path(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        let inode = |name: &str| fs::metadata(scratch.path(name)).unwrap().ino();
        chmod("d/private", 0o600);
        let ran = scratch.ok("dups d --exact --link --plan p --json");
        let (groups, totals) = read(&ran);
        assert_eq!(groups, ["exact d/a d/b d/late"]);
        assert_eq!(totals["exact_bytes_freed"], 2 * on_disk(&scratch.path("d/b")));
        ran.says(&["1 file not linked", "--any-owner permits it"]);
        assert_eq!(lines(&plan(&scratch, "p")), ["keep a", "link b", "link late"]);
        chmod("d/late", 0o640);
        let ran = apply(&scratch, "p").ends_with(3);
        ran.says(&["d/late stays: its owner or mode would change", "1 linked, 1 stayed"]);
        assert_eq!(inode("d/a"), inode("d/b"));
        assert!(inode("d/late") != inode("d/a") && inode("d/private") != inode("d/a"));
        scratch.ok("dups d --exact --link --any-owner --plan p");
        apply(&scratch, "p --any-owner").ends_with(0).says(&["2 linked"]);
        assert!(inode("d/late") == inode("d/a") && inode("d/private") == inode("d/a"));
        apply(&scratch, "p --any-owner").ends_with(0).says(&["2 already gone or linked"]);
        assert_eq!(count(&scratch.path("d")), 4);
        scratch.run("dups d --link").ends_with(2);
        scratch.run("dups d --plan s --any-owner").ends_with(2);
        scratch.run("apply p --link --delete").ends_with(2);
        scratch.run("apply p --undo --delete").ends_with(2);
    }

    /// A link in place of a near-copy would be another text under its name.
    #[test]
    fn a_near_copy_is_not_linked() {
        let scratch = Scratch::new();
        let text = |last: &str| {
            (0..200).map(|at| format!("word{at} ")).collect::<Vec<_>>().concat() + last
        };
        scratch.write("d/a.txt", text("end"));
        scratch.write("d/b.txt", text("ends"));
        scratch.ok("dups d --guard none --plan p");
        let on = |line: &str| match line.strip_prefix("# ") {
            Some(rest) if rest.contains('\t') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        scratch.write("p", plan(&scratch, "p").lines().map(on).collect::<String>());
        let ran = apply(&scratch, "p --link").ends_with(3);
        ran.says(&["does not have the same bytes: a link would lead to another text", "1 stayed"]);
        assert_eq!(fs::read_to_string(scratch.path("d/b.txt")).unwrap(), text("ends"));
        apply(&scratch, "p").ends_with(0).says(&["1 moved to the trash"]);
    }

    /// A file in a trash is as good as gone: it is no reason to remove another one.
    #[test]
    fn what_lies_in_a_trash_is_no_copy() {
        let scratch = Scratch::new();
        scratch.write("inbox/photo", vec![7; 10_000]);
        for trash in
            [".Trash-1000/files", ".Trashes/501", "$RECYCLE.BIN", ".local/share/Trash/files"]
        {
            scratch.write(&format!("arch/{trash}/photo"), vec![7; 10_000]);
        }
        let unique = || slashes(&scratch.ok("dups inbox --exact --unique --against arch").stdout);
        assert_eq!(unique(), "inbox/photo\n");
        assert!(dups(&scratch, "arch inbox --exact --hidden").0.is_empty());
        // Named itself, a trash is searched; yet nothing goes for what lies there.
        let command = "dups arch/.Trash-1000 inbox --exact --keep first --plan p";
        assert_eq!(dups(&scratch, command.trim_start_matches("dups ")).0.len(), 1);
        let ran = apply(&scratch, "p --delete").ends_with(3);
        ran.says(&["inbox/photo stays", "lies in a trash"]);
        scratch.write("arch/photo", vec![7; 10_000]);
        assert_eq!(unique(), "");
    }

    /// What a killed run leaves: a file that was set aside, one that is in the trash, a link.
    #[test]
    fn a_killed_run_is_continued() {
        let scratch = Scratch::new();
        for name in ["kept", "aside", "trashed", "linked"] {
            scratch.write(&format!("d/{name}"), vec![7; 10_000]);
        }
        scratch.ok("dups d --exact --keep shortest --plan p");
        let dir = fs::canonicalize(scratch.path("d")).unwrap();
        let dir = dir.display();
        let text = plan(&scratch, "p");
        let line = |name: &str| text.lines().find(|line| line.contains(&format!("/{name}\t")));
        let identity = |name: &str| line(name).unwrap().split('\t').nth(3).unwrap().to_owned();
        fs::create_dir_all(scratch.path("data/Trash/files")).unwrap();
        let trash = fs::canonicalize(scratch.path("data/Trash/files")).unwrap();
        let trash = trash.join("trashed");
        let entry = |deed: &str, of: &str, name: &str, place: &str| {
            format!("begin\t{deed}\t12288\t{}\t{dir}/{name}\t{place}\n", identity(of))
        };
        let journal = [
            "nearkin-journal 1\n".to_owned(),
            entry("delete", "aside", "aside", &format!("{dir}/.nearkin-1-1.aside")),
            entry("trash", "trashed", "trashed", &trash.display().to_string()),
            entry("link", "kept", "linked", &format!("{dir}/.nearkin-1-3.aside")),
            "begin\tdele".to_owned(),
        ];
        scratch.write("p.journal", journal.concat());
        fs::rename(scratch.path("d/aside"), scratch.path("d/.nearkin-1-1.aside")).unwrap();
        fs::rename(scratch.path("d/trashed"), &trash).unwrap();
        fs::hard_link(scratch.path("d/kept"), scratch.path("d/.nearkin-1-3.aside")).unwrap();
        let ran = apply(&scratch, "p --undo").ends_with(0);
        ran.says(&["1 moved to the trash, 1 brought back"]);
        let inode = |name: &str| fs::metadata(scratch.path(name)).unwrap().ino();
        assert!(scratch.path("d/aside").exists() && scratch.path("d/trashed").exists());
        assert_eq!(count(&scratch.path("d")), 4);
        apply(&scratch, "p").ends_with(0).says(&["3 moved to the trash"]);
        assert_eq!(fs::metadata(scratch.path("d/kept")).unwrap().nlink(), 1);
        assert!(inode("d/kept") > 0);
        // Two runs at once: the second one ends.
        let file = fs::File::options().append(true).open(scratch.path("p.journal")).unwrap();
        file.lock().unwrap();
        apply(&scratch, "p").ends_with(2).says(&["this plan is being applied"]);
    }
}

/// The page of `nearkin report` writes such paths.
#[cfg(unix)]
#[test]
fn relative_paths_are_in_the_current_folder() {
    let scratch = Scratch::new();
    for name in ["d/a", "d/b", "other/c"] {
        scratch.write(name, "the same bytes in each of them");
    }
    scratch.ok("dups d --exact --plan p");
    let folder = format!("{}/", fs::canonicalize(scratch.path("")).unwrap().display());
    let relative = plan(&scratch, "p").replace(&folder, "");
    assert!(relative.contains("\td/b\t") && !relative.contains(&folder), "{relative}");
    scratch.write("p", relative.replace("\td/b\t", "\tother/../d/./b\t"));
    let line = format!("apply {}", scratch.path("p").display());
    let mut elsewhere = scratch.command(&line.split(' ').collect::<Vec<_>>());
    elsewhere.current_dir(scratch.path("other"));
    let ran = Ran::new(elsewhere.output().unwrap()).ends_with(2);
    ran.says(&["no file of ", "change to the folder that the paths in the plan begin in"]);
    assert!(!scratch.path("p.journal").exists());
    apply(&scratch, "p").ends_with(0).says(&["1 moved to the trash"]);
    assert!(!scratch.path("d/b").exists());
    // The journal has whole paths: the way back does not depend on the folder.
    let line = format!("apply {} --undo", scratch.path("p").display());
    let mut elsewhere = scratch.command(&line.split(' ').collect::<Vec<_>>());
    elsewhere.current_dir(scratch.path("other"));
    elsewhere.env("XDG_DATA_HOME", scratch.path("data")).env("HOME", scratch.path("home"));
    Ran::new(elsewhere.output().unwrap()).ends_with(0).says(&["1 brought back"]);
    assert!(scratch.path("d/b").exists());
}
