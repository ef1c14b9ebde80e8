//! Plans a pass by comparing the folder with the documents of the index.
//!
//! Decides only by names, sizes and times. Reads no contents of files, and writes nothing.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use nearkin::{Document, Snapshot};

use super::folder::{self, Folder};
use super::memo::{self, Memo, Stat};
use super::mounts::{Absent, Mounts};
use super::skip_cache::{self, Before, SkipCache};
use super::walk::{Rules, Scope, WalkItem, lies_below, walk};
use nearkin_input::formats;
use nearkin_input::raw::{self, Names, Origin, Reason, Reasons, Skipped, key_of, path_of};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, counted, visible};

/// What the index holds under the key of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Known {
    Nothing,
    /// A document without a payload, usually from `nearkin add`. Or one with our payload but
    /// another signature: another program replaced our document, which kept the payload.
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
    pub path: PathBuf,
    pub key: Vec<u8>,
    pub(crate) stat: Stat,
    /// Whether every change to the file after `stat` was read would show in its metadata.
    pub(crate) settled: bool,
    pub place: u64,
    pub known: Known,
    /// How often reading the file has already failed in this state.
    pub(crate) failures: u8,
}

impl Planned {
    pub(crate) fn origin(&self) -> Origin {
        Origin::File { path: self.path.clone(), name: self.key.clone() }
    }
}

/// Why a file is no longer followed.
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
    pub to_read: Vec<Planned>,
    /// Documents whose files are no longer followed: key and reason.
    pub(crate) gone: Vec<(Vec<u8>, Gone)>,
    pub unchanged: u64,
    /// Number of unchanged files that earlier runs have skipped, by kind of reason.
    pub(crate) skipped_before: Reasons,
    /// The names of some of them.
    pub(crate) names_before: Names,
    /// Files that this pass skips without reading them.
    pub skipped: Vec<Skipped>,
    /// Number of documents that are kept although their files gave no text.
    pub kept: u64,
    /// Number of files whose reading has failed and whose next attempt is not due.
    pub waiting: u64,
    /// Number of files found in the folder.
    pub files: u64,
    /// Number of files and folders that ignore rules left out. Counted only if the whole folder is
    /// scanned.
    pub(crate) left_out: u64,
    /// Number of documents that are kept because nothing is mounted now where their files were.
    pub(crate) absent: u64,
    /// Why the folder itself could not be listed.
    pub(crate) unlisted: Option<String>,
}

/// Fails if the index already has the folder's files under other keys, or if documents of the index
/// come from another folder of the same name.
pub(crate) fn check_folder(
    documents: &Snapshot,
    folder: &Folder,
    force: bool,
) -> Result<(), Failure> {
    let here = folder.path.display();
    let mut of_another = 0;
    for document in documents.iter() {
        interrupt::check()?;
        let Document { key, payload, .. } = document?;
        let Some(memo) = Memo::decode(&payload) else { continue };
        if folder.place(&key) == Some(memo.place) {
            continue;
        }
        // Keys that seem to lie in the folder are checked, too. Example: an earlier run followed
        // `docs` from its parent directory and stored the key `docs/a`. If the command now runs
        // inside `docs` and follows `.`, the key of the same file is `a`, although `docs/a` looks
        // like a key in `.`.
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

/// Scans the folder and plans the changes of the index.
pub(crate) fn plan(
    documents: Option<&Snapshot>,
    folder: &Folder,
    (rules, scope): (&Rules, &Scope),
    mounts: &Mounts,
    skip_cache: &mut SkipCache,
) -> Result<Plan, Failure> {
    let (now, plan) = (memo::now_s(), Plan::default());
    let (seen, unlisted) = (HashSet::new(), Vec::new());
    let mut planning = Planning { documents, folder, skip_cache, now, plan, seen, unlisted };
    if folder.is_there() {
        planning.scan(rules, scope)?;
    }
    // Looked at after the scan: a file system that was unmounted during the scan is noticed.
    let absent = mounts.absent(folder);
    planning.find_gone(scope, &absent)?;
    let plan = planning.plan;
    match absent.whole {
        Some(at) if !plan.gone.is_empty() => Err(Failure::new(
            format!(
                "nothing is mounted at {} any more, but the index has {} from there",
                at.display(),
                counted(plan.gone.len() as u64, "document"),
            ),
            "mount the file system; to remove the documents, give --allow-empty",
        )),
        _ => Ok(plan),
    }
}

/// The reason why a file was not found in the folder. `None` if the reason is unknown; its document
/// is then kept.
fn gone(key: &[u8]) -> Option<Gone> {
    match fs::symlink_metadata(path_of(key)) {
        Ok(there) if there.is_file() => Some(Gone::Ignored),
        // Something other than a file has this name now.
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
    /// Hashes of the keys of all files found.
    seen: HashSet<u128>,
    /// Keys at or below which files may have been missed.
    unlisted: Vec<Vec<u8>>,
}

impl Planning<'_> {
    /// Plans what to do with the files of the folder.
    fn scan(&mut self, rules: &Rules, scope: &Scope) -> Result<(), Failure> {
        let progress = Progress::start("looking", Unit::Documents, None);
        let folder = self.folder;
        let (mut children, mut met) = (0_u64, 0);
        for found in walk(folder, rules, scope) {
            interrupt::check()?;
            met += u64::from(!matches!(found, WalkItem::Unlisted { .. }));
            match found {
                WalkItem::Folder { children: more } => children += more,
                WalkItem::File { path, metadata } => {
                    let stat = Stat::from_metadata(&metadata);
                    let key = key_of(&path);
                    self.seen.insert(folder::mark(&key));
                    self.file(path, key, stat)?;
                    progress.reached(self.plan.files);
                }
                WalkItem::Other { path, stat, reason } => self.other(path, &stat, reason),
                WalkItem::Unlisted { path, why } => {
                    let key = key_of(&path);
                    if path == folder.path {
                        self.plan.unlisted = Some(why.clone());
                    }
                    self.skip(path, key.clone(), Reason::Unreadable(why));
                    self.unlisted.push(key);
                }
            }
        }
        // The folder itself was met, too, but is no child of another. Without children, nothing was
        // left out or they were not counted.
        self.plan.left_out = if children > 0 { (children + 1).saturating_sub(met) } else { 0 };
        Ok(())
    }

    /// Finds the documents in the scope whose files were not found.
    fn find_gone(&mut self, scope: &Scope, absent: &Absent) -> Result<(), Failure> {
        let keys = scope.keys();
        for document in self.documents.into_iter().flat_map(Snapshot::iter) {
            interrupt::check()?;
            let Document { key, payload, signature, .. } = document?;
            let is_ours = |memo: Memo| memo.is_of(&signature);
            let is_inside = self.folder.holds(&key) && keys.holds(&key);
            let ours = is_inside && Memo::decode(&payload).is_some_and(is_ours);
            if !ours || self.seen.contains(&folder::mark(&key)) {
                continue;
            }
            if absent.keys.iter().any(|above| lies_below(&key, above)) {
                self.plan.absent += 1;
                continue;
            }
            let hidden = self.unlisted.iter().any(|above| lies_below(&key, above));
            match if hidden { None } else { gone(&key) } {
                Some(why) => self.plan.gone.push((key, why)),
                None => self.plan.kept += 1,
            }
        }
        // Sorted, because the documents of an index come in arbitrary order.
        self.plan.gone.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(())
    }

    fn file(&mut self, path: PathBuf, key: Vec<u8>, stat: Stat) -> Result<(), Failure> {
        self.plan.files += 1;
        let settled = stat.is_settled(memo::now_ns());
        let place = self.folder.place(&key).unwrap_or_default();
        let document = match self.documents {
            // If a key is too long, no document has it. The error is reported when the file is
            // read.
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
            memo.settled
                && memo.stat == stat
                && memo.place == place
                && memo.maker == formats::maker()
        };
        match &known {
            Known::Ours { memo, .. } if is_unchanged(memo) => {
                self.plan.unchanged += 1;
                return Ok(());
            }
            _ => {}
        }
        let failures = match self.before(skip_cache::mark(&key, place, &stat), &key) {
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
        if self.before(mark, &key).is_none() {
            self.skip_cache.record(mark, &reason, 0, self.now);
            self.skip(path, key, reason);
        }
    }

    /// Looks up whether an earlier run skipped the file in its present state, and with which
    /// result. Counts the file as skipped, unless a retry is due.
    fn before(&mut self, mark: u128, key: &[u8]) -> Option<Before> {
        let before = self.skip_cache.before(mark, self.now)?;
        if let Before::Answer(kind, detail) | Before::Waits(kind, detail) = &before {
            *self.plan.skipped_before.entry((*kind, detail.clone())).or_default() += 1;
            raw::add_name(&mut self.plan.names_before, kind, key, output::is_verbose());
            self.plan.waiting += u64::from(matches!(before, Before::Waits(..)));
        }
        Some(before)
    }

    fn skip(&mut self, path: PathBuf, name: Vec<u8>, reason: Reason) {
        self.plan.skipped.push(Skipped::new(Origin::File { path, name }, reason));
    }
}
