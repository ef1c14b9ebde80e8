//! The cached index of `nearkin dups`, and its temporary files.

use super::*;

/// The folders of cached indexes.
fn caches(scratch: &Scratch) -> Vec<PathBuf> {
    let entries = fs::read_dir(scratch.path(".cache/nearkin/dups")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files
}

fn is_about_it(line: &str) -> bool {
    line.contains("the cache") || line.contains("no cache:")
}

#[test]
fn a_damaged_cache_is_rebuilt() {
    let scratch = with_copies();
    let expected = dups(&scratch, "d").0;
    assert_eq!(expected.len(), 3);
    let all = files_below(&caches(&scratch)[0]);
    assert!(all.iter().any(|path| path.extension().is_some_and(|ending| ending == "seg")));
    let names: Vec<_> = all.iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    for name in names {
        for damage in ["overwritten", "cut", "deleted"] {
            let all = files_below(&caches(&scratch)[0]);
            // A file that a rebuilt cache does not have cannot be damaged.
            let Some(path) = all.iter().find(|path| path.file_name() == Some(&name)) else {
                continue;
            };
            let mut bytes = fs::read(path).unwrap();
            match damage {
                "deleted" => fs::remove_file(path).unwrap(),
                "cut" => fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
                _ => {
                    let middle = bytes.len() / 2;
                    let end = bytes.len().min(middle + 64);
                    bytes[middle..end].fill(0xa5);
                    fs::write(path, &bytes).unwrap();
                }
            }
            let ran = scratch.ok("dups d --json");
            assert_eq!(read(&ran).0, expected, "{name:?} {damage}");
            let lines = ran.stderr.lines().filter(|line| is_about_it(line));
            assert!(lines.clone().count() <= 1, "{name:?} {damage}: {}", ran.stderr);
            if path.extension().is_some_and(|ending| ending == "seg") && damage != "cut" {
                let said = "the cache is damaged and is rebuilt: ";
                assert!(ran.stderr.contains(said), "{name:?} {damage}: {}", ran.stderr);
            }
            // It is whole again.
            let ran = scratch.ok("dups d --json");
            assert_eq!(read(&ran).0, expected, "{name:?} {damage}");
            assert!(!ran.stderr.lines().any(is_about_it), "{name:?} {damage}: {}", ran.stderr);
        }
    }
    fs::remove_dir_all(scratch.path(".cache")).unwrap();
    assert_eq!(dups(&scratch, "d --no-cache").0, expected);
    assert!(!scratch.path(".cache/nearkin/dups").exists());
}

#[cfg(unix)]
#[test]
fn old_caches_are_swept_and_others_cannot_read_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = with_copies();
    dups(&scratch, "d");
    let mode = fs::metadata(scratch.path(".cache/nearkin/dups")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let old = caches(&scratch)[0].clone();
    let name =
        |digit: &str| scratch.path(&format!(".cache/nearkin/dups/{}.nearkin", digit.repeat(32)));
    for path in [name("1"), name("2"), scratch.path(".cache/nearkin/dups/mine")] {
        fs::create_dir(path).unwrap();
    }
    let set_days = |path: &Path, days: u64| {
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    for (path, days) in [(&old, 40), (&name("1"), 40), (&name("2"), 20)] {
        set_days(path, days);
    }
    set_days(&scratch.path(".cache/nearkin/dups/mine"), 400);
    // The index that this run uses is not swept, however old it is, and is young afterwards.
    dups(&scratch, "d");
    assert!(old.exists() && !name("1").exists() && name("2").exists());
    assert!(scratch.path(".cache/nearkin/dups/mine").exists());
    dups(&scratch, "d --threshold 0.5");
    assert!(old.exists());
}

/// A killed run, or another user, may have left anything in the temporary folder.
#[cfg(target_os = "linux")]
#[test]
fn leftovers_in_the_temporary_folder_block_no_run() {
    let scratch = with_copies();
    fs::create_dir(scratch.path("tmp")).unwrap();
    // In a namespace of its own, every run has the process number 1.
    let run = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-r", "-p", "-f"]).arg(env!("CARGO_BIN_EXE_nearkin")).args(arguments);
        command.current_dir(scratch.path("")).env("TMPDIR", scratch.path("tmp")).output()
    };
    let index = "tmp/nearkin-dups-1.nearkin";
    match run(&["add", index, "d"]) {
        Ok(output) if output.status.success() => {}
        _ => return println!("SKIPPED: no namespace of processes can be made here"),
    }
    let ran = Ran::new(run(&["dups", "d", "--no-cache", "--json"]).unwrap()).ends_with(0);
    assert_eq!(read(&ran).0.len(), 3, "{}", ran.stderr);
    let left = fs::read_dir(scratch.path("tmp")).unwrap().count();
    assert_eq!(left, 1, "only what was there before is there");
}
