//! Nearkin compared with the settings of other programs: the ratios of found copies.

use std::fmt::Write as _;

/// The results of a setting: the number of copies found, and of hard negatives wrongly dropped.
pub(crate) struct Came {
    pub(crate) name: &'static str,
    pub(crate) found: usize,
    pub(crate) dropped: usize,
}

/// Suffix of the names of other programs' settings.
pub(crate) const THEIRS: &str = ", default settings";

/// A table that compares the settings that a user can choose by name with those of other programs.
/// Empty if there are none of the latter.
pub(crate) fn table(all: &[Came], chosen: &[&str]) -> String {
    let theirs: Vec<&Came> = all.iter().filter(|one| one.name.ends_with(THEIRS)).collect();
    if theirs.is_empty() {
        return String::new();
    }
    let mut table = "\n| copies found, times those of (false drops, ours and theirs) |".to_owned();
    for other in &theirs {
        let _ = write!(table, " {} |", other.name.trim_end_matches(THEIRS));
    }
    let _ = writeln!(table, "\n|---|{}", "---:|".repeat(theirs.len()));
    for own in all.iter().filter(|one| chosen.contains(&one.name)) {
        let _ = write!(table, "| {} |", own.name);
        for other in &theirs {
            let times = own.found as f64 / other.found.max(1) as f64;
            let _ = write!(table, " {times:.2} ({}, {}) |", own.dropped, other.dropped);
        }
        table.push('\n');
    }
    table
}
