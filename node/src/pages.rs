//! Iterations over pairs, clusters and keys. JavaScript asks for a page at a time: a page is
//! computed on the pool, and none before it is asked for.

use std::sync::{Arc, Mutex, PoisonError};

use napi::Env;
use napi_derive::napi;
use nearkin::{Cluster, Pair, Snapshot};

use crate::failure::Failure;
use crate::job::{Call, Reply, Stop, run};
use crate::keys::KeyType;
use crate::shown::Page;

/// Maximum number of pairs or keys of a page, and of keys in the clusters of a page unless one
/// cluster has more. Converting a page takes the event loop about half a millisecond.
const PAGE: usize = 256;

type Work<T> = Box<dyn FnOnce(&Snapshot, Option<&Stop>) -> nearkin::Result<T> + Send>;

/// An iteration: before its first page, the work that begins it.
enum State<T> {
    Before(Work<T>, Snapshot),
    During(T),
    Ended,
}

impl<T: Iterator<Item = nearkin::Result<V>>, V> State<T> {
    /// The next page. The iteration ends with an error, and when it was aborted.
    fn page(&mut self, stop: Option<&Stop>, size: fn(&V) -> usize) -> Result<Page<V>, Failure> {
        let mut all = match std::mem::replace(self, Self::Ended) {
            Self::Before(begin, snapshot) => begin(&snapshot, stop)?,
            Self::During(all) => all,
            Self::Ended => return Ok(Page(Vec::new())),
        };
        let (mut page, mut sum) = (Vec::new(), 0);
        while sum < PAGE {
            if stop.is_some_and(Stop::is_set) {
                return Err(Failure::aborted());
            }
            let Some(next) = all.next().transpose()? else { return Ok(Page(page)) };
            sum += size(&next);
            page.push(next);
        }
        *self = Self::During(all);
        Ok(Page(page))
    }
}

type Keys = Box<dyn Iterator<Item = nearkin::Result<Vec<u8>>> + Send>;

#[derive(Clone)]
enum Kind {
    Pairs(Arc<Mutex<State<nearkin::Pairs>>>),
    Clusters(Arc<Mutex<State<nearkin::Clusters>>>),
    Keys(Arc<Mutex<State<Keys>>>),
}

/// Pages of an iteration.
#[napi]
pub struct Pages {
    kind: Kind,
    keys: KeyType,
}

fn page<T: Iterator<Item = nearkin::Result<V>>, V>(
    state: &Mutex<State<T>>,
    stop: Option<&Stop>,
    size: fn(&V) -> usize,
) -> Result<Page<V>, Failure> {
    state.lock().unwrap_or_else(PoisonError::into_inner).page(stop, size)
}

impl Pages {
    pub(crate) fn pairs(snapshot: Snapshot, alike: nearkin::Alike, keys: KeyType) -> Self {
        let begin: Work<nearkin::Pairs> = Box::new(move |snapshot, _| snapshot.pairs(alike));
        let state = State::Before(begin, snapshot);
        Self { kind: Kind::Pairs(Arc::new(Mutex::new(state))), keys }
    }

    pub(crate) fn clusters(snapshot: Snapshot, alike: nearkin::Alike, keys: KeyType) -> Self {
        let begin: Work<nearkin::Clusters> = Box::new(move |snapshot, stop| {
            snapshot.clusters_with(alike, &mut |_| crate::upkeep::go_on(stop))
        });
        let state = State::Before(begin, snapshot);
        Self { kind: Kind::Clusters(Arc::new(Mutex::new(state))), keys }
    }

    pub(crate) fn keys(snapshot: Snapshot, prefix: Vec<u8>, keys: KeyType) -> Self {
        let begin: Work<Keys> = Box::new(move |snapshot, _| {
            let all = snapshot.keys_with_prefix(prefix)?;
            Ok(Box::new(all.map(|key| key.map(nearkin::Key::into_vec))))
        });
        let state = State::Before(begin, snapshot);
        Self { kind: Kind::Keys(Arc::new(Mutex::new(state))), keys }
    }
}

#[napi]
impl Pages {
    /// The next page, an array; empty at the end.
    #[napi]
    pub fn next<'e>(
        &self,
        env: &'e Env,
        sync: bool,
        stop: Option<&Stop>,
    ) -> napi::Result<Reply<'e>> {
        let stop = stop.cloned();
        let call = Call { sync, keys: self.keys, stop: stop.clone() };
        match self.kind.clone() {
            Kind::Pairs(state) => {
                run(env, call, move || page::<_, Pair>(&state, stop.as_ref(), |_| 1))
            }
            Kind::Clusters(state) => run(env, call, move || {
                page::<_, Cluster>(&state, stop.as_ref(), |cluster| cluster.keys.len())
            }),
            Kind::Keys(state) => run(env, call, move || page(&state, stop.as_ref(), |_| 1)),
        }
    }
}
