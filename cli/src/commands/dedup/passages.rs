//! Cuts repeated passages out of the texts (`--cut-passages`), all but the first occurrence.
//!
//! The library finds them. This module reads the input twice: once to see which runs of words may
//! be repeated, and once to cut and write. An interrupted run starts over.

use nearkin::{CutText, RepeatFilter, Repeated, Repeats, readable_cuts};
use serde::Serialize;

use super::ahead::OriginalLine;
use super::format::OutputFormat;
use super::outcomes::LineOutcome;
use super::overwrite;
use super::packed::{self, Packed};
use super::read;
use super::request::Request;
use super::work::{RunPlan, Work};
use super::write;
use nearkin_input::fields::cut_text;
use nearkin_input::guess::Spelling;
use nearkin_input::raw::{Origin, Raw, Skipped};
use nearkin_kit::args::machine;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::pipeline::{self, Pace};
use nearkin_kit::input::skips::{self, LineCounts, Skips};
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::{self, JsonBytes, Output, grouped};

/// Maximum memory of the bits of the first pass, and of the repeated runs of the second.
const BITS_BYTES_MAX: usize = 512 << 20;
const RUNS_BYTES_MAX: usize = 4 << 30;
/// Memory of the bits for each byte of the input.
const BITS_SHARE: u64 = 2;
const BITS_BYTES_MIN: u64 = 1 << 20;

/// A row with a text.
struct PassageRow {
    origin: Origin,
    key: Vec<u8>,
    text: String,
    cut: CutText,
}

/// A passage that was cut out, in DROPPED.
#[derive(Serialize)]
struct CutObject<'a> {
    key: Option<JsonBytes<'a>>,
    file: &'a str,
    line: u64,
    /// The text that was cut out: from a byte of the text of the row, and a word of it on.
    cut: &'a str,
    at_byte: usize,
    at_word: usize,
    cut_words: usize,
    /// Where it stood first.
    of_file: &'a str,
    of_line: u64,
    of_word: usize,
    /// Whether nothing is left of the row, so that it is not in OUT.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    row_dropped: bool,
}

#[derive(Debug, Default)]
struct PassageCounts {
    read: u64,
    kept: u64,
    cut_rows: u64,
    empty: u64,
    skipped: u64,
    bad: u64,
    too_large: u64,
    damaged: u64,
    passages: u64,
    words: u64,
    words_cut: u64,
    bytes_cut: u64,
    bytes_read: u64,
}

#[derive(Serialize)]
struct PassageSummary<'a> {
    read: u64,
    kept: u64,
    rows_cut: u64,
    dropped: u64,
    skipped: u64,
    passages: u64,
    words: u64,
    words_cut: u64,
    bytes_read: u64,
    bytes_cut: u64,
    out: &'a str,
    dropped_file: &'a str,
}

/// The second pass.
struct Cutting<'a> {
    request: &'a Request<'a>,
    work: &'a Work,
    field: &'a str,
    repeats: Repeats,
    /// File and line of each row with a text.
    places: Vec<(u32, u64)>,
    counts: PassageCounts,
    out: Packed,
    dropped: Packed,
}

pub(super) fn run(
    request: &Request<'_>,
    run: usize,
    output: &mut Output,
) -> Result<Ended, Failure> {
    check(request)?;
    let work = Work::open(request)?;
    let made = cut_all(request, &work, run);
    let unchanged = made.and_then(|counts| {
        if !work.is_of(&RunPlan::new(request)?) {
            return Err(write::changed());
        }
        overwrite::check(request).map(|()| counts)
    });
    let counts = match unchanged {
        Ok(counts) => counts,
        Err(failure) => {
            packed::discard(&request.out);
            packed::discard(&request.dropped);
            work.finish()?;
            return Err(failure.advise_if_interrupted("the same command starts over"));
        }
    };
    overwrite::publish(request, &overwrite::finished(request))?;
    work.finish()?;
    report(&counts, request, output)?;
    let unreadable = counts.bad + counts.too_large;
    Ok(skips::ended(unreadable, counts.damaged, request.args.lenient))
}

/// Fails if an option has no meaning here that clap cannot refuse.
fn check(request: &Request<'_>) -> Result<(), Failure> {
    let args = request.args;
    if request.format != OutputFormat::Lines {
        return Err(Failure::new("--cut-passages writes lines of JSON", "give --out OUT.jsonl"));
    }
    if args.out.as_os_str() == "-" || args.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Failure::new(
            "--cut-passages reads files twice, and writes files",
            "save the input, and give --out FILE",
        ));
    }
    if args.text_field.len() > 1 {
        return Err(Failure::new(
            "--cut-passages cuts one field",
            "give --text-field once, or run the command once for each field",
        ));
    }
    Ok(())
}

fn cut_all(request: &Request<'_>, work: &Work, run: usize) -> Result<PassageCounts, Failure> {
    let fields = request.fields.clone();
    let reading = Reading::new(work.remade.sketcher().clone(), fields);
    let mut input = Input::Lines(read::input(request, work, true)?);
    let (unit, total) = input.size();
    let bits = total.map_or(u64::MAX, |bytes| (bytes / BITS_SHARE).max(BITS_BYTES_MIN));
    let bits = usize::try_from(bits).unwrap_or(usize::MAX);
    let bits = bits.min(machine::memory_part(8, BITS_BYTES_MAX));
    let filter = RepeatFilter::new(work.remade.sketcher(), run, bits)?;
    let progress = Progress::start("reading", unit, total);
    let add = |raw: Raw| {
        if let Ok((_, text)) = reading.text(raw) {
            filter.add(&text);
        }
    };
    pipeline::run(&mut input, Pace::Full, &progress, add, |_| Ok(()))?;
    drop(progress);
    let open = |path| Packed::open(path, 0)?.ok_or_else(write::changed);
    let field = request.args.text_field.first().map_or("text", String::as_str);
    let repeats = Repeats::new(machine::memory_part(2, RUNS_BYTES_MAX));
    let (out, dropped) = (open(&request.out)?, open(&request.dropped)?);
    let (places, counts) = (Vec::new(), PassageCounts::default());
    let mut cutting = Cutting { request, work, field, repeats, places, counts, out, dropped };
    let mut input = Input::Lines(read::input(request, work, false)?);
    let progress = Progress::start("cutting", unit, total);
    let mut skips = Skips::new(request.args.lenient);
    let row = |raw: Raw| {
        let line = raw.body.as_ref().map_or_else(|_| Vec::new(), |line| line.to_vec());
        (line, row(&reading, &filter, raw))
    };
    pipeline::run(&mut input, Pace::Full, &progress, row, |chunk| {
        let (lines, chunk): (Vec<Vec<u8>>, Vec<_>) = chunk.into_iter().unzip();
        let (chunk, ended) = skips::strictly(request.args.strict, chunk);
        skips.count(&chunk, &reading)?;
        let mut skipped = Vec::new();
        for (row, line) in chunk.into_iter().zip(&lines) {
            match row {
                Ok(row) => cutting.add(&row, line)?,
                Err(one) => {
                    cutting.skip(&one, line)?;
                    skipped.push(one);
                }
            }
        }
        skips.note(&skipped, &progress);
        ended
    })?;
    drop(progress);
    skips.finish();
    let Cutting { counts, out, dropped, .. } = cutting;
    let lines = LineCounts { read: counts.read, skipped: counts.skipped, bad: counts.bad };
    skips::judge(lines, request.args.lenient, &reading, Spelling::Lines)?;
    out.finish()?;
    dropped.finish()?;
    Ok(counts)
}

fn row(reading: &Reading, filter: &RepeatFilter, raw: Raw) -> Result<PassageRow, Skipped> {
    let origin = raw.origin.clone();
    let (key, text) = reading.text(raw)?;
    let cut = filter.cut(&text);
    Ok(PassageRow { origin, key, text, cut })
}

impl Cutting<'_> {
    /// Writes a row without the passages that stood before.
    fn add(&mut self, row: &PassageRow, line: &[u8]) -> Result<(), Failure> {
        let place = read::place(&row.origin);
        let number = u32::try_from(self.places.len())
            .map_err(|_| Failure::new("--cut-passages takes 2^32 rows", "split the input"))?;
        self.places.push(place);
        let found = self.repeats.find(number, &row.cut).map_err(|error| {
            Failure::from(error).advise("give more --memory, or a larger number of words")
        })?;
        self.counts.read += 1;
        self.counts.words += row.cut.words() as u64;
        self.counts.bytes_read += row.text.len() as u64;
        if found.is_empty() {
            self.counts.kept += 1;
            return self.out.line(line, b"\n");
        }
        let cuts = readable_cuts(&row.text, &found);
        let Some(line) = cut_text(line, self.field, &cuts) else {
            return Err(not_a_string(self.field, place.1));
        };
        let words: usize = found.iter().map(|one| one.words.len()).sum();
        self.counts.passages += found.len() as u64;
        self.counts.words_cut += words as u64;
        self.counts.bytes_cut += cuts.iter().map(|cut| cut.len() as u64).sum::<u64>();
        let is_empty = words == row.cut.words();
        for one in &found {
            let object = self.object(row, one, is_empty);
            self.dropped.line(&object, b"\n")?;
        }
        if is_empty {
            self.counts.empty += 1;
            return Ok(());
        }
        self.counts.kept += 1;
        self.counts.cut_rows += 1;
        self.out.line(&line, b"\n")
    }

    fn object(&self, row: &PassageRow, one: &Repeated, row_dropped: bool) -> Vec<u8> {
        let (file, line) = read::place(&row.origin);
        let first = self.places.get(one.first_text as usize).copied().unwrap_or_default();
        let object = CutObject {
            key: write::key(&row.key),
            file: write::name(self.request, file),
            line,
            cut: row.text.get(one.bytes.clone()).unwrap_or_default(),
            at_byte: one.bytes.start,
            at_word: one.words.start,
            cut_words: one.words.len(),
            of_file: write::name(self.request, first.0),
            of_line: first.1,
            of_word: one.first_word,
            row_dropped,
        };
        serde_json::to_vec(&object).unwrap_or_default()
    }

    fn skip(&mut self, one: &Skipped, line: &[u8]) -> Result<(), Failure> {
        let counts = &mut self.counts;
        counts.read += 1;
        counts.skipped += 1;
        let kind = one.reason.kind();
        match kind {
            "bad line" | "bad key" => counts.bad += 1,
            "too large" => counts.too_large += 1,
            nearkin_input::raw::DAMAGED => counts.damaged += 1,
            _ => {}
        }
        let ((file, number), reason) = (read::place(&one.origin), one.reason.detail());
        let (kind, reason) = (kind.as_bytes().to_vec(), reason.as_bytes().to_vec());
        let outcome = LineOutcome::Skipped { file, line: number, kind, reason };
        // A line that could not be read is not at hand.
        let is_lost = outcome.is_damage() || line.is_empty();
        let line = if is_lost { OriginalLine::Lost } else { OriginalLine::Bytes(line) };
        match write::refused(self.request, self.work, &outcome, line)? {
            Some(refused) => self.dropped.line(&refused.reason, b"\n"),
            None => Ok(()),
        }
    }
}

fn not_a_string(field: &str, line: u64) -> Failure {
    Failure::new(
        format!("line {line}: the text in {field:?} is not one string, so nothing can be cut out"),
        "name a field that holds a string: --text-field NAME",
    )
    .of_wrong_input()
}

fn report(
    counts: &PassageCounts,
    request: &Request<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let (out, dropped_file) = (request.out.display().to_string(), &request.dropped);
    if output.json() {
        return output.object(&PassageSummary {
            read: counts.read,
            kept: counts.kept,
            rows_cut: counts.cut_rows,
            dropped: counts.empty,
            skipped: counts.skipped,
            passages: counts.passages,
            words: counts.words,
            words_cut: counts.words_cut,
            bytes_read: counts.bytes_read,
            bytes_cut: counts.bytes_cut,
            out: &out,
            dropped_file: &dropped_file.display().to_string(),
        });
    }
    let share = 100.0 * counts.bytes_cut as f64 / counts.bytes_read.max(1) as f64;
    let rows = [
        (counts.read, "rows read".to_owned()),
        (counts.kept, format!("kept in {out}")),
        (counts.cut_rows, "of those kept had a repeated passage, which was cut out".to_owned()),
        (counts.empty, "dropped: nothing else was in them".to_owned()),
        (counts.skipped, "skipped".to_owned()),
        (counts.passages, format!("passages of {} words", grouped(counts.words_cut))),
    ];
    let rows = rows.map(|(number, what)| (grouped(number), what));
    let width = rows.iter().map(|(number, _)| number.len()).max().unwrap_or(0);
    for (number, what) in rows {
        output.line(format_args!("{number:>width$}  {what}"))?;
    }
    let (cut, of) = (output::bytes(counts.bytes_cut), output::bytes(counts.bytes_read));
    output.line(format_args!("{:>width$}  cut: {cut} of {of} of text ({share:.1} %)", ""))?;
    output.flush()?;
    output::note(format!("what was cut out is in {}", dropped_file.display()));
    Ok(())
}
