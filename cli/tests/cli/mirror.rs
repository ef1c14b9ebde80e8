//! `nearkin mirror`: an index that follows a folder.

use super::*;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

#[path = "mirror/crowds.rs"]
mod crowds;
#[path = "mirror/failures.rs"]
mod failures;
#[path = "mirror/signals.rs"]
mod signals;
#[path = "mirror/watch.rs"]
mod watch;

/// A text that is long enough to be compared.
fn text(number: usize) -> String {
    let words = (0..40).map(|word| format!("w{} ", number * 31 + word * word % 97));
    words.collect()
}

impl Scratch {
    /// Writes files with old modification times. Then waits until their change times, which cannot
    /// be set, are old enough, too.
    pub(crate) fn write_old(&self, files: &[(&str, &str)]) {
        for (name, content) in files {
            self.write(name, content);
            self.make_old(name);
        }
        std::thread::sleep(Duration::from_millis(150));
    }

    fn make_old(&self, name: &str) {
        let file = fs::OpenOptions::new().append(true).open(self.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }

    /// Runs `mirror`, and returns its lines and its counts.
    #[track_caller]
    fn mirror(&self, arguments: &str) -> (Vec<String>, Value) {
        let ran = self.ok(&format!("mirror {arguments} --json"));
        let mut objects = ran.objects();
        let counts = objects.pop().unwrap();
        let line = |object: Value| {
            let word = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
            let like = object["near_duplicate_of"].as_array().into_iter().flatten();
            let like: Vec<_> =
                like.map(|found| found["key"].as_str().unwrap().to_owned()).collect();
            format!("{} {} {}{}", word("change"), word("key"), word("why"), like.join(" "))
        };
        (objects.into_iter().map(|object| line(object).trim().to_owned()).collect(), counts)
    }

    /// The signatures by key.
    fn documents(&self, index: &str) -> BTreeMap<String, String> {
        let ran = self.ok(&format!("export {index} --out -"));
        let documents = ran.objects().into_iter().skip(1);
        documents.map(|one| (one["key"].to_string(), one["signature"].to_string())).collect()
    }
}

fn count(counts: &Value, names: &[&str]) -> Vec<u64> {
    names.iter().map(|name| counts[name].as_u64().unwrap()).collect()
}

const ALL: [&str; 6] = ["added", "replaced", "removed", "unchanged", "skipped", "read"];

#[test]
fn an_index_follows_its_folder() {
    let scratch = Scratch::new();
    let (mit, isc) = (licence("MIT"), licence("ISC"));
    let mine = mit.replace("Software", "Program");
    scratch.write_old(&[("d/mit", &mit), ("d/isc", &isc), ("d/b/mit", &mine), ("d/bin", "a\0b")]);
    let (lines, counts) = scratch.mirror("i d --threshold 0.5");
    assert_eq!(lines, ["added d/b/mit", "added d/isc", "added d/mit d/b/mit"]);
    assert_eq!(count(&counts, &ALL), [3, 0, 0, 0, 1, 4]);
    // Nothing has changed: no file is read, and skipped files are not reported again.
    let ran = scratch.ok("mirror i d").prints_just("");
    assert!(ran.stderr.contains("0 files read") && !ran.stderr.contains("d/bin"), "{}", ran.stderr);
    // One file is touched and moved, one is changed, one is emptied.
    scratch.make_old("d/mit");
    fs::rename(scratch.path("d/mit"), scratch.path("d/moved")).unwrap();
    scratch.write_old(&[("d/isc", &(isc + "and more")), ("d/b/mit", "")]);
    let (lines, counts) = scratch.mirror("i d");
    let expected =
        ["removed d/mit gone", "removed d/b/mit empty", "replaced d/isc", "added d/moved"];
    assert_eq!(lines, expected);
    assert_eq!(count(&counts, &ALL), [1, 1, 2, 0, 2, 3]);
    assert_eq!(count(&scratch.mirror("i d").1, &ALL), [0, 0, 0, 2, 2, 0]);
    scratch.ok("mirror fresh d --threshold 0.5");
    assert_eq!(scratch.documents("i"), scratch.documents("fresh"));
    scratch.ok("verify i");
}

#[test]
fn a_touched_file_keeps_its_document_and_time() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a", &text(1))]);
    scratch.mirror("i d");
    let time = |scratch: &Scratch| scratch.run("export i --out -").objects()[1]["time"].clone();
    let before = time(&scratch);
    scratch.make_old("d/a");
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(count(&scratch.mirror("i d").1, &ALL), [0, 0, 0, 1, 0, 1]);
    assert_eq!(time(&scratch), before);
    assert_eq!(count(&scratch.mirror("i d").1, &ALL), [0, 0, 0, 1, 0, 0]);
}

#[test]
fn a_file_modified_just_before_is_read_again() {
    let scratch = Scratch::new();
    scratch.write("d/a", text(1));
    let file = fs::File::options().write(true).open(scratch.path("d/a")).unwrap();
    // Runs `mirror` less than 1.5 s after the modification. A busy machine may be slower; then the
    // attempt is repeated.
    let right_after = || {
        let began = std::time::Instant::now();
        file.set_modified(std::time::SystemTime::now()).unwrap();
        // `mirror` requires a change time that is 0.1 s old and a modification time that is 2 s
        // old, before it relies on them. After this pause only the modification time is too recent.
        std::thread::sleep(Duration::from_millis(150));
        scratch.mirror("i d");
        began.elapsed() < Duration::from_millis(1_500)
    };
    assert!(std::iter::repeat_with(right_after).take(100).any(|in_time| in_time));
    assert_eq!(count(&scratch.mirror("i d").1, &["unchanged", "read"]), [1, 1]);
}

#[test]
fn more_files_than_a_chunk_holds_are_all_there() {
    let scratch = Scratch::new();
    for number in 0..9_000 {
        scratch.write(&format!("d/{}/{number}", number % 7), text(number));
    }
    let (lines, counts) = scratch.mirror("i d --limit 0");
    assert_eq!((lines.len(), &counts["added"]), (9_000, &Value::from(9_000)));
    scratch.ok("add j d");
    assert_eq!(scratch.documents("i"), scratch.documents("j"));
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let scratch = Scratch::new();
    let names: Vec<_> = (0..30).map(|number| format!("d/{number:02}")).collect();
    let texts: Vec<_> = (0..30).map(|number| text(number / 3)).collect();
    let all: Vec<_> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    scratch.write_old(&all[..20]);
    let dry = scratch.ok("mirror i d --dry-run");
    assert!(!scratch.path("i").exists());
    assert_eq!(scratch.ok("mirror i d").stdout, dry.stdout);
    assert_eq!(dry.stdout.matches("near-duplicate of").count(), 13, "{}", dry.stdout);
    scratch.write_old(&all[20..]);
    scratch.write_old(&[("d/03", &text(7)), ("d/04", "")]);
    fs::remove_file(scratch.path("d/00")).unwrap();
    let files = || -> BTreeMap<_, _> {
        let walk = walkdir(&scratch.path("i"));
        walk.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    };
    let before = files();
    let dry = scratch.ok("mirror i d --dry-run").says(&["nothing was changed"]);
    assert_eq!(files(), before);
    assert_eq!(scratch.ok("mirror i d").stdout, dry.stdout);
    assert!(dry.stdout.starts_with("removed   d/00  gone\n"), "{}", dry.stdout);
}

fn walkdir(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walkdir(&path) } else { vec![path] }).collect()
}

#[test]
fn excluded_files_are_left_out_and_removed() {
    let scratch = Scratch::new();
    for name in ["a.log", "a.txt", "b/c.txt", "b/d.txt", ".x/e.txt", ".git/f"] {
        scratch.write(&format!("d/{name}"), text(name.len()));
    }
    let keys = |scratch: &Scratch| scratch.documents("i").into_keys().collect::<String>();
    scratch.mirror("i d");
    assert_eq!(keys(&scratch), r#""d/a.log""d/a.txt""d/b/c.txt""d/b/d.txt""#);
    // Hidden names stay out even if a rule includes them, as `!*/` does for all folders.
    scratch.write("d/.gitignore", "*.log\n!*/\n!.env\n");
    scratch.write("d/b/.nearkinignore", "*\n!c.txt\n");
    scratch.write("d/.ssh/id_rsa", text(9));
    scratch.write("d/.env", text(8));
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["removed d/a.log now ignored", "removed d/b/d.txt now ignored"]);
    assert_eq!(counts["left_out"], 2);
    scratch.ok("mirror i d").says(&[", 2 left out by ignore rules; "]);
    scratch.mirror("i d --no-ignore --hidden");
    assert!(keys(&scratch).contains("d/a.log") && keys(&scratch).contains(".x/e.txt"));
    assert!(!keys(&scratch).contains(".git/f"), "{}", keys(&scratch));
    // The index itself may lie inside the folder.
    scratch.write("e/a", text(1));
    scratch.mirror("e/i e");
    let (lines, counts) = scratch.mirror("e/i e --no-ignore --hidden");
    assert!(lines.is_empty() && counts["skipped"] == 0, "{lines:?} {counts}");
}

#[test]
fn unreadable_ignore_rules_are_reported() {
    let scratch = Scratch::new();
    scratch.write("d/a.txt", text(1));
    scratch.write("d/b/private.log", text(2));
    // As written by an old editor (Latin-1) and by PowerShell (UTF-16).
    scratch.write("d/.gitignore", b"*.txt\n# g\xe9n\xe9ral\n*.log\n");
    scratch.write("d/b/.ignore", b"\xff\xfe*\0.\0l\0o\0g\0");
    let ran = scratch.ok("mirror i d");
    let ran =
        ran.says(&["d/.gitignore is not UTF-8 at line 2", "d/b/.ignore is not UTF-8 at line 1"]);
    assert!(ran.stdout.contains("b/private.log") && !ran.stdout.contains("a.txt"));
    scratch.ok("mirror i d --no-ignore").says_not("UTF-8");
}

#[test]
fn documents_of_others_stay() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a", &text(1)), ("d/b", &text(2)), ("c/a", &text(3))]);
    scratch.ok("add i d c");
    let (lines, counts) = scratch.mirror("i d");
    assert!(lines.is_empty() && counts["unchanged"] == 2, "taken over: {lines:?} {counts}");
    scratch.ok("mirror i c");
    scratch.write("x.jsonl", "{\"id\":\"d/not-a-file\",\"text\":\"of somebody else\"}\n");
    scratch.ok("add i --jsonl x.jsonl");
    fs::remove_file(scratch.path("d/a")).unwrap();
    assert_eq!(scratch.mirror("i d").0, ["removed d/a gone"]);
    let keys: Vec<_> = scratch.documents("i").into_keys().collect();
    assert_eq!(keys, [r#""c/a""#, r#""d/b""#, r#""d/not-a-file""#]);
}

/// When another text is added under a key, the stored payload stays, although it describes the
/// replaced text. `mirror` must notice.
#[test]
fn a_document_of_add_is_replaced_by_its_file() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a", &text(1)), ("d/b", &text(2))]);
    scratch.mirror("i d");
    let mirrored = scratch.documents("i");
    let line = |key: &str| format!("{{\"id\":\"{key}\",\"text\":\"{}\"}}\n", text(3));
    scratch.write("x.jsonl", line("d/a"));
    scratch.ok("add i --jsonl x.jsonl").prints("1 replaced");
    assert_ne!(scratch.documents("i"), mirrored);
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["replaced d/a"]);
    assert_eq!(count(&counts, &["unchanged", "read"]), [1, 1]);
    assert_eq!(scratch.documents("i"), mirrored);
    // If the file is gone, the document stays: its text was added by another command, so `mirror`
    // does not count it as its own.
    scratch.ok("add i --jsonl x.jsonl");
    fs::remove_file(scratch.path("d/a")).unwrap();
    assert!(scratch.mirror("i d").0.is_empty());
    assert_eq!(scratch.documents("i").len(), 2);
}

#[test]
fn the_same_folder_under_another_name_is_refused() {
    let scratch = Scratch::new();
    scratch.write("d/sub/a", text(1));
    scratch.write("e/d/sub/a", text(1));
    scratch.mirror("i d");
    for same in ["./d", "d/../d//", "d/sub", "."] {
        scratch.ok(&format!("mirror i {same} --dry-run"));
    }
    let whole = scratch.path("d").display().to_string();
    for other in [whole.as_str(), &format!("{whole}/sub"), scratch.path("").to_str().unwrap()] {
        scratch.fails(&format!("mirror i {other} --force"), &["under another name", "d/sub/a"]);
    }
    let elsewhere = |arguments: &[&str]| {
        let mut command = scratch.command(arguments);
        Ran::new(command.current_dir(scratch.path("e")).output().unwrap())
    };
    elsewhere(&["mirror", "../i", "d"]).ends_with(2).says(&["is not the folder", "--force"]);
    elsewhere(&["mirror", "../i", "d", "--force"]).ends_with(0).says(&["1 unchanged"]);
}

#[test]
fn a_missing_or_empty_folder_removes_nothing() {
    let scratch = Scratch::new();
    scratch.write("d/a", text(1));
    scratch.fails("mirror i nowhere", &["is not there"]);
    scratch.fails("mirror i d/a", &["not a folder"]);
    assert!(!scratch.path("i").exists());
    scratch.mirror("i d");
    fs::remove_file(scratch.path("d/a")).unwrap();
    scratch.fails("mirror i d", &["holds no file", "mounted", "--allow-empty"]);
    fs::remove_dir(scratch.path("d")).unwrap();
    scratch.fails("mirror i d", &["is not there", "mounted", "--allow-empty"]);
    assert_eq!(scratch.documents("i").len(), 1);
    assert_eq!(scratch.mirror("i d --allow-empty").0, ["removed d/a gone"]);
}

#[cfg(unix)]
#[test]
fn names_of_any_bytes_pipes_and_loops_are_no_trouble() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a", &text(1)), ("d/new\nline", &text(1))]);
    let name = scratch.path("d").join(std::ffi::OsStr::from_bytes(b"b\xff"));
    fs::write(name, text(2)).unwrap();
    std::os::unix::fs::symlink(".", scratch.path("d/loop")).unwrap();
    let made = Command::new("mkfifo").arg(scratch.path("d/pipe")).status().unwrap();
    assert!(made.success());
    let ran = scratch.ok("mirror i d");
    assert_eq!(ran.stdout.lines().count(), 3, "{}", ran.stdout);
    assert!(ran.stdout.contains(r"d/new\nline  near-duplicate of d/a"), "{}", ran.stdout);
    ran.says(&["d/loop: not a file (a symbolic link)", "d/pipe: not a file", "2 not a file"]);
    let ran = scratch.ok("query i d/a");
    assert!(ran.stdout.contains(r"d/new\nline"), "{}", ran.stdout);
    // The folder itself may be a symbolic link.
    std::os::unix::fs::symlink("d", scratch.path("link")).unwrap();
    let (lines, _) = scratch.mirror("j link");
    assert_eq!(lines.len(), 3, "{lines:?}");
    scratch.fails("mirror j d", &["under another name", "link/"]);
}

#[test]
fn a_lost_or_damaged_cache_or_catalog_is_survived() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a", &text(1)), ("d/bin", "a\0b")]);
    scratch.mirror("i d");
    let cache = scratch.path("i/mirror.skipped");
    let bytes = fs::read(&cache).unwrap();
    for damaged in [&bytes[..bytes.len() - 1], b"", b"nonsense"] {
        fs::write(&cache, damaged).unwrap();
        assert_eq!(count(&scratch.mirror("i d").1, &ALL), [0, 0, 0, 1, 1, 1]);
        assert_eq!(fs::read(&cache).unwrap(), bytes);
    }
    fs::write(scratch.path("i/mirror.skipped.tmp"), "left by a crash").unwrap();
    scratch.ok("verify i");
    scratch.ok("backup i copy");
    assert_eq!(count(&scratch.mirror("copy d").1, &ALL), [0, 0, 0, 1, 1, 1]);
    fs::remove_file(scratch.path("i/catalog.redb")).unwrap();
    scratch.fails("mirror i d", &["lost its catalog"]);
    scratch.run("salvage i saved").ends_with(1);
    assert_eq!(count(&scratch.mirror("saved d").1, &["added", "unchanged"]), [0, 1]);
}

#[cfg(feature = "html")]
#[test]
fn queries_read_files_as_mirror_did() {
    let scratch = Scratch::new();
    let page = format!("<!doctype html><p>{}", licence("MIT").replace('<', "&lt;"));
    scratch.write("d/mit.txt", licence("MIT"));
    scratch.write("d/mit.html", page);
    let (lines, _) = scratch.mirror("i d");
    assert_eq!(lines, ["added d/mit.html", "added d/mit.txt d/mit.html"]);
    let ran = scratch.ok("query i d/mit.html --exact --json");
    assert_eq!(ran.objects().len(), 2);
    assert!(ran.objects().iter().all(|found| found["exact"] == 1.0), "{}", ran.stdout);
    scratch.ok("pairs i --exact --json").has("exact", 1.0);
}

#[test]
fn an_index_of_something_else_is_refused() {
    let scratch = Scratch::new();
    scratch.write("d/a", text(1));
    scratch.ok("create sets --shingles items");
    scratch.ok("create quotes --passages 200:100");
    scratch.fails("mirror sets d", &["no texts"]);
    scratch.fails("mirror quotes d", &["passages"]);
}

#[cfg(unix)]
#[test]
fn killed_and_run_again_is_as_if_undisturbed() {
    let scratch = Scratch::new();
    for number in 0..6_000 {
        scratch.write(&format!("d/{number}"), text(number));
    }
    scratch.ok("mirror whole d");
    for milliseconds in [10, 30, 60, 100, 150] {
        let mut command = scratch.command(&["mirror", "i", "d"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    scratch.ok("mirror i d");
    assert_eq!(scratch.documents("i"), scratch.documents("whole"));
}

#[cfg(all(target_os = "linux", feature = "watch"))]
#[test]
fn watching_goes_on_with_what_happens() {
    use std::io::{BufRead as _, BufReader};
    if !signals_are_heard() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("d/a", text(1));
    let mut child = scratch.start("mirror i d --watch --json");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || loop {
        let object: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if let Some(change) = object["change"].as_str() {
            return format!("{change} {}", object["key"].as_str().unwrap());
        }
    };
    assert_eq!(next(), "added d/a");
    // Without this setting, the allocator would keep the memory of processed files for one more
    // second, and this process would seem larger than it is.
    let environment = fs::read(format!("/proc/{}/environ", child.id())).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("MIMALLOC_PURGE_DELAY=0\0"), "{environment}");
    // The watch was set before the first pass, so changes after that pass are seen.
    scratch.write("d/new/b", text(2));
    assert_eq!(next(), "added d/new/b");
    fs::rename(scratch.path("d/new"), scratch.path("d/other")).unwrap();
    assert_eq!([next(), next()], ["removed d/new/b", "added d/other/b"]);
    // Moved into the folder in one step: a file that is being written could be read while it is
    // empty.
    scratch.write("a", text(3));
    fs::rename(scratch.path("a"), scratch.path("d/a")).unwrap();
    assert_eq!(next(), "replaced d/a");
    scratch.write("d/.gitignore", "other\n");
    assert_eq!(next(), "removed d/other/b");
    fs::remove_file(scratch.path("d/.gitignore")).unwrap();
    assert_eq!(next(), "added d/other/b");
    signal(child.id(), "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(scratch.documents("i").len(), 2);
}

#[cfg(all(target_os = "linux", feature = "watch"))]
#[test]
fn watch_ends_with_its_folder_and_ignores_its_index() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let scratch = Scratch::new();
    scratch.write("d/a", text(1));
    let mut child = scratch.start("mirror d/i d --watch");
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut printed = String::new();
    while !printed.contains("watching d") {
        assert!(stderr.read_line(&mut printed).unwrap() > 0, "{printed}");
    }
    // A pause long enough for another pass, in case the index files written by the first run
    // wrongly trigger one.
    std::thread::sleep(Duration::from_secs(2));
    fs::rename(scratch.path("d"), scratch.path("e")).unwrap();
    stderr.read_to_string(&mut printed).unwrap();
    let output = child.wait_with_output().unwrap();
    let ran =
        Ran::new(std::process::Output { stderr: printed.into_bytes(), ..output }).ends_with(2);
    assert_eq!(ran.stdout, "added     d/a\n");
    assert_eq!(ran.stderr.matches("file read").count(), 1, "{}", ran.stderr);
    ran.says(&["watching d", "the folder is gone"]);
    assert_eq!(scratch.documents("e/i").len(), 1);
}
