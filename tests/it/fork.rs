//! Forked processes: the child has a copy of the handle, but none of its threads.
#![expect(unsafe_code, reason = "std cannot fork: see the argument at each call")]

use crate::support::{Scratch, again, assert_whole, inline, params, run};
use nearkin::{Durability, ErrorKind, Index, Maintenance, Options};
use std::path::Path;
use std::time::{Duration, Instant};

/// Environment variable for the process that forks: the folder of its index.
const VARIABLE: &str = "NEARKIN_TEST_FORKS";

#[test]
fn a_child_neither_writes_nor_takes_the_lock_along() {
    let scratch = Scratch::new();
    let output = again("fork::the_process_that_forks", VARIABLE, &scratch.dir()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("the parent went on"), "{stdout}");
    let index = scratch.open();
    assert_eq!(index.len(), 6);
    assert_whole(&index);
}

#[test]
fn the_process_that_forks() {
    let Some(dir) = std::env::var_os(VARIABLE) else { return };
    let dir = Path::new(&dir);
    Index::create(dir, &params(), inline()).unwrap().close().unwrap();
    // The options differ in the maintenance thread: none, a thread of the index, a shared pool. The
    // child does not have that thread and must not wait for it.
    let shared = Options::default().maintenance(Maintenance::Shared);
    let own = Options::default().maintenance(Maintenance::Background);
    for (round, options) in [inline(), own, shared].into_iter().enumerate() {
        let index = Index::open(dir, options).unwrap();
        index.insert(format!("before {round}"), &run(0, 10)).unwrap();
        let index = fork_once(index);
        // The child has dropped its copy; this process still holds the lock.
        assert_eq!(Index::open(dir, inline()).unwrap_err().kind(), ErrorKind::Locked);
        index.insert(format!("after {round}"), &run(1, 10)).unwrap();
        assert_whole(&index);
        index.close().unwrap();
    }
    println!("\nthe parent went on");
}

/// Forks the process. The child tries forbidden calls and drops its copy of the handle.
fn fork_once(index: Index) -> Index {
    // SAFETY: this process runs one test. Its other threads hold no lock that the child needs,
    // except those of the allocator, which the C library resets in the child.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: `alarm` has no effect except to end the child if it hangs, for example because it
        // waits for a thread of the parent.
        unsafe { libc::alarm(20) };
        let code = in_the_child(index);
        // SAFETY: the call ends the child, without the exit handlers of the test harness.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: the call waits for the child and writes only to `status`.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the step that was not as it should be, times 256");
    index
}

/// Returns 0, or the number of the step that failed.
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
    // Reads still work.
    if !index.contains("before 0").is_ok_and(|found| found) {
        return 10;
    }
    match index.close() {
        Err(error) if error.kind() == ErrorKind::Closed => {}
        _ => return 11,
    }
    // An index that the child opens has its own maintenance threads.
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
