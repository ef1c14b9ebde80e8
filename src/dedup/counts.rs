//! Counts in how many documents each run of words occurs, in bounded memory.

use crate::sync::computing as thread;

/// Maximum number of cells of a row, of two bytes each.
const CELLS_MAX: usize = small!(counts::CELLS_MAX, 32 << 20);
/// Minimum number of cells of a row.
const CELLS_MIN: usize = 1 << 12;

/// The place of a run in each row, before it is cut to the length of the row.
const HASHES: [fn(u64) -> u64; 2] =
    [|run| run >> 16, |run| run.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20];

/// A count-min sketch (Cormode and Muthukrishnan 2005) of two rows. A count is never too low; it is
/// too high only where others share both cells. The order of additions has no influence.
pub(super) struct Counts {
    rows: [Vec<u16>; 2],
    /// Runs of which these bits are not zero are not counted: all of them would not fit.
    left_out: u64,
}

impl Counts {
    /// Makes room for this many runs.
    pub(super) fn new(runs: u64) -> Self {
        let wanted = usize::try_from(runs).unwrap_or(usize::MAX).max(CELLS_MIN);
        let cells = wanted.checked_next_power_of_two().unwrap_or(CELLS_MAX).min(CELLS_MAX);
        let share = (runs / cells as u64).checked_next_power_of_two().unwrap_or(1);
        Self { rows: [vec![0; cells], vec![0; cells]], left_out: share.max(1) - 1 }
    }

    fn places(&self, run: u64) -> [usize; 2] {
        let mask = self.rows[0].len() as u64 - 1;
        HASHES.map(|hash| usize::try_from(hash(run) & mask).unwrap_or(0))
    }

    /// Adds the runs of documents; with `aside`, to one of the rows on a thread of its own.
    pub(super) fn add_all(&mut self, documents: &[&[u64]], aside: bool) {
        let (left_out, [one, other]) = (self.left_out, &mut self.rows);
        let has_thread = aside
            && thread::scope(|scope| {
                let first = || add_to(one, documents, left_out, HASHES[0]);
                let thread = thread::Builder::new().spawn_scoped(scope, first);
                add_to(other, documents, left_out, HASHES[1]);
                thread.is_ok()
            });
        if !aside {
            add_to(other, documents, left_out, HASHES[1]);
        }
        if !has_thread {
            add_to(one, documents, left_out, HASHES[0]);
        }
    }

    /// The number of documents with a run; 0 if it is not counted.
    pub(super) fn count(&self, run: u64) -> u32 {
        self.counted(run).unwrap_or(0)
    }

    /// The number of documents with a run, or `None` if it is not counted.
    pub(super) fn counted(&self, run: u64) -> Option<u32> {
        if run & self.left_out != 0 {
            return None;
        }
        let [one, other] = self.places(run);
        Some(u32::from(self.rows[0][one].min(self.rows[1][other])))
    }
}

/// Adds the runs of documents to a row.
fn add_to(row: &mut [u16], documents: &[&[u64]], left_out: u64, hash: impl Fn(u64) -> u64) {
    let mask = row.len() as u64 - 1;
    for run in documents.iter().flat_map(|runs| runs.iter()) {
        if run & left_out == 0 {
            let cell = &mut row[usize::try_from(hash(*run) & mask).unwrap_or(0)];
            *cell = cell.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_there_is_room_and_never_too_low() {
        let run = |number: u64| number.wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ number << 40;
        let mut counts = Counts::new(2_000);
        for number in 0..1_000 {
            for _ in 0..number % 7 {
                counts.add_all(&[&[run(number)]], number % 2 == 0);
            }
        }
        let found = |number: u64| u64::from(counts.count(run(number)));
        assert!((0..1_000).all(|number| found(number) >= number % 7));
        let exact = (0..1_000).filter(|number| found(*number) == number % 7).count();
        assert!(exact > 940, "{exact}");
    }

    #[test]
    fn of_too_many_runs_a_fixed_sample_is_counted() {
        let mut counts = Counts::new(CELLS_MAX as u64 * 8);
        counts.add_all(&[&[0b1000_0000, 0b1000_0001]], true);
        assert_eq!((counts.counted(0b1000_0000), counts.counted(0b1000_0001)), (Some(1), None));
    }
}
