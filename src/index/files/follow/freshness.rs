//! How current the state of a reader is: the last look at the folder, and why it failed.

use crate::storage::forks;
use crate::sync::{Mutex, PoisonError, TryLockError};
use crate::{ErrorKind, Result};
use std::time::{Duration, Instant};

/// How current a reader is: see [`Reader::freshness`](crate::Reader::freshness).
///
/// With the feature `serde` it is written as an object with `age_seconds`, `failure` and
/// `failure_kind`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Freshness {
    /// Time since the reader last looked at the index with success: since the start of that opening
    /// or refresh. What a writer made durable before is in the reader's state, as far as its log
    /// says so.
    #[cfg_attr(feature = "serde", serde(rename = "age_seconds", with = "seconds"))]
    pub age: Duration,
    /// The error of the last refresh, if it failed. The reader keeps its state.
    pub failure: Option<String>,
    /// The kind of this error. `Mismatch`: another index is at the path now, so every later refresh
    /// fails, too; open the path again. `Unsettled` and `Locked` pass by themselves.
    pub failure_kind: Option<ErrorKind>,
}

/// A span of time as a number of seconds.
#[cfg(feature = "serde")]
mod seconds {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use std::result::Result;
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(
        age: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(age.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The last look at the folder. It has a lock of its own, so that it can be read during a refresh.
#[derive(Debug)]
pub(crate) struct LastLook {
    looked: Mutex<Looked>,
    opened: Instant,
    /// The number of forks when the reader was opened.
    forks: u32,
}

#[derive(Debug)]
struct Looked {
    succeeded: Instant,
    failure: Option<(ErrorKind, String)>,
}

impl LastLook {
    /// A look that began at this time and succeeded.
    pub(crate) fn at(began: Instant) -> Self {
        let looked = Mutex::new(Looked { succeeded: began, failure: None });
        Self { looked, opened: began, forks: forks() }
    }

    /// Notes how a look ended that began at this time.
    pub(crate) fn note<T>(&self, began: Instant, looked: &Result<T>) {
        let mut look = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        match looked {
            Ok(_) => *look = Looked { succeeded: began, failure: None },
            Err(error) => look.failure = Some((error.kind(), error.full_message())),
        }
    }

    pub(crate) fn freshness(&self) -> Freshness {
        let look = if self.forks == forks() {
            self.looked.lock().unwrap_or_else(PoisonError::into_inner)
        } else {
            match self.looked.try_lock() {
                Ok(look) => look,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                // In a forked child: a thread of the parent was noting a look.
                Err(TryLockError::WouldBlock) => {
                    let failure = Some("this process was forked during a refresh".to_owned());
                    let failure_kind = Some(ErrorKind::Closed);
                    return Freshness { age: self.opened.elapsed(), failure, failure_kind };
                }
            }
        };
        let (failure_kind, failure) = look.failure.clone().unzip();
        Freshness { age: look.succeeded.elapsed(), failure, failure_kind }
    }
}
