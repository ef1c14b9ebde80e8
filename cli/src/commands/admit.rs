//! `nearkin admit`: adds documents one by one and rejects duplicates of stored ones.
//!
//! This module prints and counts decisions. The library makes them.

use std::fmt;

use nearkin::{Admission, Alike, Decision, Index, Match, Newcomer, Outcome, Params, Variety};
use serde::Serialize;

use super::match_object::MatchObject;
use crate::args::Admit;
use nearkin_input::files::Files;
use nearkin_input::raw::Skipped;
use nearkin_input::sniff;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::opened;
use nearkin_kit::input::opened::Load;
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::repetitive;
use nearkin_kit::input::repetitive::Repetitive;
use nearkin_kit::input::skips::{self, Skips};
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::table;
use nearkin_kit::output::{self, Output, counted, grouped, lossy, visible};

/// Default of `--reject`. With `--contained` the default is 0, so that only containment decides.
const REJECT_DEFAULT: f64 = 0.9;

pub(crate) fn run(args: &Admit, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    args.selection.check()?;
    let terms = terms(args)?;
    let input = if args.lines.jsonl.is_empty() {
        let files = Files::new(args.paths.clone())?.hidden(args.hidden);
        sniff::check_are_texts(&args.paths, args.lines.as_text)?;
        Input::Walk(files)
    } else {
        Input::lines(&args.lines.jsonl, args.lines.row_options())?
    };
    let alike = alike(args);
    let needed = alike.similarity_needed();
    let least = args.relate.map_or(needed, |relate| relate.min(needed));
    let given = if opened::exists(&args.index)? {
        args.given.clone()
    } else {
        args.given.clone().or_threshold_below_default(least)
    };
    let sets = args.lines.items_field.is_some();
    let fields = |params: &Params| {
        opened::check_of_documents(params, "admit")?;
        args.lines.fields(params)
    };
    let load = Load::expiring(args.ttl.ttl);
    let (index, fields) = given.open_or_create(&args.index, &load, sets, fields)?;
    let params = index.params().clone();
    match args.contained {
        Some(contained) => opened::warn_if_contained_are_missed(&params, contained),
        None => opened::warn_if_missed(&params, Some(least)),
    }
    let mut input = match input {
        Input::Walk(files) => Input::Walk(files.except(&args.index)),
        lines => lines.of_fields(&fields),
    };
    let reading = Reading::new(index.sketcher(), fields);
    let (unit, total) = input.size();
    let progress = Progress::unless_results_are_on_the_terminal("admitting", unit, total);
    let (mut counts, mut repetitive) = (AdmitCounts::default(), Repetitive::default());
    let mut skips = Skips::new(args.lines.lenient);
    let ended = pipeline::run(
        &mut input,
        Pace::Prompt,
        &progress,
        |raw| {
            let (sketched, variety) = reading.sketch_varied(raw)?;
            Ok((sketched, variety.filter(|variety| variety.is_too_small(least))))
        },
        |chunk| {
            let (chunk, ended) = skips::strictly(args.lines.strict, chunk);
            let judged = skips.count(&chunk, &reading);
            let counting = (&mut counts, &mut skips, &mut repetitive);
            admit(&index, &terms, chunk, counting, &progress, output).and(ended).and(judged)
        },
    );
    drop(progress);
    skips.finish();
    input.note_left_out();
    let ended = ended.and_then(|()| skips.judge(&reading));
    let ended = ended.and_then(|()| load.expire(&index));
    let ended = opened::close(ended, || index.close());
    counts.expired = load.expired();
    ended.map_err(|failure| failure.after(&format!("stored before that: {counts}")))?;
    output.flush()?;
    output::note(counts);
    repetitive::advise(repetitive.count(), &params);
    Ok(skips.ended())
}

fn terms(args: &Admit) -> Result<nearkin::Admit<'static>, Failure> {
    let conditions = args.selection.conditions(alike(args)).limit(args.limit);
    let terms = nearkin::Admit::at(conditions).keep(args.keep);
    let Some(relate) = args.relate else { return Ok(terms) };
    let reject = args.reject.unwrap_or(REJECT_DEFAULT);
    if args.contained.is_none() && relate > reject {
        return Err(Failure::new(
            format!("--relate {relate} is above --reject {reject}"),
            "give --relate a lower similarity than --reject",
        ));
    }
    Ok(terms.relate(relate))
}

/// The minimum similarity and, if given, the minimum containment at which a stored document counts
/// as a duplicate.
fn alike(args: &Admit) -> Alike {
    Alike::from_minima(args.reject, args.contained, REJECT_DEFAULT)
}

/// Admits a chunk of documents and prints the decisions.
fn admit(
    index: &Index,
    terms: &nearkin::Admit<'_>,
    chunk: Vec<Result<(Sketched, Option<Variety>), Skipped>>,
    (counts, skips, repetitive): (&mut AdmitCounts, &mut Skips, &mut Repetitive),
    progress: &Progress,
    output: &mut Output,
) -> Result<(), Failure> {
    let (mut documents, mut skipped) = (Vec::with_capacity(chunk.len()), Vec::new());
    for document in chunk {
        match document {
            Ok(sketched) => documents.push(sketched),
            Err(one) => skipped.push(one),
        }
    }
    let newcomers: Vec<_> = documents
        .iter()
        .map(|(Sketched { name, signature }, _)| Newcomer::new(name, signature))
        .collect();
    let admissions = index.admit_all(&newcomers, terms)?;
    for ((document, variety), admission) in documents.iter().zip(&admissions) {
        counts.count(&admission.decision);
        if let Some(variety) = variety {
            repetitive.add(&document.name, *variety, progress);
        }
        print(&document.name, admission, variety.is_some(), output)?;
    }
    counts.skipped += skipped.len() as u64;
    skips.note(&skipped, progress);
    output.flush()
}

/// One word for a decision, as printed.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Rejected { .. } => "rejected",
        Decision::Admitted { outcome: Outcome::Replaced, .. } => "replaced",
        Decision::Admitted { outcome: Outcome::Unchanged, .. } => "unchanged",
        Decision::Admitted { .. } => "admitted",
    }
}

#[derive(Serialize)]
struct AdmissionObject<'a> {
    key: &'a str,
    decision: &'a str,
    duplicates: Vec<MatchObject<'a>>,
    related: Vec<MatchObject<'a>>,
    removed: Vec<MatchObject<'a>>,
    /// Number of the last change before the decision. The decision takes this change and all
    /// earlier ones into account.
    change: u64,
    /// The document has so few distinct shingles that unrelated texts of the same kind look like
    /// copies.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repetitive: bool,
}

fn objects(matches: &[Match]) -> Vec<MatchObject<'_>> {
    matches.iter().map(MatchObject::new).collect()
}

fn print(
    name: &[u8],
    admission: &Admission,
    repetitive: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let none: &[Match] = &[];
    let (duplicates, related, removed) = match &admission.decision {
        Decision::Rejected { duplicates, .. } => (&duplicates[..], none, none),
        Decision::Admitted { related, removed, .. } => (none, &related[..], &removed[..]),
    };
    let decision = word(&admission.decision);
    if output.json() {
        return output.object(&AdmissionObject {
            key: &lossy(name),
            decision,
            duplicates: objects(duplicates),
            related: objects(related),
            removed: objects(removed),
            change: admission.change,
            repetitive,
        });
    }
    let mut line = format!("{decision:<9}  {}", visible(name));
    for (what, matches) in
        [("duplicate of", duplicates), ("instead of", removed), ("related to", related)]
    {
        let one = |found: &Match| {
            let contained = match found.containment {
                Some(_) => format!(", contained {}", table::contained(found.containment)),
                None => String::new(),
            };
            format!("{} ({}{contained})", visible(&found.key), found.similarity_text())
        };
        let names: Vec<_> = matches.iter().map(one).collect();
        if !names.is_empty() {
            line.extend(["  ", what, " ", &names.join(", ")]);
        }
    }
    if repetitive {
        line.push_str("  (repetitive)");
    }
    output.line(line)
}

/// Counts of a run by decision.
#[derive(Debug, Default)]
struct AdmitCounts {
    admitted: u64,
    replaced: u64,
    unchanged: u64,
    rejected: u64,
    skipped: u64,
    /// Duplicates replaced by an admitted document.
    removed: u64,
    /// With `--ttl`: documents older than the TTL, removed at the end.
    expired: u64,
}

impl AdmitCounts {
    fn count(&mut self, decision: &Decision) {
        let count = match word(decision) {
            "rejected" => &mut self.rejected,
            "replaced" => &mut self.replaced,
            "unchanged" => &mut self.unchanged,
            _ => &mut self.admitted,
        };
        *count += 1;
        if let Decision::Admitted { removed, .. } = decision {
            self.removed += removed.len() as u64;
        }
    }
}

impl fmt::Display for AdmitCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { admitted, replaced, unchanged, rejected, skipped, removed, expired } = *self;
        write!(f, "{} admitted, {} replaced, ", counted(admitted, "document"), grouped(replaced))?;
        write!(f, "{} unchanged, {} rejected, ", grouped(unchanged), grouped(rejected))?;
        write!(f, "{} skipped", grouped(skipped))?;
        if removed > 0 {
            write!(f, "; {} removed", counted(removed, "duplicate"))?;
        }
        if expired > 0 {
            write!(f, "; {} expired", counted(expired, "document"))?;
        }
        Ok(())
    }
}
