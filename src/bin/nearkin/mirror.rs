//! `nearkin mirror`: an index that follows a folder. See docs/MIRROR.md.
//!
//! Knows the order of things: look, refuse, plan, carry out, remember; and, with `--watch`, again.

mod carry_out;
mod folder;
mod memo;
#[cfg(not(feature = "watch"))]
mod no_watch;
mod plan;
mod report;
mod store;
mod told;
mod walk;
#[cfg(feature = "watch")]
mod watch;

#[cfg(not(feature = "watch"))]
use no_watch as watch;

use std::collections::HashSet;
use std::fs;

use nearkin::{Params, Scheme, Shingles, Snapshot};

use crate::Ended;
use crate::add;
use crate::args::{Mirror, TtlGiven};
use crate::failure::Failure;
use crate::interrupt;
use crate::lines::Fields;
use crate::opened;
use crate::output::{self, Output, counted};
use crate::raw;
use carry_out::Run;
use folder::Folder;
use plan::{Plan, check_folder, plan};
use report::Counts;
use store::Store;
use told::Told;
use walk::{Rules, Scope};

pub(crate) fn run(args: &Mirror, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let folder = Folder::new(&args.folder)?;
    // Forced, an index may be emptied; one that is not there has nothing to lose.
    let may_be_missing = args.force && opened::exists(&args.index)?;
    if !folder.is_there() && !may_be_missing {
        return Err(Failure::new(
            format!("{} is not there", args.folder.display()),
            "is a disk not mounted? If the folder is gone for good, --force removes its documents",
        ));
    }
    if args.dry_run {
        return dry_run(args, &folder, output);
    }
    watch::check(args)?;
    let fields = |params: &Params| takes_texts(params).map(|()| Fields::text("id", "text"));
    let (index, _) = add::open(&args.index, &args.given, TtlGiven::default(), false, fields)?;
    check_folder(&index.snapshot(), &folder, args.force)?;
    let params = index.params().clone();
    let told = Told::read(&args.index, &raw::key_of(&args.folder));
    let mut mirroring =
        Mirroring { args, folder, rules: rules(args), params, store: Store::Index(index), told };
    let ended = if args.watch {
        watch::watch(&mut mirroring, output)
    } else {
        mirroring.pass(&Scope::All, output)
    };
    opened::close(ended, || mirroring.store.close())?;
    Ok(Ended::Well)
}

/// Only an index of texts, and of whole ones, can follow files.
fn takes_texts(params: &Params) -> Result<(), Failure> {
    opened::check_of_documents(params, "mirror")?;
    let external = matches!(params.scheme(), Scheme::External(_));
    if external || params.shingles() == Shingles::Items {
        return Err(Failure::new("the index takes no texts, which files are", "use another index"));
    }
    Ok(())
}

fn rules(args: &Mirror) -> Rules {
    Rules {
        hidden: args.hidden,
        no_ignore: args.no_ignore,
        // If it cannot be resolved it is not there, and nothing needs to be passed over.
        index: fs::canonicalize(&args.index).ok(),
    }
}

/// Everything but the changes: those go into a scratch index.
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
    let documents = reader.as_deref().cloned();
    if let Some(documents) = &documents {
        check_folder(documents, folder, args.force)?;
    }
    let mut told = Told::read(&args.index, &raw::key_of(&args.folder));
    let planned = plan(documents.as_ref(), folder, &rules(args), &Scope::All, &mut told)?;
    check_not_empty(&planned, folder, args.force)?;
    let keys = planned.to_read.iter().map(|file| &file.key).chain(&planned.gone);
    let gone: HashSet<u128> = keys.map(|key| folder::mark(key)).collect();
    let store = Store::dry(documents, &params, gone)?;
    let mut counts = Counts { dry_run: true, ..Counts::default() };
    let run =
        Run { store: &store, told: &mut told, counts: &mut counts, output, limit: args.limit };
    carry_out(run, planned, &params)?;
    summarise(&counts, output)?;
    Ok(Ended::Well)
}

fn carry_out(mut run: Run<'_>, planned: Plan, params: &Params) -> Result<(), Failure> {
    run.carry_out(planned, params).map_err(|failure| {
        let where_to = if run.counts.dry_run { "" } else { ", safe in the index" };
        failure.after(&format!("before that{where_to}: {}", run.counts))
    })
}

fn summarise(counts: &Counts, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        output.object(counts)?;
    }
    output.flush()?;
    output::note(counts);
    Ok(())
}

/// A folder that holds nothing is most often one whose disk is not there.
fn check_not_empty(planned: &Plan, folder: &Folder, force: bool) -> Result<(), Failure> {
    if force || planned.files > 0 || planned.gone.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!(
            "{} holds no file, and the index has {} of it",
            folder.path.display(),
            counted(planned.gone.len() as u64, "document")
        ),
        "is a disk not mounted? If the files are gone for good, --force removes the documents",
    ))
}

/// An open index and the folder it follows.
struct Mirroring<'a> {
    args: &'a Mirror,
    folder: Folder,
    rules: Rules,
    params: Params,
    store: Store,
    told: Told,
}

impl Mirroring<'_> {
    /// Makes the index follow what changed in a part of the folder.
    fn pass(&mut self, scope: &Scope, output: &mut Output) -> Result<(), Failure> {
        let documents: Option<Snapshot> = self.store.documents();
        let planned = plan(documents.as_ref(), &self.folder, &self.rules, scope, &mut self.told)?;
        drop(documents);
        if scope.is_all() {
            check_not_empty(&planned, &self.folder, self.args.force)?;
        }
        let mut counts = Counts::default();
        let run = Run {
            store: &self.store,
            told: &mut self.told,
            counts: &mut counts,
            output,
            limit: self.args.limit,
        };
        let ended = carry_out(run, planned, &self.params);
        if ended.as_ref().is_err_and(|failure| !failure.is_interruption()) {
            return ended;
        }
        let all = scope.is_all() && ended.is_ok();
        if let Err(error) = self.told.write(all) {
            // Only a cache: what it would have said is found out again.
            output::note(format!("skipped files were not remembered: {error}"));
        }
        ended?;
        if scope.is_all() || counts.is_change() {
            summarise(&counts, output)?;
        }
        Ok(())
    }
}
