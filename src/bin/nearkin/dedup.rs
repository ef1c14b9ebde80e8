//! `nearkin dedup`: lines of JSON without near-duplicates. See docs/DEDUP.md.
//!
//! Three passes, each of which goes on where it was after an interruption: read (every line's
//! signature into a ledger), decide (in order of preference), write. This is the story of a run;
//! the passes know how.

mod decide;
mod ledger;
mod packed;
mod read;
mod work;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nearkin::{Params, Reader, Scheme, Shingles};
use serde::{Deserialize, Serialize};

use crate::Ended;
use crate::args::{Dedup, LinesGiven};
use crate::failure::Failure;
use crate::files;
use crate::given::Given;
use crate::input;
use crate::interrupt;
use crate::lines::Fields;
use crate::opened;
use crate::output::{self, Output, counted, grouped};
use crate::progress::{Progress, Unit};
use crate::raw;

use work::{Plan, Stage, Work};

/// What a run was asked for, looked up and checked.
struct Asked<'a> {
    args: &'a Dedup,
    dropped: PathBuf,
    archive: Option<Reader>,
    params: Params,
    fields: Fields,
}

pub(crate) fn run(args: &Dedup, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let asked = Asked::new(args)?;
    let mut work = Work::open(&asked)?;
    passes(&asked, &mut work).map_err(|failure| {
        let reached = reached(&work);
        let go_on = if failure.is_interruption() { "" } else { ": the same command goes on there" };
        failure.after(&format!("{reached}{go_on}"))
    })?;
    packed::publish(&asked.dropped)?;
    packed::publish(&args.out)?;
    let counts = work.finish()?;
    report(&counts, args, &asked.dropped, output)
}

/// What is still to be done of the three.
fn passes(asked: &Asked<'_>, work: &mut Work) -> Result<(), Failure> {
    if work.state.stage == Stage::Read {
        read::run(asked, work)?;
    }
    if work.state.stage == Stage::Decide {
        decide::run(asked, work)?;
    }
    if work.state.stage == Stage::Write {
        write::run(asked, work)?;
    }
    Ok(())
}

/// How far a run has come that ends too early.
fn reached(work: &Work) -> String {
    let read = counted(work.state.counts.read, "line");
    let done = grouped(work.state.done);
    let doing = match work.state.stage {
        Stage::Read => format!("{read} read"),
        Stage::Decide => format!("all {read} read, {done} decided on"),
        Stage::Write | Stage::Publish => format!("all {read} decided on, {done} written"),
    };
    format!("before that: {doing}; nothing is lost")
}

impl<'a> Asked<'a> {
    fn new(args: &'a Dedup) -> Result<Self, Failure> {
        let dropped = args.dropped.clone().unwrap_or_else(|| {
            let mut name = args.out.as_os_str().to_owned();
            name.push(".dropped.jsonl");
            PathBuf::from(name)
        });
        for path in &args.files {
            if files::length(path)?.is_none() && path.as_os_str() != raw::STDIN {
                return Err(Failure::new(
                    format!("{} cannot be read twice", path.display()),
                    "give a stream to stdin, and name it `-`",
                ));
            }
        }
        check_out(&args.out, args)?;
        check_out(&dropped, args)?;
        let [out_tmp, dropped_tmp] = [&args.out, &dropped].map(|path| files::unfinished(path));
        let pairs = [(&args.out, &dropped), (&out_tmp, &dropped), (&args.out, &dropped_tmp)];
        if pairs.iter().any(|(one, other)| files::are_same(one, other)) {
            return Err(Failure::new("--out and --dropped are the same file", "name two files"));
        }
        let archive = args.index.as_deref().map(opened::to_read).transpose()?;
        let params = params(args, archive.as_ref())?;
        let lines = LinesGiven {
            jsonl: args.files.clone(),
            key_field: args.key_field.clone(),
            text_field: args.text_field.clone(),
            items_field: args.items_field.clone(),
            ..LinesGiven::default()
        };
        let fields = input::fields(&lines, &params)?.with_key_optional();
        Ok(Self { args, dropped, archive, params, fields })
    }

    /// An input file's name.
    fn name(&self, file: u32) -> String {
        match self.args.files.get(file as usize) {
            Some(path) if path.as_os_str() == raw::STDIN => "stdin".to_owned(),
            Some(path) => path.display().to_string(),
            None => String::new(),
        }
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let archive = match (&self.args.index, &self.archive) {
            (Some(path), Some(archive)) => Some(work::Archive::of(path, archive)?),
            _ => None,
        };
        Ok(Plan {
            version: 1,
            files: work::input_files(&self.args.files)?,
            fields: self.fields.clone(),
            params: format!("{:016x}", self.params.id()),
            threshold: self.params.threshold().to_string(),
            keep: format!("{:?}", self.args.keep),
            archive,
            dropped: self.dropped.clone(),
        })
    }
}

/// Those of the archive, with what was given instead; or of a new index.
fn params(args: &Dedup, archive: Option<&Reader>) -> Result<Params, Failure> {
    let sets = args.items_field.is_some();
    let or_items = |given: &Given| {
        if sets { given.clone().or_shingles(Shingles::Items) } else { given.clone() }
    };
    let params = match archive {
        None => or_items(&args.given).params()?,
        Some(archive) => {
            let params = args.given.changed(archive.params())?;
            let differences = archive.params().signature_differences(&params);
            if !differences.is_empty() {
                let differences = differences.join("; ");
                return Err(Failure::new(
                    format!("the index makes other signatures than asked for: {differences}"),
                    "leave these options out, or --index",
                ));
            }
            opened::warn_if_missed(archive.params(), Some(params.threshold()));
            params
        }
    };
    opened::check_of_documents(&params, "dedup")?;
    if let Scheme::External(_) = params.scheme() {
        return Err(Failure::new(
            format!("signatures of {} are made elsewhere", params.scheme()),
            "dedup reads texts or sets; use `nearkin admit` for rows",
        ));
    }
    Ok(params)
}

fn check_out(path: &Path, args: &Dedup) -> Result<(), Failure> {
    let name = path.display();
    // Until it is whole it has another name, and what has that one is lost.
    let tmp = files::unfinished(path);
    let is_written = |input: &&PathBuf| [path, &tmp].iter().any(|out| files::are_same(input, out));
    if let Some(input) = args.files.iter().find(is_written) {
        let input = input.display();
        return Err(Failure::new(format!("{input} is an input"), "write to another file"));
    }
    if args.index.as_deref().is_some_and(|index| files::lies_in(path, index)) {
        return Err(Failure::new(format!("{name} lies in the index"), "write to another folder"));
    }
    if path.exists() && !path.is_file() || path.as_os_str() == raw::STDIN {
        return Err(Failure::new(
            format!("{name} is no file"),
            "a file is needed, that gets its name when it is whole",
        ));
    }
    Ok(())
}

/// What became of the lines.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counts {
    /// Lines, without blank ones.
    read: u64,
    kept: u64,
    /// Like a kept one.
    dropped: u64,
    /// Like a document of the index.
    dropped_for_index: u64,
    skipped: u64,
    kinds: BTreeMap<String, u64>,
    bytes_read: u64,
    bytes_kept: u64,
}

#[derive(Serialize)]
struct ReportObject<'a> {
    read: u64,
    kept: u64,
    dropped: u64,
    dropped_for_index: u64,
    skipped: u64,
    bytes_read: u64,
    bytes_kept: u64,
    out: &'a str,
    dropped_file: &'a str,
}

fn report(
    counts: &Counts,
    args: &Dedup,
    dropped_file: &Path,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let Counts { read, kept, dropped, dropped_for_index, skipped, .. } = *counts;
    if output.json() {
        output.object(&ReportObject {
            read,
            kept,
            dropped,
            dropped_for_index,
            skipped,
            bytes_read: counts.bytes_read,
            bytes_kept: counts.bytes_kept,
            out: &args.out.display().to_string(),
            dropped_file: &dropped_file.display().to_string(),
        })?;
        return Ok(Ended::Well);
    }
    let kinds = counts.kinds.iter().map(|(kind, count)| format!("{} {kind}", grouped(*count)));
    let kinds: Vec<_> = kinds.collect();
    let of_what = if kinds.is_empty() {
        "skipped".to_owned()
    } else {
        format!("skipped: {}", kinds.join(", "))
    };
    let mut rows = vec![
        (grouped(read), if read == 1 { "line read" } else { "lines read" }.to_owned()),
        (grouped(kept), format!("kept in {}", args.out.display())),
        (grouped(dropped), "dropped: like a kept one".to_owned()),
    ];
    if let Some(index) = &args.index {
        let what = format!("dropped: like a document of {}", index.display());
        rows.push((grouped(dropped_for_index), what));
    }
    rows.push((grouped(skipped), of_what));
    let saved = counts.bytes_read - counts.bytes_kept;
    let share = 100.0 * saved as f64 / counts.bytes_read.max(1) as f64;
    let of = output::bytes(counts.bytes_read);
    rows.push((String::new(), format!("saved: {} of {of} ({share:.1} %)", output::bytes(saved))));
    let width = rows.iter().map(|(number, _)| number.len()).max().unwrap_or(0);
    for (number, what) in rows {
        output.line(format_args!("{number:>width$}  {what}"))?;
    }
    output.flush()?;
    output::note(format!("why is in {}", dropped_file.display()));
    Ok(Ended::Well)
}

/// A bar for a pass over documents.
fn bar(doing: &'static str, documents: u64) -> Progress {
    Progress::start(doing, Unit::Documents, Some(documents))
}
