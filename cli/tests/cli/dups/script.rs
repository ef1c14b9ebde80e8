//! The scripts that `nearkin dups` writes, and what they do when somebody runs them.

use std::os::unix::fs::MetadataExt as _;

use super::*;

/// The shells that are here, with their names.
fn shells() -> Vec<&'static str> {
    let is_there = |shell: &&str| {
        let mut words = shell.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["-c", ":"]).output().is_ok_and(|ran| ran.status.success())
    };
    ["sh", "dash", "bash", "busybox sh"].into_iter().filter(is_there).collect()
}

fn run(scratch: &Scratch, script: &str) -> Ran {
    let mut command = Command::new("sh");
    Ran::new(command.arg(script).current_dir(scratch.path("")).output().unwrap())
}

/// Hostile names, mounts, links that appear later, in every shell: see `sandbox.sh`.
#[cfg(target_os = "linux")]
#[test]
fn scripts_lose_nothing_in_a_sandbox() {
    let sandbox = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/dups/sandbox.sh");
    for shell in shells() {
        let scratch = Scratch::new();
        let ran = |namespaces: &str| {
            let mut command = Command::new("unshare");
            command.arg(namespaces).arg("sh").arg(&sandbox);
            command.arg(env!("CARGO_BIN_EXE_nearkin")).arg(shell);
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
                assert!(output.status.success(), "{shell}: {stdout}\n{said}");
                assert!(stdout.ends_with("passed\n"), "{shell}: {stdout}\n{said}");
            }
        }
    }
}

#[test]
fn the_script_removes_copies_only_when_run() {
    let names = ["d/it's", "d/new\nline", "d/-f", "d/$(touch x)", "d/a;b"];
    let with_names = || {
        let scratch = with_copies();
        for name in names {
            scratch.write(name, text(9, 0));
        }
        scratch
    };
    let count = |scratch: &Scratch| fs::read_dir(scratch.path("d")).unwrap().count();
    // A file that has changed since the script was written is not a copy any more; the script must
    // leave it alone.
    let change = |scratch: &Scratch| {
        scratch.write("d/one copy", text(1, 0).replace("wbaah", "wbaai"));
    };
    let scratch = with_names();
    let before = count(&scratch);
    scratch.ok("dups d --script link.sh --link");
    assert_eq!(count(&scratch), before, "the script was run");
    change(&scratch);
    let ran = run(&scratch, "link.sh").ends_with(1).says(&["no longer a copy", "one copy"]);
    assert_eq!(ran.stdout, "");
    let inodes: Vec<u64> =
        names.iter().map(|name| fs::metadata(scratch.path(name)).unwrap().ino()).collect();
    assert!(inodes.windows(2).all(|two| two[0] == two[1]));
    assert_eq!(count(&scratch), before);

    let scratch = with_names();
    scratch.ok("dups d --script clean.sh").says(&["read the script before you run it"]);
    assert_eq!(count(&scratch), before, "the script was run");
    change(&scratch);
    run(&scratch, "clean.sh").ends_with(1).says(&["no longer a copy", "5 removed, 1 kept"]);
    assert_eq!(names.iter().filter(|name| scratch.path(name).exists()).count(), 1);
    assert!(scratch.path("d/a.png").exists() && !scratch.path("d/sub/c.png").exists());
    assert!(scratch.path("d/one copy").exists() && scratch.path("d/one more").exists());
    assert!(!scratch.path("x").exists());
    assert!(dups(&scratch, "d --exact").0.is_empty());
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
        scratch.ok("dups d --script clean.sh");
    }
}

/// A copy with two names goes only with both, and only then are its bytes freed.
#[test]
fn hard_links_are_freed_with_the_last_name() {
    let scratch = Scratch::new();
    scratch.write("d/a", vec![7; 1 << 20]);
    scratch.write("d/b", vec![7; 1 << 20]);
    fs::hard_link(scratch.path("d/b"), scratch.path("d/c")).unwrap();
    let (groups, totals) = dups(&scratch, "d --exact --script clean.sh");
    assert_eq!(groups, ["exact d/a d/b"]);
    assert_eq!(totals["exact_bytes_freed"], on_disk(&scratch.path("d/b")));
    scratch.ok("dups d --exact").prints("  d/c  (the same file)\n");
    run(&scratch, "clean.sh").ends_with(0).says(&["2 removed, 0 kept"]);
    assert!(!scratch.path("d/b").exists() && !scratch.path("d/c").exists());
    assert!(dups(&scratch, "d --exact").0.is_empty());
    run(&scratch, "clean.sh").ends_with(0).says(&["0 removed, 0 kept, 2 not there any more"]);
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
    let ran = scratch.ok("dups d --exact --link --script link.sh --json");
    let (groups, totals) = read(&ran);
    assert_eq!(groups, ["exact d/a d/b d/late"]);
    assert_eq!(totals["exact_bytes_freed"], 2 * on_disk(&scratch.path("d/b")));
    ran.says(&["1 file not linked", "--any-owner permits it"]);
    chmod("d/late", 0o640);
    run(&scratch, "link.sh").ends_with(1).says(&["d/late: its owner or mode would change"]);
    assert_eq!(inode("d/a"), inode("d/b"));
    assert!(inode("d/late") != inode("d/a") && inode("d/private") != inode("d/a"));
    scratch.ok("dups d --exact --link --any-owner --script link.sh");
    run(&scratch, "link.sh").ends_with(0).says(&["2 linked"]);
    assert!(inode("d/late") == inode("d/a") && inode("d/private") == inode("d/a"));
    scratch.run("dups d --link").ends_with(2);
    scratch.run("dups d --script s --any-owner").ends_with(2);
}

#[test]
fn a_limit_counts_for_the_script_too() {
    let scratch = with_copies();
    let ran = scratch.ok("dups d --exact --limit 1 --script one.sh");
    ran.says(&["1 of 2 groups of exact copies (also in the script) shown"]);
    run(&scratch, "one.sh").ends_with(0).says(&["1 removed"]);
    assert_eq!(dups(&scratch, "d --exact").0.len(), 1);
}

/// The same copies as in the script for a shell, in words that PowerShell reads. No PowerShell is
/// here: what its functions do is read, not run.
#[test]
fn a_script_for_power_shell_names_the_same_copies() {
    let scratch = with_copies();
    for name in ["d/it's", "d/\u{2019}s $(x) `n"] {
        scratch.write(name, text(9, 0));
    }
    scratch.write("d/new\nline", text(9, 0));
    scratch.ok("dups d --script clean.ps1");
    let script = fs::read_to_string(scratch.path("clean.ps1")).unwrap();
    let dir = fs::canonicalize(scratch.path("d")).unwrap();
    let dir = dir.display();
    assert!(script.starts_with("\u{feff}# Written by `nearkin dups`: removes copies."));
    assert!(script.contains("$what = 'removed'\n$anyOwner = 'no' -eq 'yes'\n"));
    assert!(script.contains(&format!("\nCopy-Of '{dir}/a.png' '{dir}/sub/c.png'\n")), "{script}");
    assert!(script.contains(&format!("\nCopy-Of '{dir}/one' '{dir}/one copy'\n")));
    assert!(script.contains(&format!(" '{dir}/it''s'")));
    assert!(script.contains(&format!(" '{dir}/\u{2019}\u{2019}s $(x) `n'")));
    assert!(script.contains("\n# left out, because a name is no text: "));
    assert!(script.contains(&format!("\n# Near-Copy '{dir}/one' '{dir}/one more' '")));
    assert!(script.contains("\nAdd-Type -TypeDefinition @'\nusing System.IO;\n"));
    assert!(script.ends_with("\nFinish\n"));
    scratch.ok("dups d --script clean.ps1 --link");
    let script = fs::read_to_string(scratch.path("clean.ps1")).unwrap();
    assert!(script.contains(&format!("\nLink-To '{dir}/one' '{dir}/one copy'\n")));
    // A script for the other language is no script of this one.
    fs::copy(scratch.path("clean.ps1"), scratch.path("clean.sh")).unwrap();
    scratch.fails("dups d --script clean.sh", &["was not written by"]);
}
