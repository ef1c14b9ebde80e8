//! Plans a pass: compares the folder with the documents of the index.
//!
//! Decides by names, sizes and times only; reads no file content and writes nothing.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use nearkin::{Document, Snapshot};

use super::folder::{self, Folder};
use super::memo::{self, Memo, Stat};
use super::skip_cache::{self, Before, SkipCache};
use super::walk::{Found, Rules, Scope, lies_below, walk};
use crate::failure::Failure;
use crate::output::{counted, visible};
use crate::progress::{Progress, Unit};
use crate::raw::{Origin, Reason, Skipped, key_of, path_of};
use crate::texts;

/// What the index has for a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    Nothing,
    /// A document without a payload, usually from `nearkin add`; or one that another program
    /// inserted in place of ours, whose payload it kept.
    Others {
        time: u64,
    },
    /// A document stored by `mirror`.
    Ours {
        memo: Memo,
        time: u64,
    },
}

/// A file to read.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) path: PathBuf,
    pub(crate) key: Vec<u8>,
    pub(crate) stat: Stat,
    /// Whether any change after `stat` was taken would alter the metadata.
    pub(crate) settled: bool,
    pub(crate) place: u64,
    pub(crate) known: Known,
    /// How often reading the file in this state has failed.
    pub(crate) failures: u8,
}

impl Planned {
    pub(crate) fn origin(&self) -> Origin {
        Origin::File { path: self.path.clone(), name: self.key.clone() }
    }
}

/// Why a file is not followed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// The file does not exist.
    NoFile,
    /// The file exists, but an ignore rule or an option excludes it.
    Ignored,
}

impl Gone {
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::NoFile => "gone",
            Self::Ignored => "now ignored",
        }
    }
}

/// The plan of a pass.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) to_read: Vec<Planned>,
    /// Keys of documents whose files are not followed any more, and why.
    pub(crate) gone: Vec<(Vec<u8>, Gone)>,
    pub(crate) unchanged: u64,
    /// Files known to be unreadable from earlier runs, by kind of reason.
    pub(crate) skipped_before: BTreeMap<&'static str, u64>,
    /// Files skipped in this pass without being read.
    pub(crate) skipped: Vec<Skipped>,
    /// Documents kept although their files gave no text.
    pub(crate) kept: u64,
    /// Files whose reading failed and whose retry is not due.
    pub(crate) waiting: u64,
    /// Files found in the folder.
    pub(crate) files: u64,
}

/// Refuses to index a folder twice under two names, or to take another folder for it.
pub(crate) fn check_folder(
    documents: &Snapshot,
    folder: &Folder,
    force: bool,
) -> Result<(), Failure> {
    let here = folder.path.display();
    let mut of_another = 0;
    for document in documents.iter() {
        let Document { key, payload, .. } = document?;
        let Some(memo) = Memo::decode(&payload) else { continue };
        if folder.place(&key) == Some(memo.place) {
            continue;
        }
        // Keys inside the folder are checked too: seen from within `docs`, the file `docs/a` is
        // `a`.
        if folder.holds_under_another_name(&key, memo.place) {
            return Err(Failure::new(
                format!("the index has files of {here} under another name: {}", visible(&key)),
                "give the folder as in earlier runs, from the same current directory",
            ));
        }
        of_another += u64::from(folder.is_there() && folder.holds(&key));
    }
    if of_another > 0 && !force {
        return Err(Failure::new(
            format!(
                "{here} is not the folder that {} of the index came from",
                counted(of_another, "document")
            ),
            "run the command from the earlier current directory, or use another index; if the \
             folder was moved, give --force",
        ));
    }
    Ok(())
}

/// Scans the folder and plans the changes.
pub(crate) fn plan(
    documents: Option<&Snapshot>,
    folder: &Folder,
    rules: &Rules,
    scope: &Scope,
    skip_cache: &mut SkipCache,
) -> Result<Plan, Failure> {
    let progress = Progress::start("looking", Unit::Documents, None);
    let (now, plan) = (memo::now_s(), Plan::default());
    let mut planning = Planning { documents, folder, skip_cache, now, plan };
    let (mut seen, mut unlisted) = (HashSet::new(), Vec::new());
    if folder.is_there() {
        for found in walk(folder, rules, scope) {
            match found {
                Found::File { path, stat } => {
                    let key = key_of(&path);
                    seen.insert(folder::mark(&key));
                    planning.file(path, key, stat)?;
                    progress.reached(planning.plan.files);
                }
                Found::Other { path, stat, reason } => planning.other(path, &stat, reason),
                Found::Unlisted { path, why } => {
                    let key = key_of(&path);
                    planning.skip(path, key.clone(), Reason::Unreadable(why));
                    unlisted.push(key);
                }
            }
        }
    }
    let mut plan = planning.plan;
    let keys = scope.keys();
    for document in documents.into_iter().flat_map(Snapshot::iter) {
        let Document { key, payload, signature, .. } = document?;
        let is_ours = |memo: Memo| memo.is_of(&signature);
        let ours =
            folder.holds(&key) && keys.holds(&key) && Memo::decode(&payload).is_some_and(is_ours);
        if !ours || seen.contains(&folder::mark(&key)) {
            continue;
        }
        let hidden = unlisted.iter().any(|above| lies_below(&key, above));
        match if hidden { None } else { gone(&key) } {
            Some(why) => plan.gone.push((key, why)),
            None => plan.kept += 1,
        }
    }
    // Sorted, because the order of an index is arbitrary.
    plan.gone.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(plan)
}

/// Why a file was not found in the folder; `None` if unknown, and then its document is kept.
fn gone(key: &[u8]) -> Option<Gone> {
    match fs::symlink_metadata(path_of(key)) {
        Ok(there) if there.is_file() => Some(Gone::Ignored),
        // Something else has the name now.
        Ok(_) => Some(Gone::NoFile),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Some(Gone::NoFile),
            _ => None,
        },
    }
}

struct Planning<'a> {
    documents: Option<&'a Snapshot>,
    folder: &'a Folder,
    skip_cache: &'a mut SkipCache,
    /// Seconds since 1970.
    now: u64,
    plan: Plan,
}

impl Planning<'_> {
    fn file(&mut self, path: PathBuf, key: Vec<u8>, stat: Stat) -> Result<(), Failure> {
        self.plan.files += 1;
        let settled = stat.is_settled(memo::now_ns());
        let place = self.folder.place(&key).unwrap_or_default();
        let document = match self.documents {
            // A key that is too long has no document; reading the file reports that.
            Some(documents) => documents.get(&key)?,
            None => None,
        };
        let known = match document {
            None => Known::Nothing,
            Some(Document { payload, time, signature, .. }) => match Memo::decode(&payload) {
                Some(memo) if memo.is_of(&signature) => Known::Ours { memo, time },
                Some(_) => Known::Others { time },
                None if payload.is_empty() => Known::Others { time },
                None => {
                    self.skip(path, key, Reason::Taken);
                    return Ok(());
                }
            },
        };
        let is_unchanged = |memo: &Memo| {
            memo.settled && memo.stat == stat && memo.place == place && memo.maker == texts::maker()
        };
        match &known {
            Known::Ours { memo, .. } if is_unchanged(memo) => {
                self.plan.unchanged += 1;
                return Ok(());
            }
            _ => {}
        }
        let failures = match self.before(skip_cache::mark(&key, place, &stat)) {
            Some(Before::TryAgain(failures)) => failures,
            None => 0,
            Some(_) => {
                self.plan.kept += u64::from(matches!(known, Known::Ours { .. }));
                return Ok(());
            }
        };
        self.plan.to_read.push(Planned { path, key, stat, settled, place, known, failures });
        Ok(())
    }

    fn other(&mut self, path: PathBuf, stat: &Stat, reason: Reason) {
        let key = key_of(&path);
        let place = self.folder.place(&key).unwrap_or_default();
        let mark = skip_cache::mark(&key, place, stat);
        if self.before(mark).is_none() {
            self.skip_cache.record(mark, reason.kind(), 0, self.now);
            self.skip(path, key, reason);
        }
    }

    /// Why a file was skipped in an earlier run, if it is unchanged.
    fn before(&mut self, mark: u128) -> Option<Before> {
        let before = self.skip_cache.before(mark, self.now)?;
        if let Before::Answer(kind) | Before::Waits(kind) = before {
            *self.plan.skipped_before.entry(kind).or_default() += 1;
            self.plan.waiting += u64::from(matches!(before, Before::Waits(_)));
        }
        Some(before)
    }

    fn skip(&mut self, path: PathBuf, name: Vec<u8>, reason: Reason) {
        self.plan.skipped.push(Skipped { origin: Origin::File { path, name }, reason });
    }
}
