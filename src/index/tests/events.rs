//! The events that a listener receives, their timing, and what a listener may do.

#![expect(clippy::disallowed_methods, reason = "takes folders away on purpose")]

use crate::index::maintain::steps;
use crate::index::state::options::{Durability, Maintenance};
use crate::{Error, ErrorKind, Event, Index, Options, Params, Signature, Sketcher};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

fn text(text: &str) -> Signature {
    Sketcher::new(&params()).text(text).unwrap()
}

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn inline() -> Options {
    Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
}

/// The events received, without stalls: in tests, every write counts as a stall.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Event>>>);

impl Heard {
    fn by(options: Options) -> (Self, Options) {
        let heard = Self::default();
        let to = heard.clone();
        let options = options.on_event(move |event| {
            if !matches!(event, Event::WriterStalled { .. }) {
                to.0.lock().unwrap().push(event.clone());
            }
        });
        (heard, options)
    }

    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn create(dir: &Path, options: Options) -> Index {
    Index::create(dir, &params(), options).unwrap()
}

#[test]
fn a_listener_hears_of_flushes_compactions_expiry_and_recovery() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let clock = Arc::new(AtomicU64::new(1_000));
    let options = || {
        let clock = Arc::clone(&clock);
        let now = move || clock.load(Ordering::Relaxed);
        inline().clock(now).ttl(Duration::from_millis(100))
    };
    let (heard, with_it) = Heard::by(options());
    let index = create(&dir, with_it);
    assert_eq!(heard.take(), []);
    for number in 0..3 {
        index.insert(format!("{number}"), &text("the quick brown fox")).unwrap();
        index.insert(format!("{number}/2"), &text("the quick brown fox")).unwrap();
        index.flush().unwrap();
        let events = heard.take();
        let [Event::Flushed { documents: 2, bytes, duration }, ..] = &events[..] else {
            panic!("{events:?}")
        };
        assert!(*bytes > 1_000 && *duration > Duration::ZERO, "{events:?}");
    }
    index.compact().unwrap();
    let events = heard.take();
    let [Event::CompactionBegun { segments, documents: 6 }, Event::Compacted { .. }] = &events[..]
    else {
        panic!("{events:?}")
    };
    let Event::Compacted { segments: merged, documents: 6, bytes, duration } = &events[1] else {
        panic!("{events:?}")
    };
    assert!(segments == merged && *bytes > 1_000 && *duration > Duration::ZERO, "{events:?}");
    clock.fetch_add(50, Ordering::Relaxed);
    index.insert("late", &text("a lazy dog")).unwrap();
    clock.fetch_add(80, Ordering::Relaxed);
    while index.maintain().unwrap() != crate::Maintained::Nothing {}
    assert!(heard.take().contains(&Event::Expired { documents: 6 }));
    assert_eq!(index.len(), 1);
    index.insert("not flushed", &text("a lazy dog")).unwrap();
    drop(index);
    let (heard, with_it) = Heard::by(options());
    let index = Index::open(&dir, with_it).unwrap();
    let events = heard.take();
    let [Event::Flushed { .. }, Event::Recovered { changes: 3, .. }] = events[..] else {
        panic!("{events:?}")
    };
    assert!(events[1].to_string().starts_with("recovered: "), "{}", events[1]);
    index.close().unwrap();
}

#[test]
fn a_listener_may_use_the_index_and_hears_of_it_afterwards() {
    for maintenance in [Maintenance::Shared, Maintenance::Background, Maintenance::Inline] {
        let folder = tempfile::tempdir().unwrap();
        let own: Arc<OnceLock<Weak<Index>>> = Arc::default();
        let (depth, deepest) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
        let (found, written) = (Arc::clone(&own), Arc::new(AtomicU64::new(0)));
        let (count, depths) = (Arc::clone(&written), Arc::clone(&deepest));
        let options = inline().maintenance(maintenance).on_event(move |event| {
            depths.fetch_max(depth.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let index = found.get().and_then(Weak::upgrade);
            if let (Event::Flushed { .. }, Some(index)) = (event, index)
                && count.fetch_add(1, Ordering::SeqCst) < 3
            {
                index.insert(format!("by the listener {}", index.len()), &text("a fox")).unwrap();
                index.flush().unwrap();
                index.compact().unwrap();
                index.stats().unwrap();
            }
            depth.fetch_sub(1, Ordering::SeqCst);
        });
        let index = Arc::new(create(&folder.path().join("papers"), options));
        own.set(Arc::downgrade(&index)).unwrap();
        index.insert("k", &text("the quick brown fox")).unwrap();
        index.flush().unwrap();
        // The event may be delivered by the maintenance thread. The calls above do not wait for
        // that thread, so wait here.
        let begun = std::time::Instant::now();
        while written.load(Ordering::SeqCst) <= 3 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((index.len(), deepest.load(Ordering::SeqCst)), (4, 1));
        assert!(written.load(Ordering::SeqCst) > 3);
        index.shutdown().unwrap();
    }
}

#[test]
fn a_listener_that_panics_breaks_nothing_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let options = inline().on_event(|_| panic!("a bug of the listener"));
    let index = create(&folder.path().join("papers"), options);
    index.insert("k", &text("the quick brown fox")).unwrap();
    index.flush().unwrap();
    let said = index.last_maintenance_error().unwrap();
    assert!(said.contains("a bug of the listener"), "{said}");
    assert_eq!(index.stats().unwrap().maintenance_failure, Some(said));
    index.insert("l", &text("the quick brown fox")).unwrap();
    assert_eq!(index.len(), 2);
    index.close().unwrap();
}

#[test]
fn failures_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers");
    let (heard, options) = Heard::by(Options { memtable_bytes_max: 1, ..inline() });
    let index = create(&dir, options);
    std::fs::remove_dir(dir.join("segments")).unwrap();
    std::fs::write(dir.join("segments"), "no folder").unwrap();
    index.insert("k", &text("the quick brown fox")).unwrap();
    let said = index.last_maintenance_error().unwrap();
    let events = heard.take();
    assert!(
        matches!(events[..], [Event::MaintenanceFailed { kind: ErrorKind::Io, .. }]),
        "{events:?}"
    );
    // The message of the real failure contains numbers that differ each time. This message does not
    // change, so only its first occurrence is reported.
    let again = Error::new(ErrorKind::Io, "the same");
    for _ in 0..3 {
        steps::note_maintenance(index.core(), Some(&again));
    }
    index.sync().unwrap();
    assert_eq!(heard.take().len(), 1);
    assert_ne!(index.last_maintenance_error().unwrap(), said);
    std::fs::remove_file(dir.join("segments")).unwrap();
    std::fs::create_dir(dir.join("segments")).unwrap();
    index.insert("l", &text("the quick brown fox")).unwrap();
    assert_eq!(index.last_maintenance_error(), None);
    heard.take();
    // Windows keeps the lock file of an open handle.
    if cfg!(windows) {
        return;
    }
    std::fs::remove_file(dir.join("lock")).unwrap();
    for _ in 0..2 {
        let error = index.insert("m", &text("the quick brown fox")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
    let events = heard.take();
    assert!(
        matches!(&events[..], [Event::LockLost { message }] if !message.is_empty()),
        "{events:?}"
    );
}

#[test]
fn a_failed_sync_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let (heard, options) = Heard::by(inline());
    let index = create(&folder.path().join("papers"), options);
    for cause in ["the disk is gone", "another"] {
        index.core().group.poison(&cause);
    }
    index.sync().unwrap();
    assert_eq!(heard.take(), [Event::Poisoned { message: "the disk is gone".to_owned() }]);
}

#[test]
fn a_writer_that_waits_for_another_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let stalls: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let to = Arc::clone(&stalls);
    let options = inline().on_event(move |event| {
        if let Event::WriterStalled { duration } = event {
            to.lock().unwrap().push(*duration);
        }
    });
    let index = create(&folder.path().join("papers"), options);
    std::thread::scope(|scope| {
        let held = index.core().writer();
        let insert = scope.spawn(|| index.insert("k", &text("the quick brown fox")).unwrap());
        std::thread::sleep(Duration::from_millis(30));
        assert!(!insert.is_finished());
        drop(held);
    });
    let longest = stalls.lock().unwrap().iter().max().copied().unwrap_or_default();
    assert!(longest >= Duration::from_millis(20), "{longest:?}");
}

#[cfg(feature = "log")]
#[test]
fn with_the_feature_events_are_records_of_the_log() {
    struct Lines(Mutex<Vec<String>>);
    impl log::Log for Lines {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }
        fn log(&self, record: &log::Record<'_>) {
            let line = format!("{} {} {}", record.level(), record.target(), record.args());
            self.0.lock().unwrap().push(line);
        }
        fn flush(&self) {}
    }
    static LINES: Lines = Lines(Mutex::new(Vec::new()));
    log::set_logger(&LINES).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let folder = tempfile::tempdir().unwrap();
    let index = create(&folder.path().join("papers"), inline());
    for key in ["this", "test", "alone", "has", "five"] {
        index.insert(key, &text("the quick brown fox")).unwrap();
    }
    index.flush().unwrap();
    let lines = LINES.0.lock().unwrap();
    let flushed = "INFO nearkin flushed 5 documents into ";
    assert!(lines.iter().any(|line| line.starts_with(flushed)), "{lines:?}");
}
