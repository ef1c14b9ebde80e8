//! The thread that maintains an index: its own, or one of the shared pool.

#[cfg(not(all(shuttle, test)))]
use super::pool::Seat;
use super::quiet::{Quiet, TURN, patience};
use super::warm_up::{self, WarmUp};
use crate::index::maintain::steps;
use crate::index::read::Maintained;
use crate::index::state::core::Core;
use crate::index::state::options::Maintenance;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The threads that maintain the index: the shared pool, a thread of its own, or none. On drop, the
/// index leaves the pool, or its thread ends.
#[derive(Debug)]
pub(crate) struct Background {
    core: Weak<Core>,
    server: Server,
}

#[derive(Debug)]
enum Server {
    Writers,
    /// Locked while a caller joins the thread, so that other callers wait for the end of the
    /// thread, too.
    Own(Mutex<Option<JoinHandle<()>>>),
    #[cfg(not(all(shuttle, test)))]
    Pool(Seat),
}

impl Background {
    /// Starts the thread, if the options require one. The thread begins with a warm-up of the
    /// segments, whose duration depends on the size of the index.
    pub(crate) fn start(core: &Arc<Core>) -> std::io::Result<Self> {
        let server = match core.options.maintenance {
            Maintenance::Inline => {
                warm_up::request_directories(core, |_| true);
                Server::Writers
            }
            #[cfg(not(all(shuttle, test)))]
            Maintenance::Shared => {
                let seat = Seat::take(core)?;
                core.wakeup.wake_pool(seat.waker());
                Server::Pool(seat)
            }
            _ => Server::Own(Mutex::new(Some(Self::spawn(core)?))),
        };
        Ok(Self { core: Arc::downgrade(core), server })
    }

    fn spawn(core: &Arc<Core>) -> std::io::Result<JoinHandle<()>> {
        let patience = patience(&core.options);
        let wakeup = Arc::downgrade(core);
        thread::Builder::new().name("nearkin".to_owned()).spawn(move || run(&wakeup, patience))
    }

    /// Tells the thread to end. Waits for its current step at most.
    pub(crate) fn stop(&self) {
        let core = self.core.upgrade();
        // A forked child has no maintenance threads.
        let is_in_child = core.as_ref().is_some_and(|core| core.is_in_child());
        if let Some(core) = core.filter(|_| !is_in_child) {
            core.wakeup.stop();
        }
        match &self.server {
            Server::Writers => {}
            Server::Own(thread) => {
                let mut ended = thread.lock().unwrap_or_else(PoisonError::into_inner);
                match ended.take() {
                    Some(thread) if is_in_child => std::mem::forget(thread),
                    // A listener drops the last handle on the maintenance thread itself: the thread
                    // ends when the listener returns.
                    Some(thread) if thread.thread().id() == thread::current().id() => {}
                    // Only a bug in this library makes the maintenance thread panic; that must not
                    // cause a second panic here.
                    Some(thread) => drop(thread.join()),
                    None => {}
                }
            }
            #[cfg(not(all(shuttle, test)))]
            Server::Pool(_) if is_in_child => {}
            #[cfg(not(all(shuttle, test)))]
            Server::Pool(seat) => seat.leave(),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(core: &Weak<Core>, patience: Duration) {
    let mut ahead = WarmUp::default();
    let mut quiet = None;
    if let Some(core) = core.upgrade() {
        warm_up::request_directories(&core, |_| !core.wakeup.stopping());
    }
    while let Some(core) = core.upgrade() {
        let quiet = quiet.get_or_insert_with(|| Quiet::begin(&core));
        let patience = quiet.pause(&core, patience);
        let walked = ahead.go_on(&core, patience);
        if !core.wakeup.wait(if walked { Duration::ZERO } else { patience }) {
            return;
        }
        loop {
            if core.wakeup.stopping() {
                return;
            }
            let step = steps::maintain_quiet(&core, quiet.look(&core).ok());
            core.events.deliver();
            match step {
                Ok(Maintained::Nothing | Maintained::Noted) => {
                    steps::note_maintenance(&core, None);
                    break;
                }
                // Let a waiting writer do the next step.
                Ok(_) if steps::has_too_many_segments(&core) => thread::sleep(TURN),
                Ok(_) => {}
                Err(error) => {
                    // Reported by `stats`; retried at the next wakeup, not immediately.
                    steps::note_maintenance(&core, Some(&error));
                    core.events.deliver();
                    break;
                }
            }
        }
    }
}
