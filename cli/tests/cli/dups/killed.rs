//! What an earlier run of `nearkin apply` left is ended by a later one, and not forgotten before.

use super::*;
use std::os::unix::fs::MetadataExt as _;

const ASIDE: &str = "d/.nearkin-1-1.aside";
const TRASHED: &str = "data/Trash/files/moved";

/// Copies `d/kept` and `d/moved`, a plan `p`, and the journal of a run that was killed when it had
/// moved the second one to its place.
fn killed(deed: &str, place: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("d/kept", vec![7; 10_000]);
    scratch.write("d/moved", vec![7; 10_000]);
    scratch.ok("dups d --exact --keep shortest --plan p");
    let text = plan(&scratch, "p");
    let line = text.lines().find(|line| line.starts_with("remove\t")).unwrap();
    let parts: Vec<_> = line.split('\t').collect();
    let (path, identity) = (parts[2], parts[3]);
    let to = fs::canonicalize(scratch.path("")).unwrap().join(place);
    let entry = format!("begin\t{deed}\t12288\t{identity}\t{path}\t{}\n", to.display());
    scratch.write("p.journal", format!("nearkin-journal 1\n{entry}"));
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(scratch.path("d/moved"), to).unwrap();
    scratch
}

#[test]
fn a_device_may_have_another_number() {
    for (deed, place) in [("delete", ASIDE), ("trash", TRASHED)] {
        let scratch = killed(deed, place);
        let device = fs::metadata(scratch.path("d/kept")).unwrap().dev();
        let journal = plan(&scratch, "p.journal");
        let other = journal.replace(&format!("\t{device}:"), &format!("\t{}:", device + 1));
        scratch.write("p.journal", other);
        apply(&scratch, "p --undo").ends_with(0);
        assert!(scratch.path("d/moved").exists() && !scratch.path(place).exists(), "{deed}");
    }
}

#[test]
fn what_is_not_recognised_is_named_by_each_run() {
    for (deed, place) in [("delete", ASIDE), ("trash", TRASHED)] {
        let scratch = killed(deed, place);
        fs::rename(scratch.path(place), scratch.path("away")).unwrap();
        fs::create_dir(scratch.path(place)).unwrap();
        for arguments in ["p", "p --undo"] {
            let ran = apply(&scratch, arguments).ends_with(3);
            ran.says(&["d/moved: an earlier run left ", "stays: it is a link now", "1 stayed"]);
        }
        fs::remove_dir(scratch.path(place)).unwrap();
        scratch.write(place, "another");
        let ran = apply(&scratch, "p").ends_with(3);
        ran.says(&[place, "which stays: it is another file", "1 stayed"]);
        assert_eq!(fs::read(scratch.path(place)).unwrap(), b"another");
        fs::rename(scratch.path("away"), scratch.path(place)).unwrap();
        apply(&scratch, "p --undo").ends_with(0);
        assert!(scratch.path("d/moved").exists() && !scratch.path(place).exists(), "{deed}");
    }
    // A link that replaced nothing is the last name of its file.
    let scratch = killed("link", ASIDE);
    let ran = apply(&scratch, "p --link").ends_with(3);
    ran.says(&["which stays: it is the only name of its file", "1 stayed"]);
    assert!(scratch.path(ASIDE).exists());
}

#[test]
fn a_file_comes_back_when_its_name_is_free() {
    let scratch = killed("trash", TRASHED);
    scratch.write("d/moved", "new");
    apply(&scratch, "p").ends_with(3).says(&["1 moved to the trash, 1 stayed"]);
    let ran = apply(&scratch, "p --undo").ends_with(3);
    ran.says(&["d/moved does not come back", "1 stayed"]);
    fs::remove_file(scratch.path("d/moved")).unwrap();
    apply(&scratch, "p --undo").ends_with(0).says(&["1 brought back"]);
    assert_eq!(fs::metadata(scratch.path("d/moved")).unwrap().len(), 10_000);
    // The new file stays, too, for a reason of its own.
    let scratch = killed("delete", ASIDE);
    scratch.write("d/moved", "new");
    let ran = apply(&scratch, "p --delete").ends_with(3);
    ran.says(&["which stays: it cannot be moved to ", "is not the file of the plan", "2 stayed"]);
    fs::remove_file(scratch.path("d/moved")).unwrap();
    apply(&scratch, "p --delete").ends_with(0).says(&["1 deleted"]);
    assert!(!scratch.path("d/moved").exists() && !scratch.path(ASIDE).exists());
}

#[test]
fn a_file_system_may_not_be_mounted() {
    let scratch = killed("delete", ASIDE);
    fs::rename(scratch.path("d"), scratch.path("unmounted")).unwrap();
    apply(&scratch, "p --undo").ends_with(0).says(&["nothing to do"]);
    fs::rename(scratch.path("unmounted"), scratch.path("d")).unwrap();
    apply(&scratch, "p --undo").ends_with(0);
    assert!(scratch.path("d/moved").exists() && !scratch.path(ASIDE).exists());
}

/// The run was killed before it moved the file, and another file has its place now.
#[test]
fn a_file_that_was_not_moved_is_taken_as_before() {
    let scratch = killed("trash", TRASHED);
    fs::rename(scratch.path(TRASHED), scratch.path("d/moved")).unwrap();
    scratch.write(TRASHED, "another");
    apply(&scratch, "p").ends_with(0).says(&["1 moved to the trash"]);
    assert_eq!(fs::read(scratch.path(TRASHED)).unwrap(), b"another");
    apply(&scratch, "p --undo").ends_with(0).says(&["1 brought back"]);
}

/// FAT, network and FUSE file systems number files anew, and so may one that does not say its kind.
#[cfg(target_os = "linux")]
#[test]
fn the_journal_has_no_inodes_that_do_not_last() {
    let scratch = with_copies();
    scratch.ok("dups d --exact --plan p");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=?statfs,?statfs64"]);
    strace.args(["-e", "inject=?statfs,?statfs64:error=EIO"]);
    strace.args([env!("CARGO_BIN_EXE_nearkin"), "apply", "p"]).current_dir(scratch.path(""));
    strace.env("XDG_DATA_HOME", scratch.path("data")).env("HOME", scratch.path("home"));
    let output = strace.output();
    if !scratch.path("p.journal").exists() {
        println!("SKIPPED: strace: {output:?}");
        return;
    }
    Ran::new(output.unwrap()).ends_with(0).says(&["2 moved to the trash"]);
    let journal = plan(&scratch, "p.journal");
    let begun: Vec<_> = journal.lines().filter(|line| line.starts_with("begin\t")).collect();
    assert!(begun.len() == 2 && begun.iter().all(|line| line.contains("\t-:-:")), "{journal}");
    apply(&scratch, "p --undo").ends_with(0).says(&["2 brought back"]);
}
