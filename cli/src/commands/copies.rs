//! `nearkin backup` and `salvage`: create a second index from an existing one.
//!
//! This module prints the results. The library does the copying.

use std::io;
use std::path::Path;

use nearkin::{Error, ErrorKind, Index};
use serde::Serialize;

use crate::args::{Backup, Salvage};
use nearkin_kit::args::machine;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::interrupt;
use nearkin_kit::output::{self, Output, counted};

/// Advice on what to do with an unfinished copy, before it is begun.
fn again(folder: &Path) -> String {
    let is_new = match folder.read_dir() {
        Ok(mut there) => there.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_new {
        return "run the command again".to_owned();
    }
    format!("delete {}, which is incomplete, and run the command again", folder.display())
}

fn not_salvaged(error: Error, index: &Path) -> Failure {
    if error.kind() == ErrorKind::Corrupt {
        let advice = format!("check that {} is the folder of an index", index.display());
        return Failure::from(error).advise(&advice);
    }
    opened::not_made(error)
}

#[derive(Serialize)]
struct BackedUpObject<'a> {
    backup: &'a str,
    documents: u64,
}

pub(crate) fn backup(args: &Backup, output: &mut Output) -> Result<Ended, Failure> {
    let again = again(&args.folder);
    interrupt::end_at_once(again.clone());
    let index = opened::to_read(&args.index)?;
    index.backup(&args.folder).map_err(|error| {
        let begun = error.kind() == ErrorKind::Io;
        let failure = opened::not_made(error);
        if begun { failure.advise(&again) } else { failure }
    })?;
    let (backup, documents) = (&args.folder.display().to_string(), index.len());
    if output.json() {
        output.object(&BackedUpObject { backup, documents })?;
    } else {
        let documents = counted(documents, "document");
        output.line(format_args!("{documents} backed up to {backup}"))?;
    }
    Ok(Ended::Well)
}

#[derive(Serialize)]
struct SalvagedObject {
    documents: u64,
    /// `null`: unknown.
    documents_lost: Option<u64>,
    documents_unreadable: u64,
    documents_doubtful: u64,
    catalog_lost: bool,
    problems: Vec<String>,
}

pub(crate) fn salvage(args: &Salvage, output: &mut Output) -> Result<Ended, Failure> {
    let params = args.given.params()?;
    interrupt::end_at_once(again(&args.out));
    let report =
        Index::salvage(&args.index, &args.out, Some(&params), opened::patient(machine::options()))
            .map_err(|error| not_salvaged(error, &args.index))?;
    let whole = report.problems.is_empty() && !report.catalog_lost;
    if output.json() {
        output.object(&SalvagedObject {
            documents: report.documents,
            documents_lost: report.documents_lost,
            documents_unreadable: report.documents_unreadable,
            documents_doubtful: report.documents_doubtful,
            catalog_lost: report.catalog_lost,
            problems: report.problems.iter().map(nearkin::Error::full_message).collect(),
        })?;
    } else {
        let documents = counted(report.documents, "document");
        output.line(format_args!("{documents} saved to {}", args.out.display()))?;
        match (report.documents_lost, report.documents_unreadable) {
            (Some(0), _) => {}
            (Some(lost), _) => {
                output.line(format_args!("{} lost", counted(lost, "document")))?;
            }
            (None, 0) => output.line("an unknown number of documents lost, possibly none")?,
            (None, least) => {
                let least = counted(least, "document");
                output
                    .line(format_args!("an unknown number of documents lost, at least {least}"))?;
            }
        }
        if report.documents_doubtful > 0 {
            output.line(format_args!(
                "{} uncertain: removed or replaced documents among them may have returned",
                counted(report.documents_doubtful, "document")
            ))?;
        }
        output.flush()?;
        let problems: Vec<_> = report.problems.iter().map(nearkin::Error::full_message).collect();
        for same in problems.chunk_by(|one, next| one == next) {
            let times =
                if same.len() > 1 { format!(" ({} times)", same.len()) } else { String::new() };
            output::note(format!("{}{times}", same[0]));
        }
    }
    Ok(if whole { Ended::Well } else { Ended::Amiss })
}
