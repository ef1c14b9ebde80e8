//! I/O faults: which call fails, and how. Knows nothing of what a call does.

use std::io;

/// One planned failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// How many calls that this fault concerns succeed first, counted from [`super::Sim::fail`].
    pub(crate) at: u64,
    pub(crate) what: What,
    /// Whether every later call that it concerns fails too.
    pub(crate) sticky: bool,
}

/// The way of failing; each concerns, and counts, other calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Any call at all, reads included; nothing is done.
    Eio,
    /// A call that may need space (creates, renames, writes, resizes); nothing is done.
    Enospc,
    /// A write; its first half is written.
    ShortWrite,
    /// A sync of a file or a folder. What it should have made durable stays as it is, and as on
    /// Linux no later sync of the file makes it durable either.
    SyncFails,
}

impl What {
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

impl From<What> for io::Error {
    fn from(what: What) -> Self {
        let kind = match what {
            What::Enospc | What::ShortWrite => io::ErrorKind::StorageFull,
            What::Eio | What::SyncFails => io::ErrorKind::Other,
        };
        Self::new(kind, format!("simulated fault: {what:?}"))
    }
}

/// When somebody comes by: before a sync did anything, after it has done all, or before a file
/// gets a second name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    BeforeSync,
    AfterSync,
    BeforeLink,
}

/// What happens at a moment of some sync; true when it has happened.
pub(crate) type Visit = Box<dyn FnMut() -> bool + Send>;

/// The next visit of another process, and its moment.
#[derive(Default)]
pub(super) struct Visitor(pub(super) Option<(Moment, Visit)>);

impl std::fmt::Debug for Visitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Visitor").field(&self.0.as_ref().map(|(moment, _)| moment)).finish()
    }
}

/// The calls of the two traits.
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
    /// Whether a power cut just after it differs from one just before it.
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

/// The faults that are planned, and how many calls each has seen.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Vec<(Fault, u64)>,
    fired: u64,
}

impl Faults {
    pub(super) fn plan(&mut self, fault: Fault) {
        self.planned.push((fault, 0));
    }

    pub(super) fn are_planned(&self) -> bool {
        !self.planned.is_empty()
    }

    pub(super) fn fired(&self) -> u64 {
        self.fired
    }

    /// Counts a call; an error if it is to fail.
    pub(super) fn strike(&mut self, call: Call) -> Result<(), What> {
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
