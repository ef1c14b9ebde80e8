//! `nearkin mirror`: an index that follows a folder. See docs/guide/MIRROR.md.
//!
//! This module is the sequence of steps: scan, check, plan, carry out, remember; with `--watch`,
//! repeated.

mod carry_out;
mod folder;
mod memo;
mod mounts;
mod near;
#[cfg(not(feature = "watch"))]
mod no_watch;
mod pass;
mod plan;
mod report;
mod selection;
mod skip_cache;
mod store;
#[cfg(feature = "watch")]
mod surroundings;
mod walk;
#[cfg(feature = "watch")]
mod watch;

#[cfg(not(feature = "watch"))]
use no_watch as watch;

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use nearkin::{Index, Params, Scheme, Shingles};

use super::add;
use crate::args::Mirror;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::input::opened;
use crate::input::opened::Load;
use crate::interrupt;
use crate::output::{self, Output};
use carry_out::Run;
use folder::Folder;
use mounts::Mounts;
use near::NearDuplicates;
use nearkin_input::fields::Fields;
use nearkin_input::raw::{self, SkippedFiles};
use pass::{Mirroring, carry_out, check_not_empty, summarise, tell_absent};
use plan::{check_folder, plan};
use report::FileCounts;
use skip_cache::SkipCache;
use store::Store;
use walk::{Rules, Scope, WalkItem};

pub(crate) use selection::Selection;

pub(crate) fn run(args: &Mirror, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let folder = Folder::new(&args.folder)?;
    // A folder may be missing only with `--allow-empty`, which then removes all its documents, and
    // only if the index exists: otherwise there is nothing to remove.
    let may_be_missing = args.allow_empty && opened::exists(&args.index)?;
    if !folder.is_there() && !may_be_missing {
        return Err(Failure::new(
            format!("{} is not there", args.folder.display()),
            "is a disk not mounted? If the folder is gone for good, --allow-empty removes its \
             documents",
        ));
    }
    if args.dry_run {
        return dry_run(args, &folder, output);
    }
    watch::check(args)?;
    let fields = |params: &Params| takes_texts(params).map(|()| Fields::text("id", "text"));
    let (index, _) = add::open(&args.index, &args.given, &Load::unsynced(), false, fields)?;
    check_folder(&index.snapshot(), &folder, args.force)?;
    let params = index.params().clone();
    let skip_cache = SkipCache::read(&args.index, &raw::key_of(&args.folder));
    let mut mirroring = Mirroring {
        args,
        folder,
        rules: rules(args),
        params,
        store: Store::Index(index),
        skip_cache,
        mounts: mounts(args),
        has_summarised: false,
    };
    let ended = if args.watch {
        watch::watch(&mut mirroring, output)
    } else {
        mirroring.pass(&Scope::All, output)
    };
    opened::close(ended, || mirroring.store.close())?;
    Ok(Ended::Well)
}

/// Fails unless the index holds whole texts: only such an index can follow files.
fn takes_texts(params: &Params) -> Result<(), Failure> {
    opened::check_of_documents(params, "mirror")?;
    let external = matches!(params.scheme(), Scheme::External(_));
    if external || params.shingles() == Shingles::Items {
        return Err(Failure::new(
            "the index takes no texts, so it cannot follow files",
            "use another index",
        ));
    }
    Ok(())
}

/// The known mount points. With `--allow-empty`, none: then nothing is kept because of them.
fn mounts(args: &Mirror) -> Mounts {
    Mounts::read(&args.index, args.allow_empty)
}

fn rules(args: &Mirror) -> Rules {
    Rules {
        hidden: args.hidden,
        no_ignore: args.no_ignore,
        // If the path cannot be resolved, the folder does not exist and nothing needs to be
        // skipped.
        index: fs::canonicalize(&args.index).ok(),
        excluded: None,
        one_file_system: false,
        bytes_min: 0,
    }
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

/// All files in a folder, in name order. Parts that cannot be read are skipped with a note.
pub(crate) fn files_in(
    path: &Path,
    selection: &Selection,
) -> Result<Vec<(PathBuf, Metadata)>, Failure> {
    let folder = Folder::new(path)?;
    let rules = selected(selection, path, None)?;
    let mut files = Vec::new();
    for found in walk::walk(&folder, &rules, &Scope::All) {
        match found {
            WalkItem::File { path, metadata } => files.push((path, metadata)),
            WalkItem::Unlisted { path, why } if path == folder.path => {
                return Err(Failure::new(
                    format!("cannot read the folder {}: {why}", path.display()),
                    "check its permissions",
                ));
            }
            WalkItem::Unlisted { path, why } => {
                output::note(format!("skipped {}: {why}", path.display()));
            }
            WalkItem::Folder { .. } | WalkItem::Other { .. } => {}
        }
    }
    Ok(files)
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

/// Runs all steps, but makes the changes in a scratch index.
fn dry_run(args: &Mirror, folder: &Folder, output: &mut Output) -> Result<Ended, Failure> {
    let reader = opened::exists(&args.index)?.then(|| opened::to_read(&args.index)).transpose()?;
    let params = match &reader {
        Some(reader) => {
            opened::check_given(reader.params(), &args.index, &args.given)?;
            reader.params().clone()
        }
        None => args.given.params()?,
    };
    takes_texts(&params)?;
    let documents = reader.as_ref().map(nearkin::Reader::snapshot);
    if let Some(documents) = &documents {
        check_folder(documents, folder, args.force)?;
    }
    let mut skip_cache = SkipCache::read(&args.index, &raw::key_of(&args.folder));
    let (rules, mounts) = (rules(args), mounts(args));
    let what = (&rules, &Scope::All);
    let planned = plan(documents.as_ref(), folder, what, &mounts, &mut skip_cache)?;
    check_not_empty(&planned, folder, args.allow_empty)?;
    tell_absent(&planned);
    let gone = planned.gone.iter().map(|(key, _)| key);
    let keys = planned.to_read.iter().map(|file| &file.key).chain(gone);
    let gone: HashSet<u128> = keys.map(|key| folder::mark(key)).collect();
    let store = Store::dry(documents, &params, gone)?;
    let mut counts = FileCounts { dry_run: true, ..FileCounts::default() };
    let run = Run {
        store: &store,
        skip_cache: &mut skip_cache,
        counts: &mut counts,
        output,
        near: NearDuplicates::new(args.limit),
        silent: false,
    };
    carry_out(run, planned, &params)?;
    summarise(&counts, output)?;
    Ok(Ended::Well)
}
