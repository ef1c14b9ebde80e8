//! The engine's threads under a schedule explorer, on the simulated disk. Compiled only with `--cfg
//! shuttle`, which excludes all other tests of the engine: `just schedules`.
//!
//! At every lock, wait, wake, atomic, thread and file operation, the explorer chooses the next
//! thread: either at random, or by priorities that change at a few points (PCT), which finds bugs
//! that need few switches. A scenario runs repeatedly on a copy of the same index, and is judged at
//! its end. A failure can be replayed: see `docs/reports/CRASH_TESTS.md`, "Schedules".

mod caught;
mod commit;
mod disk;
mod ends;
mod files;
mod judge;
mod merges;
mod turns;
mod world;

use crate::testing::planted::{Bug, Planted};
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, ReplayScheduler, Scheduler,
    UncontrolledNondeterminismCheckScheduler,
};
use shuttle::{Config, MaxSteps, Runner};
use std::cell::RefCell;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use world::World;

/// Schedules per scenario and strategy, unless the environment sets another number.
const SCHEDULES: usize = 100;
/// The number of priority changes (PCT's depth). Most races need two or three.
const DEPTHS: [usize; 2] = [3, 6];
/// With a planted bug: at most `HUNT_ROUNDS` rounds, each of `HUNT_SCHEDULES` schedules per
/// strategy, until the bug is caught.
const HUNT_ROUNDS: u64 = 40;
const HUNT_SCHEDULES: usize = 50;

/// A scenario, run in a world of its own.
type Scenario = dyn Fn(&World) + Send + Sync;

thread_local! {
    /// The violations found in a hunt, where a violation does not fail the test: it means that the
    /// planted bug was caught.
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn from_environment<T: FromStr>(name: &str, otherwise: T) -> T {
    let value = std::env::var(name).ok();
    value.map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

fn config() -> Config {
    let mut config = Config::new();
    // redb needs more than the default of 60 KiB.
    config.stack_size = 1 << 20;
    config.max_steps = MaxSteps::FailAfter(200_000);
    config.silence_warnings = true;
    config
}

fn run(scheduler: impl Scheduler + 'static, check: impl Fn() + Send + Sync + 'static) {
    Runner::new(scheduler, config()).run(check);
}

/// Runs a scenario under many schedules, or under the one to be replayed.
fn explore(name: &str, scenario: impl Fn(&World) + Send + Sync + 'static) {
    world::prepare();
    let scenario: Arc<Scenario> = Arc::new(scenario);
    let check = move || {
        let world = World::new();
        scenario(&world);
        let wrong = world.judge();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    };
    if let Some(file) = std::env::var_os("NEARKIN_SCHEDULE") {
        return run(ReplayScheduler::new_from_file(file).expect("a schedule"), check);
    }
    let seed = from_environment("NEARKIN_SCHEDULES_SEED", 1);
    let count = from_environment("NEARKIN_SCHEDULES", SCHEDULES);
    let begin = Instant::now();
    run(RandomScheduler::new_from_seed(seed, count), check.clone());
    for depth in DEPTHS {
        run(PctScheduler::new_from_seed(seed, depth, count), check.clone());
    }
    let all = count * (1 + DEPTHS.len());
    eprintln!("{name}: {all} schedules, {:.1} s", begin.elapsed().as_secs_f64());
}

/// Checks that a scenario is deterministic: if a schedule is repeated, the explorer must get the
/// same choices again.
fn replay_all(scenario: impl Fn(&World) + Send + Sync + 'static) {
    world::prepare();
    let check = move || {
        let world = World::new();
        scenario(&world);
        assert!(world.judge().is_empty());
    };
    let random = RandomScheduler::new_from_seed(1, 10);
    run(UncontrolledNondeterminismCheckScheduler::new(random), check);
}

#[test]
fn a_schedule_can_be_replayed() {
    replay_all(commit::two_writers_and_a_reader);
    replay_all(merges::a_writer_a_merger_and_a_reader);
    replay_all(ends::closing);
}

/// Runs a scenario with a planted bug. Returns the number of schedules until the bug was caught,
/// and the violation.
fn hunt(bug: Bug, scenario: impl Fn(&World) + Send + Sync + 'static) -> Option<(usize, String)> {
    world::prepare();
    let scenario: Arc<Scenario> = Arc::new(scenario);
    let tried = Arc::new(AtomicUsize::new(0));
    let check = {
        let tried = Arc::clone(&tried);
        move || {
            // After a violation, the remaining schedules are skipped.
            if WRONG.with_borrow(|wrong| !wrong.is_empty()) {
                return;
            }
            tried.fetch_add(1, Ordering::Relaxed);
            let world = World::new();
            scenario(&world);
            WRONG.set(world.judge());
        }
    };
    let seed = from_environment("NEARKIN_SCHEDULES_SEED", 1);
    WRONG.take();
    let _planted = Planted::new(bug);
    for round in 0..HUNT_ROUNDS {
        run(RandomScheduler::new_from_seed(seed + round, HUNT_SCHEDULES), check.clone());
        if let Some(wrong) = WRONG.take().into_iter().next() {
            return Some((tried.load(Ordering::Relaxed), wrong));
        }
        run(PctScheduler::new_from_seed(seed + round, DEPTHS[0], HUNT_SCHEDULES), check.clone());
        if let Some(wrong) = WRONG.take().into_iter().next() {
            return Some((tried.load(Ordering::Relaxed), wrong));
        }
    }
    None
}
