//! Streams of pairs, clusters and keys, computed while they are read.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

use nearkin::{Clusters, Pairs, Snapshot};
use pyo3::prelude::*;

use crate::arrow::{Batch, Builder, Field, Kind};
use crate::columns::keys::{KeyType, key_kind};
use crate::error::{raise, unlocked};
use crate::interrupt::{PAUSE, is_interrupted};
use crate::tables::table::{BatchSource, Failed};

/// Number of rows computed at a time.
const ROWS: usize = 8_192;

/// Checks that a key can be a value of a column: a column of text requires UTF-8.
fn shown(keys: KeyType, key: &[u8]) -> Result<Option<&[u8]>, Failed> {
    if keys == KeyType::Text && str::from_utf8(key).is_err() {
        return Err(Failed::Key(key.to_vec()));
    }
    Ok(Some(key))
}

/// Pairs as columns.
pub(crate) struct PairsSource {
    pairs: Pairs,
    keys: KeyType,
    /// Whether the table has a column of containments.
    is_contained: bool,
}

impl PairsSource {
    pub(crate) fn new(pairs: Pairs, keys: KeyType, is_contained: bool) -> Self {
        Self { pairs, keys, is_contained }
    }
}

impl BatchSource for PairsSource {
    fn fields(&self) -> Vec<Field> {
        let kind = key_kind(self.keys);
        let mut fields = vec![Field::new("a", kind), Field::new("b", kind)];
        fields.push(Field::new("similarity", Kind::Float));
        if self.is_contained {
            fields.push(Field::new("contained", Kind::Float));
        }
        fields
    }

    fn next(&mut self) -> Result<Option<Batch>, Failed> {
        let mut builder = Builder::new(&self.fields());
        for pair in self.pairs.by_ref().take(ROWS) {
            let pair = pair?;
            builder.row([
                shown(self.keys, &pair.a)?.into(),
                shown(self.keys, &pair.b)?.into(),
                pair.similarity.into(),
                pair.containment.map(|containment| containment.estimate).into(),
            ]);
        }
        Ok(builder.finish().pop())
    }
}

/// Clusters as columns, one row per member.
pub(crate) struct ClustersSource {
    clusters: Clusters,
    keys: KeyType,
    number: i64,
    /// Full batches that were not returned yet, the next one at the end. There are several only
    /// after a cluster too large for one batch.
    rest: Vec<Batch>,
}

impl ClustersSource {
    pub(crate) fn new(clusters: Clusters, keys: KeyType) -> Self {
        Self { clusters, keys, number: 0, rest: Vec::new() }
    }
}

impl BatchSource for ClustersSource {
    fn fields(&self) -> Vec<Field> {
        vec![
            Field::new("cluster", Kind::Integer),
            Field::new("key", key_kind(self.keys)),
            Field::new("size", Kind::Integer),
            Field::new("time", Kind::Time),
        ]
    }

    fn next(&mut self) -> Result<Option<Batch>, Failed> {
        if let Some(batch) = self.rest.pop() {
            return Ok(Some(batch));
        }
        let mut builder = Builder::new(&self.fields());
        let mut rows = 0;
        while rows < ROWS {
            let Some(cluster) = self.clusters.next().transpose()? else { break };
            for (key, time) in cluster.keys.iter().zip(&cluster.times) {
                if rows % ROWS == ROWS - 1 && is_interrupted() {
                    break;
                }
                builder.row([
                    self.number.into(),
                    shown(self.keys, key)?.into(),
                    cluster.size().into(),
                    (*time).into(),
                ]);
                rows += 1;
            }
            self.number += 1;
            if is_interrupted() {
                break;
            }
        }
        let mut batches = builder.finish();
        batches.reverse();
        self.rest = batches;
        Ok(self.rest.pop())
    }
}

/// A batch of keys; `None` at the end.
type KeyBatch = nearkin::Result<Option<Vec<Vec<u8>>>>;

/// An iterator over keys. A separate thread walks the snapshot, slightly ahead of the iterator.
#[pyclass(frozen, module = "nearkin", name = "KeyIterator")]
pub(crate) struct KeysSource {
    state: Mutex<State>,
    keys: KeyType,
    process: u32,
}

struct State {
    incoming: Receiver<KeyBatch>,
    ready: std::vec::IntoIter<Vec<u8>>,
    ended: bool,
}

/// Number of keys that are passed between the threads at a time.
const KEYS_TOGETHER: usize = 1_024;

impl KeysSource {
    pub(crate) fn start(snapshot: Snapshot, prefix: Vec<u8>, keys: KeyType) -> Self {
        let (sender, incoming) = sync_channel(2);
        std::thread::spawn(move || walk(&snapshot, &prefix, &sender));
        let state = State { incoming, ready: Vec::new().into_iter(), ended: false };
        Self { state: Mutex::new(state), keys, process: std::process::id() }
    }
}

impl State {
    /// The next key; fails if the thread panicked.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failed> {
        loop {
            if let Some(key) = self.ready.next() {
                return Ok(Some(key));
            }
            if self.ended {
                return Ok(None);
            }
            let received = match self.incoming.recv_timeout(PAUSE) {
                Ok(received) => received,
                // The call raises the exception of the signal handler.
                Err(RecvTimeoutError::Timeout) if is_interrupted() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err(Failed::Thread),
            };
            match received.inspect_err(|_| self.ended = true)? {
                Some(keys) => self.ready = keys.into_iter(),
                None => self.ended = true,
            }
        }
    }
}

/// Sends the keys with this prefix. Stops early if the iterator is gone.
fn walk(snapshot: &Snapshot, prefix: &[u8], sender: &SyncSender<KeyBatch>) {
    let mut some = Vec::new();
    for document in snapshot.iter() {
        let sent = match document {
            Ok(document) if document.key.starts_with(prefix) => {
                some.push(document.key);
                let full = some.len() == KEYS_TOGETHER;
                if full { sender.send(Ok(Some(std::mem::take(&mut some)))) } else { Ok(()) }
            }
            Ok(_) => Ok(()),
            Err(error) => sender.send(Err(error)),
        };
        if sent.is_err() {
            return;
        }
    }
    // If sending fails, the iterator is gone, and the final `None` is not needed.
    if sender.send(Ok(Some(some))).is_ok() {
        drop(sender.send(Ok(None)));
    }
}

#[pymethods]
impl KeysSource {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.process != std::process::id() {
            return Err(raise(py, "ClosedError", "an iterator of before a fork"));
        }
        py.check_signals()?;
        let next =
            unlocked(py, || self.state.lock().unwrap_or_else(PoisonError::into_inner).next());
        match next?.map_err(|failed| failed.into_py(py))? {
            Some(key) => self.keys.show(py, &key).map(Some),
            None => Ok(None),
        }
    }
}
