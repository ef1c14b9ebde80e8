//! `nearkin dups`: finds copies and near-copies in folders, with an index that needs no managing.
//!
//! This module is the sequence of steps: index the folders, compare files of equal size, form
//! groups, print them.

mod cache;
mod exact;
mod groups;
mod script;
mod show;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Dups;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::interrupt;
use crate::mirror;
use crate::output::{self, Output};
use crate::raw::key_of;

use cache::Cached;
use groups::{Files, Groups};

pub(crate) fn run(args: &Dups, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    crate::threads::start_pool()?;
    let folders = folders(args)?;
    args.script.as_deref().map_or(Ok(()), script::check)?;
    let mut files = files(args, &folders)?;
    let exact = exact::groups(&files)?;
    let groups = if args.exact {
        Groups::new(exact, Vec::new())
    } else {
        let paths: Vec<_> = folders.iter().map(|folder| folder.path.as_path()).collect();
        let Cached { index, place, _scratch } = cache::open(args, &paths)?;
        let (index, skipped) = mirror::follow(index, &place, &paths, args.hidden)?;
        files.skipped = skipped;
        let near = groups::near(&index, &files, &exact, args.threshold)?;
        index.close()?;
        Groups::new(exact, near)
    };
    let groups = groups.across(&files, !args.against.is_empty());
    if let Some(path) = &args.script {
        script::write(path, args.link, &groups, &files)?;
    }
    show::show(&groups, &files, args, output)?;
    if let Some(path) = &args.script {
        output::note(format!("wrote {}; read the script before you run it", path.display()));
    }
    Ok(Ended::Well)
}

/// A folder to search.
pub(crate) struct Looked {
    /// The path with all links resolved.
    path: PathBuf,
    /// The path as the user spelled it.
    given: PathBuf,
    /// Whether the files of this folder are always kept (`--against`).
    against: bool,
}

/// The folders to search. A folder inside another one is dropped if both are given in the same way:
/// as folders to search, or as reference folders (`--against`).
fn folders(args: &Dups) -> Result<Vec<Looked>, Failure> {
    let mut found: Vec<Looked> = Vec::new();
    let given = args.against.iter().map(|path| (path, true));
    for (given, against) in given.chain(args.folders.iter().map(|path| (path, false))) {
        let path = fs::canonicalize(given).map_err(|error| Failure::reading(given, &error))?;
        if !path.is_dir() {
            return Err(Failure::new(
                format!("{} is not a folder", given.display()),
                "name the folders to search",
            ));
        }
        if let Some(other) = found.iter().find(|other| other.against && !against)
            && (path.starts_with(&other.path) || other.path.starts_with(&path))
        {
            return Err(Failure::new(
                format!("{} and {} overlap", given.display(), other.given.display()),
                "the folders overlap, so a file would be compared with itself: name two separate \
                 folders",
            ));
        }
        let is_part = |other: &Looked| other.against == against && path.starts_with(&other.path);
        if found.iter().any(is_part) {
            continue;
        }
        found.retain(|other| other.against != against || !other.path.starts_with(&path));
        found.push(Looked { path, given: given.clone(), against });
    }
    Ok(found)
}

/// All files, ordered so that the first file of a group is the one to keep.
fn files(args: &Dups, folders: &[Looked]) -> Result<Files, Failure> {
    let mut files = Files::default();
    let mut inodes: HashMap<(u64, u64), usize> = HashMap::new();
    for folder in folders {
        for (path, metadata) in mirror::files_in(&folder.path, args.hidden)? {
            interrupt::check()?;
            if metadata.len() == 0 {
                files.empty += 1;
                continue;
            }
            if let Some(inode) = inode(&metadata)
                && inodes.insert(inode, files.all.len()).is_some()
            {
                files.links += 1;
                continue;
            }
            let shown = path.strip_prefix(&folder.path).map_or(path.clone(), |rest| {
                if folder.given == Path::new(".") {
                    rest.to_owned()
                } else {
                    folder.given.join(rest)
                }
            });
            let (key, bytes) = (key_of(&path), metadata.len());
            files.all.push(groups::File { path, shown, key, bytes, against: folder.against });
        }
    }
    Ok(files)
}

/// A value shared by all hard links to a file; `None` if the file has only one name.
#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.nlink() > 1).then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}
