//! `nearkin query`: finds documents similar to a file, a text, a stored document, or each line of a
//! file.
//!
//! This module prints answers. Reading documents is the task of `input`.

use nearkin::{Alike, Answer, ErrorKind, Exact, Match, Original, Reader, Signature};
use serde::Serialize;

use super::match_object::MatchObject;
use super::passages;
use crate::args::Query;
use nearkin_input::raw::{Raw, Skipped};
use nearkin_input::sniff;
use nearkin_kit::args::conditions::Likeness;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals;
use nearkin_kit::input::originals::{ExactFields, Originals};
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::skips::{self, Skips};
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::table::{self, Align, Table};
use nearkin_kit::output::{self, JsonBytes, Output, visible};

mod tally;

use tally::Tally;

/// Maximum number of nearest candidates to name if nothing matches.
const NEAREST_MAX: usize = 3;

pub(crate) fn run(args: &Query, output: &mut Output) -> Result<Ended, Failure> {
    args.conditions.selection.check()?;
    let index = opened::to_read(&args.index)?;
    if index.params().passages().is_some() {
        return passages::query(&index, args, output);
    }
    if args.show {
        return Err(Failure::new(
            "--show needs an index of passages, but this one holds documents",
            "add the texts to an index of passages: `nearkin add NEW PATH... --for quotes`",
        ));
    }
    let likeness = Likeness::for_index(index.params(), &args.conditions, &args.exact);
    let originals = if args.exact.exact {
        Some(args.exact.originals(index.params(), index.sketcher(), &args.lines.rows)?)
    } else {
        None
    };
    let context = QueryContext {
        index: &index,
        originals: originals.as_ref(),
        likeness,
        args,
        strict: args.lines.strict,
        lenient: args.lines.lenient,
    };
    if let Some(key) = &args.key {
        return by_keys(&context, &[key.as_encoded_bytes()], output);
    }
    if !args.keys.is_empty() {
        let keys: Vec<_> = args.keys.iter().map(|key| key.as_encoded_bytes()).collect();
        return by_keys(&context, &keys, output);
    }
    let fields = args.lines.fields(index.params())?;
    let reading = Reading::new(index.sketcher(), fields.clone());
    if let Some(text) = &args.text {
        return by_text(&context, text, output);
    }
    let input = if args.lines.jsonl.is_empty() {
        sniff::check_are_texts(&args.files, args.lines.as_text)?;
        Input::files_or_folders(&args.files, args.lines.archives)?
    } else {
        Input::lines(&args.lines.jsonl, args.lines.row_options())?.of_fields(&fields)
    };
    by_content(&context, &reading, input, output)
}

/// Settings shared by all queries of a command.
struct QueryContext<'a> {
    index: &'a Reader,
    /// With `--exact`: where matched documents are read again.
    originals: Option<&'a Originals>,
    likeness: Likeness,
    args: &'a Query,
    strict: bool,
    lenient: bool,
}

impl QueryContext<'_> {
    fn run(&self, query: nearkin::Query<'_>) -> nearkin::Result<Answer> {
        // Exact verification may drop matches, so the limit is applied after it.
        let limit = if self.likeness.is_decided_later { usize::MAX } else { self.args.limit };
        query.conditions(self.args.conditions(self.likeness.sought).limit(limit)).run()
    }

    /// With `--exact`, verifies the matches of an answer by comparing their texts with the text of
    /// `query`. Without `--exact`, returns the answer unchanged.
    fn verified(&self, answer: Answer, query: Option<&Original>) -> nearkin::Result<Verified> {
        let (Some(originals), Some(query)) = (self.originals, query) else {
            return Ok(Verified { answer, exact: None });
        };
        let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
        let snapshot = self.index.snapshot();
        self.verified_by(answer, |matches| {
            snapshot.exact_matches(query, matches, self.likeness.verified, fetch)
        })
    }

    /// Verifies the matches in order, and drops those below the threshold. Stops as soon as enough
    /// matches remain for `--limit`.
    fn verified_by(
        &self,
        mut answer: Answer,
        mut verify: impl FnMut(&[Match]) -> nearkin::Result<Vec<Exact>>,
    ) -> nearkin::Result<Verified> {
        let (mut stay, mut all_exact, mut below) = (Vec::new(), Vec::new(), 0);
        for matches in answer.matches.chunks(self.args.limit) {
            for (found, exact) in matches.iter().zip(verify(matches)?) {
                if exact == Exact::Below {
                    below += 1;
                } else if stay.len() < self.args.limit {
                    stay.push(found.clone());
                    all_exact.push(exact);
                }
            }
            if stay.len() >= self.args.limit {
                break;
            }
        }
        answer.matches = stay;
        answer.found = answer.found.saturating_sub(below);
        Ok(Verified { answer, exact: Some(all_exact) })
    }

    /// Like [`QueryContext::verified`], for a query by key.
    fn verified_by_key(&self, answer: Answer, key: &[u8]) -> nearkin::Result<Verified> {
        let Some(originals) = self.originals else { return Ok(Verified { answer, exact: None }) };
        let snapshot = self.index.snapshot();
        let one = |found: &Match| {
            let pair = found.pair_with(key);
            let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
            snapshot.exact_pair(&pair, self.likeness.verified, fetch)
        };
        self.verified_by(answer, |matches| matches.iter().map(one).collect())
    }

    /// The minimum similarity of a match to be printed.
    fn threshold(&self) -> f64 {
        self.likeness.threshold
    }
}

/// An answer, with the exact similarity of each match if `--exact` was given.
struct Verified {
    answer: Answer,
    exact: Option<Vec<Exact>>,
}

impl Verified {
    /// Iterates over the matches, each with its exact similarity.
    fn matches(&self) -> impl Iterator<Item = (&Match, Option<Exact>)> {
        let exact = |at: usize| self.exact.as_ref().and_then(|all| all.get(at).copied());
        self.answer.matches.iter().enumerate().map(move |(at, found)| (found, exact(at)))
    }
}

fn by_keys(
    context: &QueryContext<'_>,
    keys: &[&[u8]],
    output: &mut Output,
) -> Result<Ended, Failure> {
    if let (Some(_), [_, _, ..]) = (context.originals, keys) {
        return Err(Failure::new(
            "--exact cannot compare several documents as one query",
            "give one --key at a time, or drop --exact",
        ));
    }
    let answer = context.run(context.index.query_keys(keys)).map_err(|error| match error.kind() {
        ErrorKind::NoSuchKey => Failure::new(
            error.full_message(),
            "check the key; the key of a file is its path as given to `nearkin add`, without `./`",
        ),
        _ => Failure::from(error),
    })?;
    let answer = match keys {
        [key] => context.verified_by_key(answer, key)?,
        _ => Verified { answer, exact: None },
    };
    let nearest = || context.index.query_keys(keys);
    print_one(context, &keys.join(&b','), (&answer, &nearest), output)
}

fn by_text(context: &QueryContext<'_>, text: &str, output: &mut Output) -> Result<Ended, Failure> {
    let query =
        context.index.sketcher().original_text(text).map_err(|error| match error.kind() {
            ErrorKind::Empty => Failure::new("the text is empty: there is nothing to compare", ""),
            _ => Failure::from(error),
        })?;
    let answer = context.run(context.index.query(query.signature()))?;
    let nearest = || context.index.query(query.signature());
    print_one(context, b"text", (&context.verified(answer, Some(&query))?, &nearest), output)
}

/// Prints the answer of a command that makes a single query. If nothing matched, `again` repeats
/// the query to find the nearest candidates.
fn print_one<'i>(
    context: &QueryContext<'_>,
    name: &[u8],
    (verified, again): (&Verified, &dyn Fn() -> nearkin::Query<'i>),
    output: &mut Output,
) -> Result<Ended, Failure> {
    let answer = &verified.answer;
    if output.json() {
        print_objects(name, verified, output)?;
    } else {
        print_table(context, verified, output)?;
    }
    output.flush()?;
    if !answer.complete {
        output::warn(context.args.note_on_incomplete());
    } else if answer.matches.is_empty() {
        match context.likeness.contained {
            Some(contained) => {
                output::note(format!("no document with containment {contained} or more"));
            }
            None => output::note(format!("no document {}", context.likeness.or_more())),
        }
        if answer.found == 0 && !output.json() && !output::is_quiet() {
            note_nearest(context, again())?;
            opened::hint_at_parts(context.index.params(), context.likeness.contained);
        }
    }
    output::note_limit(answer.matches.len() as u64, answer.found, "matches");
    Ok(Ended::Well)
}

/// Prints an answer as a table.
fn print_table(
    context: &QueryContext<'_>,
    verified: &Verified,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut table = Table::of_shown([
        (context.likeness.contained.is_some(), ("contained", Align::Right)),
        (context.originals.is_some(), ("exact", Align::Right)),
        (true, ("similarity", Align::Right)),
        (true, ("error", Align::Right)),
        (true, ("key", Align::Left)),
    ]);
    for (found, exact) in verified.matches() {
        let [similarity, error, key] = cells(found);
        let contained = match context.originals {
            Some(_) => originals::contained_cell(exact),
            None => table::contained(found.containment),
        };
        let exact = exact.map_or_else(String::new, originals::cell);
        table.row([contained, exact, similarity, error, key], output)?;
    }
    table.finish(output)
}

/// Finds the nearest candidates below the threshold, and names them in a note.
fn note_nearest(context: &QueryContext<'_>, query: nearkin::Query<'_>) -> Result<(), Failure> {
    let nearest = context.args.conditions(Alike::similar(0.0)).limit(NEAREST_MAX);
    let answer = query.conditions(nearest).run()?;
    for found in answer.matches.iter().filter(|found| found.similarity < context.threshold()) {
        let key = visible(&found.key);
        let similarity = found.similarity_text();
        output::note(format!("nearest below the threshold: {similarity}  {key}"));
    }
    Ok(())
}

fn by_content(
    context: &QueryContext<'_>,
    reading: &Reading,
    mut input: Input,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let (unit, total) = input.size();
    if let (Input::Named { .. }, Some(1)) = (&input, total) {
        return by_file(context, reading, &mut input, output);
    }
    let progress = Progress::unless_results_are_on_the_terminal("querying", unit, total);
    let mut tally = Tally::default();
    let mut skips = Skips::new(context.lenient);
    let work = |raw: Raw| answer(context, reading, raw);
    pipeline::run(&mut input, Pace::Prompt, &progress, work, |chunk| {
        let mut skipped = Vec::new();
        let chunk = chunk.into_iter().collect::<nearkin::Result<Vec<_>>>()?;
        let judged = skips.count(&chunk, reading);
        for answered in chunk {
            match answered {
                Ok((name, answer)) => {
                    tally.count(&answer.answer);
                    print_block(&name, &answer, output)?;
                }
                Err(one) if context.strict => {
                    output.flush()?;
                    return Err(skips::stopped_at(&one));
                }
                Err(one) => {
                    tally.skip(&one);
                    skipped.push(one);
                }
            }
        }
        skips.note(&skipped, &progress);
        output.flush()?;
        judged
    })?;
    drop(progress);
    skips.finish();
    skips.judge(reading)?;
    tally.report(context.args, &context.likeness, output)?;
    Ok(skips.ended())
}

/// A query with a single file. Its matches are printed as a table without the file's name.
fn by_file(
    context: &QueryContext<'_>,
    reading: &Reading,
    input: &mut Input,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let Some(raw) = input.next()? else { return Ok(Ended::Well) };
    let (name, query) = sketched(context, reading, raw).map_err(|skipped| not_asked(&skipped))?;
    let again = || context.index.query(query.signature());
    print_one(context, &name, (&query.answer(context)?, &again), output)
}

/// The signature of a query; with `--exact` also its text, which the exact comparison needs.
enum QueryContent {
    Estimate(Signature),
    Exact(Original),
}

impl QueryContent {
    fn signature(&self) -> &Signature {
        match self {
            Self::Estimate(signature) => signature,
            Self::Exact(original) => original.signature(),
        }
    }

    fn answer(&self, context: &QueryContext<'_>) -> nearkin::Result<Verified> {
        let answer = context.run(context.index.query(self.signature()))?;
        match self {
            Self::Estimate(_) => context.verified(answer, None),
            Self::Exact(original) => context.verified(answer, Some(original)),
        }
    }
}

fn sketched(
    context: &QueryContext<'_>,
    reading: &Reading,
    raw: Raw,
) -> Result<(Vec<u8>, QueryContent), Skipped> {
    match context.originals {
        Some(_) => reading.original(raw).map(|(name, query)| (name, QueryContent::Exact(query))),
        None => {
            reading.sketch(raw).map(|found| (found.name, QueryContent::Estimate(found.signature)))
        }
    }
}

/// For one query: its name and its answer, or the reason why it was skipped.
type AnsweredQuery = Result<(Vec<u8>, Verified), Skipped>;

fn answer(
    context: &QueryContext<'_>,
    reading: &Reading,
    raw: Raw,
) -> nearkin::Result<AnsweredQuery> {
    match sketched(context, reading, raw) {
        Ok((name, query)) => Ok(Ok((name, query.answer(context)?))),
        Err(skipped) => Ok(Err(skipped)),
    }
}

fn not_asked(skipped: &Skipped) -> Failure {
    Failure::new(
        skipped.to_string().replacen("skipped", "cannot read", 1),
        "give a file with text in it, --key KEY of a stored document, or --text TEXT",
    )
}

/// A match of a query as JSON.
#[derive(Serialize)]
struct AnswerObject<'a> {
    query: JsonBytes<'a>,
    #[serde(flatten)]
    found: MatchObject<'a>,
    #[serde(flatten)]
    exact: ExactFields,
    /// False if not all candidates were compared, else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
}

fn print_objects(name: &[u8], answer: &Verified, output: &mut Output) -> Result<(), Failure> {
    let query = JsonBytes(name);
    for (found, exact) in answer.matches() {
        let (found, exact) = (MatchObject::new(found), ExactFields::new(exact));
        let complete = (!answer.answer.complete).then_some(false);
        output.object(&AnswerObject { query, found, exact, complete })?;
    }
    Ok(())
}

fn cells(found: &Match) -> [String; 3] {
    let similarity = found.similarity_text().to_string();
    [similarity, format!("+-{:.3}", found.standard_error), visible(&found.key)]
}

/// Prints the answer to one of many queries: the query's name, then its matches. Prints nothing if
/// there are no matches.
fn print_block(name: &[u8], answer: &Verified, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return print_objects(name, answer, output);
    }
    if answer.answer.matches.is_empty() {
        return Ok(());
    }
    output.line(visible(name))?;
    for (found, exact) in answer.matches() {
        let contained = match (found.containment, exact) {
            (Some(_), Some(_)) => format!("{:>5}  ", originals::contained_cell(exact)),
            (Some(_), None) => format!("{}  ", table::contained(found.containment)),
            (None, _) => String::new(),
        };
        let exact = exact.map(|exact| format!("{:>7}  ", originals::cell(exact)));
        let exact = [contained, exact.unwrap_or_default()].concat();
        output.line(format_args!("  {exact}{}", cells(found).join("  ")))?;
    }
    output.line("")
}
