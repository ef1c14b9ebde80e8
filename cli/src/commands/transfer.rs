//! `nearkin export`, `import` and `rebuild`: move documents between indexes and files, unchanged.
//!
//! This module counts and reports. File formats are in `exchange`.

use std::path::Path;

use nearkin::{Batch, Error, ErrorKind, Index, Outcome, Params};
use serde::Serialize;

use super::exchange::{Header, Reader, Writer};
use crate::args::{Export, Import, Rebuild};
use nearkin_kit::args::machine;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, Output, counted, grouped};
use nearkin_kit::target::keep_foreign;

/// Maximum size of a batch, well below the library's default maximum of 16 MiB.
const BATCH_BYTES_MAX: usize = 4 << 20;

#[derive(Serialize)]
struct ExportedObject<'a> {
    exported: &'a str,
    documents: u64,
}

pub(crate) fn export(args: &Export, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let index = opened::to_read(&args.index)?;
    opened::check_of_documents(index.params(), "export")?;
    // An empty file is one that `mktemp` made.
    let is_own = || {
        args.out.metadata().is_ok_and(|there| there.len() == 0) || Reader::open(&args.out).is_ok()
    };
    keep_foreign(&args.out, "export", "--out", is_own)?;
    let mut writer =
        Writer::create(&args.out, &Header::new(index.params(), index.len()), index.params())?;
    let progress = Progress::start("exporting", Unit::Documents, Some(index.len()));
    let mut documents = 0;
    for document in index.iter() {
        interrupt::check().map_err(|failure| {
            let again = "no file was written; run the command again";
            failure.advise_if_interrupted(again)
        })?;
        writer.write(document?)?;
        documents += 1;
        progress.reached(documents);
    }
    writer.finish()?;
    drop(progress);
    let exported = &args.out.display().to_string();
    if args.out.as_os_str() == "-" {
        // Printed to stderr, so that stdout contains nothing but the exported lines.
        output::note(format!("{} exported", counted(documents, "document")));
    } else if output.json() {
        output.object(&ExportedObject { exported, documents })?;
    } else {
        output.line(format_args!("{} exported to {exported}", counted(documents, "document")))?;
    }
    Ok(Ended::Well)
}

/// Counts of imported documents.
#[derive(Debug, Default, Serialize)]
struct ImportCounts {
    inserted: u64,
    /// Includes documents that were replaced by a later document of the same source.
    replaced: u64,
    unchanged: u64,
}

impl std::fmt::Display for ImportCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inserted = counted(self.inserted, "document");
        let (replaced, unchanged) = (grouped(self.replaced), grouped(self.unchanged));
        write!(f, "{inserted} inserted, {replaced} replaced, {unchanged} unchanged")
    }
}

pub(crate) fn import(args: &Import, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let mut importing =
        Importing { dir: &args.index, index: None, counts: ImportCounts::default() };
    let ended = args.sources.iter().try_for_each(|source| importing.source(source));
    let Importing { index, counts, .. } = importing;
    opened::close(ended, || index.map_or(Ok(()), opened::flush_and_close)).map_err(|failure| {
        if counts.is_none() && !failure.is_interruption() {
            return failure;
        }
        failure.after(&format!("stored before that: {counts}"))
    })?;
    if output.json() {
        output.object(&counts)?;
    } else {
        output.line(&counts)?;
    }
    Ok(Ended::Well)
}

struct Importing<'a> {
    dir: &'a Path,
    /// `None` until the first source determines the parameters.
    index: Option<Index>,
    counts: ImportCounts,
}

impl Importing<'_> {
    fn source(&mut self, source: &Path) -> Result<(), Failure> {
        if source.is_dir() { self.index_in(source) } else { self.file(source) }
    }

    fn index_in(&mut self, source: &Path) -> Result<(), Failure> {
        let same = source.canonicalize().ok().zip(self.dir.canonicalize().ok());
        if same.is_some_and(|(source, dir)| source == dir) {
            let source = source.display();
            return Err(Failure::new(
                format!("cannot import {source} into itself"),
                "give another index, or a file that `nearkin export` wrote",
            ));
        }
        let from = opened::to_read(source).map_err(|failure| {
            let name = source.display();
            failure.advise(&format!(
                "give an index or a file that `nearkin export` wrote; to add the files of a \
                 folder, use `nearkin add INDEX {name}`"
            ))
        })?;
        opened::check_of_documents(from.params(), "import")?;
        let index = open(&mut self.index, self.dir, from.params(), source)?;
        let progress = Progress::start("importing", Unit::Documents, Some(from.len()));
        let imported = index.import_with(&from.snapshot(), &mut progress.callback())?;
        self.counts.inserted += imported.inserted;
        self.counts.replaced += imported.replaced;
        self.counts.unchanged += imported.unchanged;
        Ok(())
    }

    fn file(&mut self, source: &Path) -> Result<(), Failure> {
        let name = source.display().to_string();
        let (header, mut reader) = Reader::open(source)?;
        let params = header.params(&name)?;
        let index = open(&mut self.index, self.dir, &params, source)?;
        let progress = Progress::start("importing", Unit::Documents, header.documents());
        let (mut batch, mut documents) = (Batch::new(), 0);
        let read = loop {
            let next = reader.next(&params);
            interrupt::check()?;
            match next {
                Ok(Some(document)) => {
                    batch = batch.insert_document(&document);
                    documents += 1;
                }
                Ok(None) => break Ok(()),
                Err(failure) => break Err(failure),
            }
            if batch.bytes() >= machine::memory_part(32, BATCH_BYTES_MAX) {
                self.counts.write(index, std::mem::take(&mut batch))?;
                progress.reached(documents);
            }
        };
        // Documents read before a failure are still written to the index.
        self.counts.write(index, batch)?;
        read?;
        match header.documents() {
            Some(expected) if reader.may_be_cut() && expected != documents => Err(Failure::new(
                format!(
                    "{name} holds {}, its first line says {}",
                    counted(documents, "document"),
                    grouped(expected)
                ),
                "the file is truncated: export again; if you removed lines on purpose, remove \
                 \"documents\" from the first line too",
            )),
            _ => Ok(()),
        }
    }
}

/// Opens the target index, or creates it with the parameters of the source.
fn open<'a>(
    index: &'a mut Option<Index>,
    dir: &Path,
    params: &Params,
    source: &Path,
) -> Result<&'a Index, Failure> {
    let opened = match index.take() {
        Some(index) => index,
        None if opened::exists(dir)? => opened::to_change(dir)?,
        None => {
            let created = opened::create(dir, params, &opened::Load::default())?;
            output::note(format!("created {}: {}", dir.display(), opened::describe(params)));
            created
        }
    };
    opened::check_of_documents(opened.params(), "import")?;
    let differences = opened.params().signature_differences(params);
    let opened = index.insert(opened);
    if differences.is_empty() {
        return Ok(opened);
    }
    let message = differences.join("; ").replace(" asked", " there");
    Err(Failure::new(
        format!("{} has different settings: {message}", source.display()),
        "import it into another index",
    ))
}

impl ImportCounts {
    /// Whether all counts are zero.
    fn is_none(&self) -> bool {
        self.inserted + self.replaced + self.unchanged == 0
    }

    fn write(&mut self, index: &Index, batch: Batch) -> Result<(), Failure> {
        if batch.is_empty() {
            return Ok(());
        }
        let written = index.write(batch)?;
        self.inserted += written.count(Outcome::Inserted);
        self.replaced += written.count(Outcome::Replaced) + written.count(Outcome::Superseded);
        self.unchanged += written.count(Outcome::Unchanged);
        Ok(())
    }
}

#[derive(Serialize)]
struct RebuiltObject<'a> {
    rebuilt: &'a str,
    documents: u64,
}

pub(crate) fn rebuild(args: &Rebuild, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let from = opened::to_read(&args.index)?;
    let params = args.given.changed(from.params())?;
    for warning in params.warnings() {
        output::note(format!("warning: {warning}"));
    }
    let progress = Progress::start("rebuilding", Unit::Documents, Some(from.len()));
    let options = opened::patient(machine::options());
    let documents = Index::rebuild_with(
        &from.snapshot(),
        &args.out,
        &params,
        options,
        &mut progress.callback(),
    )
    .map_err(|error| {
        let again = format!("delete {} and run the command again", args.out.display());
        not_rebuilt(error).advise_if_interrupted(&again)
    })?;
    drop(progress);
    let rebuilt = &args.out.display().to_string();
    if output.json() {
        output.object(&RebuiltObject { rebuilt, documents })?;
    } else {
        let documents = counted(documents, "document");
        output.line(format_args!("{documents} in {rebuilt}: {}", opened::describe(&params)))?;
    }
    Ok(Ended::Well)
}

fn not_rebuilt(error: Error) -> Failure {
    match error.kind() {
        ErrorKind::Mismatch => {
            Failure::from(error).advise("add the texts to a new index: `nearkin add NEW PATH...`")
        }
        _ => opened::not_made(error),
    }
}
