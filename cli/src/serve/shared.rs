//! What all requests share: the index, the limits, the counts; and the way to work on the index.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use nearkin::{Index, Sketcher};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::Metrics;
use super::refused::Refused;
use super::token::Token;
use crate::originals::Originals;

/// Bodies of the largest size that are held in memory at once; more of the smaller ones.
const BODIES_MAX: usize = 16;

/// Thresholds whose expected recall is remembered.
const RECALLS_MAX: usize = 64;

/// What a request may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) body_bytes_max: usize,
    pub(super) requests_max: usize,
    pub(super) timeout: Duration,
}

/// What all requests share.
pub(super) struct Shared {
    pub(super) index: Index,
    /// The index's name, for people.
    pub(super) title: String,
    /// Where texts of documents can be read again, if clients may.
    pub(super) originals: Option<Originals>,
    pub(super) sketcher: Sketcher,
    pub(super) limits: Limits,
    pub(super) token: Option<Token>,
    /// Whether only this machine can ask: then a browser is the way in for others.
    pub(super) loopback: bool,
    pub(super) metrics: Metrics,
    pub(super) began: Instant,
    poisoned: AtomicBool,
    places: Arc<Semaphore>,
    /// In KiB.
    room: Arc<Semaphore>,
    recalls: Mutex<HashMap<u64, f64>>,
}

impl Shared {
    pub(super) fn new(
        index: Index,
        title: String,
        limits: Limits,
        token: Option<Token>,
        loopback: bool,
    ) -> Self {
        let kib = limits.body_bytes_max.div_ceil(1024) * BODIES_MAX;
        Self {
            sketcher: index.sketcher(),
            index,
            title,
            originals: None,
            limits,
            token,
            loopback,
            metrics: Metrics::default(),
            began: Instant::now(),
            poisoned: AtomicBool::new(false),
            places: Arc::new(Semaphore::new(limits.requests_max)),
            room: Arc::new(Semaphore::new(kib)),
            recalls: Mutex::new(HashMap::new()),
        }
    }

    /// Works on the index where it may block: the engine reads and syncs files. Bounded: whoever
    /// finds no place is refused at once.
    ///
    /// The place is held until the work is done, also if nobody waits for it any more.
    pub(super) async fn work<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Err(Refused::busy("too many requests at once"));
        };
        let worked = tokio::task::spawn_blocking(move || {
            let done = work(&self);
            if done.as_ref().is_err_and(Refused::is_poison) {
                self.poisoned.store(true, Ordering::Relaxed);
            }
            // Before the place, so that the index is free when all places are.
            drop(self);
            drop(place);
            done
        });
        worked.await.unwrap_or_else(|_| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Err(Refused::new(status, "internal", "the work on this request broke off")
                .advise("look at the server's stderr"))
        })
    }

    /// Room for a body of at most so many bytes.
    pub(super) fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refused> {
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        Arc::clone(&self.room)
            .try_acquire_many_owned(kib)
            .map_err(|_| Refused::busy("too many bytes of requests at once"))
    }

    /// Whether anything works on the index.
    pub(super) fn is_working(&self) -> bool {
        self.places.available_permits() < self.limits.requests_max
    }

    /// Whether a sync has failed, so that nothing is written any more.
    pub(super) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Relaxed)
    }

    /// The chance that a document of exactly this similarity is returned at this threshold. It
    /// costs more than the query, and always comes to the same.
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
