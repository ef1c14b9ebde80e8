//! Events: what the engine does on its own, for a listener of the caller's.
//!
//! Events are noted where they happen, under whatever locks, and told where none is held: so a
//! listener may call the index.

use crate::ErrorKind;
use crate::index::core::Core;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Events that wait to be told; more are dropped.
const WAITING_MAX: usize = 1_024;
/// A write that takes so long, but for its sync, has stalled.
const STALL: Duration = Duration::from_millis(if cfg!(test) { 0 } else { 50 });

/// What an index did, beside what was asked of it: see
/// [`Options::on_event`](crate::Options::on_event).
///
/// ```
/// use nearkin::Event;
/// use std::time::Duration;
///
/// fn line(event: &Event) -> Option<String> {
///     match event {
///         Event::WriterStalled { duration, .. } if *duration < Duration::from_secs(1) => None,
///         Event::MaintenanceFailed { .. } | Event::Poisoned { .. } => Some(format!("{event}!")),
///         _ => Some(event.to_string()),
///     }
/// }
/// # let _ = line;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Event {
    /// Opening found what an unclean end had left.
    #[non_exhaustive]
    Recovered {
        /// Changes replayed from the log.
        changes: u64,
        /// Bytes at the end of the log that were no whole record.
        bytes_cut: u64,
        /// Unlisted files that were removed.
        files_swept: u64,
    },
    /// The memtable became a segment, or was seen to hold nothing live.
    #[non_exhaustive]
    Flushed {
        /// Documents of the new segment.
        documents: u64,
        /// Its bytes.
        bytes: u64,
        /// How long writers had to wait for it.
        duration: Duration,
    },
    /// A compaction has begun.
    #[non_exhaustive]
    CompactionBegun {
        /// How many segments are merged.
        segments: u64,
        /// Their live documents.
        documents: u64,
    },
    /// A compaction has ended well.
    #[non_exhaustive]
    Compacted {
        /// How many segments were merged.
        segments: u64,
        /// Documents of the new segment.
        documents: u64,
        /// Its bytes.
        bytes: u64,
        /// How long it took, pauses between its steps included.
        duration: Duration,
    },
    /// Documents older than [`Options::ttl`](crate::Options::ttl) were removed.
    #[non_exhaustive]
    Expired {
        /// How many.
        documents: u64,
    },
    /// A step of maintenance failed; it is tried again. Told once for as long as the message
    /// stays the same.
    #[non_exhaustive]
    MaintenanceFailed {
        /// What kind of failure.
        kind: ErrorKind,
        /// What failed.
        message: String,
    },
    /// An insert, a remove or a batch waited for more than 50 ms, for other writers, a flush or a
    /// compaction (not for its sync).
    #[non_exhaustive]
    WriterStalled {
        /// How long.
        duration: Duration,
    },
    /// A sync failed: the handle writes nothing more.
    #[non_exhaustive]
    Poisoned {
        /// What failed.
        message: String,
    },
    /// The handle is no longer the index's one writer, and writes nothing more.
    #[non_exhaustive]
    LockLost {
        /// Why.
        message: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recovered { changes, bytes_cut, files_swept } => write!(
                f,
                "recovered: {changes} changes replayed, {bytes_cut} bytes cut, {files_swept} files \
                 swept"
            ),
            Self::Flushed { documents, bytes, duration } => {
                write!(f, "flushed {documents} documents into {bytes} bytes in {duration:?}")
            }
            Self::CompactionBegun { segments, documents } => {
                write!(f, "compaction of {segments} segments with {documents} documents begun")
            }
            Self::Compacted { segments, documents, bytes, duration } => write!(
                f,
                "compacted {segments} segments to {documents} documents, {bytes} bytes in \
                 {duration:?}"
            ),
            Self::Expired { documents } => write!(f, "{documents} documents expired"),
            Self::MaintenanceFailed { message, .. } => write!(f, "maintenance failed: {message}"),
            Self::WriterStalled { duration } => write!(f, "a writer waited {duration:?}"),
            Self::Poisoned { message } => write!(f, "a sync failed, nothing is written: {message}"),
            Self::LockLost { message } => write!(f, "nothing more is written: {message}"),
        }
    }
}

/// The function that receives events.
pub(crate) type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// The events of one handle that were not told yet.
#[derive(Default)]
pub(crate) struct Events {
    listener: Option<Listener>,
    waiting: Mutex<Waiting>,
    /// Whether there may be any: looked at by every call.
    may_wait: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// Somebody is telling, and goes on until none is left.
    is_told: bool,
    /// What the listener last panicked with.
    panic: Option<String>,
}

impl Events {
    pub(crate) fn to(listener: Option<Listener>) -> Self {
        Self { listener, ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_wanted(&self) -> bool {
        self.listener.is_some() || cfg!(feature = "log")
    }

    /// Notes an event, to be told when no lock is held.
    pub(crate) fn note(&self, event: impl FnOnce() -> Event) {
        if !self.is_wanted() {
            return;
        }
        let event = event();
        let mut waiting = self.lock();
        if waiting.events.len() < WAITING_MAX {
            waiting.events.push_back(event);
        }
        self.may_wait.store(true, Ordering::Release);
    }

    /// The time, if somebody wants to know how long things take.
    pub(crate) fn now(&self) -> Option<Instant> {
        self.is_wanted().then(Instant::now)
    }

    /// Notes a write that began then, if it was long.
    pub(crate) fn note_stall(&self, begun: Option<Instant>) {
        if let Some(duration) = begun.map(|begun| begun.elapsed()).filter(|took| *took > STALL) {
            self.note(|| Event::WriterStalled { duration });
        }
    }

    /// Tells what was noted. One thread tells at a time, so that all hear it in order; a listener
    /// that calls the index comes here again, and leaves it to itself.
    pub(crate) fn tell(&self) {
        if !self.may_wait.load(Ordering::Acquire) {
            return;
        }
        let mut waiting = self.lock();
        if std::mem::replace(&mut waiting.is_told, true) {
            return;
        }
        while let Some(event) = waiting.events.pop_front() {
            drop(waiting);
            #[cfg(feature = "log")]
            log(&event);
            let told = self.listener.as_ref().map(|listener| {
                catch_unwind(AssertUnwindSafe(|| listener(&event))).map_err(what_it_said)
            });
            waiting = self.lock();
            if let Some(Err(panic)) = told {
                waiting.panic = Some(format!("the listener of events panicked: {panic}"));
            }
        }
        waiting.is_told = false;
        self.may_wait.store(false, Ordering::Release);
    }

    /// What the listener panicked with, if it did.
    pub(crate) fn panic(&self) -> Option<String> {
        self.lock().panic.clone()
    }
}

/// What a panic was begun with.
#[expect(clippy::needless_pass_by_value, reason = "a panic is handed over so")]
fn what_it_said(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(feature = "log")]
fn log(event: &Event) {
    let level = match event {
        Event::MaintenanceFailed { .. } | Event::Poisoned { .. } | Event::LockLost { .. } => {
            log::Level::Error
        }
        Event::Recovered { .. } | Event::WriterStalled { .. } => log::Level::Warn,
        _ => log::Level::Info,
    };
    log::log!(target: "nearkin", level, "{event}");
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

/// An index while a call of a handle is under way: at its end, when all locks are let go, what
/// happened meanwhile is told.
pub(crate) struct Here<'a>(pub(super) &'a Core);

impl Deref for Here<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.0
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.events.tell();
    }
}
