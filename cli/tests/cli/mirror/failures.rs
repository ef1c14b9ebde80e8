//! Files that `nearkin mirror` cannot read, or must not: what becomes of their documents.

use super::*;

/// Not read, so kept, and why.
#[cfg(feature = "pdf")]
#[test]
fn a_document_stays_whatever_keeps_its_file_from_being_read() {
    let scratch = Scratch::new();
    let texts = [1, 2, 3, 4].map(text);
    let names = ["d/binary", "d/damaged", "d/empty", "d/large"];
    let files: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    scratch.write_old(&files);
    scratch.mirror("i d");
    let large = fs::File::options().write(true).open(scratch.path("d/large")).unwrap();
    large.set_len(65 << 20).unwrap();
    scratch.make_old("d/large");
    scratch.write_old(&[
        ("d/binary", "a\0b"),
        ("d/damaged", "%PDF-1.7\nnothing of it"),
        ("d/empty", " "),
    ]);
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["removed d/empty empty"]);
    assert_eq!(count(&counts, &["removed", "kept", "skipped", "waiting"]), [1, 3, 4, 1]);
    assert_eq!(scratch.documents("i").len(), 3);
    // A failure is no answer: the next run tries again, later ones wait.
    assert_eq!(count(&scratch.mirror("i d").1, &["kept", "read", "waiting"]), [3, 1, 1]);
    assert_eq!(count(&scratch.mirror("i d").1, &["kept", "read", "waiting"]), [3, 0, 1]);
    let ran = scratch.run("mirror i d").ends_with(0);
    ran.says(&["3 documents kept although their files could not be read", "tried again"]);
    // A changed file does not wait.
    scratch.write_old(&[("d/damaged", &text(5)), ("d/binary", &text(1))]);
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["replaced d/damaged"]);
    assert_eq!(count(&counts, &["unchanged", "kept", "waiting"]), [1, 1, 0]);
}

/// The system gives no room for the stack of a parser, and the next time it does.
#[cfg(all(target_os = "linux", feature = "html"))]
#[test]
fn a_parser_that_fails_once_is_asked_again() {
    let scratch = Scratch::new();
    let page = |number| format!("<html><p>{}", text(number));
    scratch.write_old(&[("d/page.html", &page(1))]);
    scratch.mirror("i d");
    let before = scratch.documents("i");
    scratch.write_old(&[("d/page.html", &page(2)), ("d/new.html", &page(3))]);
    let script = format!(
        "ulimit -v {}; exec {} mirror i d --json",
        400 << 10,
        env!("CARGO_BIN_EXE_nearkin")
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(scratch.dir.path()).env("RAYON_NUM_THREADS", "1");
    let ran = Ran::new(command.output().unwrap()).ends_with(0);
    let counts = ran.objects().pop().unwrap();
    assert_eq!(count(&counts, &["replaced", "removed", "kept", "waiting"]), [0, 0, 1, 2]);
    ran.says(&["skipped d/new.html: parser failed (HTML: no thread for its parser"]);
    assert_eq!(scratch.documents("i"), before);
    let (lines, counts) = scratch.mirror("i d");
    assert_eq!(lines, ["added d/new.html", "replaced d/page.html"]);
    assert_eq!(count(&counts, &["kept", "waiting"]), [0, 0]);
}

#[test]
fn an_ignored_file_is_not_gone() {
    let scratch = Scratch::new();
    scratch.write_old(&[("d/a.log", &text(1)), ("d/b", &text(2)), ("d/.c", &text(3))]);
    scratch.mirror("i d --hidden");
    fs::remove_file(scratch.path("d/b")).unwrap();
    scratch.write("d/.gitignore", "*.log\n.gitignore\n");
    let (lines, counts) = scratch.mirror("i d --hidden --dry-run");
    assert_eq!(lines, ["removed d/a.log now ignored", "removed d/b gone"]);
    assert_eq!(count(&counts, &["removed", "ignored"]), [2, 1]);
    // Without --hidden nothing is left: that is more than is removed without being asked.
    let ran = scratch.run("mirror i d").ends_with(2);
    ran.says(&["every file of d is ignored", "3 documents", "--force"]);
    let ran = scratch.run("mirror i d --force").ends_with(0);
    assert!(ran.stdout.contains("removed   d/.c  now ignored\n"), "{}", ran.stdout);
    ran.says(&["3 removed (2 now ignored)"]);
}

/// A first run over many files says how many there were, not each.
#[test]
fn of_many_changes_the_first_ones_are_named() {
    let scratch = Scratch::new();
    for number in 0..50 {
        scratch.write(&format!("d/{number:02}"), text(number));
        scratch.write(&format!("d/bin{number:02}"), "a\0b");
    }
    let ran = scratch.run("mirror i d").ends_with(0);
    assert_eq!(ran.stdout.lines().count(), 20, "{}", ran.stdout);
    assert_eq!(ran.stderr.matches("skipped d/bin").count(), 5, "{}", ran.stderr);
    ran.says(&["30 more added (--verbose", "skipped 45 more: binary (--verbose", "50 skipped"]);
    let ran = scratch.run("mirror j d -v").ends_with(0);
    assert_eq!(ran.stdout.lines().count(), 50, "{}", ran.stdout);
    assert_eq!(ran.stderr.matches("skipped d/bin").count(), 50, "{}", ran.stderr);
    let ran = scratch.run("mirror k d -q").ends_with(0);
    assert_eq!(ran.stderr, "");
}
