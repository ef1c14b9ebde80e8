//! Functions of the caller: filters and listeners, with the caller's data.

use crate::bytes::nk_bytes;
use engine::Event;
use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Decides by key and payload whether a stored document counts: any number but 0 means yes. Several
/// threads may call it at once. It may call the library, but must not throw.
pub type nk_filter = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        key: *const c_void,
        key_len: usize,
        payload: *const c_void,
        payload_len: usize,
    ) -> c_int,
>;

/// Says whether a call is to end now: any number but 0 means yes. It is asked often, also by
/// several threads at once, so it should only read a flag, which a signal handler or another thread
/// sets. It must not throw.
pub type nk_cancel = Option<unsafe extern "C" fn(user_data: *mut c_void) -> c_int>;

/// Called once with the data of a callback, after the last call of that callback. May be null.
pub type nk_release = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Receives the events of an index, one at a time, on a thread that calls the index or on the
/// maintenance thread, which waits until it returns. It may call the index, but must not throw.
/// Closing and compacting the index there would wait for the listener itself: `NK_INVALID`.
pub type nk_listener = Option<unsafe extern "C" fn(user_data: *mut c_void, event: *const nk_event)>;

/// The kind of an event. Later versions may add numbers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum nk_event_kind {
    /// An event that this header does not know.
    NK_EVENT_OTHER = 0,
    /// Opening recovered from an unclean end.
    NK_EVENT_RECOVERED = 1,
    /// A flush wrote the memtable to a segment.
    NK_EVENT_FLUSHED = 2,
    /// A compaction has started.
    NK_EVENT_COMPACTION_BEGUN = 3,
    /// A compaction has succeeded.
    NK_EVENT_COMPACTED = 4,
    /// Documents older than `ttl_ms` were removed.
    NK_EVENT_EXPIRED = 5,
    /// A step of maintenance failed and will be retried.
    NK_EVENT_MAINTENANCE_FAILED = 6,
    /// A write waited more than 50 ms for others.
    NK_EVENT_WRITER_STALLED = 7,
    /// A sync failed: the handle refuses all further writes.
    NK_EVENT_POISONED = 8,
    /// The handle is no longer the only writer of the index.
    NK_EVENT_LOCK_LOST = 9,
}

/// An event. The struct and its bytes are valid until the listener returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nk_event {
    /// Which event it is.
    pub kind: nk_event_kind,
    /// One line for a log, in UTF-8.
    pub message: nk_bytes,
    /// All fields of the event, as JSON.
    pub json: nk_bytes,
}

/// The caller's data, released when the last copy of its callback is dropped.
struct UserData {
    data: *mut c_void,
    release: nk_release,
}

// SAFETY: the pointer is only passed to the caller's functions, and the header demands that any
// thread may call them, also several at once.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the header demands a function of this type; it is called once, with the data
            // that came with it, after the last call of the callback.
            unsafe { release(self.data) }
        }
    }
}

/// A filter with its data.
#[derive(Clone)]
pub(crate) struct Filter {
    call: unsafe extern "C" fn(*mut c_void, *const c_void, usize, *const c_void, usize) -> c_int,
    user: Arc<UserData>,
}

impl Filter {
    /// `None` if the function is null; its data are released then, too.
    pub(crate) fn new(call: nk_filter, data: *mut c_void, release: nk_release) -> Option<Self> {
        let user = Arc::new(UserData { data, release });
        call.map(|call| Self { call, user })
    }

    pub(crate) fn passes(&self, key: &[u8], payload: &[u8]) -> bool {
        let (key_data, payload_data) = (key.as_ptr().cast(), payload.as_ptr().cast());
        // SAFETY: the header demands a function of this type that does not throw; the bytes are
        // valid during the call, and the data until they are released.
        let counts = unsafe {
            (self.call)(self.user.data, key_data, key.len(), payload_data, payload.len())
        };
        counts != 0
    }
}

/// The caller's wish to end calls, with its data.
#[derive(Clone)]
pub(crate) struct Cancel {
    call: unsafe extern "C" fn(*mut c_void) -> c_int,
    user: Arc<UserData>,
}

impl Cancel {
    /// `None` if the function is null; its data are released then, too.
    pub(crate) fn new(call: nk_cancel, data: *mut c_void, release: nk_release) -> Option<Self> {
        let user = Arc::new(UserData { data, release });
        call.map(|call| Self { call, user })
    }

    /// For one call, after which nothing of it is used: there is nothing to release.
    pub(crate) fn of_call(call: nk_cancel, data: *mut c_void) -> Option<Self> {
        Self::new(call, data, None)
    }

    pub(crate) fn is_due(&self) -> bool {
        // SAFETY: the header demands a function of this type that does not throw; the data are
        // valid until they are released, or during the call if there is nothing to release them.
        unsafe { (self.call)(self.user.data) != 0 }
    }
}

/// The answer of a progress function of the engine: continue, unless the caller wants to end.
pub(crate) fn go_on(cancel: Option<&Cancel>) -> ControlFlow<()> {
    if cancel.is_some_and(Cancel::is_due) {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

fn kind_of(event: &Event) -> nk_event_kind {
    match event {
        Event::Recovered { .. } => nk_event_kind::NK_EVENT_RECOVERED,
        Event::Flushed { .. } => nk_event_kind::NK_EVENT_FLUSHED,
        Event::CompactionBegun { .. } => nk_event_kind::NK_EVENT_COMPACTION_BEGUN,
        Event::Compacted { .. } => nk_event_kind::NK_EVENT_COMPACTED,
        Event::Expired { .. } => nk_event_kind::NK_EVENT_EXPIRED,
        Event::MaintenanceFailed { .. } => nk_event_kind::NK_EVENT_MAINTENANCE_FAILED,
        Event::WriterStalled { .. } => nk_event_kind::NK_EVENT_WRITER_STALLED,
        Event::Poisoned { .. } => nk_event_kind::NK_EVENT_POISONED,
        Event::LockLost { .. } => nk_event_kind::NK_EVENT_LOCK_LOST,
        _ => nk_event_kind::NK_EVENT_OTHER,
    }
}

/// A function for the engine that calls the caller's listener. `None` if that is null.
pub(crate) fn listener(
    call: nk_listener,
    data: *mut c_void,
    release: nk_release,
) -> Option<impl Fn(&Event) + Send + Sync + 'static> {
    let user = UserData { data, release };
    call.map(|call| {
        move |event: &Event| {
            // Captures the struct. A closure with `user.data` alone would release the data at once.
            let user: &UserData = &user;
            let message = event.to_string();
            let json = serde_json::to_string(event).unwrap_or_default();
            let shown = nk_event {
                kind: kind_of(event),
                message: nk_bytes::from_slice(message.as_bytes()),
                json: nk_bytes::from_slice(json.as_bytes()),
            };
            // SAFETY: the header demands a function of this type that does not throw; the event is
            // valid during the call, and the data until they are released.
            unsafe { call(user.data, &raw const shown) }
        }
    })
}
