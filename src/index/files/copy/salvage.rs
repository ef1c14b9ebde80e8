//! Salvage: copies everything that is still readable in a damaged index into a new one.
//!
//! Trusts only checksums. If the catalog is readable, only the files that it lists count. Without
//! a catalog every file counts, so removed or replaced documents may return: the report tells how
//! many.

use crate::catalog;
use crate::format::catalog::{Listed, Row, WalEntry};
use crate::index::files::folder::{self, list_if_any};
use crate::index::files::life;
use crate::index::files::open::{self, hold, refuse_older};
use crate::index::maintain::steps;
use crate::index::merge::parameters::{read_parameters, shape_of};
use crate::index::state::core::Core;
use crate::index::state::options::{Durability, Maintenance, Options};
use crate::index::write::operation::Operation;
use crate::index::write::write_path;
use crate::segment::{Dead, ReadMode, Segment, Shape, describe};
use crate::storage::Storage;
use crate::storage::names::{Ending, Names, parse};
use crate::sync::thread;
use crate::wal::{self, SalvagedLog, WalIdentity};
use crate::{Document, Error, ErrorKind, Params, Result};
use nearkin_sketch::engine::signature_from_parts;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// What salvage copied, and what it did not.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Salvaged {
    /// Documents in the new index.
    pub documents: u64,
    /// Documents that were lost. `None` if that cannot be known: the catalog is lost, a log that is
    /// damaged or torn may have held changes that nothing else tells about, or later changes may
    /// have removed or replaced what was unreadable. At least `documents_unreadable` then.
    pub documents_lost: Option<u64>,
    /// Documents that are known to have existed to the last, and were unreadable.
    pub documents_unreadable: u64,
    /// Documents that may have been removed or replaced before: no dead file that would show it
    /// could be read.
    pub documents_doubtful: u64,
    /// Whether the catalog was lost, or is an older copy. Then files that the catalog no longer
    /// listed were read as well, and documents removed or replaced long ago may have returned.
    pub catalog_lost: bool,
    /// All damage found, each with file and place.
    pub problems: Vec<Error>,
}

/// What is known about the damaged index.
struct Wreck {
    storage: Arc<dyn Storage>,
    names: Names,
    /// `None` if the catalog cannot be read.
    row: Option<Row>,
    shape: Shape,
    read_mode: ReadMode,
}

/// What the unreadable documents of segments may have been.
#[derive(Debug, Default)]
struct Unreadable {
    /// Those that were alive when the log began.
    alive: u64,
    /// Those of which nobody knows whether they were alive.
    unsure: u64,
    /// Removes of the log whose keys are not in the new index: of documents that were unreadable,
    /// because only a remove of a live document is written to a log.
    removed: u64,
    /// Other operations of the log on what may be another version of a document that was
    /// unreadable: inserts whose keys are not in the new index.
    inserted: u64,
}

/// See [`crate::Index::salvage`].
pub(crate) fn salvage(
    storage: &Arc<dyn Storage>,
    dir: &Path,
    out: &Path,
    params: Option<&Params>,
    options: Options,
) -> Result<Salvaged> {
    let names = Names::new(dir);
    let storage = &hold(storage, dir)?;
    // Keeps writers out if there is a lock file; a damaged index may have none.
    let (begun, wait) = (Instant::now(), options.lock_wait.unwrap_or_default());
    let _lock = loop {
        match storage.lock_shared(&names.lock()) {
            Ok(lock) => break Some(lock),
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break None,
            Err(_) if begun.elapsed() >= wait || options.gives_up(begun.elapsed()) => {
                return Err(folder::busy(&**storage, &names));
            }
            Err(_) => thread::sleep(folder::PAUSE),
        }
    };
    let mut report = Salvaged { documents_lost: Some(0), ..Salvaged::default() };
    let row = identify(&**storage, &names, params, &mut report)?;
    let params = row.params.clone();
    let shape = shape_of(&params, row.uuid);
    let listed = (!report.catalog_lost).then_some(row);
    // Segments and logs may be missing that only the catalog listed.
    if listed.is_none() {
        report.documents_lost = None;
    }
    let read_mode = options.read_mode;
    let wreck = Wreck { storage: Arc::clone(storage), names, row: listed, shape, read_mode };
    // One sync at the end is enough: after an earlier crash, the call can be repeated, because the
    // damaged index still exists.
    let (durability, maintenance) = (Durability::OsBuffer, Maintenance::Inline);
    let options = Options { durability, maintenance, ..options };
    let new = open::create(storage, out, &params, options)?;
    let mut unreadable = Unreadable::default();
    for number in wreck.segments(&mut report)? {
        wreck.take_segment(number, &new, &mut unreadable, &mut report)?;
    }
    wreck.take_wals(&new, &mut unreadable, &mut report)?;
    report.documents = new.snapshot().len();
    report.documents_unreadable = unreadable.at_least();
    report.documents_lost = report.documents_lost.and(unreadable.exactly());
    let closed = life::close_locked(&new, &mut new.writer());
    new.events.deliver();
    closed.map(|()| report)
}

/// The row with the parameters. It comes from the catalog, or else from the copy of the parameters.
/// Otherwise the caller gives the parameters, and the rest comes from the header of any readable
/// file, which must have the same parameters.
fn identify(
    storage: &dyn Storage,
    names: &Names,
    given: Option<&Params>,
    report: &mut Salvaged,
) -> Result<Row> {
    match catalog::load(storage, &names.catalog()) {
        Ok(row) => {
            // If the catalog is an older copy, it does not list later files, so every file counts.
            if let Err(error) = refuse_older(storage, names, &row) {
                report.problems.push(error);
                report.catalog_lost = true;
            }
            return Ok(row);
        }
        Err(error) => report.problems.push(error),
    }
    report.catalog_lost = true;
    match read_parameters(storage, names) {
        Ok(row) => return Ok(row),
        Err(error) => report.problems.push(error),
    }
    let Some(params) = given else {
        let what =
            "catalog and parameters are lost; give the parameters the index was created with";
        return Err(Error::about(ErrorKind::Invalid, names.root(), what));
    };
    for (number, ending) in numbered(storage, names)? {
        let path = names.numbered(number, ending);
        let made_by = match ending {
            Ending::Segment | Ending::Dead => {
                describe(storage, &path).map(|(header, _)| (header.uuid, header.params_id))
            }
            Ending::Wal => wal::salvage(storage, &path, None)
                .map(|salvaged| (salvaged.identity.uuid, salvaged.identity.params_id)),
            Ending::Free => continue,
        };
        let Ok((uuid, params_id)) = made_by else { continue };
        if params_id != params.id() {
            let what = "the index was made with other parameters";
            return Err(Error::about(ErrorKind::Mismatch, &path, what));
        }
        return Ok(Row::new(uuid, params.clone(), String::new()));
    }
    Err(Error::about(ErrorKind::Corrupt, names.root(), "no file of the index can be read"))
}

/// All numbered files, in order of their numbers.
fn numbered(storage: &dyn Storage, names: &Names) -> Result<Vec<(u64, Ending)>> {
    let mut found = Vec::new();
    for folder in [names.segments_dir(), names.wal_dir()] {
        let entries = list_if_any(storage, &folder)?.unwrap_or_default();
        found.extend(entries.iter().filter_map(|entry| parse(&entry.name)));
    }
    found.sort_by_key(|(number, _)| *number);
    Ok(found)
}

impl Wreck {
    /// The numbers of the segments to copy: those that the catalog lists, or all that exist if the
    /// catalog is lost.
    fn segments(&self, report: &mut Salvaged) -> Result<Vec<u64>> {
        if let Some(row) = &self.row {
            return Ok(row.segments.iter().map(|entry| entry.number).collect());
        }
        let files = numbered(&*self.storage, &self.names)?;
        let segments = files.into_iter().filter(|(_, ending)| *ending == Ending::Segment);
        let numbers: Vec<u64> = segments.map(|(number, _)| number).collect();
        if numbers.is_empty() {
            let what = "no segment is left";
            report.problems.push(Error::corrupt(&self.names.segments_dir(), 0, what));
        }
        Ok(numbers)
    }

    /// Copies the readable documents of one segment, except those known to be dead.
    fn take_segment(
        &self,
        number: u64,
        new: &Core,
        unreadable: &mut Unreadable,
        report: &mut Salvaged,
    ) -> Result<()> {
        let entry = self
            .row
            .as_ref()
            .and_then(|row| row.segments.iter().find(|entry| entry.number == number).copied());
        let path = self.names.numbered(number, Ending::Segment);
        let listed = match entry {
            Some(entry) => Ok(entry.listed()),
            None => describe(&*self.storage, &path).map(|(_, listed)| listed),
        };
        let opened = listed.and_then(|listed| {
            Segment::open(&*self.storage, &path, &listed, &self.shape, self.read_mode)
        });
        let segment = match opened {
            Ok(segment) => segment,
            Err(error) => {
                unreadable.alive += entry.map_or(0, |e| u64::from(e.docs - e.dead));
                report.problems.push(error);
                return Ok(());
            }
        };
        let dead = self.dead_of(number, segment.docs(), entry.is_some(), report)?;
        // Without the dead file, each may be one of the dead.
        let is_sure = dead.is_some() || entry.is_some_and(|entry| entry.dead_file.is_none());
        for ordinal in 0..segment.docs() {
            let mut is_sure = is_sure;
            match dead.as_ref().map_or(Ok(false), |dead| dead.is_dead(ordinal)) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    is_sure = false;
                    report.documents_doubtful += 1;
                    note(report, error);
                }
            }
            match read_document(&segment, ordinal, &new.params) {
                Ok(document) => write_document(new, &document)?,
                Err(error) => {
                    *(if is_sure { &mut unreadable.alive } else { &mut unreadable.unsure }) += 1;
                    note(report, error);
                }
            }
        }
        Ok(())
    }

    /// The dead file of a segment: the one that the catalog lists, or else the newest that belongs
    /// to the segment.
    fn dead_of(
        &self,
        segment: u64,
        docs: u32,
        is_listed: bool,
        report: &mut Salvaged,
    ) -> Result<Option<Dead>> {
        let open = |listed: &Listed| {
            let path = self.names.numbered(listed.number, Ending::Dead);
            Dead::open(&*self.storage, &path, listed, &self.shape, segment, docs, self.read_mode)
        };
        if is_listed {
            let entries = self.row.iter().flat_map(|row| &row.segments);
            let file =
                entries.filter(|entry| entry.number == segment).find_map(|entry| entry.dead_file);
            let Some(file) = file else { return Ok(None) };
            return Ok(match open(&file) {
                Ok(dead) => Some(dead),
                Err(error) => {
                    report.documents_doubtful += u64::from(docs);
                    report.problems.push(error);
                    None
                }
            });
        }
        let files = numbered(&*self.storage, &self.names)?;
        for (number, ending) in files.into_iter().rev() {
            if ending == Ending::Dead {
                let path = self.names.numbered(number, ending);
                let found = describe(&*self.storage, &path).and_then(|(_, listed)| open(&listed));
                if let Ok(dead) = found {
                    return Ok(Some(dead));
                }
            }
        }
        report.documents_doubtful += u64::from(docs);
        Ok(None)
    }

    /// Applies the readable records of the logs in order, removals included.
    fn take_wals(
        &self,
        new: &Core,
        unreadable: &mut Unreadable,
        report: &mut Salvaged,
    ) -> Result<()> {
        let mut missing = self.row.as_ref().and_then(|row| row.wal).map(|entry| entry.number);
        for (number, ending) in numbered(&*self.storage, &self.names)? {
            let listed = self
                .row
                .as_ref()
                .is_none_or(|row| row.wal.is_some_and(|entry| entry.number == number));
            if ending != Ending::Wal || !listed {
                continue;
            }
            missing = None;
            let path = self.names.numbered(number, ending);
            match wal::salvage(&*self.storage, &path, self.listed_log()) {
                Ok(log) => self.take_wal(log, &path, new, unreadable, report)?,
                Err(error) => report.log_damage(error),
            }
        }
        if let Some(number) = missing {
            let path = self.names.numbered(number, Ending::Wal);
            report.log_damage(Error::corrupt(&path, 0, "the file is missing"));
        }
        Ok(())
    }

    /// The identity of the log, as the catalog lists it.
    fn listed_log(&self) -> Option<WalIdentity> {
        let row = self.row.as_ref()?;
        let WalEntry { number, salt, length } = row.wal?;
        let Shape { uuid, params_id, .. } = self.shape;
        Some(WalIdentity { uuid, params_id, number, salt, length, floor: row.floor })
    }

    /// Applies the readable records of one log.
    fn take_wal(
        &self,
        mut log: SalvagedLog,
        path: &Path,
        new: &Core,
        unreadable: &mut Unreadable,
        report: &mut Salvaged,
    ) -> Result<()> {
        if let Some(error) = log.damage.take() {
            report.log_damage(error);
        }
        // `saturating_add`: a forged log may contain any change number.
        let mut expected = log.identity.floor.saturating_add(1);
        for (change, operations) in log.changes(self.shape.signature_bytes) {
            if change != expected {
                let last = change.saturating_sub(1);
                let what = format!("changes {expected} to {last} are lost");
                report.log_damage(Error::corrupt(path, 0, what));
            }
            expected = change.saturating_add(1);
            let operations = operations.map(|logged| logged.map(Operation::from));
            let operations: std::result::Result<Vec<_>, _> = operations.collect();
            match operations {
                Ok(operations) => {
                    unreadable.look_for(&operations, new, report.documents_doubtful > 0)?;
                    write(new, &operations)?;
                }
                Err(error) => report.log_damage(error.in_file(path, 0)),
            }
        }
        Ok(())
    }
}

impl Unreadable {
    /// Notes the operations of one change whose keys are not in the new index. If documents that
    /// were replaced may have returned, a key that is there says nothing.
    fn look_for(
        &mut self,
        operations: &[Operation<'_>],
        new: &Core,
        some_returned: bool,
    ) -> Result<()> {
        if self.alive + self.unsure == 0 {
            return Ok(());
        }
        let snapshot = new.snapshot();
        for operation in operations {
            let is_there = snapshot.locate(operation.key())?.is_some();
            match operation {
                Operation::Remove { .. } if !is_there => self.removed += 1,
                _ if !is_there || some_returned => self.inserted += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// The number of documents that are lost for sure.
    fn at_least(&self) -> u64 {
        self.alive.saturating_sub(self.removed).saturating_sub(self.inserted)
    }

    /// The number of documents that are lost; `None` if it cannot be known.
    fn exactly(&self) -> Option<u64> {
        (self.unsure == 0 && (self.alive == 0 || self.inserted == 0)).then(|| self.at_least())
    }
}

impl Salvaged {
    /// Notes damage of a log: how many documents its lost changes wrote cannot be known.
    fn log_damage(&mut self, error: Error) {
        self.documents_lost = None;
        note(self, error);
    }
}

/// Adds a problem to the report, up to a maximum number.
fn note(report: &mut Salvaged, error: Error) {
    const PROBLEMS_MAX: usize = 1000;
    if report.problems.len() < PROBLEMS_MAX {
        report.problems.push(error);
    }
}

fn read_document(segment: &Segment, ordinal: u32, params: &Params) -> Result<Document> {
    let stored = segment.document(ordinal)?;
    let bytes = segment.signature(ordinal)?.into_owned().into_boxed_slice();
    let signature = signature_from_parts(params, segment.shingle_count(ordinal)?, bytes);
    let (key, payload) = (stored.key.into_owned(), stored.payload.into_owned());
    Ok(Document { key, payload, time: segment.time(ordinal)?, signature })
}

/// Writes a document to the new index. If segments hold several versions of a key, the one with the
/// latest time is kept; if times are equal, the one that was read last.
fn write_document(core: &Core, document: &Document) -> Result<()> {
    let newer = core.snapshot().get(&document.key)?;
    if newer.is_some_and(|stored| stored.time > document.time) {
        return Ok(());
    }
    write(core, &[Operation::from(document)])
}

fn write(core: &Core, operations: &[Operation<'_>]) -> Result<()> {
    write_path::write_checked(core, operations)?;
    steps::after_write(core);
    Ok(())
}
