//! The current state, together with the last change that readers may see.
//!
//! Every query takes a snapshot, on every thread. To avoid contention there are several copies of
//! the view, each with its own lock and reference count on its own cache lines; a thread always
//! uses the same copy. A change takes all locks first, so that all readers see the changes in the
//! same order.

use super::group::Mark;
use super::versions::{Closed, Held, Snapshot, State};
use crate::Params;
use crate::storage::{forks, watch_forks};
use crate::sync::unexplored::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard, TryLockError, Weak};
use std::cell::Cell;

/// Number of copies. A change takes the locks of all of them. With one copy, a miss on two threads
/// at once costs 1.1 to 2.3 times as much.
const COPIES: usize = 8;

/// The view that all threads share.
#[derive(Debug)]
pub(crate) struct View {
    copies: [Copied; COPIES],
    /// Earlier states that readers may still hold.
    past: Mutex<Vec<Weak<State>>>,
    params: Arc<Params>,
    /// The number of forks when the index was opened.
    forks: u32,
}

/// One of the copies. Padded to 128 bytes: adjacent cache lines are prefetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Copied(RwLock<CurrentView>);

#[derive(Debug)]
struct CurrentView {
    state: Arc<Held>,
    visible: u64,
    /// The number of live documents at `visible`.
    documents: u64,
}

impl CurrentView {
    fn snapshot(&self) -> Snapshot {
        let Self { state, visible, documents } = self;
        Snapshot { state: Arc::clone(state), visible: *visible, documents: *documents }
    }
}

impl Snapshot {
    /// A snapshot that refuses queries: in a forked child that cannot know the state.
    pub(crate) fn cut_off(params: &Arc<Params>) -> Self {
        let state = State::closed(Arc::clone(params), Closed::CutOff);
        Self { state: Arc::new(Held(Arc::new(state))), visible: 0, documents: 0 }
    }
}

impl View {
    pub(crate) fn new(state: State, visible: u64, documents: u64) -> Self {
        watch_forks();
        let (params, state) = (Arc::clone(&state.params), Arc::new(state));
        let copied = |_| {
            let state = Arc::new(Held(Arc::clone(&state)));
            Copied(RwLock::new(CurrentView { state, visible, documents }))
        };
        let past = Mutex::new(Vec::new());
        Self { copies: std::array::from_fn(copied), past, params, forks: forks() }
    }

    /// The current state with the last visible change.
    pub(crate) fn snapshot(&self) -> Snapshot {
        if self.forks != forks() {
            return self.snapshot_in_child();
        }
        let copied = &self.copies[own_copy(&TURNS)];
        // No critical section under this lock panics in the middle of a change.
        copied.0.read().unwrap_or_else(PoisonError::into_inner).snapshot()
    }

    /// Same, in a forked child. A thread of the parent may have held the locks of some copies at
    /// the fork, in the middle of a change: they are never released. If it held all of them, the
    /// snapshot refuses queries.
    #[cold]
    fn snapshot_in_child(&self) -> Snapshot {
        let free = self.copies.iter().find_map(|copied| match copied.0.try_read() {
            Ok(current) => Some(current.snapshot()),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner().snapshot()),
            Err(TryLockError::WouldBlock) => None,
        });
        free.unwrap_or_else(|| Snapshot::cut_off(&self.params))
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.snapshot().state.0)
    }

    /// Makes all changes up to a mark visible. Visibility never moves back.
    pub(crate) fn show(&self, mark: Mark) {
        for mut current in self.lock_all() {
            if mark.change >= current.visible {
                current.visible = mark.change;
                current.documents = mark.documents;
            }
        }
    }

    /// Replaces the state. The visible change stays the same.
    pub(crate) fn replace(&self, state: State) {
        self.replace_showing(state, None);
    }

    /// Replaces the state, and makes a change visible in the same step. `shown` has the number of
    /// that change, and the number of live documents after it.
    pub(crate) fn replace_showing(&self, state: State, shown: Option<(u64, u64)>) {
        let state = Arc::new(state);
        let mut all = self.lock_all();
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.retain(|past| past.strong_count() > 0);
        past.push(Arc::downgrade(&all[0].state.0));
        drop(past);
        let renew = |current: &mut RwLockWriteGuard<'_, CurrentView>| {
            if let Some((visible, documents)) = shown {
                (current.visible, current.documents) = (visible, documents);
            }
            std::mem::replace(&mut current.state, Arc::new(Held(Arc::clone(&state))))
        };
        let old: Vec<Arc<Held>> = all.iter_mut().map(renew).collect();
        drop(all);
        // Drop the states outside the locks: the last reference to a state may delete files, which
        // takes time.
        drop(old);
    }

    /// The number of earlier states that are still held.
    pub(crate) fn pinned(&self) -> usize {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.iter().filter(|past| past.strong_count() > 0).count()
    }

    fn lock_all(&self) -> [RwLockWriteGuard<'_, CurrentView>; COPIES] {
        std::array::from_fn(|at| self.copies[at].0.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Counter for assigning copies to threads.
static TURNS: AtomicUsize = AtomicUsize::new(0);

/// The copy that this thread uses, assigned round-robin at its first query.
#[inline]
fn own_copy(turns: &AtomicUsize) -> usize {
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(COPIES) };
    }
    OWN.with(|own| {
        if own.get() >= COPIES {
            own.set(turns.fetch_add(1, Ordering::Relaxed) % COPIES);
        }
        own.get()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memtable::Memtable;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    fn view() -> View {
        let params = Arc::new(Params::builder().build().expect("sound"));
        let memtable = Arc::new(Memtable::new(params.signature_bytes(), params.bands(), 1, 0));
        View::new(State::new(params, Vec::new(), memtable), 0, 0)
    }

    #[test]
    fn no_snapshot_is_older_than_one_that_another_thread_saw() {
        let view = view();
        let (seen, done) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..COPIES + 2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Acquire) {
                        let earlier = seen.load(Ordering::Acquire);
                        let snapshot = view.snapshot();
                        assert!(
                            snapshot.visible >= earlier,
                            "{} after {earlier}",
                            snapshot.visible
                        );
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

    #[test]
    fn threads_take_the_copies_by_turns_and_keep_to_them() {
        let turns = AtomicUsize::new(usize::MAX - 2);
        let take = || {
            let copy = own_copy(&turns);
            assert!((0..3).all(|_| own_copy(&turns) == copy));
            copy
        };
        let mut copies: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2 * COPIES).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        copies.sort_unstable();
        assert_eq!(copies, (0..2 * COPIES).map(|turn| turn / 2).collect::<Vec<_>>());
    }

    #[test]
    fn a_state_is_pinned_while_anybody_holds_it() {
        let view = view();
        let first = view.snapshot();
        let (params, memtable) =
            (Arc::clone(&first.state.params), Arc::clone(&first.state.memtable));
        let state = || State::new(Arc::clone(&params), Vec::new(), Arc::clone(&memtable));
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
