//! The merge of a flush, done in one call. If a second processor is available, the tables are
//! computed from the memtable by another thread, in parallel with the writing.
//!
//! The other thread only computes. All file operations stay on this thread and in the same order,
//! so the files are identical to the byte.

use crate::Result;
use crate::format::bytes::index;
use crate::format::catalog::SegmentEntry;
use crate::index::merge::merging::run;
use crate::index::state::running::Merge;
use crate::memtable::Memtable;
use crate::segment::{Need, Rebuild, Run, Shape};
use crate::sync::{mpsc, thread};
use nearkin_sketch::engine::key_hash;

/// Minimum number of documents for which a second thread is started.
const DOCS_MIN: usize = small!(parallel_tables::DOCS_MIN, 8 * 1024);
/// Maximum number of documents fed per step. It is small enough that the signatures read for one
/// band are still in the processor cache for the next band.
const FED_DOCS_MAX: u32 = small!(parallel_tables::FED_DOCS_MAX, 2 * 1024);
/// At most 1 / `COMPUTING_SHARE_INVERSE` of a merge's memory is used to compute tables. If a single
/// table needs more, it may take up to half of the memory. The other half is for runs that wait to
/// be written.
const COMPUTING_SHARE_INVERSE: usize = 8;

/// The documents of a flush.
#[derive(Debug, Clone, Copy)]
pub(super) struct Births<'a> {
    pub(super) memtable: &'a Memtable,
    /// The ordinals of the documents to write, ascending.
    pub(super) live: &'a [u32],
    pub(super) shape: &'a Shape,
    /// Maximum memory of the merge.
    pub(super) memory_bytes: usize,
}

impl Merge {
    /// Merges the documents of a flush in one call, and publishes the segment.
    pub(super) fn flush(mut self, births: Births<'_>) -> Result<SegmentEntry> {
        let Births { live, memory_bytes, .. } = births;
        let runs_ahead = (memory_bytes / 2 / Run::BYTES).clamp(1, live.len().max(1));
        let (sender, receiver) = mpsc::sync_channel(runs_ahead);
        thread::scope(|scope| {
            // Moved into this closure, so that the receiver is dropped when the closure ends, even
            // after an error. Then sending fails, which ends the other thread.
            let receiver = receiver;
            let (spares_in, spares) = mpsc::channel::<Run>();
            let give = move |run: &mut Run| {
                let spare = spares.try_recv().unwrap_or_default();
                sender.send(std::mem::replace(run, spare))
            };
            let beside = live.len() >= DOCS_MIN
                && start(scope, move || {
                    let _ = births.compute(give);
                });
            self.copy(usize::MAX)?;
            if beside {
                for run in &receiver {
                    self.push_run(&run)?;
                    // Sends the run back so that its memory is reused. This fails after the last
                    // run, which is harmless.
                    let _ = spares_in.send(run);
                }
                return Ok(());
            }
            births.compute(|run| self.push_run(run))
        })?;
        self.finish()
    }

    fn push_run(&mut self, run: &Run) -> Result<()> {
        self.builder.push_run(run).map(|_| ())
    }
}

impl Births<'_> {
    /// Computes all tables and passes their runs to `give` in order. Ends when `give` fails.
    fn compute<E>(
        &self,
        mut give: impl FnMut(&mut Run) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let docs = u32::try_from(self.live.len()).unwrap_or(u32::MAX);
        let table_bytes = self.live.len().saturating_mul(8);
        let share_bytes = self.memory_bytes / COMPUTING_SHARE_INVERSE;
        let memory_bytes = share_bytes.max(table_bytes.min(self.memory_bytes / 2));
        let mut rebuild = Rebuild::new(self.shape, docs, memory_bytes);
        let (mut run, mut hashes) = (Run::default(), Vec::new());
        loop {
            match rebuild.need() {
                Need::Done => return Ok(()),
                Need::Emit => {
                    rebuild.emit(&mut run);
                    give(&mut run)?;
                }
                // The lock is held only briefly: during a backup, writers still use this memtable.
                Need::Signatures { from } => {
                    let mut next = self::run(&self.live[index(from)..]);
                    next.end = next.end.min(next.start + FED_DOCS_MAX);
                    rebuild.signatures(self.memtable.read().signatures(next));
                }
                Need::Keys { from } => {
                    let content = self.memtable.read();
                    let next = self.live[index(from)..].iter().take(index(FED_DOCS_MAX));
                    let seed = self.shape.key_seed;
                    hashes.clear();
                    hashes.extend(next.map(|ordinal| key_hash(content.key(*ordinal), seed)));
                    drop(content);
                    rebuild.keys(&hashes);
                }
            }
        }
    }
}

/// Runs work on a new thread, if there is more than one processor and the thread can be started.
#[cfg(not(all(shuttle, test)))]
fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() + Send + 'scope,
) -> bool {
    let name = "nearkin-tables".to_owned();
    thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
        && thread::Builder::new().name(name).spawn_scoped(scope, work).is_ok()
}

/// The schedule explorer simulates one processor, so no thread is started.
#[cfg(all(shuttle, test))]
fn start<'scope>(_: &'scope thread::Scope<'scope, '_>, _: impl FnOnce() + Send + 'scope) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtable::{NewDocument, Step};
    use crate::segment::Builder;
    use crate::storage::{Disk, OpenMode, Storage};
    use crate::sync::Arc;
    use std::path::Path;

    const SHAPE: Shape = Shape {
        signature_bytes: 16,
        band_bytes: 4,
        bands: 3,
        key_seed: 7,
        uuid: [1; 16],
        params_id: 5,
    };

    /// The bytes of a segment with these documents. `memory` holds the number of bytes for
    /// computing the tables from the memtable, and whether a second thread computes them. If
    /// `memory` is `None`, the tables are computed from signatures that are read back.
    fn built(
        path: &Path,
        memtable: &Memtable,
        live: &[u32],
        memory: Option<(usize, bool)>,
    ) -> Vec<u8> {
        let storage: Arc<dyn Storage> = Arc::new(Disk::default());
        let docs = u32::try_from(live.len()).unwrap();
        let mut builder =
            Builder::create(&storage, path, 3, &SHAPE, docs, 1 << 20, 1 << 18).unwrap();
        {
            let content = memtable.read();
            for ordinal in live {
                builder.push_signatures(content.signature(*ordinal)).unwrap();
            }
            for ordinal in live {
                builder.push_document(content.key(*ordinal), content.payload(*ordinal)).unwrap();
            }
            for ordinal in live {
                builder.push_time(content.time(*ordinal)).unwrap();
            }
            for _ in live {
                builder.push_shingle_count(1).unwrap();
            }
        }
        match memory {
            None => while !builder.step(1 << 30).unwrap() {},
            Some((memory_bytes, beside)) => {
                let births = Births { memtable, live, shape: &SHAPE, memory_bytes };
                let (sender, receiver) = mpsc::sync_channel(2);
                thread::scope(|scope| {
                    let give = move |run: &mut Run| sender.send(std::mem::take(run));
                    if beside && start(scope, move || births.compute(give).unwrap()) {
                        for run in &receiver {
                            builder.push_run(&run).unwrap();
                        }
                    } else {
                        births.compute(|run| builder.push_run(run).map(|_| ())).unwrap();
                    }
                });
            }
        }
        let length = builder.finish().unwrap().length;
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        let file = storage.open(path, OpenMode::Read).unwrap();
        file.read_at(&mut bytes, 0).unwrap();
        // The next segment of the test has the same name.
        storage.remove(path).unwrap();
        bytes
    }

    #[test]
    fn tables_from_memory_are_those_read_back_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let memtable = Memtable::new(SHAPE.signature_bytes, SHAPE.bands, 11, 0);
        for at in 0..20_000_u32 {
            let mut signature = [0; 16];
            for (place, byte) in signature.iter_mut().enumerate() {
                let mixed = (u64::from(at / 3) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                *byte = mixed.rotate_left(u32::try_from(place).unwrap() * 5).to_le_bytes()[7];
            }
            memtable.apply(
                1,
                &[Step::Birth(NewDocument {
                    key: &at.to_le_bytes(),
                    payload: b"",
                    time: u64::from(at),
                    shingle_count: 1,
                    signature: &signature,
                    table_keys: &[0, 0, 0, u64::from(at)],
                })],
            );
        }
        let all: Vec<u32> = (0..20_000).collect();
        let gaps: Vec<u32> = (0..20_000).filter(|at| at % 1_000 != 7 && at % 5_003 > 2).collect();
        for live in [&all[..], &gaps, &all[..1]] {
            let path = folder.path().join("a");
            let expected = built(&path, &memtable, live, None);
            for memory in [(1 << 26, true), (1 << 26, false), (1 << 16, true), (1 << 20, false)] {
                let found = built(&path, &memtable, live, Some(memory));
                assert!(found == expected, "{} documents, {memory:?}", live.len());
            }
        }
    }
}
