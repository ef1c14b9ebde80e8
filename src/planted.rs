//! Planted bugs: mistakes that the crash campaign switches on, one at a time, and must catch.
//!
//! A hook is one line, `planted!(Bug => what goes wrong)` or `planted!(Bug, wrong, right)`. Only
//! the unit tests know the bugs: in any other build the first form is nothing at all, the second
//! is `right`.

#[cfg(not(test))]
macro_rules! planted {
    ($bug:ident => $wrong:expr) => {};
    ($bug:ident, $wrong:expr, $right:expr) => {
        $right
    };
}

#[cfg(test)]
macro_rules! planted {
    ($bug:ident => $wrong:expr) => {
        if crate::planted::is_on(crate::planted::Bug::$bug) {
            $wrong;
        }
    };
    ($bug:ident, $wrong:expr, $right:expr) => {
        if crate::planted::is_on(crate::planted::Bug::$bug) { $wrong } else { $right }
    };
}

#[cfg(test)]
pub(crate) use switch::{Bug, Planted, about_to_wait, assert_caught, is_on, while_visiting};

#[cfg(test)]
mod switch {
    use std::cell::Cell;
    use std::panic::resume_unwind;

    /// What can be wrong.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Bug {
        /// A published name is not made durable.
        FolderNotSynced,
        /// A file is published without its content being durable.
        FileNotSynced,
        /// The floor moves before the segment below it is written.
        FloorBeforeSegment,
        /// A recovered log goes on behind what was cut.
        AppendAfterTornTail,
        /// The leader of a sync takes its mark when the sync is done.
        HorizonAfterSync,
        /// What replay found is served without having been made durable.
        TailNotFlushed,
        /// Readers see a change before its sync.
        VisibleBeforeSync,
        /// A write is acknowledged without a sync.
        WalNotSynced,
        /// A merge removes its inputs before the catalog has let go of them.
        InputsDeletedEarly,
        /// A flush puts the old log aside before the catalog has let go of it.
        WalRetiredEarly,
        /// A compaction commits deaths that are above the floor.
        LateDeathsCommitted,
        /// A compaction forgets the deaths above the floor.
        DeathLostInMerge,
        /// A compaction forgets the deaths that a flush has committed meanwhile.
        DeadFileNotCarried,
        /// A record validates wherever it lies.
        CrcNotBoundToOffset,
        /// A file gets the least number that the catalog does not list.
        NumberReused,
        /// The catalog's row is believed without its checksum.
        RowCrcNotChecked,
        /// A directory without a catalog is taken for an empty one.
        SweepWithoutCatalog,
        /// What wrote nothing does not wait for what it saw.
        IdleNotAwaited,
        /// A newcomer is turned away before what it is a duplicate of is durable.
        RejectionNotAwaited,
        /// A log gets a record before the catalog lists it.
        RecordBeforeListed,
        /// A full disk is taken for success.
        FullIsSuccess,
        /// After a failed sync the next one is believed.
        PoisonForgotten,
        /// Opening does not make the catalog it has read durable.
        CatalogNotSyncedAtOpen,
        /// Damage below the horizon is cut like a torn tail.
        DamageIsTornTail,
        /// A reader beside a writer takes records that nothing says are synced.
        HorizonIgnored,
        /// A reader believes a copy of the catalog, whichever catalog it was taken of.
        StaleCopyBelieved,
        /// Nobody looks whether the lock of the handle is still the index's.
        LockNotChecked,
        /// A handle goes by the path of its folder.
        FolderNotHeld,
        /// The record of an insert does not hold the payload that stays.
        PayloadForgotten,
        /// A reader asks whether somebody writes before it knows of which log.
        LockAskedEarly,
        /// A compaction cuts payloads above 32 KiB.
        PayloadCut,
        /// A compaction copies the signatures of a run of full length from one place too early.
        FullRunShifted,
        /// Keys of a batch are looked up without the dead file, after the first few candidates.
        LaterDeadForgotten,
        /// Later documents of a large batch get a wrong key in the table of the last band.
        LaterKeyWrong,
        /// Queries that are asked together always say that their answers are complete.
        AllComplete,
        /// A compaction on a full disk does not give up the spare WAL.
        SpareKept,
        /// A compaction that is abandoned leaves its inputs marked as being merged.
        InputsLeftMarked,
        /// A reader takes an older state for a newer one.
        ReaderGoesBack,
        /// An idle record is taken whichever change it says it follows.
        IdleUnchecked,
    }

    impl Bug {
        pub(crate) const ALL: [Self; 27] = [
            Self::FolderNotSynced,
            Self::FileNotSynced,
            Self::FloorBeforeSegment,
            Self::AppendAfterTornTail,
            Self::HorizonAfterSync,
            Self::TailNotFlushed,
            Self::VisibleBeforeSync,
            Self::WalNotSynced,
            Self::InputsDeletedEarly,
            Self::WalRetiredEarly,
            Self::LateDeathsCommitted,
            Self::DeathLostInMerge,
            Self::DeadFileNotCarried,
            Self::CrcNotBoundToOffset,
            Self::NumberReused,
            Self::RowCrcNotChecked,
            Self::SweepWithoutCatalog,
            Self::IdleNotAwaited,
            Self::RejectionNotAwaited,
            Self::RecordBeforeListed,
            Self::FullIsSuccess,
            Self::PoisonForgotten,
            Self::CatalogNotSyncedAtOpen,
            Self::DamageIsTornTail,
            Self::LockNotChecked,
            Self::FolderNotHeld,
            Self::PayloadForgotten,
        ];

        /// Those of a reader beside a writer: no crash shows them.
        pub(crate) const BESIDE: [Self; 3] =
            [Self::HorizonIgnored, Self::StaleCopyBelieved, Self::LockAskedEarly];

        /// Those at the limits of what is done together: scripts of the model must meet each.
        pub(crate) const AT_LIMITS: [Self; 5] = [
            Self::PayloadCut,
            Self::FullRunShifted,
            Self::LaterDeadForgotten,
            Self::LaterKeyWrong,
            Self::AllComplete,
        ];
    }

    thread_local! {
        static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
        static VISITING: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether this thread has the bug.
    pub(crate) fn is_on(bug: Bug) -> bool {
        BUG.get() == Some(bug)
    }

    /// Switches a bug on for this thread, until dropped.
    #[derive(Debug)]
    pub(crate) struct Planted;

    impl Planted {
        pub(crate) fn new(bug: Bug) -> Self {
            BUG.set(Some(bug));
            Self
        }
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            BUG.set(None);
        }
    }

    /// Runs a test with a bug, which must fail it.
    pub(crate) fn assert_caught(bug: Bug, test: impl FnOnce() + std::panic::UnwindSafe) {
        let _planted = Planted::new(bug);
        let passed = std::panic::catch_unwind(test).is_ok();
        assert!(!passed, "not caught: {bug:?}");
    }

    /// How a caller who would have to wait leaves [`while_visiting`].
    #[derive(Debug)]
    pub(crate) struct WouldWait;

    /// Does what a second caller would do while the first waits, in the first one's thread: where
    /// it would have to wait for the first, it unwinds instead and never gets its answer.
    pub(crate) fn while_visiting<T>(visit: impl FnOnce() -> T) -> Result<T, WouldWait> {
        VISITING.set(true);
        let visited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(visit));
        VISITING.set(false);
        visited.map_err(|panic| match panic.downcast::<WouldWait>() {
            Ok(would_wait) => *would_wait,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Called before a wait for another thread.
    pub(crate) fn about_to_wait() {
        if VISITING.get() {
            resume_unwind(Box::new(WouldWait));
        }
    }
}
