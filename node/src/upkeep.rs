//! Maintenance of an index: flush, compaction, verification, backups, closing.

use napi::Env;
use napi_derive::napi;

use crate::failure::Failure;
use crate::handle::{Handle, Source};
use crate::job::{How, Reply, go_on, run};
use crate::keys::{Bytes, path_of};

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

    /// Advances a reader to the current state; returns whether it changed.
    #[napi]
    pub fn refresh<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        self.run_source(env, how, |source, _| match source {
            Source::Reader(reader) => Ok(reader.refresh()?),
            _ => Err(Failure::invalid("only a reader is refreshed")),
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
