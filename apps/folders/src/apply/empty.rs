//! `--remove-empty`: removes folders that have lost their last file.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::journal::Journal;
use super::tally::Tally;
use crate::held::HeldFolder;
use crate::plan::RemovalPlan;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::plan::Fate;

/// Removes the folders of the files that went, and those above, as long as the system finds them
/// empty: up to the folder that all files of the plan are in, which stays.
pub(super) fn remove(
    plan: &RemovalPlan,
    journal: &mut Journal,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let files = plan.groups.iter().flatten();
    let Some(top) = files.clone().filter_map(|file| file.path.parent()).reduce(common) else {
        return Ok(());
    };
    let gone = files.filter(|file| file.fate == Fate::Remove);
    let folders: BTreeSet<&Path> = gone.filter_map(|file| file.path.parent()).collect();
    // Folders inside of others come later in order, and go first.
    for folder in folders.into_iter().rev() {
        for folder in folder.ancestors().take_while(|folder| *folder != top) {
            interrupt::check()?;
            if remove_one(folder).is_err() {
                break;
            }
            tally.folders_removed += 1;
            journal.note_folder(folder)?;
        }
    }
    Ok(())
}

/// Fails if the folder is not empty.
fn remove_one(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    HeldFolder::open(parent)?.remove_folder(name)
}

/// The folder that both are in.
fn common<'a>(one: &'a Path, other: &Path) -> &'a Path {
    one.ancestors().find(|above| other.starts_with(above)).unwrap_or(one)
}
