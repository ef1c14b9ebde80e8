//! Planted concurrency bugs: the scenarios must catch them.

use super::world::World;
use super::{commit, files, hunt, merges, turns};
use crate::testing::planted::Bug;

#[test]
fn every_planted_bug_about_threads_is_caught() {
    type Case = (Bug, fn(&World));
    let cases: [Case; 11] = [
        (Bug::VisibleBeforeSync, commit::two_writers_and_a_reader),
        (Bug::HorizonAfterSync, commit::two_writers_and_a_reader),
        (Bug::WalNotSynced, commit::two_writers_and_a_reader),
        (Bug::IdleNotAwaited, commit::idle_answers),
        (Bug::RejectionNotAwaited, commit::newcomers),
        (Bug::DeathLostInMerge, merges::deaths_during_a_compaction),
        (Bug::DeadFileNotCarried, merges::deaths_during_a_compaction),
        (Bug::LateDeathsCommitted, merges::deaths_during_a_compaction),
        (Bug::InputsDeletedEarly, files::snapshots_and_merges),
        (Bug::StaleMemtableKept, turns::two_handles),
        (Bug::ChangeNumberedTwice, turns::two_handles),
    ];
    let mut missed = Vec::new();
    for (bug, scenario) in cases {
        match hunt(bug, scenario) {
            Some((schedules, by)) => {
                let by: String = by.chars().take(200).collect();
                eprintln!("{bug:?}: caught, schedule {schedules}: {by}");
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
