//! `nearkin dups`: finds copies and near-copies in folders, with an index that needs no managing.
//!
//! This module is the sequence of steps: find the files, compare files of equal size, index the
//! texts, form groups, print them.

mod cache;
mod cksum;
mod exact;
mod files;
mod groups;
mod mount;
mod near;
mod script;
mod show;

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::Dups;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::interrupt;
use crate::mirror::Selection;
use crate::on_disk;
use crate::output::{self, Output};

use files::Files;
use groups::Groups;

pub(crate) fn run(args: &Dups, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    crate::threads::start_pool()?;
    let folders = folders(args)?;
    args.script.as_deref().map_or(Ok(()), script::check)?;
    let selection = Selection {
        hidden: args.hidden,
        exclude: args.exclude.clone(),
        bytes_min: args.min_size,
        one_file_system: args.one_file_system,
    };
    let mut files = Files::find(&folders, &selection, &preferred(args)?, args.keep)?;
    let exact = exact::groups(&files)?;
    let mut groups = Groups::default();
    if !args.exact {
        let paths: Vec<_> = folders.iter().map(|folder| folder.path.as_path()).collect();
        let wanted = cache::Wanted { args, folders: &paths, selection: &selection };
        let near = cache::with_index(&wanted, |index| {
            near::groups(index, &files, &exact, args.threshold, !args.against.is_empty())
        });
        (groups.near, files.skipped) = near?;
    }
    groups.of_exact(&exact);
    if !args.against.is_empty() {
        groups.across(&files);
    }
    if args.link {
        groups.linkable(&files, args.any_owner);
    }
    groups.measure(&files);
    if let Some(path) = &args.script {
        script::write(path, args, &groups, &files)?;
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

impl Looked {
    /// A path in this folder, in the user's spelling.
    fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.path) {
            Ok(rest) if self.given == Path::new(".") => rest.to_owned(),
            Ok(rest) => self.given.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    /// Whether two folders are one, by the same path or by another, or one lies in the other.
    fn overlaps(&self, path: &Path) -> bool {
        let id = |path: &Path| fs::metadata(path).ok().and_then(|metadata| on_disk::id(&metadata));
        path.starts_with(&self.path)
            || self.path.starts_with(path)
            || id(path).is_some_and(|one| id(&self.path) == Some(one))
    }
}

/// The folders in the order in which their files are kept, with all links resolved.
fn preferred(args: &Dups) -> Result<Vec<PathBuf>, Failure> {
    let resolved =
        |given: &PathBuf| fs::canonicalize(given).map_err(|error| Failure::reading(given, &error));
    args.against.iter().chain(&args.folders).map(resolved).collect()
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
            && other.overlaps(&path)
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
