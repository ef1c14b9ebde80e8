//! Forked processes: the child has a copy of the handle, but none of its threads.
#![expect(unsafe_code, reason = "std cannot fork: see the argument at each call")]

use crate::support::{Scratch, again, assert_whole, inline, params, run};
use nearkin::passages::PassageIndex;
use nearkin::{Batch, Durability, Edit, ErrorKind, Index, Maintenance, Options, Params, Reader};
use nearkin::{Snapshot, Windows};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
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
    let mut own = Some(index);
    let status = forked(|| own.take().map_or(1, in_the_child));
    assert_eq!(status, 0, "the step that was not as it should be, times 256");
    own.unwrap()
}

/// Forks the process. The child ends with the code that `work` returns. Returns its status.
fn forked(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child only runs `work` and ends. Locks of this library that other threads hold
    // are what the tests are about; the C library resets those of the allocator in the child, and
    // no other thread of the process uses anything else that has a lock.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: `alarm` has no effect except to end the child if it hangs, for example because it
        // waits for a thread of the parent.
        unsafe { libc::alarm(20) };
        let code = work();
        // SAFETY: the call ends the child, without the exit handlers of the test harness.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: the call waits for the child and writes only to `status`.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
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

/// Environment variable for the process that forks while a thread of it writes.
const WRITING: &str = "NEARKIN_TEST_FORKS_WHILE_WRITING";

#[test]
fn a_read_in_a_child_forked_during_a_write_answers_or_is_refused() {
    let scratch = Scratch::new();
    let output =
        again("fork::the_process_that_forks_while_it_writes", WRITING, &scratch.dir()).output();
    let output = output.unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("the parent wrote on"), "{stdout}");
}

#[test]
fn the_process_that_forks_while_it_writes() {
    let Some(dir) = std::env::var_os(WRITING) else { return };
    let dir = Path::new(&dir);
    // Most of the time of such a batch passes under the locks that readers take.
    let options = inline().durability(Durability::OsBuffer);
    let on_disk = Index::create(dir, &params(), options.clone()).unwrap();
    let in_memory = Index::temporary(&params(), options).unwrap();
    let signature = run(0, 10);
    let mut statuses = Vec::new();
    for index in [&on_disk, &in_memory] {
        index.insert("first", &signature).unwrap();
        index.flush().unwrap();
        let (before, is_over) = (index.snapshot(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0_u64.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let keys = (0..2_000_u64).map(|key| (key << 32) | (round % 3));
                    let edits: Vec<_> = keys.map(|key| Edit::insert(key, &signature)).collect();
                    index.write(Batch::from_iter(edits)).unwrap();
                    index
                        .write((0..2_000_u64).map(|key| Edit::remove(key << 32)).collect::<Batch>())
                        .unwrap();
                }
            });
            statuses.extend((0..150).map(|_| forked(|| read_in_the_child(index, &before))));
            is_over.store(true, Ordering::Relaxed);
        });
        assert_whole(index);
    }
    // Each is the step that was not as it should be, times 256, or the signal that ended a child.
    let wrong = statuses.iter().find(|status| ![0, REFUSED].contains(*status));
    assert_eq!(wrong, None, "{statuses:?}");
    assert!(statuses.contains(&0) && statuses.contains(&REFUSED), "{statuses:?}");
    println!("\nthe parent wrote on");
}

/// The exit code, times 256, of a child whose reads were refused.
const REFUSED: i32 = 100 << 8;

/// A read of a snapshot; false if its answer is wrong.
type Read<'a> = dyn Fn(&Snapshot) -> nearkin::Result<bool> + 'a;

/// Returns 0 if all reads answer, 100 if all are refused, or the number of a step that failed.
fn read_in_the_child(index: &Index, before: &Snapshot) -> i32 {
    let signature = run(0, 10);
    let mut refused = 0;
    let at_fork = index.snapshot();
    let reads: [&Read<'_>; 7] = [
        &|read| read.contains("first"),
        &|read| Ok(read.get("first")?.is_some()),
        &|read| Ok(read.query(&signature).limit(3).run()?.matches.len() <= 3),
        &|read| Ok(read.queries(std::slice::from_ref(&signature)).run()?.len() == 1),
        &|read| {
            Ok(read.query_key("first").limit(3).run().is_ok() || read.contains("first").is_err())
        },
        &|read| read.iter().take(5).try_fold(true, |_, document| document.map(|_| true)),
        &|read| Ok(!read.keys_page("", None, 5)?.is_empty()),
    ];
    for (step, read) in (1..).zip(reads) {
        for snapshot in [before, &at_fork, &index.snapshot()] {
            match read(snapshot) {
                Ok(true) => {}
                Err(error)
                    if error.kind() == ErrorKind::Closed
                        && error.to_string().contains("open the index in this process") =>
                {
                    refused += 1;
                }
                _ => return step,
            }
        }
    }
    let _ = (index.len(), index.durable_change());
    if refused == 0 { 0 } else { 100 }
}

/// Environment variable for the process that forks while a thread of it refreshes a reader.
const REFRESHING: &str = "NEARKIN_TEST_FORKS_WHILE_REFRESHING";

#[test]
fn a_child_forked_during_a_refresh_never_waits_for_the_reader() {
    let scratch = Scratch::new();
    let name = "fork::the_process_that_forks_while_it_refreshes";
    let output = again(name, REFRESHING, &scratch.dir()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("the parent refreshed on"), "{stdout}");
}

#[test]
fn the_process_that_forks_while_it_refreshes() {
    let Some(dir) = std::env::var_os(REFRESHING) else { return };
    let dir = Path::new(&dir);
    let options = inline().durability(Durability::OsBuffer);
    let index = Index::create(dir, &params(), options).unwrap();
    let signature = run(0, 10);
    index.insert("first", &signature).unwrap();
    index.flush().unwrap();
    let reader = Reader::open(dir, Options::default()).unwrap();
    let (is_over, mut wrong) = (AtomicBool::new(false), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let keys = (0..500_u64).map(|key| (key << 32) | (round % 3));
                let edits: Vec<_> = keys.map(|key| Edit::insert(key, &signature)).collect();
                index.write(Batch::from_iter(edits)).unwrap();
                index.sync().unwrap();
                reader.refresh().unwrap();
                reader.stats().unwrap();
            }
        });
        let mut statuses = (0..60).map(|_| forked(|| use_reader_in_the_child(&reader)));
        wrong = statuses.find(|status| ![0, REFUSED].contains(status));
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, None, "the step that was not as it should be, times 256");
    assert!(reader.contains("first").unwrap());
    println!("\nthe parent refreshed on");
}

/// Returns 0 if the reads answer, 100 if they are refused, or the number of a step that failed.
fn use_reader_in_the_child(reader: &Reader) -> i32 {
    let is_refused = |kind| kind == ErrorKind::Closed;
    let refused = [
        reader.refresh().map(|_| ()),
        reader.stats().map(|_| ()),
        reader.verify().map(|_| ()),
        reader.backup(reader.path().join("never made")),
    ];
    for (step, refused) in (1..).zip(refused) {
        if !refused.is_err_and(|error| is_refused(error.kind())) {
            return step;
        }
    }
    let _ = (reader.freshness(), reader.len(), format!("{reader:?}"));
    match reader.contains("first") {
        Ok(true) => 0,
        Err(error) if is_refused(error.kind()) => 100,
        _ => 10,
    }
}

/// Environment variable for the process that forks while a thread of it writes a text.
const CUTTING: &str = "NEARKIN_TEST_FORKS_WHILE_WRITING_TEXTS";

#[test]
fn a_text_written_in_a_child_forked_during_a_write_is_refused() {
    let scratch = Scratch::new();
    let name = "fork::the_process_that_forks_while_it_writes_texts";
    let output = again(name, CUTTING, &scratch.dir()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("the parent wrote on"), "{stdout}");
}

#[test]
fn the_process_that_forks_while_it_writes_texts() {
    if std::env::var_os(CUTTING).is_none() {
        return;
    }
    let params = Params::builder().passages(Windows::new(20, 10).unwrap()).build().unwrap();
    let texts = PassageIndex::new(Index::temporary(&params, inline()).unwrap()).unwrap();
    let text = "the ferry was cancelled after the harbour froze ".repeat(40);
    let (is_over, mut wrong) = (AtomicBool::new(false), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                texts.insert("a", &format!("{round} {text}")).unwrap();
            }
        });
        let write = || match texts.insert("b", &text) {
            Err(error) if error.kind() == ErrorKind::Closed => 0,
            _ => 1,
        };
        wrong = (0..40).map(|_| forked(write)).find(|status| *status != 0);
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, None, "1, times 256, if the text was not refused");
    println!("\nthe parent wrote on");
}
