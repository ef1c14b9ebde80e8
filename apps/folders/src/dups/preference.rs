//! What decides which of two files stays.

use std::cmp::Reverse;

use nearkin_kit::args::values::Stays;

/// What decides which of two files stays, the first rule first. What is less, stays.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

impl Preference {
    /// The rule by which this file stays and another one does not, for a program and for a person.
    pub(super) fn over(&self, other: &Self, keep: Option<Stays>) -> (&'static str, &'static str) {
        let rules = [
            (self.against != other.against, ("against", "it is in a folder of --against")),
            (self.program != other.program, ("program", "a program needs the other one")),
            (self.rule != other.rule, ("keep", by_rule(keep))),
            (self.folder != other.folder, ("folder", "it is in a folder that was given earlier")),
            (self.copy_name != other.copy_name, ("name", "the other name says that it is a copy")),
            (self.modified != other.modified, ("oldest", "it is the oldest")),
            (self.depth != other.depth, ("depth", "it is less deep in folders")),
            (
                self.unique != other.unique,
                ("unique_files", "its folder has more files without a copy"),
            ),
            (self.name_characters != other.name_characters, ("short_name", "its name is shorter")),
        ];
        let decided = rules.into_iter().find(|(differs, _)| *differs);
        decided.map_or(("path", "it is the first by path"), |(_, rule)| rule)
    }
}

fn by_rule(keep: Option<Stays>) -> &'static str {
    match keep {
        Some(Stays::Oldest) => "it is the oldest, as --keep says",
        Some(Stays::Newest) => "it is the newest, as --keep says",
        Some(Stays::Shortest) => "its name is the shortest, as --keep says",
        Some(Stays::First) | None => "it is the first",
    }
}
