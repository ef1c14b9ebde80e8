//! What decides which of two files stays.

use std::cmp::Ordering::Equal;
use std::cmp::{Ordering, Reverse};

/// What is known about a file that decides whether it stays. What is less, stays.
#[derive(Debug, Default, Clone)]
pub(super) struct Preference {
    /// Files of `--against` come first.
    pub(super) against: Reverse<bool>,
    /// A program needs the file: it is left anyway, and is no reason to remove another one.
    pub(super) program: bool,
    /// What `--keep` says.
    pub(super) rule: (i128, usize),
    /// The number of the folder among those given.
    pub(super) folder: usize,
    /// Whether its name says that it is a copy.
    pub(super) copy_name: bool,
    pub(super) modified: i128,
    pub(super) depth: usize,
    /// For its folder and each above: how many files below have no copy.
    pub(super) unique: Vec<Reverse<u64>>,
    pub(super) name_characters: usize,
}

/// A rule, for a program and for a person.
pub(super) type Rule = (&'static str, &'static str);

/// Whether files are equal, or near-copies: of these, the newest is the latest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Exact,
    Near,
}

impl Preference {
    /// Which of two files stays (the less), and the rule that decides: the first that sets them
    /// apart.
    pub(super) fn compare(&self, other: &Self, kind: Kind) -> (Ordering, Rule) {
        let newest = if kind == Kind::Near { other.modified.cmp(&self.modified) } else { Equal };
        let rules = [
            (self.against.cmp(&other.against), "against", "it is in a folder of --against"),
            (self.program.cmp(&other.program), "program", "a program needs the other one"),
            (self.rule.cmp(&other.rule), "keep", "as --keep says"),
            (self.folder.cmp(&other.folder), "folder", "it is in a folder that was given earlier"),
            (newest, "newest", "it is the newest"),
            (self.copy_name.cmp(&other.copy_name), "name", "the other name says that it is a copy"),
            (self.modified.cmp(&other.modified), "oldest", "it is the oldest"),
            (self.depth.cmp(&other.depth), "depth", "it is less deep in folders"),
            (
                self.unique.cmp(&other.unique),
                "unique_files",
                "its folder has more files without a copy",
            ),
            (self.name_characters.cmp(&other.name_characters), "short_name", "its name is shorter"),
        ];
        let decided = rules.into_iter().find(|(order, ..)| order.is_ne());
        let (order, name, why) = decided.unwrap_or((Equal, "path", "it is the first by path"));
        (order, (name, why))
    }
}
