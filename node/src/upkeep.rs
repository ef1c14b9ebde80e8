//! Upkeep of an index: flush, compaction, verification, backups, closing.

use std::ops::ControlFlow;

use napi::Env;
use napi_derive::napi;

use crate::failure::Failure;
use crate::handle::{Handle, Source};
use crate::job::{How, Reply, Stop, run};
use crate::shown::Json;

/// What a progress callback says: go on, unless the call was aborted.
pub(crate) fn go_on(stop: Option<&Stop>) -> ControlFlow<()> {
    if stop.is_some_and(Stop::is_set) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn not_of_a_snapshot() -> Failure {
    Failure::invalid("this is for an index or a reader, not for a snapshot")
}

#[napi]
impl Handle {
    #[napi]
    pub fn flush<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        self.run_writer(env, how, |index, _| Ok(index.flush()?))
    }

    /// Makes all earlier writes durable; returns the number of the last durable change.
    #[napi]
    pub fn sync<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        self.run_writer(env, how, |index, _| Ok(index.sync()?))
    }

    #[napi]
    pub fn compact<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        self.run_writer(env, how, |index, stop| Ok(index.compact_with(&mut |_| go_on(stop))?))
    }

    #[napi]
    pub fn verify<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        self.run_source(env, how, |source, stop| match source {
            Source::Index(index) => Ok(index.verify_with(&mut |_| go_on(stop))?),
            Source::Reader(reader) => Ok(reader.verify_with(&mut |_| go_on(stop))?),
            Source::Snapshot(_) => Err(not_of_a_snapshot()),
        })
    }

    /// Makes a copy of the index in a new folder.
    #[napi]
    pub fn backup<'e>(&self, env: &'e Env, how: How<'_>, path: String) -> napi::Result<Reply<'e>> {
        self.run_source(env, how, move |source, _| match source {
            Source::Index(index) => Ok(index.backup(path)?),
            Source::Reader(reader) => Ok(reader.backup(path)?),
            Source::Snapshot(_) => Err(not_of_a_snapshot()),
        })
    }

    /// The state of the index in numbers, as JSON.
    #[napi]
    pub fn stats<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        self.run_source(env, how, |source, _| {
            let stats = match source {
                Source::Index(index) => index.stats()?,
                Source::Reader(reader) => reader.stats()?,
                Source::Snapshot(_) => return Err(not_of_a_snapshot()),
            };
            Ok(Json(serde_json::to_string(&stats).map_err(nearkin::Error::other)?))
        })
    }

    /// Follows the writer; returns whether there was something new.
    #[napi]
    pub fn refresh<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        self.run_source(env, how, |source, _| match source {
            Source::Reader(reader) => Ok(reader.refresh()?),
            _ => Err(Failure::invalid("only a reader is refreshed")),
        })
    }

    /// Closes the handle. Calls that run already are completed, or fail as closed.
    #[napi]
    pub fn close<'e>(&self, env: &'e Env, how: How<'_>) -> napi::Result<Reply<'e>> {
        let taken = self.take();
        run(env, how, self.keys, move |_| match taken {
            Some(Source::Index(index)) => Ok(index.shutdown()?),
            _ => Ok(()),
        })
    }
}
