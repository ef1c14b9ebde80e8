//! `nearkin mirror`: an index that follows a folder. See docs/guide/MIRROR.md.
//!
//! This module is the sequence of steps: scan, check, plan, carry out, remember; with `--watch`,
//! repeated.

#[cfg(not(feature = "watch"))]
mod no_watch;
mod pass;
#[cfg(feature = "watch")]
mod surroundings;
#[cfg(feature = "watch")]
mod watch;

#[cfg(not(feature = "watch"))]
use no_watch as watch;

use std::collections::HashSet;
use std::fs;

use nearkin::{Params, Scheme, Shingles};

use crate::args::mirror::Mirror;
use crate::follow::carry_out;
use crate::follow::carry_out::Run;
use crate::follow::folder::{Folder, mark};
use crate::follow::mounts::Mounts;
use crate::follow::near::NearDuplicates;
use crate::follow::plan::{check_folder, plan};
use crate::follow::report::FileCounts;
use crate::follow::skip_cache::SkipCache;
use crate::follow::store::Store;
use crate::follow::walk::{Rules, Scope};
use nearkin_input::fields::Fields;
use nearkin_input::raw;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::opened::Load;
use nearkin_kit::interrupt;
use nearkin_kit::output::Output;
use pass::{Mirroring, check_not_empty, summarise, tell_absent};

/// Runs the command.
pub fn run(args: &Mirror, output: &mut Output) -> Result<Ended, Failure> {
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
    let (index, _) =
        args.given.open_or_create(&args.index, &Load::alone_and_unsynced(), false, fields)?;
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

/// Runs all steps, but makes the changes in a scratch index.
fn dry_run(args: &Mirror, folder: &Folder, output: &mut Output) -> Result<Ended, Failure> {
    let reader = opened::exists(&args.index)?.then(|| opened::to_read(&args.index)).transpose()?;
    let params = match &reader {
        Some(reader) => {
            args.given.check(reader.params(), &args.index)?;
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
    let gone: HashSet<u128> = keys.map(|key| mark(key)).collect();
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
