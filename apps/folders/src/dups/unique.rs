//! `--unique`: names the files whose content is nowhere else.

use std::collections::HashSet;

use serde::Serialize;

use super::files::{ExaminedFiles, File};
use super::groups::Group;
use crate::args::dups::Dups;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

#[derive(Serialize)]
struct UniqueObject<'a> {
    kind: &'static str,
    path: JsonBytes<'a>,
    bytes: u64,
}

#[derive(Serialize)]
struct UniqueTotalsObject {
    files: u64,
    unique_files: u64,
    unique_bytes: u64,
    /// Files that have a near-copy only, which are not named.
    near_copies: u64,
    /// Files without content, which are not named.
    empty: u64,
    /// Links and devices, which are not looked at.
    not_files: u64,
    /// Folders that cannot be listed.
    unlisted: u64,
}

/// The files that are in no group of `exact`; with `--against`, the searched files that no file of
/// a reference folder equals.
fn unique(files: &ExaminedFiles, exact: &[Vec<usize>], against: bool) -> Vec<usize> {
    let is_elsewhere =
        |group: &&Vec<usize>| !against || group.iter().any(|at| files.all[*at].is_safe());
    let copies: HashSet<usize> = exact.iter().filter(is_elsewhere).flatten().copied().collect();
    let all = files.all.iter().enumerate();
    let alone = all.filter(|(at, file)| file.searched && !file.is_safe() && !copies.contains(at));
    alone.map(|(at, _)| at).collect()
}

pub(super) fn show(
    files: &ExaminedFiles,
    exact: &[Vec<usize>],
    near: &[Group],
    args: &Dups,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let against = !args.against.is_empty();
    let near: HashSet<usize> =
        near.iter().flat_map(|group| &group.files).map(|(at, _)| *at).collect();
    let unique = unique(files, exact, against);
    let (similar, unique): (Vec<_>, Vec<_>) = unique.into_iter().partition(|at| near.contains(at));
    let mut unique: Vec<&File> = unique.into_iter().map(|at| &files.all[at]).collect();
    unique.sort_unstable_by_key(|file| file.searched_as());
    let (all, limit) = (unique.len() as u64, args.limit.unwrap_or(usize::MAX));
    for file in unique.iter().take(limit) {
        let (path, bytes) = (file.searched_as().as_os_str().as_encoded_bytes(), file.state.bytes);
        if output.json() {
            output.object(&UniqueObject { kind: "unique", path: JsonBytes(path), bytes })?;
        } else {
            output.line(visible(path))?;
        }
    }
    let searched = files.all.iter().filter(|file| file.searched).count() as u64;
    let bytes = unique.iter().map(|file| file.state.bytes).sum();
    if output.json() {
        output.object(&UniqueTotalsObject {
            files: searched,
            unique_files: all,
            unique_bytes: bytes,
            near_copies: similar.len() as u64,
            empty: files.empty,
            not_files: files.others,
            unlisted: files.unlisted,
        })?;
    }
    output.flush()?;
    output::note_limit(all.min(limit as u64), all, "files");
    let place = if against { "in a folder of --against" } else { "copied" };
    let (searched, bytes) = (counted(searched, "file"), output::bytes(bytes));
    output::note(format!("{} of {searched} not {place}: {bytes}", grouped(all)));
    if !similar.is_empty() {
        let more = counted(similar.len() as u64, "more file");
        output::note(format!(
            "{more} with a near-copy only, not the same: --exact names them, too"
        ));
    }
    output::note(format!(
        "not looked at, in all folders: {} empty, {} links and devices, .git folders, trashes",
        grouped(files.empty),
        grouped(files.others)
    ));
    let given = [
        ("--exclude", !args.exclude.is_empty()),
        ("--min-size", args.min_size > 1),
        ("--one-file-system", args.one_file_system),
    ];
    let given: Vec<_> = given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if !given.is_empty() {
        let given = given.join(", ");
        output::warn(format!("{given}: what this leaves out is not named, copied or not"));
    }
    if files.unlisted + files.missing == 0 {
        return Ok(Ended::Well);
    }
    if files.unlisted > 0 {
        let folders = counted(files.unlisted, "folder");
        output::warn(format!("{folders} not listed: what is there is unknown"));
    }
    Ok(Ended::Skipped)
}
