//! `nearkin add` and `query` on an index of passages: which texts quote which.
//!
//! Knows how the answer is printed. Does not know how texts are cut.

use nearkin::passages::{Contained, PassageAnswer, PassageIndex, PassageView, Prepared};
use nearkin::{Index, Reader};
use serde::Serialize;

use crate::added::{Counts, Safe};
use crate::args::Query;
use crate::content::Reading;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::input::{self, Input};
use crate::opened;
use crate::output::{self, Output, counted, grouped, lossy, visible};
use crate::pipeline::{self, Pace};
use crate::progress::Progress;
use crate::raw::{self, Raw, Skipped};
use crate::skips::Skips;
use crate::sniff;

/// Well below the 16 MiB that the library takes by default, unless one text has more.
const BATCH_BYTES_MAX: usize = 4 << 20;

/// What an adding run keeps account of.
pub(crate) struct Adding<'a> {
    pub(crate) counts: &'a mut Counts,
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
            let (chunk, ended) = raw::strictly(safe.strict, chunk);
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
    (counts, skips): (&mut Counts, &mut Skips),
    progress: &Progress,
) -> Result<(), Failure> {
    let (mut texts, mut bytes, mut skipped) = (Vec::new(), 0, Vec::new());
    for text in chunk {
        match text {
            Ok(text) => {
                bytes += text.wal_bytes();
                if bytes > BATCH_BYTES_MAX && !texts.is_empty() {
                    counts.count(&index.write(&texts)?);
                    texts.clear();
                    bytes = text.wal_bytes();
                }
                texts.push(text);
            }
            Err(one) => {
                counts.skip(&one);
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
    query: &'a str,
    key: &'a str,
    share: f64,
    passages: Vec<PassageObject>,
}

/// Bytes: begin, and end before which it ends.
#[derive(Serialize)]
struct PassageObject {
    query: [u64; 2],
    stored: [u64; 2],
    similarity: f64,
}

pub(crate) fn query(index: &Reader, args: Query, output: &mut Output) -> Result<Ended, Failure> {
    let elsewhere = [
        (args.key.is_some() || !args.keys.is_empty(), "query --key"),
        (args.exact.exact, "query --exact"),
    ];
    for (given, what) in elsewhere {
        if given {
            opened::check_of_documents(index.params(), what)?;
        }
    }
    let threshold = args.threshold.unwrap_or_else(|| index.params().threshold());
    opened::warn_if_missed(index.params(), Some(threshold));
    let view = PassageView::new(&index.snapshot())?;
    let ask = |text: &str| {
        let query = view.query(text).threshold(threshold).limit(args.limit);
        match args.max_candidates {
            Some(candidates) => query.max_candidates(candidates).run(),
            None => query.run(),
        }
    };
    if let Some(text) = &args.text {
        print(b"text", &ask(text)?, false, output)?;
        return Ok(Ended::Well);
    }
    let fields = input::fields(&args.lines, index.params())?;
    let reading = Reading::new(index.sketcher(), fields);
    let (lines, input) = if args.lines.jsonl.is_empty() {
        sniff::check_are_texts(&args.files, args.lines.as_text)?;
        (false, Input::named(args.files))
    } else {
        (true, Input::lines(args.lines.jsonl)?)
    };
    by_content(&reading, input, ask, (lines, args.lines.lenient), output)
}

/// Asks for every text of the input; `lines` are answered each under its name, and those that
/// cannot be read are no failure.
fn by_content(
    reading: &Reading,
    mut input: Input,
    ask: impl Fn(&str) -> nearkin::Result<PassageAnswer> + Sync,
    (lines, lenient): (bool, bool),
    output: &mut Output,
) -> Result<Ended, Failure> {
    let (unit, total) = input.size();
    let progress = Progress::unless_results_are_on_the_terminal("querying", unit, total);
    let (mut asked, mut answered, mut failed) = (0, 0, 0);
    let mut skips = Skips::new(lenient);
    let work = |raw: Raw| match reading.text(raw) {
        Ok((name, text)) => ask(&text).map(|answer| Ok((name, answer))),
        Err(skipped) => Ok(Err(skipped)),
    };
    pipeline::run(&mut input, Pace::Prompt, &progress, work, |chunk| {
        let mut skipped = Vec::new();
        let chunk = chunk.into_iter().collect::<nearkin::Result<Vec<_>>>()?;
        let judged = skips.count(&chunk, reading);
        for one in chunk {
            match one {
                Ok((name, answer)) => {
                    asked += 1;
                    answered += u64::from(answer.found > 0);
                    print(&name, &answer, lines, output)?;
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
    if lines {
        output::note(format!(
            "{} asked, {} of them quoted somewhere, {} skipped",
            counted(asked, "text"),
            grouped(answered),
            grouped(failed)
        ));
        return Ok(Ended::Well);
    }
    match failed {
        0 => Ok(Ended::Well),
        _ => Err(Failure::new(
            format!("{} could not be read", counted(failed, "file")),
            "the other queries were answered",
        )),
    }
}

/// Prints an answer; one of `many` with its name, and nothing where nothing was found.
fn print(
    name: &[u8],
    answer: &PassageAnswer,
    many: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    if many && !output.json() && !answer.texts.is_empty() {
        output.line(format_args!("{}:", visible(name)))?;
    }
    for text in &answer.texts {
        if output.json() {
            print_object(name, text, output)?;
            continue;
        }
        output.line(format_args!("{:.3}  {}", text.share, visible(&text.key)))?;
        for found in &text.passages {
            let (query, stored) = (&found.query, &found.stored);
            output.line(format_args!(
                "  bytes {} to {} are at {} to {}, similarity {:.3}",
                query.start, query.end, stored.start, stored.end, found.similarity
            ))?;
        }
    }
    if many && answer.complete {
        return Ok(());
    }
    output.flush()?;
    if answer.texts.is_empty() {
        output::note(format!("no text holds passages of {}", visible(name)));
    }
    if !answer.complete {
        output::note("not all candidates were compared: passages may be missing");
    }
    output::note_limit(answer.texts.len() as u64, answer.found, "texts");
    Ok(())
}

fn print_object(name: &[u8], text: &Contained, output: &mut Output) -> Result<(), Failure> {
    let passages = text.passages.iter().map(|found| PassageObject {
        query: [found.query.start, found.query.end],
        stored: [found.stored.start, found.stored.end],
        similarity: found.similarity,
    });
    output.object(&TextObject {
        query: &lossy(name),
        key: &lossy(&text.key),
        share: text.share,
        passages: passages.collect(),
    })
}
