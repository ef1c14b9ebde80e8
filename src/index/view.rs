//! What readers take: the current state and up to which change it is visible, both at once.
//!
//! Every query takes it, on every thread: so there are several copies, each with a lock and a
//! count of holders of its own, in memory of its own, and a thread keeps to one of them. Whoever
//! changes anything takes all locks first: no two readers ever see different orders of changes.

use crate::format::bytes::wide;
use crate::index::durable::Mark;
use crate::index::read::state::{Snapshot, State};
use crate::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard, Weak};
use std::ops::Deref;

/// There are 2^3 copies. A change takes as many locks.
const COPY_BITS: u32 = 3;
const COPIES: usize = 1 << COPY_BITS;

/// What all threads see.
#[derive(Debug)]
pub(crate) struct View {
    copies: [Copied; COPIES],
    /// States that were current before and may still be held.
    past: Mutex<Vec<Weak<State>>>,
}

/// One of the copies. Processors fetch lines of memory in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Copied(RwLock<Current>);

#[derive(Debug)]
struct Current {
    state: Arc<Held>,
    visible: u64,
    /// Live documents at `visible`.
    documents: u64,
}

/// A state, as those hold it who took it from one copy: they count apart from all others.
#[derive(Debug)]
pub(crate) struct Held(Arc<State>);

impl Deref for Held {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl View {
    pub(crate) fn new(state: State, visible: u64, documents: u64) -> Self {
        let state = Arc::new(state);
        let copied = |_| {
            let state = Arc::new(Held(Arc::clone(&state)));
            Copied(RwLock::new(Current { state, visible, documents }))
        };
        Self { copies: std::array::from_fn(copied), past: Mutex::new(Vec::new()) }
    }

    /// The current state and what of it is visible.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let copied = &self.copies[own_copy()];
        // A section under this lock does not panic half way.
        let current = copied.0.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot {
            state: Arc::clone(&current.state),
            visible: current.visible,
            documents: current.documents,
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.snapshot().state.0)
    }

    /// Lets readers see everything up to a mark. Never moves back.
    pub(crate) fn show(&self, mark: Mark) {
        for mut current in self.lock_all() {
            if mark.change >= current.visible {
                current.visible = mark.change;
                current.documents = mark.documents;
            }
        }
    }

    /// Replaces the state; the change that is visible stays.
    pub(crate) fn replace(&self, state: State) {
        let state = Arc::new(state);
        let mut all = self.lock_all();
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.retain(|past| past.strong_count() > 0);
        past.push(Arc::downgrade(&all[0].state.0));
        drop(past);
        let renew = |current: &mut RwLockWriteGuard<'_, Current>| {
            std::mem::replace(&mut current.state, Arc::new(Held(Arc::clone(&state))))
        };
        let old: Vec<Arc<Held>> = all.iter_mut().map(renew).collect();
        drop(all);
        // With the last of a state its files may go, which takes time: not under the locks.
        drop(old);
    }

    /// How many older states are still held.
    pub(crate) fn pinned(&self) -> usize {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.iter().filter(|past| past.strong_count() > 0).count()
    }

    fn lock_all(&self) -> [RwLockWriteGuard<'_, Current>; COPIES] {
        std::array::from_fn(|at| self.copies[at].0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The copy that this thread keeps to: by where its own memory lies, which is at even distances, so
/// that steps of the golden ratio spread the threads over the copies.
#[inline]
fn own_copy() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    let place = HERE.with(|here| wide(std::ptr::from_ref(here).addr()));
    let spread = (place >> 12).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - COPY_BITS);
    usize::try_from(spread).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::memtable::Memtable;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    fn view() -> View {
        let params = Arc::new(Params::builder().build().expect("sound"));
        let memtable = Arc::new(Memtable::new(params.signature_bytes(), params.bands(), 1, 0));
        View::new(State { params, segments: Vec::new(), memtable }, 0, 0)
    }

    #[test]
    fn what_one_thread_has_seen_no_other_misses() {
        let view = view();
        let (seen, done) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..COPIES + 2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Acquire) {
                        let told = seen.load(Ordering::Acquire);
                        let snapshot = view.snapshot();
                        assert!(snapshot.visible >= told, "{} after {told}", snapshot.visible);
                        assert_eq!(snapshot.documents, 2 * snapshot.visible);
                        seen.fetch_max(snapshot.visible, Ordering::AcqRel);
                        std::thread::yield_now();
                    }
                });
            }
            for change in 1..=300 {
                view.show(Mark { change, documents: 2 * change, ..Mark::default() });
                std::thread::yield_now();
            }
            done.store(true, Ordering::Release);
        });
        assert_eq!(view.snapshot().visible, 300);
        view.show(Mark { change: 7, documents: 14, ..Mark::default() });
        assert_eq!(view.snapshot().visible, 300);
    }

    /// Two threads that share a copy still answer, slower: so it is enough that they mostly do not.
    #[test]
    fn threads_spread_over_the_copies() {
        let started = std::sync::Barrier::new(8);
        let start = || {
            started.wait();
            let copy = own_copy();
            started.wait();
            copy
        };
        let copies = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        assert!(copies.iter().all(|copy| *copy < COPIES));
        let mut distinct = copies.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() >= 3, "{copies:?}");
    }

    #[test]
    fn a_state_is_pinned_while_anybody_holds_it() {
        let view = view();
        let first = view.snapshot();
        let (params, memtable) =
            (Arc::clone(&first.state.params), Arc::clone(&first.state.memtable));
        let state = || State {
            params: Arc::clone(&params),
            segments: Vec::new(),
            memtable: Arc::clone(&memtable),
        };
        view.replace(state());
        assert_eq!(view.pinned(), 1);
        view.replace(state());
        assert_eq!(view.pinned(), 1);
        let clone = first.clone();
        drop(first);
        assert_eq!(view.pinned(), 1);
        drop(clone);
        assert_eq!(view.pinned(), 0);
    }
}
