//! At most one writer, in this process and in others.

use crate::support::{Scratch, again, inline, message, params, run};
use nearkin::{ErrorKind, Index};

/// Environment variable of the second process: the index to open.
const VARIABLE: &str = "NEARKIN_TEST_SECOND_OPENING";

#[test]
fn a_second_opening_in_one_process_is_refused_at_once() {
    let scratch = Scratch::new();
    let index = scratch.create();
    let second = Index::open(scratch.dir(), inline());
    assert!(message(second, ErrorKind::Locked).contains("this process has the index open already"));
    let second = Index::open_or_create(scratch.dir(), &params(), inline());
    assert!(message(second, ErrorKind::Locked).contains("i.nearkin"));
    index.insert("a", &run(0, 10)).unwrap();
    index.close().unwrap();
    scratch.open().close().unwrap();
}

#[test]
fn dropping_frees_the_lock_even_while_a_snapshot_lives() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    let snapshot = index.snapshot();
    drop(index);
    let index = scratch.open();
    index.remove("a").unwrap();
    assert!(snapshot.contains("a").unwrap());
    assert!(!index.contains("a").unwrap());
}

#[test]
fn a_second_process_is_refused_at_once_and_the_first_goes_on() {
    let scratch = Scratch::new();
    let index = scratch.create();
    index.insert("a", &run(0, 10)).unwrap();
    let mut command = again("locks::the_second_process", VARIABLE, &scratch.dir());
    let second = command.output().unwrap();
    let said = String::from_utf8_lossy(&second.stdout);
    assert!(second.status.success(), "{said}");
    assert!(said.contains("refused: Locked"), "{said}");
    index.insert("b", &run(0, 10)).unwrap();
    assert_eq!(index.len(), 2);
    index.close().unwrap();
    let second = command.output().unwrap();
    let said = String::from_utf8_lossy(&second.stdout);
    assert!(said.contains("opened: 2 documents"), "{said}");
}

#[test]
fn the_second_process() {
    let Some(dir) = std::env::var_os(VARIABLE) else { return };
    match Index::open(dir, inline()) {
        Ok(index) => println!("\nopened: {} documents", index.len()),
        Err(error) => println!("\nrefused: {:?}", error.kind()),
    }
}
