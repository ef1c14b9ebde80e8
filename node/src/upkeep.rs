//! Maintenance of an index: flush, compaction, verification, backups, closing.

use std::time::{Duration, Instant};

use napi::Env;
use napi_derive::napi;

use crate::failure::Failure;
use crate::handle::{Handle, Source};
use crate::job::{How, Reply, go_on, refuse_aborted, run};
use crate::keys::{Bytes, path_of};
use crate::numbers::whole;

/// Time between two looks whether a call that waits was aborted.
const STEP: Duration = Duration::from_millis(50);

/// Runs an expression on an index or a reader; refuses a snapshot.
macro_rules! call_files {
    ($source:ident, $handle:ident => $call:expr) => {
        match $source {
            Source::Index($handle) => Ok($call?),
            Source::Reader($handle) => Ok($call?),
            Source::Snapshot(_) => {
                Err(Failure::invalid("this is for an index or a reader, not for a snapshot"))
            }
        }
    };
}

#[napi]
impl Handle {
    #[napi]
    pub fn flush<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_writer(env, how, |index, _| Ok(index.flush()?))
    }

    /// Makes all earlier writes durable; returns the number of the last durable change.
    #[napi]
    pub fn sync<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_writer(env, how, |index, _| Ok(index.sync()?))
    }

    #[napi]
    pub fn compact<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_writer(env, how, |index, stop| Ok(index.compact_with(&mut |_| go_on(stop))?))
    }

    #[napi]
    pub fn verify<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_source(
            env,
            how,
            |source, stop| call_files!(source, files => files.verify_with(&mut |_| go_on(stop))),
        )
    }

    /// Makes a copy of the index in a new folder.
    #[napi]
    pub fn backup<'e>(&self, env: &'e Env, how: How<'_>, path: Bytes) -> Reply<'e> {
        let path = path_of(path);
        self.run_source(env, how, |source, _| {
            let path = path?;
            call_files!(source, files => files.backup(path))
        })
    }

    /// The state of the index in numbers.
    #[napi]
    pub fn stats<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_source(env, how, |source, _| call_files!(source, files => files.stats()))
    }

    /// Advances a reader or a shared handle to the current state; returns whether it changed.
    #[napi]
    pub fn refresh<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_source(env, how, |source, _| call_files!(source, files => files.refresh()))
    }

    /// Refreshes a shared handle until a change is visible; returns whether it is.
    #[napi]
    pub fn refresh_until<'e>(
        &self,
        env: &'e Env,
        how: How<'_>,
        change: f64,
        wait_ms: f64,
    ) -> Reply<'e> {
        let (change, wait) = (whole(change, "change"), whole(wait_ms, "waitMs"));
        self.run_writer(env, how, move |index, stop| {
            let (change, wait, begun) = (change?, Duration::from_millis(wait?), Instant::now());
            loop {
                let step = wait.saturating_sub(begun.elapsed()).min(STEP);
                refuse_aborted(stop)?;
                let is_visible = index.refresh_until(change, step)?;
                if is_visible || step.is_zero() {
                    return Ok(is_visible);
                }
            }
        })
    }

    /// Closes the handle. Calls that run already are completed, or fail as closed.
    #[napi]
    pub fn close<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        let taken = self.take();
        run(env, how, self.keys, move |_| match taken {
            Some(Source::Index(index)) => Ok(index.shutdown()?),
            _ => Ok(()),
        })
    }
}
