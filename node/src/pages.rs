//! Iterations over pairs, clusters and keys. JavaScript requests one page at a time; the pool
//! computes a page when it is requested.

use std::sync::{Arc, Mutex, PoisonError};

use napi::Env;
use napi_derive::napi;
use nearkin::{Cluster, Key, Pair};

use crate::failure::Failure;
use crate::job::{How, Reply, Stop, refuse_aborted, run};
use crate::keys::KeyType;

/// Maximum number of pairs or keys of a page, and of keys in the clusters of a page unless one
/// cluster has more. Converting a page takes the event loop about half a millisecond.
const PAGE: usize = 256;

/// One value of an iteration.
pub(crate) enum Item {
    Pair(Pair),
    Cluster(Cluster),
    Key(Key<'static>),
}

impl Item {
    /// The number of keys, which bounds a page.
    fn size(&self) -> usize {
        if let Self::Cluster(cluster) = self { cluster.keys.len() } else { 1 }
    }
}

/// A page of an iteration: empty at the end.
pub(crate) type Page = Vec<Item>;

pub(crate) type Items = Box<dyn Iterator<Item = nearkin::Result<Item>> + Send>;
pub(crate) type Begin = Box<dyn FnOnce(Option<&Stop>) -> nearkin::Result<Items> + Send>;

/// An iteration. Before its first page it holds the work that starts it.
enum State {
    Before(Begin),
    During(Items),
    Ended,
}

impl State {
    /// The next page. An error or an abort ends the iteration.
    fn page(&mut self, stop: Option<&Stop>) -> Result<Page, Failure> {
        let mut all = match std::mem::replace(self, Self::Ended) {
            Self::Before(begin) => begin(stop)?,
            Self::During(all) => all,
            Self::Ended => return Ok(Page::new()),
        };
        let (mut page, mut sum) = (Page::new(), 0);
        while sum < PAGE {
            refuse_aborted(stop)?;
            let Some(next) = all.next().transpose()? else { return Ok(page) };
            sum += next.size();
            page.push(next);
        }
        *self = Self::During(all);
        Ok(page)
    }
}

/// Pages of an iteration.
#[napi]
pub struct Pages {
    state: Arc<Mutex<State>>,
    keys: KeyType,
}

impl Pages {
    pub(crate) fn new(begin: Begin, keys: KeyType) -> Self {
        Self { state: Arc::new(Mutex::new(State::Before(begin))), keys }
    }
}

#[napi]
impl Pages {
    /// The next page, an array; empty at the end.
    #[napi]
    pub fn next<'e>(&self, env: &'e Env, how: How<'_>) -> Reply<'e> {
        let state = Arc::clone(&self.state);
        run(env, how, self.keys, move |stop| {
            state.lock().unwrap_or_else(PoisonError::into_inner).page(stop)
        })
    }
}
