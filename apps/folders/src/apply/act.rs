//! Looks at a file and at the one that stays, and acts if both are what the plan says.

#![expect(clippy::disallowed_types, reason = "looks at the user's files, never the index's")]

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::journal::{Deed, Journal, JournalEntry, Phase};
use super::trash;
use crate::blocks::Blocks;
use crate::held::HeldFolder;
use nearkin_input::files;
use nearkin_input::on_disk::{self, FileId};
use nearkin_kit::failure::Failure;
use nearkin_kit::file_state::{FileState, has_lasting_inodes, owner};
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::Progress;
use nearkin_kit::plan::{Fate, FileIdentity, PlannedFile, name};

/// What became of a file.
#[derive(Debug)]
pub(super) enum Outcome {
    /// With the bytes that it took on the disk, if no other name of it is left.
    Done(u64),
    /// There is no such file any more, or it is a link to the kept file.
    Absent,
    Stays(String),
}

/// Why nothing happens to a file.
pub(super) enum Obstacle {
    /// It stays, for this reason.
    Stays(String),
    /// The command ends.
    Stop(Failure),
}

impl From<String> for Obstacle {
    fn from(why: String) -> Self {
        Self::Stays(why)
    }
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Self {
        Self::Stays(format!("cannot read: {error}"))
    }
}

impl From<Failure> for Obstacle {
    fn from(failure: Failure) -> Self {
        Self::Stop(failure)
    }
}

/// Maximum number of names that are tried.
const NAMES_MAX: usize = 100;

/// A file that is open, in a folder that is held.
#[derive(Debug)]
pub(super) struct HeldFile {
    pub(super) folder: HeldFolder,
    pub(super) name: OsString,
    file: File,
    state: FileState,
}

impl HeldFile {
    /// Opens a file. `None` if it is not there.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, String> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err("this is no path of a file".to_owned());
        };
        let folder = match HeldFolder::open(parent) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("a link leads there, or no folder: {error}")),
            Ok(folder) => folder,
        };
        if folder.is_free(name) {
            return Ok(None);
        }
        let no_file = |error: io::Error| format!("it is a link now, or no file: {error}");
        let file = folder.file(name).map_err(no_file)?;
        let state = FileState::of_open(&file).map_err(|error| error.to_string())?;
        Ok(Some(Self { folder, name: name.to_owned(), file, state }))
    }

    /// Whether the name still leads to this file.
    fn is_there(&self) -> bool {
        self.folder.id(&self.name) == self.state.id
    }

    /// Whether the file has the length and the time of modification that it had when it was opened.
    /// (A new name changes other times.)
    fn is_unchanged(&self) -> bool {
        FileState::of_open(&self.file).is_ok_and(|state| {
            (state.bytes, state.modified) == (self.state.bytes, self.state.modified)
        })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// How it is recognised later: as in a plan, without the number of an inode that does not last.
    pub(super) fn identity(&self) -> FileIdentity {
        FileIdentity::of(&self.state).lasting(has_lasting_inodes(&self.path()))
    }

    pub(super) fn state(&self) -> &FileState {
        &self.state
    }

    pub(super) fn has_another_name(&self) -> bool {
        on_disk::links_of_open(&self.file) > 1
    }

    /// The bytes that are freed without this name.
    fn freed(&self) -> u64 {
        on_disk::freed_with_names(&self.file, 1)
    }

    fn blocks(&self) -> Blocks<'_> {
        Blocks::new(&self.file, self.state.bytes)
    }

    /// Whether these were all bytes of the file, and it has not changed meanwhile.
    fn was_read(&self, blocks: &Blocks<'_>) -> bool {
        blocks.is_at_end() && FileState::of_open(&self.file).is_ok_and(|state| state == self.state)
    }

    /// Whether both files have the same bytes. Calls `read` with the length of each block.
    fn is_equal(&self, other: &Self, read: &mut impl FnMut(u64)) -> Result<bool, Obstacle> {
        let (mut one, mut two) = (self.blocks(), other.blocks());
        loop {
            interrupt::check()?;
            let block = one.next()?;
            if block != two.next()? {
                return Ok(false);
            }
            if block.is_empty() {
                return Ok(self.was_read(&one) && other.was_read(&two));
            }
            read(block.len() as u64);
        }
    }

    /// Whether the bytes have this hash. Calls `read` with the length of each block.
    fn has_sum(&self, sum: u128, read: &mut impl FnMut(u64)) -> Result<bool, Obstacle> {
        let (mut blocks, mut hash) = (self.blocks(), Xxh3::new());
        loop {
            interrupt::check()?;
            let block = blocks.next()?;
            if block.is_empty() {
                return Ok(self.was_read(&blocks) && hash.digest128() == sum);
            }
            hash.update(block);
            read(block.len() as u64);
        }
    }
}

/// The kept file, if the copy may go because of it.
fn compare(
    copy: &HeldFile,
    file: &PlannedFile,
    one: &PlannedFile,
    read: &mut impl FnMut(u64),
) -> Result<HeldFile, Obstacle> {
    let shown = name::encode(&one.path);
    let missing = || format!("{shown} is not there, which would stay");
    let unusable = |why| format!("{shown}, which would stay: {why}");
    if files::is_in_trash(&one.path) && !files::is_in_trash(&file.path) {
        return Err(format!("{shown}, which would stay, lies in a trash").into());
    }
    let kept = HeldFile::open(&one.path).map_err(unusable)?.ok_or_else(missing)?;
    if !one.is(&kept.state) {
        let what = "which would stay, is not the file of the plan, or has changed";
        return Err(format!("{shown}, {what}").into());
    }
    if copy.state.id.is_none() || copy.state.id == kept.state.id {
        return Err(format!("it and {shown} may be one file").into());
    }
    let is_so = match (file.sum, one.sum) {
        (Some(sum), Some(kept_sum)) => {
            copy.has_sum(sum, read)? && kept.has_sum(kept_sum, &mut |_| ())?
        }
        _ => copy.is_equal(&kept, read)?,
    };
    if !is_so {
        return Err(format!("it or {shown} has changed, or they are no copies").into());
    }
    Ok(kept)
}

/// Carries out lines of a plan.
pub(super) struct Actor<'a> {
    journal: &'a mut Journal,
    any_owner: bool,
    progress: &'a Progress,
    /// What has begun and has not ended.
    begun: Option<JournalEntry>,
    /// The bytes of the files before this one.
    done: u64,
    /// Number of names that were made.
    made: u64,
    /// How many names of each file are in the trash: its bytes are freed with the last one.
    moved: HashMap<Option<FileId>, u64>,
    /// How often each name is in the trash already.
    #[cfg_attr(windows, expect(dead_code, reason = "the recycle bin numbers names itself"))]
    trashed: HashMap<OsString, u32>,
}

impl<'a> Actor<'a> {
    pub(super) fn new(journal: &'a mut Journal, any_owner: bool, progress: &'a Progress) -> Self {
        let (moved, trashed) = (HashMap::new(), HashMap::new());
        Self { journal, any_owner, progress, begun: None, done: 0, made: 0, moved, trashed }
    }

    pub(super) fn act(
        &mut self,
        deed: Deed,
        file: &PlannedFile,
        group: &[PlannedFile],
    ) -> Result<Outcome, Failure> {
        let outcome = self.try_act(deed, file, group);
        self.done = self.done.saturating_add(file.bytes);
        self.progress.reached(self.done);
        match outcome {
            Ok(outcome) => Ok(outcome),
            Err(Obstacle::Stays(why)) => Ok(Outcome::Stays(why)),
            Err(Obstacle::Stop(failure)) => Err(failure),
        }
    }

    fn try_act(
        &mut self,
        deed: Deed,
        file: &PlannedFile,
        group: &[PlannedFile],
    ) -> Result<Outcome, Obstacle> {
        let Some(copy) = HeldFile::open(&file.path)? else { return Ok(Outcome::Absent) };
        let stay = || group.iter().filter(|one| one.fate == Fate::Keep);
        if deed == Deed::Link && stay().any(|one| one.is(&copy.state) && one.identity.id.is_some())
        {
            return Ok(Outcome::Absent);
        }
        if !file.is(&copy.state) {
            return Err("it is not the file of the plan, or has changed".to_owned().into());
        }
        let mut why = Obstacle::Stays("no file of its group stays".to_owned());
        for one in stay() {
            if deed == Deed::Link && file.sum != one.sum {
                let shown = name::encode(&one.path);
                let what = "does not have the same bytes: a link would lead to another text";
                why = format!("{shown} {what}").into();
                continue;
            }
            let (progress, mut done) = (self.progress, self.done);
            let read = &mut |bytes| {
                done = u64::saturating_add(done, bytes);
                progress.reached(done);
            };
            match compare(&copy, file, one, read) {
                Ok(kept) => return self.go(deed, &copy, &kept),
                Err(Obstacle::Stop(failure)) => return Err(failure.into()),
                Err(obstacle) => why = obstacle,
            }
        }
        Err(why)
    }

    fn go(&mut self, deed: Deed, copy: &HeldFile, kept: &HeldFile) -> Result<Outcome, Obstacle> {
        let outcome = match deed {
            Deed::Trash => self.trash(copy, kept),
            Deed::Delete => self.delete(copy, kept),
            Deed::Link => self.link(copy, kept),
        };
        if let (Err(Obstacle::Stays(_)), Some(entry)) = (&outcome, self.begun.take())
            && copy.is_there()
        {
            // Nothing is left for the next run.
            self.journal.write(JournalEntry { phase: Phase::Stays, ..entry })?;
        }
        outcome
    }

    /// Whether nothing has happened to both files meanwhile, where the copy has another name now.
    fn both_are_whole(copy: &HeldFile, folder: &HeldFolder, name: &OsStr, kept: &HeldFile) -> bool {
        copy.is_unchanged()
            && folder.id(name) == copy.state.id
            && kept.is_unchanged()
            && kept.is_there()
    }

    /// Gives the copy another name in its folder, looks at both again, and removes it. If the kept
    /// file vanishes with the copy, both are one file, and it gets its name back.
    fn delete(&mut self, copy: &HeldFile, kept: &HeldFile) -> Result<Outcome, Obstacle> {
        let freed = copy.freed();
        let aside = self.new_name(&copy.folder);
        let entry =
            self.begin(Deed::Delete, copy, copy.identity(), copy.folder.path().join(&aside))?;
        let folder = &copy.folder;
        folder.rename(&copy.name, folder, &aside).map_err(cannot("be renamed"))?;
        let removed = if Self::both_are_whole(copy, folder, &aside, kept) {
            folder.remove(&aside).map_err(cannot("be removed"))
        } else {
            Err(apart(kept))
        };
        if let Err(why) = removed {
            put_back(folder, &aside, copy)?;
            return Err(why.into());
        }
        self.end(entry, freed)
    }

    /// Counts a name that is in the trash. Returns the bytes that are freed with it.
    fn moved(&mut self, copy: &HeldFile) -> u64 {
        let names = self.moved.entry(copy.state.id).or_default();
        *names += 1;
        on_disk::freed_with_names(&copy.file, *names)
    }

    /// Moves the copy to the first trash that takes it.
    #[cfg(unix)]
    fn trash(&mut self, copy: &HeldFile, kept: &HeldFile) -> Result<Outcome, Obstacle> {
        let mut why = "there is no trash here".to_owned();
        for can in trash::cans(&copy.folder) {
            match self.move_into(&can, copy) {
                Ok((place, entry)) => {
                    if Self::both_are_whole(copy, &can.files, &place, kept) {
                        let freed = self.moved(copy);
                        return self.end(entry, freed);
                    }
                    put_back(&can.files, &place, copy)?;
                    can.release(&place);
                    return Err(apart(kept).into());
                }
                Err(Obstacle::Stop(failure)) => return Err(failure.into()),
                Err(Obstacle::Stays(error)) => {
                    why = format!("it cannot be moved to {}: {error}", can.path().display());
                }
            }
        }
        Err(format!("{why}; --delete removes it at once").into())
    }

    /// Moves the copy into a trash, under a name that is free there.
    #[cfg(unix)]
    fn move_into(
        &mut self,
        can: &trash::TrashCan,
        copy: &HeldFile,
    ) -> Result<(OsString, JournalEntry), Obstacle> {
        let path = copy.path();
        loop {
            let last = self.trashed.entry(copy.name.clone()).or_insert(0);
            let place = can.free_name(&copy.name, last);
            let to = can.files.path().join(&place);
            let entry = self.begin(Deed::Trash, copy, copy.identity(), to)?;
            match can.note(&place, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                noted => noted.map_err(|error| error.to_string())?,
            }
            match copy.folder.rename(&copy.name, &can.files, &place) {
                Ok(()) => return Ok((place, entry)),
                Err(error) => {
                    can.release(&place);
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(error.to_string().into());
                    }
                }
            }
        }
    }

    /// Has Windows move the copy to the recycle bin.
    #[cfg(windows)]
    fn trash(&mut self, copy: &HeldFile, kept: &HeldFile) -> Result<Outcome, Obstacle> {
        let entry = self.begin(Deed::Trash, copy, copy.identity(), PathBuf::new())?;
        if !copy.is_unchanged() || !copy.is_there() {
            return Err(apart(kept).into());
        }
        trash::delete(&copy.path()).map_err(|why| format!("{why}; --delete removes it at once"))?;
        if !kept.is_unchanged() || !kept.is_there() {
            trash::restore(&copy.path())?;
            return Err(apart(kept).into());
        }
        let freed = self.moved(copy);
        self.end(entry, freed)
    }

    /// Makes a link of a new name, and gives it the name of the copy in one step.
    fn link(&mut self, copy: &HeldFile, kept: &HeldFile) -> Result<Outcome, Obstacle> {
        let owner_of = |one: &HeldFile| one.file.metadata().map(|metadata| owner(&metadata)).ok();
        if !self.any_owner && (cfg!(windows) || owner_of(copy) != owner_of(kept)) {
            return Err("its owner or mode would change; --any-owner permits it".to_owned().into());
        }
        let (freed, new) = (copy.freed(), self.new_name(&copy.folder));
        let path = copy.folder.path().join(&new);
        let entry = self.begin(Deed::Link, copy, kept.identity(), path)?;
        let folder = &copy.folder;
        kept.folder.link(&kept.name, folder, &new).map_err(cannot("be linked there"))?;
        let both_are_there = folder.id(&new) == kept.state.id && copy.is_there();
        let linked = if both_are_there && kept.is_unchanged() && copy.is_unchanged() {
            folder.replace(&new, &copy.name).map_err(cannot("be replaced"))
        } else {
            Err(apart(kept))
        };
        if let Err(why) = linked {
            // If this fails, too, the next run removes the link.
            let _ = folder.remove(&new);
            return Err(why.into());
        }
        self.end(entry, freed)
    }

    /// A name that no file of a folder has. (An earlier process may have had the same number.)
    fn new_name(&mut self, folder: &HeldFolder) -> OsString {
        let mut name = OsString::new();
        // Where nothing can be seen, no name is free, and the rename fails.
        for _ in 0..NAMES_MAX {
            self.made += 1;
            name = format!(".nearkin-{}-{}.aside", std::process::id(), self.made).into();
            if folder.is_free(&name) {
                break;
            }
        }
        name
    }

    fn begin(
        &mut self,
        deed: Deed,
        copy: &HeldFile,
        identity: FileIdentity,
        place: PathBuf,
    ) -> Result<JournalEntry, Failure> {
        let (path, bytes) = (copy.path(), copy.freed());
        let entry = JournalEntry { phase: Phase::Begin, deed, bytes, identity, path, place };
        self.journal.write(entry.clone())?;
        self.begun = Some(entry.clone());
        Ok(entry)
    }

    fn end(&mut self, entry: JournalEntry, freed: u64) -> Result<Outcome, Obstacle> {
        self.begun = None;
        self.journal.write(JournalEntry { phase: Phase::Done, ..entry })?;
        Ok(Outcome::Done(freed))
    }

    /// Notes that a file stays.
    pub(super) fn note_stays(
        &mut self,
        deed: Deed,
        file: &PlannedFile,
        why: &str,
    ) -> Result<(), Failure> {
        self.journal.write(JournalEntry {
            phase: Phase::Stays,
            deed,
            bytes: file.bytes,
            identity: file.identity,
            path: file.path.clone(),
            place: PathBuf::from(why),
        })
    }
}

fn cannot(what: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("it cannot {what}: {error}")
}

fn apart(kept: &HeldFile) -> String {
    format!("it or {} changed at this moment, or both are one file", name::encode(&kept.path()))
}

/// Gives a file its name back.
fn put_back(folder: &HeldFolder, name: &OsStr, copy: &HeldFile) -> Result<(), String> {
    folder.rename(name, &copy.folder, &copy.name).map_err(|error| {
        let now = name::encode(&folder.path().join(name));
        format!("it cannot get its name back, and is now {now}: {error}")
    })
}
