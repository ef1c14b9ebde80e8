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
/// back, a link that replaced nothing goes.
pub(super) fn settle(journal: &mut Journal, tally: &mut Tally) -> Result<(), Failure> {
    for entry in journal.unfinished() {
        let there = HeldFile::open(&entry.place).ok().flatten();
        let there = there.filter(|file| entry.identity.is_that_of(file.state()));
        let done = match (entry.deed, there) {
            (Deed::Trash, Some(_)) if is_free(&entry.path) => {
                tally.add(entry.deed, entry.bytes);
                Phase::Done
            }
            (Deed::Trash, None) => {
                trash::forget(&entry.place);
                Phase::Stays
            }
            (Deed::Delete, Some(file)) => {
                if let Err(why) = back(&file, &entry.path) {
                    output::warn(format!("{}: {why}", name::encode(&entry.place)));
                }
                Phase::Stays
            }
            (Deed::Link, Some(file)) => {
                if file.has_another_name() {
                    // If this fails, the link is a further name of the kept file: nothing is lost.
                    let _ = file.folder.remove(&file.name);
                }
                Phase::Stays
            }
            _ => Phase::Stays,
        };
        journal.write(JournalEntry { phase: done, ..entry })?;
    }
    Ok(())
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
    if !entry.identity.is_that_of(file.state()) {
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
