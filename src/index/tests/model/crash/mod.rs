//! The crash campaign. The power is cut at every disk operation of a script, and at least 32
//! possible disks are opened after each cut. Each must hold a prefix of the changes with everything
//! that was promised, verify, take another write, and open again.
//!
//! At every cut, the process is also killed without a power cut. Then everything that the next
//! process has read from the page cache must survive a power cut right after that. A sample of the
//! disks is cut again during recovery, and a sample is damaged on purpose. The numbers of the
//! scripts determine everything; a failure prints the script, the cut and the step.
//!
//! The long campaign, in release mode and with one thread per part:
//!
//! ```text
//! NEARKIN_CRASH_STATES=1000000 NEARKIN_CRASH_SEED=1 cargo test --release --lib \
//!     a_crash_anywhere -- --nocapture
//! ```
//!
//! `NEARKIN_CRASH_STATES` is the minimum number of states (the last script is run to its end),
//! `NEARKIN_CRASH_SEED` the number of the first script.

mod faults;
mod full;
mod judge;
mod moved;
mod planted;
mod run;
mod script;

use super::script::Rng;
use super::{PanicNote, number_from_environment};
use crate::testing::campaign;
use judge::{CrashSeen, Figures, Judge};
use run::CrashRun;
use std::time::Instant;

/// Disk states per cut, not counting those after a kill or a second cut.
const STATES: usize = 32;
/// The number of states in CI.
const STATES_DEFAULT: u64 = 20_000;
const PARTS: u64 = 2;

/// Cuts one script at one operation, and judges the result. Returns false if the script has fewer
/// operations.
fn cut_script(
    script: &script::Script,
    cut: u64,
    damage: bool,
    figures: &mut Figures,
    seen: &mut CrashSeen,
) -> bool {
    let number = script.number;
    let mut place = PanicNote(format!("script {number}, cut at {cut}"));
    let mut run = CrashRun::new(script, cut);
    let whole = run.go(script, &mut |at, step| {
        place.0 = format!("script {number}, cut at {cut}, step {at}: {:.200}", format!("{step:?}"));
    });
    place.0 += ", judged";
    figures.cuts += 1;
    let rng = Rng::new(number ^ cut.wrapping_mul(0x2545_f491_4f6c_dd1d));
    Judge { figures, seen, rng, damage }.crash(&run, STATES);
    !whole
}

/// Cuts a script at every operation.
fn cut_everywhere(number: u64) -> Figures {
    let script = script::script(number);
    let mut figures = Figures { scripts: 1, ..Figures::default() };
    let mut seen = CrashSeen::new();
    let mut cut = 0;
    while cut_script(&script, cut, true, &mut figures, &mut seen) {
        cut += 1;
    }
    figures
}

/// Runs the scripts whose number modulo the number of parts is `part`, until there are enough
/// states.
fn run_scripts(part: u64) {
    let states = number_from_environment(
        "NEARKIN_CRASH_STATES",
        campaign::amount(STATES_DEFAULT / 6, STATES_DEFAULT),
    );
    let first = number_from_environment("NEARKIN_CRASH_SEED", 1);
    let begun = Instant::now();
    let mut figures = Figures::default();
    let mut numbers = (first..).filter(|number| number % PARTS == part);
    while figures.states < states / PARTS {
        let number = numbers.next().expect("numbers do not end");
        figures.add(&cut_everywhere(number));
        eprintln!("part {part}: script {number}, {:?}, {figures:?}", begun.elapsed());
    }
    eprintln!("part {part}: 0 violations in {:?}: {figures:?}", begun.elapsed());
}

#[test]
fn a_crash_anywhere_in_an_even_script_loses_nothing_promised() {
    run_scripts(0);
}

#[test]
fn a_crash_anywhere_in_an_odd_script_loses_nothing_promised() {
    run_scripts(1);
}
