//! Upkeep of an index: flush, compaction, verification, backups, closing.

use std::ops::ControlFlow;

use napi::Env;
use napi_derive::napi;

use crate::failure::Failure;
use crate::handle::{Handle, Source};
use crate::job::{Reply, Stop, run};
use crate::shown::Json;

/// What a progress callback says: go on, unless the call was aborted.
pub(crate) fn go_on(stop: Option<&Stop>) -> ControlFlow<()> {
    if stop.is_some_and(Stop::is_set) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

#[napi]
impl Handle {
    #[napi]
    pub fn flush<'e>(&self, env: &'e Env, sync: bool) -> napi::Result<Reply<'e>> {
        let index = self.writer();
        run(env, self.call(sync, None), move || Ok(index?.flush()?))
    }

    /// Makes all earlier writes durable; returns the number of the last durable change.
    #[napi]
    pub fn sync<'e>(&self, env: &'e Env, sync: bool) -> napi::Result<Reply<'e>> {
        let index = self.writer();
        run(env, self.call(sync, None), move || Ok(index?.sync()?))
    }

    #[napi]
    pub fn compact<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (index, told) = (self.writer(), stop.cloned());
        run(env, self.call(sync, stop), move || {
            Ok(index?.compact_with(&mut |_| go_on(told.as_ref()))?)
        })
    }

    #[napi]
    pub fn verify<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let (source, told) = (self.source(), stop.cloned());
        run(env, self.call(sync, stop), move || {
            let progress = &mut |_| go_on(told.as_ref());
            match source? {
                Source::Index(index) => Ok(index.verify_with(progress)?),
                Source::Reader(reader) => Ok(reader.verify_with(progress)?),
                Source::Snapshot(_) => Err(Failure::invalid("verify the index, or a reader")),
            }
        })
    }

    /// Makes a copy of the index in a new folder.
    #[napi]
    pub fn backup<'e>(&self, env: &'e Env, sync: bool, path: String) -> napi::Result<Reply<'e>> {
        let source = self.source();
        run(env, self.call(sync, None), move || match source? {
            Source::Index(index) => Ok(index.backup(path)?),
            Source::Reader(reader) => Ok(reader.backup(path)?),
            Source::Snapshot(_) => Err(Failure::invalid("back up the index, or a reader")),
        })
    }

    /// The state of the index in numbers, as JSON.
    #[napi]
    pub fn stats<'e>(&self, env: &'e Env, sync: bool) -> napi::Result<Reply<'e>> {
        let source = self.source();
        run(env, self.call(sync, None), move || {
            let stats = match source? {
                Source::Index(index) => index.stats()?,
                Source::Reader(reader) => reader.stats()?,
                Source::Snapshot(_) => {
                    return Err(Failure::invalid("an index or a reader has stats"));
                }
            };
            let text = serde_json::to_string(&stats);
            text.map(Json).map_err(|error| Failure::invalid(error.to_string()))
        })
    }

    /// Follows the writer; returns whether there was something new.
    #[napi]
    pub fn refresh<'e>(&self, env: &'e Env, sync: bool) -> napi::Result<Reply<'e>> {
        let source = self.source();
        run(env, self.call(sync, None), move || match source? {
            Source::Reader(reader) => Ok(reader.refresh()?),
            _ => Err(Failure::invalid("only a reader is refreshed")),
        })
    }

    /// Closes the handle. Calls that run already are completed, or fail as closed.
    #[napi]
    pub fn close<'e>(&self, env: &'e Env, sync: bool) -> napi::Result<Reply<'e>> {
        let taken = self.take();
        run(env, self.call(sync, None), move || match taken {
            Some(Source::Index(index)) => Ok(index.shutdown()?),
            _ => Ok(()),
        })
    }
}
