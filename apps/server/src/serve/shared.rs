//! The state that all requests share: the index, limits and counters, and the pool that runs work
//! on the index.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nearkin::Sketcher;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::api::error_response::ErrorResponse;
use super::hand_over::HandOver;
use super::http::access::Access;
use super::http::access_log::AccessLog;
use super::metrics::Metrics;
use super::served::Served;
use nearkin_kit::args::machine;
use nearkin_kit::input::originals::Originals;

/// Memory for request bodies: enough for this many bodies of maximum size, or for more smaller
/// ones.
const BODIES_MAX: usize = 16;

/// Maximum number of answers that are sent while they are found. Each of them holds a thread until
/// its client has read it, and threads are few: half of them, if they are fewer than eight.
const STREAMS_MAX: usize = 4;

/// Maximum number of threads that process requests; further requests wait for a free thread. More
/// threads would cost memory: the allocator keeps a few pages of each size per thread, and with 64
/// threads, one per admitted request, these pages made up most of the server's memory. 16 writers
/// are also enough to share a sync.
const THREADS_MAX: usize = 16;

/// Maximum number of cached expected recalls, one per threshold.
const RECALLS_MAX: usize = 64;

/// Number of threads for calls that may take long.
pub(super) fn threads(requests_max: usize) -> usize {
    requests_max.min(machine::memory_part(4 << 20, THREADS_MAX))
}

/// Limits of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) body_bytes_max: usize,
    pub(super) requests_max: usize,
    pub(super) timeout: Duration,
}

/// State shared by all requests.
pub(super) struct Shared {
    pub(super) index: Served,
    /// Name of the index, for display.
    pub(super) title: String,
    /// Access to the original texts, if clients may read them.
    pub(super) originals: Option<Originals>,
    pub(super) log: Option<AccessLog>,
    pub(super) sketcher: Sketcher,
    pub(super) limits: Limits,
    pub(super) access: Access,
    pub(super) metrics: Metrics,
    pub(super) began: Instant,
    poisoned: AtomicBool,
    stopping: Arc<AtomicBool>,
    draining: AtomicBool,
    places: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    pub(super) hand_over: HandOver,
    /// Memory still free for bodies, in KiB.
    room: Arc<Semaphore>,
    recalls: Mutex<HashMap<u64, f64>>,
}

impl Shared {
    pub(super) fn new(index: Served, title: String, limits: Limits, access: Access) -> Self {
        let bytes = machine::memory_part(8, limits.body_bytes_max * BODIES_MAX);
        let kib = bytes.div_ceil(1024);
        Self {
            sketcher: index.sketcher(),
            index,
            title,
            originals: None,
            log: None,
            limits,
            access,
            metrics: Metrics::default(),
            began: Instant::now(),
            poisoned: AtomicBool::new(false),
            stopping: Arc::default(),
            draining: AtomicBool::new(false),
            places: Arc::new(Semaphore::new(limits.requests_max)),
            streams: Arc::new(Semaphore::new(
                STREAMS_MAX.min(threads(limits.requests_max) / 2).max(1),
            )),
            hand_over: HandOver::new(),
            room: Arc::new(Semaphore::new(kib)),
            recalls: Mutex::new(HashMap::new()),
        }
    }

    /// A place for a call: the number of calls that run at once is limited, and beyond it they are
    /// refused at once.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| ErrorResponse::busy("too many requests at once"))
    }

    /// Notes that the index refuses all further writes.
    pub(super) fn poison(&self) {
        self.poisoned.store(true, Ordering::Relaxed);
    }

    /// Runs work that sends its answer while it runs, on a blocking thread. Such an answer takes as
    /// long as its client reads it, so only a few may run at once.
    pub(super) fn stream(
        self: Arc<Self>,
        work: impl FnOnce(&Self) + Send + 'static,
    ) -> Result<(), ErrorResponse> {
        let Ok(streaming) = Arc::clone(&self.streams).try_acquire_owned() else {
            let message = "as many answers of this kind as may be are being sent";
            return Err(ErrorResponse::busy(message).advise("try again when one has been read"));
        };
        let place = self.place()?;
        // Detached: the answer ends when the work drops its end of the channel.
        drop(tokio::task::spawn_blocking(move || {
            work(&self);
            drop(self);
            drop(streaming);
            drop(place);
        }));
        Ok(())
    }

    /// From now on, health checks say that the server stops, so that no more requests come.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the server was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Tells answers that are being sent to end.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the server stops: true after [`Shared::stop`].
    pub(super) fn stopping(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopping)
    }

    /// Reserves memory for a body of at most this many bytes.
    pub(super) fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        Arc::clone(&self.room)
            .try_acquire_many_owned(kib)
            .map_err(|_| ErrorResponse::busy("too many bytes of request bodies at once"))
    }

    /// Whether any work on the index is running.
    pub(super) fn is_working(&self) -> bool {
        self.places.available_permits() < self.limits.requests_max
    }

    /// Whether the index refuses all further writes, for example because a sync failed.
    pub(super) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Relaxed)
    }

    /// The probability that a document whose similarity is exactly at the threshold is returned. It
    /// is cached, because computing it costs more than the query, and the result never changes.
    pub(super) fn expected_recall(&self, threshold: f64) -> f64 {
        let recalls = || self.recalls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = recalls().get(&threshold.to_bits()) {
            return *known;
        }
        let recall = self.index.params().expected_recall(threshold, threshold);
        let mut recalls = recalls();
        if recalls.len() >= RECALLS_MAX {
            recalls.clear();
        }
        recalls.insert(threshold.to_bits(), recall);
        recall
    }
}
