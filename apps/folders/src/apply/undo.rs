//! Ends what a killed run has begun, and brings files back from the trash.

use std::path::Path;

use super::act::HeldFile;
use super::journal::{Deed, Journal, JournalEntry, Phase};
use super::tally::Tally;
use super::trash;
use crate::held::HeldFolder;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output;
use nearkin_kit::plan::name;

/// Ends what was begun: a file that is in the trash is noted, one that was set aside gets its name
/// back, a link that replaced nothing goes. What cannot be ended is named, and the next run tries
/// again.
pub(super) fn settle(journal: &mut Journal, tally: &mut Tally) -> Result<(), Failure> {
    for entry in journal.unfinished() {
        match ended(&entry) {
            Ok(None) => {}
            Ok(Some(phase)) => {
                if phase == Phase::Done {
                    tally.add(entry.deed, entry.bytes);
                }
                journal.write(JournalEntry { phase, ..entry })?;
            }
            Err(why) => {
                tally.stayed += 1;
                let (path, place) = (name::encode(&entry.path), name::encode(&entry.place));
                output::warn(format!("{path}: an earlier run left {place}, which stays: {why}"));
            }
        }
    }
    Ok(())
}

/// How it has ended. `None` if the file is nowhere: it is gone, or its file system is not mounted.
fn ended(entry: &JournalEntry) -> Result<Option<Phase>, String> {
    // Windows does not say where in the recycle bin a file is.
    if entry.place.as_os_str().is_empty() {
        return Ok(Some(if is_free(&entry.path) { Phase::Done } else { Phase::Stays }));
    }
    let is_at_home = || {
        HeldFile::open(&entry.path).is_ok_and(|file| file.is_some_and(|file| is_it(entry, &file)))
    };
    // Without an inode, another file of the same time may be at the place.
    if entry.deed != Deed::Link && entry.identity.id.is_none() && is_at_home() {
        return Ok(Some(Phase::Stays));
    }
    let why = match HeldFile::open(&entry.place) {
        Ok(Some(file)) if is_it(entry, &file) => return end(entry, &file).map(Some),
        Ok(Some(_)) => "it is another file".to_owned(),
        Ok(None) if is_free(&entry.path) => return Ok(None),
        Ok(None) => {
            if entry.deed == Deed::Trash {
                trash::forget(&entry.place);
            }
            return Ok(Some(Phase::Stays));
        }
        Err(why) => why,
    };
    // It was not moved, or is back.
    if is_at_home() { Ok(Some(Phase::Stays)) } else { Err(why) }
}

/// Ends it with the file that is at its place.
fn end(entry: &JournalEntry, file: &HeldFile) -> Result<Phase, String> {
    match entry.deed {
        Deed::Trash => return Ok(Phase::Done),
        Deed::Delete => back(file, &entry.path)?,
        Deed::Link if file.has_another_name() => {
            let removed = file.folder.remove(&file.name);
            removed.map_err(|error| format!("it cannot be removed: {error}"))?;
        }
        Deed::Link => return Err("it is the only name of its file".to_owned()),
    }
    Ok(Phase::Stays)
}

fn is_it(entry: &JournalEntry, file: &HeldFile) -> bool {
    entry.identity.is_that_of_any_device(file.state())
}

fn is_free(path: &Path) -> bool {
    matches!(HeldFile::open(path), Ok(None))
}

/// Moves a file to its old path.
fn back(file: &HeldFile, path: &Path) -> Result<(), String> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err("this is no path of a file".to_owned());
    };
    // --remove-empty may have removed it.
    let folder = HeldFolder::open_or_create_all(parent)
        .map_err(|error| format!("its folder {}: {error}", name::encode(parent)))?;
    file.folder
        .rename(&file.name, &folder, name)
        .map_err(|error| format!("it cannot be moved to {}: {error}", name::encode(path)))
}

/// Brings back what is in the trash, the last first.
pub(super) fn bring_back(journal: &mut Journal, tally: &mut Tally) -> Result<(), Failure> {
    for entry in journal.trashed() {
        interrupt::check()?;
        match from_trash(&entry) {
            Ok(()) => {
                tally.brought_back += 1;
                journal.write(JournalEntry { phase: Phase::Back, ..entry })?;
            }
            Err(why) => {
                tally.stayed += 1;
                let path = name::encode(&entry.path);
                output::warn(format!("{path} does not come back: {why}"));
            }
        }
    }
    Ok(())
}

#[cfg(unix)]
fn from_trash(entry: &JournalEntry) -> Result<(), String> {
    let file = HeldFile::open(&entry.place)?.ok_or("it is not in the trash any more")?;
    if !is_it(entry, &file) {
        return Err(format!("{} is another file", name::encode(&entry.place)));
    }
    back(&file, &entry.path)?;
    trash::forget(&entry.place);
    Ok(())
}

#[cfg(windows)]
fn from_trash(entry: &JournalEntry) -> Result<(), String> {
    // --remove-empty may have removed the folder.
    if let Some(folder) = entry.path.parent() {
        HeldFolder::open_or_create_all(folder).map_err(|error| error.to_string())?;
    }
    trash::restore(&entry.path)
}
