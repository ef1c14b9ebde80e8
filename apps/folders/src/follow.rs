//! Makes an index follow folders: scan, plan, carry out, remember. The steps that `nearkin mirror`
//! and `nearkin dups` share.

pub(crate) mod carry_out;
pub(crate) mod folder;
pub(crate) mod memo;
pub(crate) mod mounts;
pub(crate) mod near;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod selection;
pub(crate) mod skip_cache;
pub(crate) mod store;
pub(crate) mod walk;

use std::fs;
use std::path::{Path, PathBuf};

use nearkin::{Index, Params};
use nearkin_input::raw::{self, SkippedFiles};

use carry_out::Run;
use folder::Folder;
use mounts::Mounts;
use near::NearDuplicates;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::{self, Output};
use plan::{Plan, plan};
use report::FileCounts;
use selection::Selection;
use skip_cache::SkipCache;
use store::Store;
use walk::{Rules, Scope, WalkItem};

/// Carries out a plan. A failure says how far it got.
pub(crate) fn carry_out(mut run: Run<'_>, planned: Plan, params: &Params) -> Result<(), Failure> {
    run.carry_out(planned, params).map_err(|failure| {
        let where_to = if run.counts.dry_run { "" } else { ", safe in the index" };
        failure.after(&format!("before that{where_to}: {}", run.counts))
    })
}

/// Updates an index to the current files of some folders. Also returns the number of files without
/// a text, by kind of reason.
pub(crate) fn follow(
    index: Index,
    place: &Path,
    folders: &[&Path],
    selection: &Selection,
) -> Result<(Index, SkippedFiles), Failure> {
    let params = index.params().clone();
    let mut skipped = SkippedFiles::default();
    let index_folder = fs::canonicalize(place).ok();
    let store = Store::Index(index);
    for path in folders {
        let folder = Folder::new(path)?;
        let rules = selected(selection, path, index_folder.clone())?;
        let mut skip_cache = SkipCache::read(place, &raw::key_of(path));
        let (documents, what) = (store.documents(), (&rules, &Scope::All));
        let mounts = Mounts::default();
        let planned = plan(documents.as_ref(), &folder, what, &mounts, &mut skip_cache)?;
        let (mut counts, mut output) = (FileCounts::default(), Output::new(false));
        let run = Run {
            store: &store,
            skip_cache: &mut skip_cache,
            counts: &mut counts,
            output: &mut output,
            near: NearDuplicates::new(0),
            silent: true,
        };
        carry_out(run, planned, &params)?;
        for (reason, files) in counts.reasons {
            *skipped.reasons.entry(reason).or_default() += files;
        }
        for (kind, names) in counts.names {
            for name in &names {
                raw::add_name(&mut skipped.names, kind, name, output::is_verbose());
            }
        }
        // This is only a cache: if it cannot be written, the next run reads the skipped files
        // again.
        let _ = skip_cache.write(true);
    }
    match store {
        Store::Index(index) => Ok((index, skipped)),
        Store::Dry(_) => Err(Failure::new("the index was not changed", "")),
    }
}

/// Calls `found` with all files, links and devices in a folder, in name order, and with parts that
/// cannot be read, which are skipped with a note.
pub(crate) fn items_in(
    path: &Path,
    selection: &Selection,
    mut found: impl FnMut(WalkItem) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let folder = Folder::new(path)?;
    let rules = selected(selection, path, None)?;
    for item in walk::walk(&folder, &rules, &Scope::All) {
        match item {
            WalkItem::Unlisted { path, why } if path == folder.path => {
                return Err(Failure::new(
                    format!("cannot read the folder {}: {why}", path.display()),
                    "check its permissions",
                ));
            }
            WalkItem::Folder { .. } => {}
            item => {
                if let WalkItem::Unlisted { path, why } = &item {
                    output::note(format!("skipped {}: {why}", path.display()));
                }
                found(item)?;
            }
        }
    }
    Ok(())
}

/// The rules for the selected files of a folder. Ignore files do not count.
fn selected(
    selection: &Selection,
    folder: &Path,
    index: Option<PathBuf>,
) -> Result<Rules, Failure> {
    Ok(Rules {
        hidden: selection.hidden,
        no_ignore: true,
        index,
        excluded: selection.excluded(folder)?,
        one_file_system: selection.one_file_system,
        bytes_min: selection.bytes_min,
    })
}
