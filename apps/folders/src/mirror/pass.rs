//! One pass: scans the folder or a part of it, and updates the index.
//!
//! This module knows the steps of a pass and their output. `watch` decides when passes run.

use nearkin::{Params, Snapshot};

use crate::args::mirror::Mirror;
use crate::follow::carry_out;
use crate::follow::carry_out::Run;
use crate::follow::folder::Folder;
use crate::follow::mounts::Mounts;
use crate::follow::near::NearDuplicates;
use crate::follow::plan::{Gone, Plan, plan};
use crate::follow::report::FileCounts;
use crate::follow::skip_cache::SkipCache;
use crate::follow::store::Store;
use crate::follow::walk::{Rules, Scope};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::doubts;
use nearkin_kit::output::{self, Output, counted};

/// An open index, and the folder that it follows.
pub(super) struct Mirroring<'a> {
    pub(super) args: &'a Mirror,
    pub(super) folder: Folder,
    pub(super) rules: Rules,
    pub(super) params: Params,
    pub(super) store: Store,
    pub(super) skip_cache: SkipCache,
    pub(super) mounts: Mounts,
    pub(super) has_summarised: bool,
}

impl Mirroring<'_> {
    /// Updates the index from the part of the folder that is in `scope`.
    pub(super) fn pass(&mut self, scope: &Scope, output: &mut Output) -> Result<(), Failure> {
        let documents: Option<Snapshot> = self.store.documents();
        let (what, skip_cache) = ((&self.rules, scope), &mut self.skip_cache);
        let planned = plan(documents.as_ref(), &self.folder, what, &self.mounts, skip_cache)?;
        drop(documents);
        let allow_empty = self.args.allow_empty;
        if scope.is_all() {
            check_not_empty(&planned, &self.folder, allow_empty)?;
            tell_absent(&planned);
            // Before documents are written: after a kill, the next run must know what was mounted.
            self.mounts.remember(&self.folder)?;
        }
        let mut counts = FileCounts::default();
        let run = Run {
            store: &self.store,
            skip_cache: &mut self.skip_cache,
            counts: &mut counts,
            output,
            near: NearDuplicates::new(self.args.limit),
            silent: false,
        };
        let ended = carry_out(run, planned, &self.params);
        if ended.as_ref().is_err_and(|failure| !failure.is_interruption()) {
            return ended;
        }
        let all = scope.is_all() && ended.is_ok();
        if let Err(error) = self.skip_cache.write(all) {
            // This is only a cache: without it, the skipped files are read again.
            output::note(format!("cannot write the cache of skipped files: {error}"));
        }
        ended?;
        // With `--watch`, later passes say nothing if nothing has changed.
        if !std::mem::replace(&mut self.has_summarised, true) || counts.is_change() {
            summarise(&counts, output)?;
        }
        Ok(())
    }
}

pub(super) fn summarise(counts: &FileCounts, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        output.object(&FileCounts { doubts: doubts::counts(), ..counts.clone() })?;
    }
    output.flush()?;
    output::note(counts);
    doubts::report();
    Ok(())
}

/// Says which documents are kept because their file system is absent.
pub(super) fn tell_absent(planned: &Plan) {
    if planned.absent > 0 {
        output::note(format!(
            "{} kept: nothing is mounted any more where their files were (mount it, or give \
             --allow-empty to remove them)",
            counted(planned.absent, "document")
        ));
    }
}

/// Fails if no file is left but documents would be removed: usually the disk of the folder is not
/// mounted.
pub(super) fn check_not_empty(
    planned: &Plan,
    folder: &Folder,
    allow_empty: bool,
) -> Result<(), Failure> {
    if let Some(why) = planned.unlisted.as_ref().filter(|_| planned.files == 0) {
        return Err(Failure::new(
            format!("cannot read the folder {}: {why}", folder.path.display()),
            "its documents are kept; run the command again once the folder can be read",
        ));
    }
    if allow_empty || planned.files > 0 || planned.gone.is_empty() {
        return Ok(());
    }
    let documents = counted(planned.gone.len() as u64, "document");
    if planned.gone.iter().any(|(_, why)| *why == Gone::Ignored) {
        return Err(Failure::new(
            format!(
                "every file of {} is ignored, but the index has {documents} from it",
                folder.path.display()
            ),
            "check the ignore files and the options of earlier runs (--hidden, --no-ignore); to \
             remove the documents, give --allow-empty",
        ));
    }
    Err(Failure::new(
        format!("{} holds no file, but the index has {documents} from it", folder.path.display()),
        "check that the disk is mounted; to remove the documents, give --allow-empty",
    ))
}
