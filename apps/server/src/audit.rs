//! `nearkin audit`: judges what another tool removed. See docs/guide/AUDIT.md.
//!
//! The library judges. This module reads the rows, makes documents again from them, and prints.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

mod page;
mod shown;
mod sides;
mod spool;
mod summary;

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use nearkin::{
    Audit as Auditor, AuditCounts, AuditRow, Audited, Error, Guard, Original, Params, Scheme,
    Shingles,
};
use rayon::prelude::*;

use crate::args::audit::Audit;
use crate::report::check_page;
use nearkin_input::fields::Fields;
use nearkin_input::files;
use nearkin_input::raw::STDIN;
use nearkin_kit::args::lines::LinesGiven;
use nearkin_kit::args::params::THRESHOLD_DEFAULT;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::shards;
use nearkin_kit::interrupt;
use nearkin_kit::output::Output;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::scratch::Scratch;
use nearkin_kit::target::{Target, keep_foreign};
use shown::{ShownRow, failed};
use sides::Sides;
use summary::AuditReport;

/// Number of rows that are shown beside the most similar kept one: of those that are least similar,
/// and of those that are set apart from a similar one.
const WORST: usize = 20;
const APART: usize = 10;

/// What the head of a page names as its generator: no report is taken for a page of this command.
const GENERATOR: &str = "nearkin audit";

/// Runs the command.
pub fn run(args: &Audit, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    judged(args, output).map_err(Failure::on_results)
}

fn judged(args: &Audit, output: &mut Output) -> Result<Ended, Failure> {
    nearkin_kit::threads::start_pool()?;
    check_files(args)?;
    let (params, threshold) = params(args)?;
    let fields = fields(args, &params)?;
    let guard = guard(args, &params)?;
    // Before the work: a path that cannot be written to must not cost all results.
    let mut list = args.list.as_deref().map(Target::create).transpose()?;
    let page = args.page.as_deref().map(Target::create).transpose()?;
    let scratch = Scratch::folder()?;
    let mut auditor = Auditor::new(scratch.path().join("audit"), &params, threshold, guard)?
        .threads(rayon::current_num_threads())
        .cancel_if(interrupt::came);
    let sides = sides::read(args, &fields, &mut auditor)?;
    let reading = Reading::new(auditor.sketcher(), fields);
    let mut worst = Worst::default();
    let failure = RefCell::new(None);
    let mut audited = |row: Audited| {
        worst.add(row);
        let Some(list) = &mut list else { return Ok(()) };
        list_row(list, (&sides, &reading), (row, threshold)).map_err(|error| {
            *failure.borrow_mut() = Some(error);
            Error::other(std::io::Error::other("the list could not be written"))
        })
    };
    let counts = judge(&auditor, (&sides, &reading), &mut audited);
    let counts = counts.map_err(|error| failure.take().unwrap_or_else(|| error.into()))?;
    let shown = worst.shown(&sides, &reading)?;
    if let Some(list) = list {
        list.finish()?;
    }
    let report = AuditReport { params: &params, args, threshold, counts, sides: &sides.counts };
    if let Some(mut page) = page {
        let html = page::html(&report, &shown)?;
        let written = page.write_all(html.as_bytes());
        written.map_err(|error| Failure::writing(page.path(), &error))?;
        page.finish()?;
    }
    report.print(&shown, &reading, output)?;
    Ok(sides.ended)
}

/// Judges all removed rows.
fn judge(
    auditor: &Auditor,
    (sides, reading): (&Sides, &Reading),
    audited: &mut dyn FnMut(Audited) -> nearkin::Result<()>,
) -> nearkin::Result<AuditCounts> {
    let progress = Progress::start("comparing", Unit::Documents, Some(sides.counts.removed));
    let document = |row: &AuditRow| -> nearkin::Result<Original> {
        let spooled = match row {
            AuditRow::Kept(number) => sides.kept.row(*number),
            AuditRow::Removed(number) => sides.removed.row(*number),
        };
        let document = reading.detailed(spooled.map_err(Error::other)?.raw);
        let again = |_| Error::other(std::io::Error::other("a row cannot be read again"));
        document.map(|(_, document)| document).map_err(again)
    };
    let mut reached = 0;
    let mut fetch = |rows: &[AuditRow]| {
        if let Some(AuditRow::Removed(number)) = rows.last()
            && *number >= reached
        {
            reached = *number + 1;
            progress.reached(reached);
        }
        rows.par_iter().map(document).collect()
    };
    auditor.run(&mut fetch, audited)
}

fn list_row(
    list: &mut Target,
    (sides, reading): (&Sides, &Reading),
    (row, threshold): (Audited, f64),
) -> Result<(), Failure> {
    let shown = ShownRow::read(sides, reading, row)?;
    let object = shown.object(threshold, reading);
    let mut line = serde_json::to_vec(&object).map_err(|error| failed(&error.into()))?;
    line.push(b'\n');
    list.write_all(&line).map_err(|error| Failure::writing(list.path(), &error))
}

/// The rows that are shown.
#[derive(Default)]
struct Worst {
    least_similar: Vec<Audited>,
    apart: Vec<Audited>,
}

impl Worst {
    fn add(&mut self, row: Audited) {
        let similarity = |row: &Audited| row.kept.map_or(0.0, |kept| kept.similarity);
        let (rows, most) = match row.apart {
            Some(_) => (&mut self.apart, APART),
            None => (&mut self.least_similar, WORST),
        };
        // Chains come first: there is a row to set beside them.
        let order = |row: &Audited| (similarity(row), f64::from(u8::from(row.chained.is_none())));
        let at = rows.partition_point(|other| order(other) <= order(&row));
        if at < most && similarity(&row) < 1.0 {
            rows.insert(at, row);
            rows.truncate(most);
        }
    }

    fn shown<'a>(&self, sides: &'a Sides, reading: &Reading) -> Result<Vec<ShownRow<'a>>, Failure> {
        let all = self.least_similar.iter().chain(&self.apart);
        all.map(|row| ShownRow::read(sides, reading, *row)).collect()
    }
}

fn params(args: &Audit) -> Result<(Params, f64), Failure> {
    let given = match args.items_field {
        Some(_) => args.given.clone().or_shingles(Shingles::Items),
        None => args.given.clone(),
    };
    let threshold = given.threshold().unwrap_or(THRESHOLD_DEFAULT);
    // Refuses what needs documents to learn from.
    given.params()?;
    let params = Auditor::choose(&given.builder(), threshold)?;
    if let Scheme::External(_) = params.scheme() {
        return Err(Failure::new(
            format!("signatures of {} come from another program", params.scheme()),
            "drop --scheme: audit compares texts or sets",
        ));
    }
    nearkin_kit::input::opened::check_of_documents(&params, "audit")?;
    Ok((params, threshold))
}

/// What may set similar rows apart. Sets have no words: there, nothing does.
fn guard(args: &Audit, params: &Params) -> Result<Guard, Failure> {
    match (&args.items_field, args.guard) {
        (None, given) => Ok(given.unwrap_or_else(|| Guard::for_params(params))),
        (_, None | Some(Guard::None)) => Ok(Guard::None),
        _ => Err(Failure::new(
            "--guard does nothing with --items-field",
            "leave --guard or --items-field out",
        )),
    }
}

fn fields(args: &Audit, params: &Params) -> Result<Fields, Failure> {
    let lines = LinesGiven {
        jsonl: args.kept.clone(),
        key_field: args.key_field.clone(),
        text_field: args.text_field.clone(),
        items_field: args.items_field.clone(),
        ..LinesGiven::default()
    };
    Ok(lines.fields(params)?.with_key_optional())
}

/// Fails if stdin is given more than once, and if an output file is an input, the other output, or
/// a file that this command did not write.
fn check_files(args: &Audit) -> Result<(), Failure> {
    let mut inputs: Vec<PathBuf> = Vec::new();
    for given in [&args.removed, &args.kept, &args.all] {
        inputs.extend(shards::expand(given)?);
    }
    if inputs.iter().filter(|path| path.as_os_str() == STDIN).count() > 1 {
        return Err(Failure::new("stdin (`-`) is given more than once", "give it once"));
    }
    if let (Some(page), Some(list)) = (&args.page, &args.list)
        && files::are_same(page, list)
    {
        let message = format!("--page and --list are one file, {}", page.display());
        return Err(Failure::new(message, "write them to two files"));
    }
    for path in [&args.page, &args.list].into_iter().flatten() {
        if inputs.iter().any(|input| files::are_same(input, path)) {
            let message = format!("{} is an input", path.display());
            return Err(Failure::new(message, "write to another file"));
        }
    }
    if let Some(list) = &args.list {
        keep_foreign(list, "audit", "--list", || is_list(list))?;
    }
    args.page.as_deref().map_or(Ok(()), |page| check_page(page, ("audit", "--page"), GENERATOR))
}

/// Whether a file is an earlier list, as its first line says, or empty.
fn is_list(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64 << 10).read_to_end(&mut head));
    let mark: &[u8] = b"\"settled\":";
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    read.is_ok() && (head.is_empty() || first.windows(mark.len()).any(|part| part == mark))
}
