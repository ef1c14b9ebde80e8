//! A process that forks: the child has a copy of the handle, and none of its threads.
#![expect(unsafe_code, reason = "std cannot fork: see the argument at each call")]

use crate::support::{Scratch, again, assert_whole, inline, params, run};
use nearkin::{Durability, ErrorKind, Index, Maintenance, Options};
use std::path::Path;
use std::time::{Duration, Instant};

/// Set in the process that forks: the folder of its index.
const VARIABLE: &str = "NEARKIN_TEST_FORKS";

#[test]
fn a_child_neither_writes_nor_takes_the_lock_along() {
    let scratch = Scratch::new();
    let output = again("fork::the_process_that_forks", VARIABLE, &scratch.dir()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("the parent went on"), "{told}");
    let index = scratch.open();
    assert_eq!(index.len(), 6);
    assert_whole(&index);
}

#[test]
fn the_process_that_forks() {
    let Some(dir) = std::env::var_os(VARIABLE) else { return };
    let dir = Path::new(&dir);
    Index::create(dir, &params(), inline()).unwrap().close().unwrap();
    // Without a maintenance thread, and with one, which the child does not have and must not wait
    // for.
    let shared = Options::default().maintenance(Maintenance::Shared);
    let own = Options::default().maintenance(Maintenance::Background);
    for (round, options) in [inline(), own, shared].into_iter().enumerate() {
        let index = Index::open(dir, options).unwrap();
        index.insert(format!("before {round}"), &run(0, 10)).unwrap();
        let index = fork_once(index);
        // The child has dropped its copy; the lock is still this process's.
        assert_eq!(Index::open(dir, inline()).unwrap_err().kind(), ErrorKind::Locked);
        index.insert(format!("after {round}"), &run(1, 10)).unwrap();
        assert_whole(&index);
        index.close().unwrap();
    }
    println!("\nthe parent went on");
}

/// Forks; the child tries what it must not do, and drops its copy of the handle.
fn fork_once(index: Index) -> Index {
    // SAFETY: this process runs one test; its other threads hold no lock that the child needs but
    // those of the allocator, which the C library frees in the child.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends a child that hangs, as one would that waited for a thread of the parent.
        unsafe { libc::alarm(20) };
        let code = in_the_child(index);
        // SAFETY: the child ends here, without what the test harness does at its end.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: waits for the child, whose number is new, and writes to `status` only.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the step that was not as it should be, times 256");
    index
}

/// 0, or which step was not as it should be.
fn in_the_child(index: Index) -> i32 {
    let refused = [
        index.insert("c", &run(2, 10)).map(|_| ()),
        index.flush(),
        index.compact(),
        index.sync().map(|_| ()),
        index.maintain().map(|_| ()),
    ];
    for (step, refused) in (1..).zip(refused) {
        match refused {
            Err(error)
                if error.kind() == ErrorKind::Closed
                    && error.to_string().contains("open the index in this process") => {}
            _ => return step,
        }
    }
    // Reading goes on.
    if !index.contains("before 0").is_ok_and(|found| found) {
        return 10;
    }
    match index.close() {
        Err(error) if error.kind() == ErrorKind::Closed => {}
        _ => return 11,
    }
    // An index of the child's own is maintained by threads of its own.
    let options = Options::default().durability(Durability::Interval(Duration::from_millis(5)));
    let Ok(own) = Index::temporary(&params(), options) else { return 12 };
    if own.insert("k", &run(2, 10)).is_err() {
        return 13;
    }
    let begun = Instant::now();
    while own.durable_change() == 0 {
        if begun.elapsed() > Duration::from_secs(10) {
            return 14;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if own.close().is_ok() { 0 } else { 15 }
}
