//! The threads that maintain indexes: those of all indexes with `Maintenance::Shared`, or one of a
//! single index with `Maintenance::Background`, which is a pool with one member.
//!
//! A *member* is one open index. It is always in one of four phases: asleep until it is due, in
//! warm-up, ready, or running. A thread takes the first ready member, runs one step of it, and then
//! puts it back, at the end of the queue if it is ready again. Members in warm-up get a turn when
//! no member is ready.
//!
//! A forked child has a copy of the pool but none of its threads, and the lock of that copy may be
//! held for ever. So each process has a pool of its own, which is found without a lock.

use super::quiet::{Quiet, TURN, now, patience};
use super::warm_up::{self, WarmUp};
use crate::index::maintain::steps;
use crate::index::read::Maintained;
use crate::index::state::core::Core;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::thread::{self, ThreadId};
use crate::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// The most threads of the shared pool. The second one serves the other indexes while one of them
/// compacts. More threads would compete with those of the program.
pub(crate) const THREADS_MAX: usize = 2;

/// Due times are rounded up to a multiple of 1 / `TIMER_FRACTION` of the patience. So a thousand
/// idle indexes wake a thread sixteen times a second, not a thousand times.
const TIMER_FRACTION: u32 = 16;

#[cfg(not(all(shuttle, test)))]
static FIRST: Pool = Pool::unclaimed(THREADS_MAX);

// In the explorer, each schedule has statics of its own.
#[cfg(all(shuttle, test))]
shuttle::lazy_static! {
    static ref FIRST: Pool = Pool::unclaimed(THREADS_MAX);
}

/// The pool of one process, or of one index.
struct Pool {
    /// The process that owns the pool; 0 if no process does yet.
    process: AtomicU32,
    threads_max: usize,
    state: Mutex<Queues>,
    /// Notified when a member becomes ready, or a thread is to end.
    woken: Condvar,
    /// Notified when the step of a member that is leaving has ended.
    left: Condvar,
    /// The shared pool of a forked child that opened an index of its own.
    next: OnceLock<Box<Pool>>,
}

/// A reference to a pool.
#[derive(Clone)]
enum PoolRef {
    Shared(&'static Pool),
    Own(Arc<Pool>),
}

struct Queues {
    members: BTreeMap<u64, Member>,
    /// Exactly the members that are `Ready`, in the order of their turns.
    ready: VecDeque<u64>,
    /// The members that are `Warming`, each once. May also contain members that have left that
    /// phase, which are skipped.
    warming: VecDeque<u64>,
    /// The due times of members that are `Asleep` or `Warming`.
    timers: BTreeSet<(Instant, u64)>,
    threads: usize,
    next_number: u64,
    /// When the first index joined.
    epoch: Option<Instant>,
}

struct Member {
    phase: Phase,
    due: Instant,
    /// Whether a wakeup arrived while the member was running.
    is_woken: bool,
    is_leaving: bool,
    is_in_warming: bool,
    /// `None` while a thread runs the member.
    work: Option<Box<Work>>,
}

#[derive(PartialEq)]
enum Phase {
    Asleep,
    Warming,
    Ready,
    Running(ThreadId),
}

/// The data that a thread needs for a step of one index.
struct Work {
    core: Weak<Core>,
    ahead: WarmUp,
    quiet: Option<Quiet>,
    /// The last change at the time when idle merging had nothing to do, or failed: it is not tried
    /// again before the next change.
    quiet_change: Option<u64>,
    patience: Duration,
    /// When the next step runs if there is no wakeup.
    due: Instant,
    /// Due times are multiples of a fraction of the patience, counted from this instant.
    epoch: Instant,
    /// Whether another step may be due at once, because the last one did some work.
    goes_on: bool,
    /// Whether read-ahead of the directories was requested: the first step does that.
    has_requested: bool,
}

/// When a member wants its next turn.
#[derive(Clone, Copy)]
enum Next {
    Ready,
    Warming(Instant),
    At(Instant),
    Gone,
}

/// The membership of an index in a pool.
#[derive(Clone)]
pub(crate) struct Seat {
    pool: PoolRef,
    number: u64,
}

impl Seat {
    /// Adds an index to the pool of this process.
    pub(crate) fn take_shared(core: &Arc<Core>) -> std::io::Result<Self> {
        Self::take(core, PoolRef::Shared(Pool::of_this_process()))
    }

    /// Adds an index to a new pool of its own, which has one thread.
    pub(crate) fn take_own(core: &Arc<Core>) -> std::io::Result<Self> {
        let pool = Pool::unclaimed(1);
        pool.process.store(std::process::id(), Ordering::Release);
        Self::take(core, PoolRef::Own(Arc::new(pool)))
    }

    fn take(core: &Arc<Core>, pool: PoolRef) -> std::io::Result<Self> {
        let now = now();
        let patience = patience(&core.options);
        let mut state = pool.lock();
        let number = state.next_number;
        state.next_number += 1;
        let work = Work {
            core: Arc::downgrade(core),
            ahead: WarmUp::default(),
            quiet: None,
            quiet_change: None,
            patience,
            due: now + patience,
            epoch: *state.epoch.get_or_insert(now),
            goes_on: false,
            has_requested: false,
        };
        if state.threads < pool.threads_max.min(state.members.len() + 1) {
            let pool = pool.clone();
            thread::Builder::new().name("nearkin".to_owned()).spawn(move || pool.serve())?;
            state.threads += 1;
        }
        let member = Member {
            phase: Phase::Ready,
            due: now,
            is_woken: false,
            is_leaving: false,
            is_in_warming: false,
            work: Some(Box::new(work)),
        };
        state.members.insert(number, member);
        state.ready.push_back(number);
        drop(state);
        pool.woken.notify_one();
        Ok(Self { pool, number })
    }

    /// The waker of this member, for any thread.
    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::new(self.clone()))
    }

    /// Leaves the pool. Waits only for the running step of this index, if there is one.
    pub(crate) fn leave(&self) {
        let mut state = self.pool.lock();
        while let Some(member) = state.members.get_mut(&self.number) {
            member.is_leaving = true;
            match member.phase {
                // The listener of the index drops the handle during a step of this thread, which
                // cannot wait for itself.
                Phase::Running(thread) if thread == thread::current().id() => return,
                Phase::Running(_) => {
                    let woken = self.pool.left.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
                _ => {
                    state.remove(self.number);
                    self.pool.woken.notify_all();
                }
            }
        }
    }
}

impl Wake for Seat {
    /// Makes the member ready. Does nothing in a forked child, which has no threads to run it.
    fn wake(self: Arc<Self>) {
        if self.pool.process.load(Ordering::Acquire) == std::process::id()
            && self.pool.lock().wake(self.number)
        {
            self.pool.woken.notify_one();
        }
    }
}

impl Deref for PoolRef {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        match self {
            Self::Shared(pool) => pool,
            Self::Own(pool) => pool,
        }
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Pool {
    const fn unclaimed(threads_max: usize) -> Self {
        Self {
            process: AtomicU32::new(0),
            threads_max,
            state: Mutex::new(Queues {
                members: BTreeMap::new(),
                ready: VecDeque::new(),
                warming: VecDeque::new(),
                timers: BTreeSet::new(),
                threads: 0,
                next_number: 0,
                epoch: None,
            }),
            woken: Condvar::new(),
            left: Condvar::new(),
            next: OnceLock::new(),
        }
    }

    fn of_this_process() -> &'static Self {
        let process = std::process::id();
        let mut pool: &Self = &FIRST;
        loop {
            let owner =
                pool.process.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire);
            if owner.is_ok() || owner == Err(process) {
                return pool;
            }
            pool = pool.next.get_or_init(|| Box::new(Self::unclaimed(THREADS_MAX)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of a pool thread. Ends when there are fewer members than threads.
    fn serve(&self) {
        let mut state = self.lock();
        while state.threads <= state.members.len() {
            let now = now();
            state.wake_due(now);
            let Some((number, mut work)) = state.next_turn() else {
                let due = state.timers.first().map(|(due, _)| due.saturating_duration_since(now));
                state = match due {
                    Some(due) => {
                        let woken = self.woken.wait_timeout(state, due);
                        woken.unwrap_or_else(PoisonError::into_inner).0
                    }
                    None => self.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
                };
                continue;
            };
            if !state.ready.is_empty() {
                self.woken.notify_one();
            }
            drop(state);
            let next = work.step();
            state = self.lock();
            if state.put_back(number, work, next) {
                self.left.notify_all();
                self.woken.notify_all();
            }
        }
        // No wakeup is lost with this thread: the removal of the member woke all threads, and none
        // waits again while there are more of them than members.
        state.threads -= 1;
    }
}

impl Queues {
    /// Makes a member ready. Returns whether it was asleep or in warm-up before.
    fn wake(&mut self, number: u64) -> bool {
        let Some(member) = self.members.get_mut(&number) else { return false };
        match member.phase {
            Phase::Ready => false,
            Phase::Running(_) => {
                member.is_woken = true;
                false
            }
            Phase::Asleep | Phase::Warming => {
                member.phase = Phase::Ready;
                self.timers.remove(&(member.due, number));
                self.ready.push_back(number);
                true
            }
        }
    }

    /// Makes due members ready.
    fn wake_due(&mut self, now: Instant) {
        while let Some(&(due, number)) = self.timers.first()
            && due <= now
        {
            // Usually redundant: whatever makes a member ready, or gives it a turn, removes its
            // timer.
            self.timers.remove(&(due, number));
            self.wake(number);
        }
    }

    /// The member whose turn it is, with its work.
    fn next_turn(&mut self) -> Option<(u64, Box<Work>)> {
        while let Some(number) = self.ready.pop_front() {
            if let Some(work) = self.run(number) {
                return Some((number, work));
            }
        }
        while let Some(number) = self.warming.pop_front() {
            let Some(member) = self.members.get_mut(&number) else { continue };
            member.is_in_warming = false;
            if member.phase == Phase::Warming {
                self.timers.remove(&(member.due, number));
                return self.run(number).map(|work| (number, work));
            }
        }
        None
    }

    fn run(&mut self, number: u64) -> Option<Box<Work>> {
        let member = self.members.get_mut(&number)?;
        member.phase = Phase::Running(thread::current().id());
        member.work.take()
    }

    /// Records the end of a turn; returns whether the member has left.
    fn put_back(&mut self, number: u64, work: Box<Work>, next: Next) -> bool {
        let Some(member) = self.members.get_mut(&number) else { return false };
        if member.is_leaving || matches!(next, Next::Gone) {
            self.remove(number);
            return true;
        }
        member.work = Some(work);
        let is_woken = std::mem::take(&mut member.is_woken);
        let due = match next {
            Next::At(due) | Next::Warming(due) if !is_woken => due,
            _ => {
                member.phase = Phase::Ready;
                self.ready.push_back(number);
                return false;
            }
        };
        member.phase = Phase::Asleep;
        if matches!(next, Next::Warming(_)) {
            member.phase = Phase::Warming;
            if !std::mem::replace(&mut member.is_in_warming, true) {
                self.warming.push_back(number);
            }
        }
        member.due = due;
        self.timers.insert((member.due, number));
        false
    }

    fn remove(&mut self, number: u64) {
        if let Some(member) = self.members.remove(&number) {
            self.timers.remove(&(member.due, number));
        }
    }
}

impl Work {
    /// Runs one step. A panic, for example in the caller's clock, affects only this index.
    fn step(&mut self) -> Next {
        let Some(core) = self.core.upgrade() else { return Next::Gone };
        let stepped = catch_unwind(AssertUnwindSafe(|| self.step_of(&core)));
        stepped.unwrap_or_else(|_| {
            core.wakeup.note_failure(Some("a step of maintenance panicked".to_owned()));
            self.put_off();
            Next::At(self.due)
        })
    }

    fn step_of(&mut self, core: &Core) -> Next {
        if !std::mem::replace(&mut self.has_requested, true) {
            warm_up::request_directories(core, |_| !core.wakeup.stopping());
            return Next::Ready;
        }
        let Some(was_woken) = core.wakeup.take() else { return Next::Gone };
        let turn = core.sharing.as_ref().and_then(|sharing| sharing.end_if_idle(core));
        let look = self.quiet.get_or_insert_with(|| Quiet::begin(core)).look(core);
        let next = |due: Instant| {
            let soon = [look.err(), turn].into_iter().flatten().min();
            soon.map_or(due, |soon| due.min(soon))
        };
        let is_idle = look.is_ok_and(|change| self.quiet_change != Some(change));
        if !(was_woken || self.goes_on || is_idle || now() >= self.due) {
            let is_warming = self.ahead.go_on(core);
            let due = next(self.due);
            return if is_warming { Next::Warming(due) } else { Next::At(due) };
        }
        let step = steps::maintain_quiet(core, look.ok());
        core.events.deliver();
        self.put_off();
        match step {
            Ok(Maintained::Nothing | Maintained::Noted) => {
                steps::note_maintenance(core, None);
                self.quiet_change = look.ok();
                Next::Warming(next(self.due))
            }
            Ok(_) => {
                self.goes_on = true;
                // Let a waiting writer do the next step.
                let lags = steps::has_too_many_segments(core);
                if lags { Next::At(now() + TURN) } else { Next::Ready }
            }
            Err(error) => {
                // Reported by `stats`; retried at the next wakeup, not immediately.
                steps::note_maintenance(core, Some(&error));
                core.events.deliver();
                self.quiet_change = look.ok();
                Next::Warming(self.due)
            }
        }
    }

    /// Sets the next due time: the patience from now, rounded up to an instant that other indexes
    /// share.
    fn put_off(&mut self) {
        let due = now() + self.patience;
        let grain = (self.patience / TIMER_FRACTION).as_nanos().max(1);
        let over = due.saturating_duration_since(self.epoch).as_nanos() % grain;
        let missing = if over == 0 { 0 } else { grain - over };
        self.due = due + Duration::from_nanos(u64::try_from(missing).unwrap_or(0));
        self.goes_on = false;
    }
}
