//! Events: background work and failures, reported to a listener of the caller.
//!
//! Events are queued where they happen, possibly under locks, and delivered when no lock is held,
//! so that a listener may call the index.

use crate::ErrorKind;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of queued events; more are dropped.
const WAITING_MAX: usize = 1_024;
/// Minimum duration of a write that is reported as stalled, not counting its sync.
const STALL: Duration = Duration::from_millis(small!(event::STALL_MILLIS, 50));

/// Background work and failures of an index: see [`Options::on_event`](crate::Options::on_event).
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
    /// Opening recovered from an unclean end.
    #[non_exhaustive]
    Recovered {
        /// Changes replayed from the log.
        changes: u64,
        /// Bytes of incomplete records at the end of the log, which were cut off.
        bytes_cut: u64,
        /// Unlisted files that were removed.
        files_swept: u64,
    },
    /// A flush wrote the memtable to a segment, or found that no document in it was live.
    #[non_exhaustive]
    Flushed {
        /// Number of documents in the new segment.
        documents: u64,
        /// Size of the new segment in bytes.
        bytes: u64,
        /// Time that writers waited for the flush.
        duration: Duration,
    },
    /// A compaction has started.
    #[non_exhaustive]
    CompactionBegun {
        /// Number of segments to merge.
        segments: u64,
        /// Number of live documents in these segments.
        documents: u64,
    },
    /// A compaction has succeeded.
    #[non_exhaustive]
    Compacted {
        /// Number of merged segments.
        segments: u64,
        /// Number of documents in the new segment.
        documents: u64,
        /// Size of the new segment in bytes.
        bytes: u64,
        /// Duration of the compaction, including pauses between its steps.
        duration: Duration,
    },
    /// Documents older than [`Options::ttl`](crate::Options::ttl) were removed.
    #[non_exhaustive]
    Expired {
        /// Number of removed documents.
        documents: u64,
    },
    /// A step of maintenance failed and will be retried. Reported once as long as the message stays
    /// the same.
    #[non_exhaustive]
    MaintenanceFailed {
        /// Kind of the error.
        kind: ErrorKind,
        /// Message of the error.
        message: String,
    },
    /// A write waited more than 50 ms for other writers, a flush or a compaction, not counting its
    /// sync.
    #[non_exhaustive]
    WriterStalled {
        /// Duration of the wait.
        duration: Duration,
    },
    /// A sync failed: the handle refuses all further writes.
    #[non_exhaustive]
    Poisoned {
        /// What failed, and why.
        message: String,
    },
    /// The handle is no longer the only writer of the index, and refuses all further writes.
    #[non_exhaustive]
    LockLost {
        /// Why the handle lost its lock.
        message: String,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recovered { changes, bytes_cut, files_swept } => write!(
                f,
                "recovered: {changes} changes replayed, {bytes_cut} bytes of a torn log cut off, \
                 {files_swept} leftover files deleted"
            ),
            Self::Flushed { documents, bytes, duration } => {
                write!(f, "flushed {documents} documents into {bytes} bytes in {duration:?}")
            }
            Self::CompactionBegun { segments, documents } => {
                write!(f, "compaction of {segments} segments with {documents} documents started")
            }
            Self::Compacted { segments, documents, bytes, duration } => write!(
                f,
                "compacted {segments} segments to {documents} documents, {bytes} bytes in \
                 {duration:?}"
            ),
            Self::Expired { documents } => write!(f, "{documents} documents expired"),
            Self::MaintenanceFailed { message, .. } => write!(f, "maintenance failed: {message}"),
            Self::WriterStalled { duration } => write!(f, "a writer waited {duration:?}"),
            Self::Poisoned { message } => {
                write!(f, "a sync failed, further writes are refused: {message}")
            }
            Self::LockLost { message } => write!(f, "further writes are refused: {message}"),
        }
    }
}

/// The function that receives events.
pub(crate) type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// The queued events of a handle.
#[derive(Default)]
pub(crate) struct Events {
    listener: Option<Listener>,
    waiting: Mutex<Waiting>,
    /// Whether the queue may be non-empty. Every call reads this.
    may_wait: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Event>,
    /// The thread that is delivering events. It continues until the queue is empty.
    deliverer: Option<ThreadId>,
    /// Message of the listener's last panic.
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

    /// Queues an event for delivery when no lock is held.
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

    /// The current time, if there is a listener.
    pub(crate) fn now(&self) -> Option<Instant> {
        self.is_wanted().then(Instant::now)
    }

    /// Queues a stall event if the write took too long.
    pub(crate) fn note_stall(&self, begun: Option<Instant>) {
        if let Some(duration) = begun.map(|begun| begun.elapsed()).filter(|took| *took > STALL) {
            self.note(|| Event::WriterStalled { duration });
        }
    }

    /// Delivers queued events. Only one thread at a time delivers, so that events stay in order. If
    /// a listener calls the index, this nested call returns at once.
    pub(crate) fn deliver(&self) {
        if !self.may_wait.load(Ordering::Acquire) {
            return;
        }
        let mut waiting = self.lock();
        if waiting.deliverer.is_some() {
            return;
        }
        waiting.deliverer = Some(thread::current().id());
        while let Some(event) = waiting.events.pop_front() {
            drop(waiting);
            #[cfg(feature = "log")]
            log(&event);
            let outcome = self.listener.as_ref().map(|listener| {
                catch_unwind(AssertUnwindSafe(|| listener(&event))).map_err(what_it_said)
            });
            waiting = self.lock();
            if let Some(Err(panic)) = outcome {
                waiting.panic = Some(format!("the event listener panicked: {panic}"));
            }
        }
        waiting.deliverer = None;
        self.may_wait.store(false, Ordering::Release);
    }

    /// Whether this thread runs the listener.
    pub(crate) fn is_delivered_here(&self) -> bool {
        self.may_wait.load(Ordering::Acquire)
            && self.lock().deliverer == Some(thread::current().id())
    }

    /// Message of the listener's last panic, if any.
    pub(crate) fn panic(&self) -> Option<String> {
        self.lock().panic.clone()
    }
}

/// The message of a panic payload.
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
