//! The maintenance threads that indexes share.

use crate::index::maintain::pool::THREADS_MAX;
use crate::index::state::options::{Durability, Maintenance};
use crate::index::write::write_path;
use crate::{Batch, Event, Index, Options, Params, Signature, Sketcher};
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Longer than anything in these tests takes.
const LONG: Duration = Duration::from_secs(20);

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn text(number: u32) -> Signature {
    Sketcher::new(&params()).text(&format!("document {number} of a few")).unwrap()
}

fn options() -> Options {
    Options::default().durability(Durability::OsBuffer)
}

/// Options with which a memtable of any size is due to be flushed.
fn small() -> Options {
    Options { memtable_bytes_max: 1, ..options().tier_segments_max(2) }
}

fn temporary(options: Options) -> Index {
    Index::temporary(&params(), options).unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Number of maintenance threads in this process. Only meaningful in a test that has a process of
/// its own.
fn threads() -> usize {
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = names.map(|task| std::fs::read_to_string(task.path().join("comm")));
    names.filter(|name| name.as_deref().is_ok_and(|name| name == "nearkin\n")).count()
}

/// Held by tests that occupy threads of the pool: only one such test may run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a document. The maintenance thread does the flush that becomes due, and reports it.
fn write(index: &Index, key: &str) {
    write_path::write(index.core(), &Batch::new().insert(key, &text(1))).unwrap();
}

/// Options whose listener blocks the maintenance thread that reports the first flush. Also returns
/// a receiver that tells of the block, and a sender that ends it.
fn holding(options: Options) -> (Options, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (begun, is_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let may_go_on = Mutex::new(may_go_on);
    let is_first = AtomicBool::new(true);
    let options = options.on_event(move |event| {
        let on_its_thread = std::thread::current().name() == Some("nearkin");
        if matches!(event, Event::Flushed { .. })
            && on_its_thread
            && is_first.swap(false, Ordering::SeqCst)
        {
            begun.send(()).unwrap();
            // An error means that the sender was dropped, which ends the block, too.
            let _ = may_go_on.lock().unwrap().recv_timeout(LONG);
        }
    });
    (options, is_begun, go_on)
}

#[test]
fn many_indexes_are_looked_after_without_a_call() {
    let indexes: Vec<Index> = (0..40).map(|_| temporary(small())).collect();
    for number in 0..4 {
        for index in &indexes {
            index.insert(number.to_string(), &text(number)).unwrap();
        }
    }
    let is_merged = |index: &Index| {
        let state = index.core().state();
        state.segments.len() == 1 && state.memtable.read().document_count() == 0
    };
    wait_until("flushed and compacted", || indexes.iter().all(is_merged));
    for index in &indexes {
        assert_eq!(index.last_maintenance_error(), None);
        assert_eq!((index.len(), index.verify().unwrap().problems.len()), (4, 0));
    }
    for index in indexes.into_iter().step_by(2) {
        index.close().unwrap();
    }
}

#[test]
fn timed_syncs_and_deletions_run_in_the_background() {
    let clock = Arc::new(AtomicU64::new(1_000));
    let of = Arc::clone(&clock);
    let expiring =
        options().clock(move || of.load(Ordering::Relaxed)).ttl(Duration::from_millis(100));
    let expiring = temporary(expiring);
    let interval = Durability::Interval(Duration::from_millis(5));
    let synced = temporary(Options::default().durability(interval));
    for index in [&expiring, &synced] {
        index.insert("k", &text(1)).unwrap();
    }
    clock.fetch_add(200, Ordering::Relaxed);
    wait_until("synced", || synced.durable_change() == 1);
    wait_until("expired", || expiring.is_empty());
}

#[test]
fn closing_waits_for_the_own_step_only() {
    let _alone = alone();
    let (with_it, is_begun, go_on) = holding(small());
    let slow = temporary(with_it);
    let others: Vec<Index> = (0..20).map(|_| temporary(small())).collect();
    write(&slow, "k");
    is_begun.recv_timeout(LONG).unwrap();
    // One thread is blocked. The other indexes must be served and closed all the same.
    for index in &others {
        index.insert("k", &text(1)).unwrap();
    }
    wait_until("flushed", || others.iter().all(|index| index.core().state().segments.len() == 1));
    for index in others {
        index.close().unwrap();
    }
    let is_closed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            slow.shutdown().unwrap();
            is_closed.store(true, Ordering::SeqCst);
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!is_closed.load(Ordering::SeqCst), "its own step is under way");
        drop(go_on);
    });
    assert!(is_closed.load(Ordering::SeqCst));
}

#[test]
fn an_index_dropped_while_it_waits_for_its_turn_is_let_go() {
    let _alone = alone();
    let held: Vec<_> = (0..THREADS_MAX).map(|_| holding(small())).collect();
    let (mut indexes, mut keys) = (Vec::new(), Vec::new());
    for (with_it, is_begun, go_on) in held {
        let index = temporary(with_it);
        write(&index, "k");
        indexes.push(index);
        keys.push((is_begun, go_on));
    }
    for (is_begun, _) in &keys {
        is_begun.recv_timeout(LONG).unwrap();
    }
    // All threads are blocked, so none is free for these two indexes.
    let dropped = temporary(small());
    let stays = temporary(small());
    for index in [&dropped, &stays] {
        index.insert("k", &text(1)).unwrap();
    }
    let core = Arc::downgrade(&dropped.core);
    let begun = Instant::now();
    drop(dropped);
    assert!(begun.elapsed() < LONG / 2, "it waited for its turn");
    assert_eq!(core.strong_count(), 0);
    assert_eq!(stays.core().state().segments.len(), 0);
    drop(keys);
    wait_until("flushed", || stays.core().state().segments.len() == 1);
}

#[test]
fn a_panic_or_a_failure_of_one_index_is_its_own() {
    let on_its_thread = || std::thread::current().name() == Some("nearkin");
    let panics = Arc::new(AtomicBool::new(false));
    let of = Arc::clone(&panics);
    let clock = move || {
        if of.load(Ordering::SeqCst) && on_its_thread() {
            panic_any("a bug of the clock");
        }
        7
    };
    // Indexes with a broken clock: two for the two threads of the pool, and one with its own.
    let clocks = [Maintenance::Shared, Maintenance::Shared, Maintenance::Background];
    let clocks = clocks.map(|maintenance| {
        let options = small().clock(clock.clone()).ttl(Duration::from_secs(1));
        temporary(options.maintenance(maintenance))
    });
    panics.store(true, Ordering::SeqCst);
    let listeners: Vec<Index> =
        (0..3).map(|_| temporary(small().on_event(|_| panic!("a bug of the listener")))).collect();
    let sound = temporary(small());
    for round in 0..3_u32 {
        for index in clocks.iter().chain(&listeners).chain([&sound]) {
            // If a flush panicked on a thread of the pool, this insert may have to do the flush
            // itself.
            index.insert(round.to_string(), &text(round)).unwrap();
        }
    }
    let said = |index: &Index, what: &str| {
        index.last_maintenance_error().is_some_and(|said| said.contains(what))
    };
    wait_until("clocks", || clocks.iter().all(|index| said(index, "maintenance panicked")));
    wait_until("listeners", || listeners.iter().all(|index| said(index, "of the listener")));
    sound.insert("last", &text(9)).unwrap();
    wait_until("sound", || sound.core().state().memtable.read().document_count() == 0);
    // Maintenance continues once the clock works again.
    panics.store(false, Ordering::SeqCst);
    for index in &clocks {
        index.core().wakeup.wake();
    }
    wait_until("mended", || clocks.iter().all(|index| index.last_maintenance_error().is_none()));
    for index in clocks {
        index.close().unwrap();
    }
}

#[test]
fn a_listener_may_drop_its_own_index() {
    a_listener_drops_its_index(Maintenance::Shared);
    a_listener_drops_its_index(Maintenance::Background);
}

fn a_listener_drops_its_index(maintenance: Maintenance) {
    let slot: Arc<Mutex<Option<Index>>> = Arc::default();
    let own = Arc::clone(&slot);
    let (sender, dropped) = mpsc::channel();
    let with_it = small().maintenance(maintenance).on_event(move |_| {
        if let Some(index) = own.lock().unwrap().take() {
            let core = Arc::downgrade(&index.core);
            drop(index);
            sender.send(core).unwrap();
        }
    });
    let index = temporary(with_it);
    // Kept so that the write below is possible once `index` is in the slot. The write wakes the
    // maintenance thread.
    let core = Arc::clone(&index.core);
    *slot.lock().unwrap() = Some(index);
    write_path::write(&core, &Batch::new().insert("k", &text(1))).unwrap();
    drop(core);
    let core = dropped.recv_timeout(LONG).unwrap();
    wait_until("let go", || core.strong_count() == 0);
}

/// Environment variable, set in the process that runs only this test.
const ALONE: &str = "NEARKIN_TEST_POOL_ALONE";

#[test]
fn two_hundred_indexes_share_two_threads_until_closed() {
    if !cfg!(target_os = "linux") {
        return;
    }
    if std::env::var_os(ALONE).is_none() {
        let name = "two_hundred_indexes_share_two_threads_until_closed";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("index::tests::pool::{name}"), "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
        return;
    }
    let mut indexes = vec![temporary(options())];
    wait_until("one has one", || threads() == 1);
    let inline = temporary(options().maintenance(Maintenance::Inline));
    indexes.extend((1..200).map(|_| temporary(small())));
    for index in &indexes {
        index.insert("k", &text(1)).unwrap();
        index.maintain().unwrap();
    }
    assert_eq!(threads(), THREADS_MAX);
    let own = temporary(options().maintenance(Maintenance::Background));
    wait_until("one of its own", || threads() == THREADS_MAX + 1);
    drop(own);
    drop(indexes.split_off(1));
    wait_until("one has one", || threads() == 1);
    drop(indexes);
    wait_until("none has none", || threads() == 0);
    // The pool must be able to start again after all its threads have ended.
    let again = temporary(small());
    again.insert("k", &text(1)).unwrap();
    wait_until("flushed", || again.core().state().segments.len() == 1);
    drop(inline);
}
