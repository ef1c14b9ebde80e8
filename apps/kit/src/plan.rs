//! A plan: which files stay and which go, as lines that a person reads and edits.
//!
//! docs/guide/DUPS.md describes the format.

pub mod name;

use std::fmt;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use crate::file_state::FileState;
use nearkin_input::on_disk::FileId;

/// The beginning of every plan; the number is that of the format.
pub const HEAD: &str = "nearkin-plan 1";

/// The beginning of a comment that has the hash of the content of exact copies.
pub const CONTENT: &str = "# content: ";

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep,
    /// It goes.
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
pub struct FileIdentity {
    /// Device and inode. `None` where inode numbers do not last.
    pub id: Option<FileId>,
    /// Time of modification, in nanoseconds since 1970.
    modified: i128,
}

impl FileIdentity {
    /// The identity of a file in this state.
    pub fn of(state: &FileState) -> Self {
        Self { id: state.id, modified: state.modified }
    }

    /// Without the number of the inode, if that does not last.
    #[must_use]
    pub fn lasting(self, lasts: bool) -> Self {
        Self { id: self.id.filter(|_| lasts), ..self }
    }

    /// Whether a file is the one that had this identity.
    pub fn is_that_of(&self, state: &FileState) -> bool {
        self.modified == state.modified && self.id.is_none_or(|id| state.id == Some(id))
    }

    /// Whether a file is the one that had this identity, whatever number its device has by now:
    /// some systems number devices anew when they start.
    pub fn is_that_of_any_device(&self, state: &FileState) -> bool {
        self.modified == state.modified
            && self.id.is_none_or(|id| state.id.is_some_and(|found| found.inode == id.inode))
    }

    /// Reads an identity as it is displayed.
    pub fn from_text(text: &str) -> Option<Self> {
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

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.id {
            Some(FileId { device, inode }) => write!(f, "{device}:{inode}:{}", self.modified),
            None => write!(f, "-:-:{}", self.modified),
        }
    }
}

/// A line of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// The number of the line.
    pub line: usize,
    /// What happens to the file.
    pub fate: Fate,
    /// Its length.
    pub bytes: u64,
    /// Its path.
    pub path: PathBuf,
    /// How it is recognised.
    pub identity: FileIdentity,
    /// The hash of the content, where the group is one of near-copies. Exact copies are compared
    /// with each other.
    pub sum: Option<u128>,
}

impl PlannedFile {
    /// Writes the line, after `before`.
    pub fn write(&self, out: &mut impl Write, before: &str) -> io::Result<()> {
        writeln!(out, "{before}{}\t{}", self.fate.word(), self.fields())
    }

    /// The line after its first word.
    pub fn fields(&self) -> String {
        let Self { bytes, path, identity, sum, .. } = self;
        let sum = sum.map_or(String::new(), |sum| format!("\t{sum:032x}"));
        format!("{bytes}\t{}\t{identity}{sum}", name::encode(path))
    }

    /// Reads the line with this number. `None` if it is not understood.
    pub fn read(line: usize, text: &str) -> Option<Self> {
        let mut parts = text.split('\t');
        let fate = Fate::from_word(parts.next()?.trim())?;
        let bytes = parts.next()?.parse().ok()?;
        let path = name::decode(parts.next()?)?;
        let identity = FileIdentity::from_text(parts.next()?)?;
        let sum = match parts.next() {
            Some(digits) => Some(u128::from_str_radix(digits, 16).ok()?),
            None => None,
        };
        parts.next().is_none().then_some(Self { line, fate, bytes, path, identity, sum })
    }

    /// Whether an open file is the one of this line, unchanged.
    pub fn is(&self, state: &FileState) -> bool {
        state.bytes == self.bytes && self.identity.is_that_of(state)
    }
}

/// A path below a folder, without `.` and `..`. What is absolute stays so.
pub fn below(folder: &Path, path: &Path) -> PathBuf {
    let mut whole = folder.to_owned();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}
