//! A plan: which files stay and which go, as lines that a person reads and edits.
//!
//! docs/guide/DUPS.md describes the format.

pub(crate) mod name;

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::file_state::FileState;
use nearkin_input::on_disk::FileId;

/// The beginning of every plan; the number is that of the format.
pub(crate) const HEAD: &str = "nearkin-plan 1";

/// The beginning of a comment that has the hash of the content of exact copies.
pub(crate) const CONTENT: &str = "# content: ";

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Remove,
    /// It becomes a hard link to a file that stays.
    Link,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Remove => "remove",
            Self::Link => "link",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        [Self::Keep, Self::Remove, Self::Link].into_iter().find(|fate| fate.word() == word)
    }
}

/// How a file is recognised, besides by its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Device and inode. `None` where inode numbers do not last.
    pub(crate) id: Option<FileId>,
    /// Time of modification, in nanoseconds since 1970.
    modified: i128,
}

impl Identity {
    pub(crate) fn of(state: &FileState) -> Self {
        Self { id: state.id, modified: state.modified }
    }

    /// Without the number of the inode, if that does not last.
    pub(crate) fn lasting(self, lasts: bool) -> Self {
        Self { id: self.id.filter(|_| lasts), ..self }
    }

    /// Whether a file is the one that had this identity.
    pub(crate) fn is_that_of(&self, state: &FileState) -> bool {
        self.modified == state.modified && self.id.is_none_or(|id| state.id == Some(id))
    }

    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let (device, inode, modified) = (parts.next()?, parts.next()?, parts.next()?);
        let modified = modified.parse().ok().filter(|_| parts.next().is_none())?;
        let id = match (device, inode) {
            ("-", "-") => None,
            _ => Some(FileId { device: device.parse().ok()?, inode: inode.parse().ok()? }),
        };
        Some(Self { id, modified })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Some(FileId { device, inode }) => write!(f, "{device}:{inode}:{}", self.modified),
            None => write!(f, "-:-:{}", self.modified),
        }
    }
}

/// A line of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    /// The number of the line.
    pub(crate) line: usize,
    pub(crate) fate: Fate,
    pub(crate) bytes: u64,
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    /// The hash of the content, where the group is one of near-copies. Exact copies are compared
    /// with each other.
    pub(crate) sum: Option<u128>,
}

impl PlannedFile {
    /// Writes the line, after `before`.
    pub(crate) fn write(&self, out: &mut impl Write, before: &str) -> io::Result<()> {
        let Self { fate, bytes, path, identity, sum, .. } = self;
        write!(out, "{before}{}\t{bytes}\t{}\t{identity}", fate.word(), name::encode(path))?;
        sum.map_or(Ok(()), |sum| write!(out, "\t{sum:032x}"))?;
        out.write_all(b"\n")
    }

    fn read(line: usize, text: &str) -> Option<Self> {
        let mut parts = text.split('\t');
        let fate = Fate::from_word(parts.next()?.trim())?;
        let bytes = parts.next()?.parse().ok()?;
        let path = name::decode(parts.next()?)?;
        let identity = Identity::from_text(parts.next()?)?;
        let sum = match parts.next() {
            Some(digits) => Some(u128::from_str_radix(digits, 16).ok()?),
            None => None,
        };
        parts.next().is_none().then_some(Self { line, fate, bytes, path, identity, sum })
    }

    /// Whether an open file is the one of this line, unchanged.
    pub(crate) fn is(&self, state: &FileState) -> bool {
        state.bytes == self.bytes && self.identity.is_that_of(state)
    }
}

/// A plan that was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RemovalPlan {
    /// Files that were copies of each other, group by group.
    pub(crate) groups: Vec<Vec<PlannedFile>>,
    /// The numbers of the lines that are not understood.
    pub(crate) wrong: Vec<usize>,
}

impl RemovalPlan {
    /// Reads a plan. `None` if it does not begin as one.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        lines.next().filter(|(_, line)| line.trim_end() == HEAD)?;
        let mut plan = Self::default();
        let mut group = Vec::new();
        for (at, line) in lines {
            match line.trim_end() {
                "" => plan.groups.push(std::mem::take(&mut group)),
                line if line.trim_start().starts_with('#') => {}
                line => match PlannedFile::read(at + 1, line) {
                    Some(file) => group.push(file),
                    None => plan.wrong.push(at + 1),
                },
            }
        }
        plan.groups.push(group);
        plan.groups.retain(|group| !group.is_empty());
        Some(plan)
    }

    /// Whether a file begins as a plan of any version.
    pub(crate) fn is_one(path: &Path) -> bool {
        crate::held::head(path).is_ok_and(|head| {
            head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).starts_with(b"nearkin-plan ")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(line: usize, fate: Fate, path: &str, sum: Option<u128>) -> PlannedFile {
        let identity = Identity { id: Some(FileId { device: 7, inode: 9 }), modified: -5 };
        PlannedFile { line, fate, bytes: 10, path: PathBuf::from(path), identity, sum }
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_edited() {
        let groups = vec![
            vec![file(2, Fate::Keep, "/a\tb", None), file(3, Fate::Remove, "/c ", None)],
            vec![file(5, Fate::Keep, "/d", Some(1)), file(6, Fate::Link, "/e\n", Some(u128::MAX))],
        ];
        let mut written = format!("{HEAD}\n").into_bytes();
        for group in &groups {
            for one in group {
                one.write(&mut written, "").unwrap();
            }
            written.push(b'\n');
        }
        let text = String::from_utf8(written).unwrap();
        let plan = RemovalPlan { groups, wrong: Vec::new() };
        assert_eq!(RemovalPlan::read(&text).as_ref(), Some(&plan));
        // As an editor of Windows writes it.
        let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(RemovalPlan::read(&other), Some(plan));
        assert_eq!(RemovalPlan::read(&text.replacen('1', "2", 1)), None);
        assert_eq!(RemovalPlan::read(""), None);
    }

    #[test]
    fn what_is_no_line_is_told_by_its_number() {
        let good = "keep\t1\t/a\t-:-:3";
        for wrong in [
            "delete\t1\t/a\t-:-:3",
            "keep 1 /a -:-:3",
            "keep\t-1\t/a\t-:-:3",
            "keep\t1\t/%zz\t-:-:3",
            "keep\t1\t/a\t-:4:3",
            "keep\t1\t/a\t1:4:3:5",
            "keep\t1\t/a\t-:-:3\tx",
            "keep\t1\t/a\t-:-:3\t1\t2",
            "keep\t1\t/a",
        ] {
            let plan = RemovalPlan::read(&format!("{HEAD}\n# c\n{good}\n{wrong}\n")).unwrap();
            assert_eq!((plan.wrong, plan.groups[0].len()), (vec![4], 1), "{wrong}");
        }
    }
}
