//! `nearkin dups`: finds copies and near-copies in folders, with an index that needs no managing.
//!
//! This module is the sequence of steps: find the files, compare files of equal size, index the
//! texts, form groups, print them.

mod cache;
mod confirm;
mod copy_names;
mod exact;
mod files;
mod folder;
mod folder_copies;
mod groups;
mod listed;
mod near;
mod not_duplicates;
mod order;
mod preference;
mod programs;
mod show;
mod unique;
mod write_plan;

use std::fs;
use std::path::PathBuf;

use crate::args::dups::Dups;
use crate::follow::selection::Selection;
use nearkin_input::raw;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::{self, Output};

use files::ExaminedFiles;
use folder::folders;
use groups::Groups;
use listed::FileList;
use not_duplicates::Refused;

/// Runs the command.
pub fn run(args: &Dups, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    nearkin_kit::threads::start_pool()?;
    let folders = folders(args)?;
    args.plan.as_deref().map_or(Ok(()), write_plan::check)?;
    let selection = Selection {
        hidden: args.hidden || args.unique,
        exclude: args.exclude.clone(),
        bytes_min: args.min_size,
        one_file_system: args.one_file_system,
    };
    let refused = args.not_duplicates.as_deref().map(Refused::read).transpose()?;
    let preferred = preferred(args)?;
    let list = args.files_from.as_deref().map_or_else(|| Ok(FileList::default()), listed::read)?;
    let mut files = ExaminedFiles::find(&folders, &selection, &preferred, list)?;
    let exact = exact::groups(&mut files)?;
    let exact = order::order(&mut files, &exact, &preferred, args);
    let mut groups = Groups::default();
    if !args.exact {
        let paths: Vec<_> = folders.iter().map(|folder| folder.path.as_path()).collect();
        let wanted = cache::WantedIndex { args, folders: &paths, selection: &selection };
        let with_index =
            cache::with_index(&wanted, |index| near::groups(index, &files, &exact, args));
        let near;
        (near, files.skipped) = with_index?;
        (groups.near, groups.apart, groups.unread) = (near.groups, near.apart, near.unread);
        let spell = |key: &mut Vec<u8>| {
            let shown = folder::shown(&raw::path_of(key), &folders);
            *key = shown.into_os_string().into_encoded_bytes();
        };
        files.skipped.names.values_mut().flatten().for_each(spell);
    }
    groups.of_exact(&exact);
    if !args.against.is_empty() {
        groups.across(&files);
    }
    if args.unique {
        return unique::show(&files, &exact, &groups.near, args, output);
    }
    if let Some(refused) = refused {
        refused.leave_out(&mut groups, &files)?;
    }
    if args.link {
        groups.linkable(&files, args.any_owner);
    }
    groups.measure(&files);
    // With a limit, a plan has the groups that are printed.
    let by_folder = args.limit.is_none() || args.plan.is_none();
    let copied =
        if by_folder { folder_copies::find(&mut groups, &files, &folders) } else { Vec::new() };
    if let Some(path) = &args.plan {
        write_plan::write(path, args, (&groups, &copied), &files)?;
    }
    show::show((&groups, &copied), &files, args, output)?;
    if let Some(path) = &args.plan {
        let path = path.display();
        output::note(format!("wrote {path}: read it, then `nearkin apply {path}` carries it out"));
    }
    Ok(if files.missing > 0 { Ended::Skipped } else { Ended::Well })
}

/// The folders in the order in which their files are kept, with all links resolved.
fn preferred(args: &Dups) -> Result<Vec<PathBuf>, Failure> {
    let resolved =
        |given: &PathBuf| fs::canonicalize(given).map_err(|error| Failure::reading(given, &error));
    args.against.iter().chain(&args.folders).map(resolved).collect()
}
