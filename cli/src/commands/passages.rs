//! `nearkin add` and `query` for an index of passages: which texts quote which.
//!
//! This module prints the answers. The library cuts texts into passages.

use nearkin::passages::{
    Contained, PassageAnswer, PassageIndex, PassageMatch, PassageView, Prepared,
};
use nearkin::{Alike, Index, Reader, Scheme, SimilarityText};
use serde::Serialize;

use super::added::{AddCounts, Safe};
use crate::args::Query;
use nearkin_input::raw::{Raw, Skipped};
use nearkin_input::sniff;
use nearkin_kit::args::machine;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::skips::{self, Skips};
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::quoted;
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

/// Maximum size of a batch of several texts, well below the library's default maximum of 16 MiB. A
/// single long text may exceed it.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// Counts, skips and checkpoints of a run that adds texts.
pub(crate) struct Adding<'a> {
    pub(crate) counts: &'a mut AddCounts,
    pub(crate) skips: &'a mut Skips,
    pub(crate) safe: &'a Safe<'a>,
}

/// Adds all texts of the input and closes the index.
pub(crate) fn add(
    index: Index,
    reading: &Reading,
    input: &mut Input,
    progress: &Progress,
    adding: &mut Adding<'_>,
) -> Result<(), Failure> {
    let Adding { counts, skips, safe } = adding;
    let index = PassageIndex::new(index)?;
    let cutter = index.cutter();
    let ended = pipeline::run_with_positions(
        input,
        Pace::Full,
        progress,
        |raw| reading.prepare(raw, cutter),
        |chunk, position| {
            let (chunk, ended) = skips::strictly(safe.strict, chunk);
            let judged = skips.count(&chunk, reading);
            write(&index, chunk, (counts, skips), progress).and(ended)?;
            safe.reached(position, index.index());
            judged
        },
    );
    let ended = ended.and_then(|()| skips.judge(reading));
    if ended.is_ok() {
        safe.finish();
    }
    opened::close(ended, || index.close())
}

fn write(
    index: &PassageIndex,
    chunk: Vec<Result<Prepared, Skipped>>,
    (counts, skips): (&mut AddCounts, &mut Skips),
    progress: &Progress,
) -> Result<(), Failure> {
    let (mut texts, mut bytes, mut skipped) = (Vec::new(), 0, Vec::new());
    for text in chunk {
        match text {
            Ok(text) => {
                bytes += text.wal_bytes();
                if bytes > machine::memory_part(32, BATCH_BYTES_MAX) && !texts.is_empty() {
                    counts.count(&index.write(&texts)?);
                    texts.clear();
                    bytes = text.wal_bytes();
                }
                texts.push(text);
            }
            Err(one) => {
                match one.emptied() {
                    // An earlier text of this key is written first.
                    Some(key) => {
                        counts.count(&index.write(&std::mem::take(&mut texts))?);
                        bytes = 0;
                        counts.count_blank(index.remove(key)?);
                    }
                    None => counts.skip(&one),
                }
                skipped.push(one);
            }
        }
    }
    skips.note(&skipped, progress);
    counts.count(&index.write(&texts)?);
    Ok(())
}

#[derive(Serialize)]
struct TextObject<'a> {
    query: JsonBytes<'a>,
    key: JsonBytes<'a>,
    share: f64,
    /// The share of the stored text, and the words of the longest run without a gap, if the index
    /// has fingerprints.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest: Option<u64>,
    passages: Vec<PassageObject>,
    /// False if not all candidates were compared, else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
}

/// A passage that occurs in both texts. `query` and `stored` are its byte ranges there: begin
/// (inclusive) and end (exclusive).
#[derive(Serialize)]
struct PassageObject {
    query: [u64; 2],
    stored: [u64; 2],
    words: u64,
    /// If the index has fingerprints: both places in words, and the longest run without a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    query_words: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_words: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest: Option<u64>,
    similarity: f64,
    /// With `--show`: the quoted words as they stand in the query; `stored_text` has them as they
    /// stand in the stored text, if it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    query_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_text: Option<String>,
}

/// Whether the index finds every shared run of words.
fn has_fingerprints(index: &Reader) -> bool {
    index.params().scheme() == Scheme::Winnow
}

/// A text used as query.
struct QueryText<'a> {
    name: &'a [u8],
    text: &'a str,
}

/// How answers are printed.
struct Printing<'a> {
    /// Whether there are any number of queries: lines, or the files of folders. Then empty answers
    /// are omitted, and texts that cannot be read are skipped.
    many: bool,
    /// Whether each answer is printed under the query's name.
    labels: bool,
    /// With `--show`: where stored texts are read again.
    originals: Option<&'a Originals>,
    args: &'a Query,
}

pub(crate) fn query(index: &Reader, args: &Query, output: &mut Output) -> Result<Ended, Failure> {
    let elsewhere = [
        (args.key.is_some() || !args.keys.is_empty(), "query --key"),
        (args.exact.exact, "query --exact"),
    ];
    for (given, what) in elsewhere {
        if given {
            opened::check_of_documents(index.params(), what)?;
        }
    }
    let own = index.params().threshold();
    let contained = args.conditions.contained;
    check_shares(index, args)?;
    let threshold = args.conditions.threshold.unwrap_or(own);
    let alike = match contained {
        Some(contained) => Alike::contained(contained),
        None => Alike::similar(threshold),
    };
    if !has_fingerprints(index) {
        opened::warn_if_missed(index.params(), Some(threshold));
    }
    let originals = if args.show {
        Some(args.exact.originals(index.params(), index.sketcher(), &args.lines.rows)?)
    } else {
        None
    };
    let mut printing = Printing { many: false, labels: false, originals: originals.as_ref(), args };
    let view = PassageView::new(&index.snapshot())?;
    let ask = |text: &str| {
        let conditions = args.conditions(alike).limit(args.limit);
        view.query(text).conditions(conditions).run()
    };
    if let Some(text) = &args.text {
        let answer = ask(text)?;
        printing.print(&QueryText { name: b"text", text }, &answer, output)?;
        if answer.texts.is_empty() && answer.complete {
            opened::note_quotation_words(index.params(), threshold);
        }
        return Ok(Ended::Well);
    }
    let fields = args.lines.fields(index.params())?;
    let reading = Reading::new(index.sketcher(), fields);
    let input = if args.lines.jsonl.is_empty() {
        sniff::check_are_texts(&args.files, args.lines.as_text)?;
        Input::files_or_folders(&args.files, args.lines.archives)?
    } else {
        Input::lines(&args.lines.jsonl, args.lines.row_options())?
    };
    printing.many = !matches!(input, Input::Named { .. });
    printing.labels = printing.many || args.files.len() > 1;
    let (ended, missed) =
        by_content(&reading, input, ask, (&printing, args.lines.lenient), output)?;
    if missed > 0 {
        opened::note_quotation_words(index.params(), threshold);
    }
    Ok(ended)
}

/// Refuses a share that the index cannot ask for.
fn check_shares(index: &Reader, args: &Query) -> Result<(), Failure> {
    let (contained, threshold) = (args.conditions.contained, args.conditions.threshold);
    let (option, advice) = match (has_fingerprints(index), contained, threshold) {
        (false, Some(_), _) => ("--contained", "windows of text are compared: --threshold T"),
        (true, Some(_), Some(_)) => ("--threshold", "texts share words or not: leave it out"),
        _ => return Ok(()),
    };
    Err(Failure::new(format!("{option} does nothing here"), advice))
}

/// Queries by every text of the input. With `printing.many`, unreadable texts are not an error.
/// Also returns the number of complete answers without a match.
fn by_content(
    reading: &Reading,
    mut input: Input,
    ask: impl Fn(&str) -> nearkin::Result<PassageAnswer> + Sync,
    (printing, lenient): (&Printing<'_>, bool),
    output: &mut Output,
) -> Result<(Ended, u64), Failure> {
    let (unit, total) = input.size();
    let progress = Progress::unless_results_are_on_the_terminal("querying", unit, total);
    let (mut queried, mut answered, mut missed, mut failed) = (0, 0, 0, 0);
    let mut skips = Skips::new(lenient);
    let work = |raw: Raw| match reading.text(raw) {
        Ok((name, text)) => ask(&text).map(|answer| Ok((name, text, answer))),
        Err(skipped) => Ok(Err(skipped)),
    };
    pipeline::run(&mut input, Pace::Prompt, &progress, work, |chunk| {
        let mut skipped = Vec::new();
        let chunk = chunk.into_iter().collect::<nearkin::Result<Vec<_>>>()?;
        let judged = skips.count(&chunk, reading);
        for one in chunk {
            match one {
                Ok((name, text, answer)) => {
                    queried += 1;
                    answered += u64::from(answer.found > 0);
                    missed += u64::from(answer.found == 0 && answer.complete);
                    printing.print(&QueryText { name: &name, text: &text }, &answer, output)?;
                }
                Err(one) if printing.args.lines.strict => {
                    output.flush()?;
                    return Err(skips::stopped_at(&one));
                }
                Err(one) => skipped.push(one),
            }
        }
        failed += skipped.len() as u64;
        skips.note(&skipped, &progress);
        output.flush()?;
        judged
    })?;
    drop(progress);
    skips.finish();
    skips.judge(reading)?;
    if printing.many {
        output::note(format!(
            "{} queried, quotations found in {}, {} skipped",
            counted(queried, "text"),
            grouped(answered),
            grouped(failed)
        ));
        return Ok((skips.ended(), missed));
    }
    match failed {
        0 => Ok((Ended::Well, missed)),
        _ => Err(Failure::new(
            format!("{} could not be read", counted(failed, "file")),
            "check these files; the other queries were answered",
        )),
    }
}

impl Printing<'_> {
    fn print(
        &self,
        queried: &QueryText<'_>,
        answer: &PassageAnswer,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if self.labels && !output.json() && !answer.texts.is_empty() {
            output.line(format_args!("{}:", visible(queried.name)))?;
        }
        for text in &answer.texts {
            if output.json() {
                self.print_object(queried, text, answer.complete, output)?;
            } else {
                self.print_text(queried, text, output)?;
            }
        }
        if self.many && answer.complete {
            return Ok(());
        }
        output.flush()?;
        if !answer.complete {
            output::warn(self.args.note_on_incomplete());
        } else if answer.texts.is_empty() {
            output::note(format!("no text holds passages of {}", visible(queried.name)));
        }
        output::note_limit(answer.texts.len() as u64, answer.found, "texts");
        Ok(())
    }

    fn print_text(
        &self,
        queried: &QueryText<'_>,
        text: &Contained,
        output: &mut Output,
    ) -> Result<(), Failure> {
        // The share is counted in words: it is 1 only if all words lie in matching passages.
        let share = SimilarityText::Exact(text.share);
        output.line(format_args!("{share}  {}", visible(&text.key)))?;
        for found in &text.passages {
            let (query, stored) = (&found.query, &found.stored);
            let (words, bytes) = (counted(found.words, "word"), [query.start, query.end]);
            let place = format!("bytes {} to {}", bytes[0], bytes[1]);
            let at = format!("{} to {}", stored.start, stored.end);
            output.line(match found.longest {
                Some(longest) if longest == found.words => {
                    format!("  {words}: {place} are at {at}")
                }
                Some(longest) => {
                    format!("  {words}, {longest} in one run: {place} are at {at}")
                }
                None => {
                    let similarity = SimilarityText::Estimate(found.similarity);
                    format!("  {words}: {place} are at {at}, similarity {similarity}")
                }
            })?;
            let (own, other) = self.words(queried, &text.key, found);
            let line = |text: String| visible(quoted::line(&text).as_bytes());
            if let Some(own) = own {
                output.line(format_args!("    asked:  {}", line(own)))?;
                let other = other
                    .map_or_else(|| "not readable, or changed since it was added".to_owned(), line);
                output.line(format_args!("    stored: {other}"))?;
            }
        }
        Ok(())
    }

    /// With `--show`: the quoted words, as they stand in the query and, if it can be read, in the
    /// stored text.
    fn words(
        &self,
        queried: &QueryText<'_>,
        key: &[u8],
        found: &PassageMatch,
    ) -> (Option<String>, Option<String>) {
        let Some(originals) = self.originals else { return (None, None) };
        let own = quoted::at(queried.text, &found.query).unwrap_or_default();
        let stored = originals.text_alone(key).and_then(|text| {
            let part = quoted::at(&text, &found.stored)?;
            Some(quoted::part(part, own).to_owned())
        });
        (Some(own.to_owned()), stored)
    }

    fn print_object(
        &self,
        queried: &QueryText<'_>,
        text: &Contained,
        is_complete: bool,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let passages = text.passages.iter().map(|found| {
            let (query_text, stored_text) = self.words(queried, &text.key, found);
            PassageObject {
                query: [found.query.start, found.query.end],
                stored: [found.stored.start, found.stored.end],
                words: found.words,
                query_words: found.in_words.as_ref().map(|(query, _)| [query.start, query.end]),
                stored_words: found.in_words.as_ref().map(|(_, stored)| [stored.start, stored.end]),
                longest: found.longest,
                similarity: found.similarity,
                query_text,
                stored_text,
            }
        });
        output.object(&TextObject {
            query: JsonBytes(queried.name),
            key: JsonBytes(&text.key),
            share: text.share,
            stored_share: text.stored_share,
            longest: text.passages.iter().filter_map(|found| found.longest).max(),
            passages: passages.collect(),
            complete: (!is_complete).then_some(false),
        })
    }
}
