//! Planted bugs: the tests enable them one at a time, and must detect each of them.
//!
//! Most bugs are lies of the simulated disk (`sim/lies.rs`), or wrong calls and wrong bytes of the
//! tests themselves. Only a bug that is neither has a hook in product code; there are at most 17.
//!
//! A hook is `planted!(Bug => wrong action)` or `planted!(Bug, wrong, right)`. Bugs exist in unit
//! tests only: in other builds, the first form expands to nothing and the second to `right`.

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
        if $crate::testing::planted::is_on($crate::testing::planted::Bug::$bug) {
            $wrong;
        }
    };
    ($bug:ident, $wrong:expr, $right:expr) => {
        if $crate::testing::planted::is_on($crate::testing::planted::Bug::$bug) {
            $wrong
        } else {
            $right
        }
    };
}

#[cfg(test)]
pub(crate) use switch::{Bug, Planted, about_to_wait, assert_caught, is_on, while_visiting};

#[cfg(test)]
mod switch {
    use std::cell::Cell;
    use std::panic::resume_unwind;

    /// The planted bugs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Bug {
        /// A published name is not synced.
        FolderNotSynced,
        /// A file is published without syncing its content.
        FileNotSynced,
        /// The floor moves before the segment below it is written.
        FloorBeforeSegment,
        /// The leader of a sync reads the synced position after the sync instead of before it.
        HorizonAfterSync,
        /// Replayed changes are served without being made durable.
        TailNotFlushed,
        /// Readers see a change before its sync.
        VisibleBeforeSync,
        /// A write is acknowledged without a sync.
        WalNotSynced,
        /// A merge removes its inputs while the catalog still lists them.
        InputsDeletedEarly,
        /// A flush recycles the old log while the catalog still lists it.
        WalRetiredEarly,
        /// A compaction commits deaths that are above the floor.
        LateDeathsCommitted,
        /// A compaction forgets the deaths above the floor.
        DeathLostInMerge,
        /// A compaction forgets the deaths that a concurrent flush has committed.
        DeadFileNotCarried,
        /// The checksum of a record does not depend on its offset: forged records are valid.
        CrcNotBoundToOffset,
        /// The next file gets the number after the largest one that the catalog lists.
        NumberReused,
        /// The checksum of the catalog's row is not verified: a forged row is valid.
        RowCrcNotChecked,
        /// A directory without a catalog is treated as empty.
        SweepWithoutCatalog,
        /// A call that writes nothing does not wait until the changes it has seen are durable.
        IdleNotAwaited,
        /// A newcomer is rejected before its duplicate is durable.
        RejectionNotAwaited,
        /// A log gets a record before the catalog lists it.
        RecordBeforeListed,
        /// The error of a full disk is ignored.
        FullIsSuccess,
        /// After a failed sync, the next sync is trusted.
        PoisonForgotten,
        /// A commit does not sync the content of the new catalog.
        ReplacementNotSynced,
        /// A commit does not sync the name of the new catalog.
        CommitNotSynced,
        /// A reader of a catalog beside a commit mark does not sync the name.
        CatalogNotSyncedAtOpen,
        /// Damage below the horizon is cut off like a torn tail.
        DamageIsTornTail,
        /// An adoption moves the floor past changes that only the log holds.
        AdoptedOverLog,
        /// A shared handle ends its turn before what it wrote is synced, and says that it is.
        HandedOverUnsynced,
        /// A turn begins with the memtable of the handle's last turn.
        StaleMemtableKept,
        /// A turn continues the numbers of the handle's last turn.
        ChangeNumberedTwice,
        /// A turn commits by the catalog's row of the handle's last turn, with its floor.
        StaleRowCommitted,
        /// A turn does not end although others wait.
        NeverHandedOver,
        /// The manifest is published without syncing its content.
        ManifestNotSynced,
        /// A manifest replaces an existing one of the same generation.
        ManifestReplaced,
        /// A reader beside a writer accepts records that may not be synced.
        HorizonIgnored,
        /// The lock of the handle is not checked any more.
        LockNotChecked,
        /// A handle resolves its folder by path.
        FolderNotHeld,
        /// A reader checks the lock before it reads which log the catalog lists, instead of after
        /// that.
        LockAskedEarly,
        /// A compaction copies the signatures of a run of maximum length from an offset that is one
        /// too small.
        FullRunShifted,
        /// Key look-ups of a batch ignore the dead file after the first few candidates.
        LaterDeadForgotten,
        /// Later documents of a large batch get a wrong key in the table of the last band.
        LaterKeyWrong,
        /// Batched queries always report complete answers.
        AllComplete,
        /// The filter lacks the last few documents of a segment that it covers.
        CoveredInPart,
    }

    impl Bug {
        pub(crate) const ALL: [Self; 33] = [
            Self::FolderNotSynced,
            Self::FileNotSynced,
            Self::FloorBeforeSegment,
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
            Self::ReplacementNotSynced,
            Self::CommitNotSynced,
            Self::CatalogNotSyncedAtOpen,
            Self::DamageIsTornTail,
            Self::LockNotChecked,
            Self::FolderNotHeld,
            Self::AdoptedOverLog,
            Self::HandedOverUnsynced,
            Self::StaleMemtableKept,
            Self::ChangeNumberedTwice,
            Self::StaleRowCommitted,
            Self::NeverHandedOver,
        ];

        /// Bugs in a reader beside a writer, which no crash reveals.
        pub(crate) const BESIDE: [Self; 2] = [Self::HorizonIgnored, Self::LockAskedEarly];

        /// Bugs in a sharded index, which the tests of sharded indexes must find.
        pub(crate) const OF_SHARDS: [Self; 2] = [Self::ManifestNotSynced, Self::ManifestReplaced];

        /// Bugs at batching limits, which the scripts for the model must reach.
        pub(crate) const AT_LIMITS: [Self; 5] = [
            Self::FullRunShifted,
            Self::LaterDeadForgotten,
            Self::LaterKeyWrong,
            Self::AllComplete,
            Self::CoveredInPart,
        ];
    }

    thread_local! {
        static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
        static VISITING: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether the bug is enabled on this thread.
    pub(crate) fn is_on(bug: Bug) -> bool {
        BUG.get() == Some(bug)
    }

    /// Enables a bug on this thread until the guard is dropped.
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

    /// Runs a test with a bug, and panics unless the test fails.
    pub(crate) fn assert_caught(bug: Bug, test: impl FnOnce() + std::panic::UnwindSafe) {
        let _planted = Planted::new(bug);
        let passed = std::panic::catch_unwind(test).is_ok();
        assert!(!passed, "not caught: {bug:?}");
    }

    /// The panic payload with which [`about_to_wait`] unwinds a call that [`while_visiting`] runs.
    #[derive(Debug)]
    pub(crate) struct WouldWait;

    /// Runs a call of a second caller on the thread of the first caller, which is waiting
    /// meanwhile. If the second caller would have to wait for the first, its call unwinds and
    /// returns no result.
    pub(crate) fn while_visiting<T>(visit: impl FnOnce() -> T) -> Result<T, WouldWait> {
        VISITING.set(true);
        let visited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(visit));
        VISITING.set(false);
        visited.map_err(|panic| match panic.downcast::<WouldWait>() {
            Ok(would_wait) => *would_wait,
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Must be called before every wait for another thread. In a call that [`while_visiting`] runs,
    /// unwinds instead of letting it wait.
    pub(crate) fn about_to_wait() {
        if VISITING.get() {
            resume_unwind(Box::new(WouldWait));
        }
    }
}
