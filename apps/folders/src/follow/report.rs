//! The output of a run: a line per change, and the counts at the end.

use std::collections::BTreeMap;
use std::fmt;

use nearkin::Match;
use serde::Serialize;

use nearkin_input::raw::{self, Names, Reasons, Skipped};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::doubts::Doubts;
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

/// Counts of files and documents by outcome.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct FileCounts {
    pub added: u64,
    pub replaced: u64,
    pub removed: u64,
    /// Documents removed although their files exist, because an ignore rule or an option excludes
    /// them.
    pub ignored: u64,
    pub unchanged: u64,
    pub skipped: u64,
    /// Files and folders that ignore rules left out; an ignored folder counts once.
    pub(crate) left_out: u64,
    /// Documents kept although their files could not be read.
    pub kept: u64,
    /// Files whose reading has failed and will be tried again.
    pub waiting: u64,
    /// Files whose content was read.
    pub read: u64,
    /// Documents added or replaced that are similar to another document.
    pub(crate) near_duplicates: u64,
    /// Documents added or replaced whose search was cut short in a crowd before it found any.
    pub(crate) undecided: u64,
    pub(crate) dry_run: bool,
    #[serde(flatten)]
    pub doubts: Doubts,
    #[serde(skip)]
    pub reasons: Reasons,
    /// Names of some skipped files. With `--verbose` each is named when it is met, and none here.
    #[serde(skip)]
    pub names: Names,
    /// Number of changes of each kind, to limit how many are named.
    #[serde(skip)]
    pub changes: BTreeMap<&'static str, u64>,
    /// Changes without near-duplicates, which are named after those with them.
    #[serde(skip)]
    pub(crate) later: Vec<(&'static str, Vec<u8>)>,
}

impl FileCounts {
    pub(crate) fn skip(&mut self, skipped: &Skipped) {
        self.skip_all((skipped.reason.kind(), skipped.reason.advice()), 1);
        if let Some(name) = skipped.key.as_deref().filter(|_| !output::is_verbose()) {
            raw::add_name(&mut self.names, skipped.reason.kind(), name, output::is_verbose());
        }
    }

    /// Counts files that are skipped for the same reason: its kind and its detail.
    pub(crate) fn skip_all(&mut self, reason: (&'static str, String), files: u64) {
        self.skipped += files;
        *self.reasons.entry(reason).or_default() += files;
    }

    /// Whether anything has changed.
    pub(crate) fn is_change(&self) -> bool {
        self.added + self.replaced + self.removed > 0
    }
}

impl fmt::Display for FileCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            write!(f, "dry run, nothing was changed: ")?;
        }
        let added = counted(self.added, "document");
        write!(f, "{added} added, {} replaced, ", grouped(self.replaced))?;
        write!(f, "{} removed", grouped(self.removed))?;
        if self.ignored > 0 {
            write!(f, " ({} now ignored)", grouped(self.ignored))?;
        }
        write!(f, ", ")?;
        write!(f, "{} unchanged, {} skipped", grouped(self.unchanged), grouped(self.skipped))?;
        if !self.reasons.is_empty() {
            let kinds = raw::by_kind(&self.reasons);
            let kinds: Vec<_> = kinds.iter().map(|(k, n)| format!("{} {k}", grouped(*n))).collect();
            write!(f, " ({})", kinds.join(", "))?;
        }
        if self.left_out > 0 {
            write!(f, ", {} left out by ignore rules", grouped(self.left_out))?;
        }
        write!(f, "; {} read", counted(self.read, "file"))?;
        if self.near_duplicates > 0 {
            let number = counted(self.near_duplicates, "near-duplicate");
            let at_least = if self.undecided > 0 { "at least " } else { "" };
            write!(f, ", {at_least}{number} among the added and replaced")?;
        }
        if self.kept > 0 {
            let kept = counted(self.kept, "document");
            let whose = if self.kept == 1 { "its file" } else { "their files" };
            write!(f, "; {kept} kept although {whose} could not be read")?;
        }
        if self.waiting > 0 {
            let failed = counted(self.waiting, "file");
            write!(f, "; reading {failed} failed and is tried again by a later run")?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct DuplicateObject<'a> {
    key: JsonBytes<'a>,
    similarity: f64,
}

#[derive(Serialize)]
struct ChangeObject<'a> {
    change: &'a str,
    key: JsonBytes<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    near_duplicate_of: Option<Vec<DuplicateObject<'a>>>,
}

/// Prints that a document was added or replaced, and names its near-duplicates.
pub(crate) fn put(
    change: &str,
    key: &[u8],
    matches: &[Match],
    output: &mut Output,
) -> Result<(), Failure> {
    if output.json() {
        let objects = matches.iter().map(|Match { key, similarity, .. }| DuplicateObject {
            key: JsonBytes(key),
            similarity: *similarity,
        });
        let near_duplicate_of = Some(objects.collect());
        return output.object(&ChangeObject {
            change,
            key: JsonBytes(key),
            why: None,
            near_duplicate_of,
        });
    }
    let mut line = format!("{change:<8}  {}", visible(key));
    let one = |found: &Match| format!("{} ({})", visible(&found.key), found.similarity_text());
    let names: Vec<_> = matches.iter().map(one).collect();
    if !names.is_empty() {
        line.extend(["  near-duplicate of ", &names.join(", ")]);
    }
    output.line(line)
}

/// Prints that a document was removed.
pub(crate) fn removed(key: &[u8], why: &str, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        let (change, key) = ("removed", JsonBytes(key));
        let why = Some(why);
        return output.object(&ChangeObject { change, key, why, near_duplicate_of: None });
    }
    output.line(format_args!("removed   {}  {why}", visible(key)))
}
