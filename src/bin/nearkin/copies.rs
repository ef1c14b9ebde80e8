//! `nearkin backup` and `salvage`: a second index made of a first.
//!
//! Knows what is said of them, not how they are made.

use nearkin::{Index, Options};
use serde::Serialize;

use crate::Ended;
use crate::args::{Backup, Salvage};
use crate::failure::{self, Failure};
use crate::opened;
use crate::output::{self, Output, counted};

#[derive(Serialize)]
struct BackedUpObject<'a> {
    backup: &'a str,
    documents: u64,
}

pub(crate) fn backup(args: &Backup, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::to_read(&args.index)?;
    index.backup(&args.folder)?;
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
    documents_lost: u64,
    documents_doubtful: u64,
    catalog_lost: bool,
    problems: Vec<String>,
}

pub(crate) fn salvage(args: &Salvage, output: &mut Output) -> Result<Ended, Failure> {
    let params = args.given.params()?;
    let report = Index::salvage(&args.index, &args.out, Some(&params), Options::default())?;
    let whole = report.problems.is_empty() && !report.catalog_lost;
    if output.json() {
        output.object(&SalvagedObject {
            documents: report.documents,
            documents_lost: report.documents_lost,
            documents_doubtful: report.documents_doubtful,
            catalog_lost: report.catalog_lost,
            problems: report.problems.iter().map(failure::with_causes).collect(),
        })?;
    } else {
        let documents = counted(report.documents, "document");
        output.line(format_args!("{documents} saved to {}", args.out.display()))?;
        if report.documents_lost > 0 {
            output.line(format_args!("{} lost", counted(report.documents_lost, "document")))?;
        }
        if report.documents_doubtful > 0 {
            output.line(format_args!(
                "{} in doubt: removed or replaced ones among them may have returned",
                counted(report.documents_doubtful, "document")
            ))?;
        }
        output.flush()?;
        for problem in &report.problems {
            output::note(failure::with_causes(problem));
        }
    }
    Ok(if whole { Ended::Well } else { Ended::Amiss })
}
