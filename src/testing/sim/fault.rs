//! I/O faults: which call fails, and how.

use std::io;

/// A planned failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Number of matching calls that succeed first, counted from [`super::Sim::fail`].
    pub(crate) at: u64,
    pub(crate) what: FaultKind,
    /// Whether all later matching calls fail, too.
    pub(crate) sticky: bool,
}

/// The kind of a failure, which determines the calls that match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Applies to any call, including reads. The call has no effect.
    Eio,
    /// Applies to calls that may need space: create, rename, write, resize. The call has no effect.
    Enospc,
    /// Applies to writes. The first half is written.
    ShortWrite,
    /// Applies to syncs of a file or folder. The sync makes nothing durable, and as on Linux, no
    /// later sync does so either.
    SyncFails,
}

impl FaultKind {
    pub(crate) const ALL: [Self; 4] = [Self::Eio, Self::Enospc, Self::ShortWrite, Self::SyncFails];

    fn concerns(self, call: Call) -> bool {
        match self {
            Self::Eio => true,
            Self::Enospc => matches!(
                call,
                Call::CreateDir
                    | Call::Create
                    | Call::Rename
                    | Call::Write
                    | Call::StartWriting
                    | Call::Resize
            ),
            Self::ShortWrite => call == Call::Write,
            Self::SyncFails => matches!(call, Call::Sync | Call::SyncDir),
        }
    }
}

impl From<FaultKind> for io::Error {
    fn from(what: FaultKind) -> Self {
        let kind = match what {
            FaultKind::Enospc | FaultKind::ShortWrite => io::ErrorKind::StorageFull,
            FaultKind::Eio | FaultKind::SyncFails => io::ErrorKind::Other,
        };
        Self::new(kind, format!("simulated fault: {what:?}"))
    }
}

/// The moment at which a visit happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    BeforeSync,
    AfterSync,
    BeforeLink,
}

/// The closure that a visit calls. It returns true when the visit is over and must not be repeated.
pub(crate) type Visit = Box<dyn FnMut() -> bool + Send>;

/// The planned visit of another process.
#[derive(Default)]
pub(super) struct Visitor(pub(super) Option<(Moment, Visit)>);

impl std::fmt::Debug for Visitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Visitor").field(&self.0.as_ref().map(|(moment, _)| moment)).finish()
    }
}

/// The calls of the traits `Storage` and `File`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    CreateDir,
    List,
    Open,
    Create,
    Rename,
    Remove,
    SyncDir,
    Lock,
    Length,
    Read,
    Write,
    StartWriting,
    Resize,
    Sync,
    Map,
}

impl Call {
    /// Whether a power cut after the call differs from one before it.
    pub(super) fn changes_state(self) -> bool {
        !matches!(
            self,
            Self::List
                | Self::Open
                | Self::Lock
                | Self::Length
                | Self::Read
                | Self::StartWriting
                | Self::Map
        )
    }
}

/// The planned faults, and for each the number of matching calls so far.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Vec<(Fault, u64)>,
    fired: u64,
}

impl Faults {
    pub(super) fn plan(&mut self, fault: Fault) {
        self.planned.push((fault, 0));
    }

    pub(super) fn fired(&self) -> u64 {
        self.fired
    }

    /// Counts a call, and returns an error if it is planned to fail.
    pub(super) fn strike(&mut self, call: Call) -> Result<(), FaultKind> {
        let mut struck = None;
        for (fault, seen) in &mut self.planned {
            if fault.what.concerns(call) {
                if *seen == fault.at || (fault.sticky && *seen > fault.at) {
                    struck = struck.or(Some(fault.what));
                }
                *seen += 1;
            }
        }
        match struck {
            None => Ok(()),
            Some(what) => {
                self.fired += 1;
                Err(what)
            }
        }
    }
}
