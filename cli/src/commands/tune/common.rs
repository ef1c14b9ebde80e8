//! Shows which texts are behind common shingles, and writes the list.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use nearkin::{Common, Params, Shingles, Sketcher, TextShingles};
use serde::Serialize;

use crate::args::Tune;
use nearkin_input::fields::Fields;
use nearkin_kit::args::params::Given;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::common::{self, LearnedCommon};
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::opened;
use nearkin_kit::input::pipeline::{self, Pace};
use nearkin_kit::output::progress::Progress;
use nearkin_kit::output::{Output, counted, grouped};
use nearkin_kit::target::Target;

/// Maximum number of texts that are shown, and of the characters of each.
const SHOWN_MAX: usize = 20;
const SHOWN_CHARS: usize = 70;
/// Maximum number of characters of a comment in the list.
const COMMENT_CHARS: usize = 100;

/// A passage of a document whose shingles are all common.
#[derive(Serialize)]
struct CommonText {
    /// In how many documents its rarest shingle occurs.
    documents: u64,
    shingles: usize,
    text: String,
}

/// What is behind a list.
#[derive(Default)]
struct Behind {
    texts: Vec<CommonText>,
    /// The words of each shingle.
    words: HashMap<u64, String>,
}

/// How a list begins.
pub(super) const HEAD: &str = "nearkin-common-";

/// Learns the common shingles of the documents, shows them, and writes the list if a file was
/// given. Returns the options with the list in place of the share.
pub(super) fn learned(
    args: &Tune,
    share: f64,
    input: impl Fn() -> Result<Option<Input>, Failure>,
    output: &mut Output,
) -> Result<Given, Failure> {
    let given = args.given.clone().with_common(None);
    let params = given.params()?;
    opened::check_of_documents(&params, "tune")?;
    common::check_readable_twice(&args.lines.jsonl)?;
    let fields = args.lines.fields(&params)?;
    let documents = || {
        let input = input()?.map(|input| input.of_fields(&fields));
        input.ok_or_else(|| {
            Failure::new(
                "--ignore-common needs documents, but none are given",
                "add paths or --jsonl FILE: `nearkin tune docs --ignore-common 5%`",
            )
        })
    };
    let learned = common::learn(&params, share, &mut documents()?, fields.clone())?;
    let Some(list) = &learned.list else { return Ok(given) };
    let behind = match params.shingles() {
        Shingles::Items => Behind::default(),
        _ => behind(&params, (&learned, list), &mut documents()?, fields.clone())?,
    };
    show(&behind, &learned, output)?;
    if let Some(path) = &args.out {
        write(path, list, &learned, &behind)?;
    }
    Ok(given.with_common(learned.list))
}

/// Reads the documents again and finds the passages that consist of common shingles.
fn behind(
    params: &Params,
    (learned, list): (&LearnedCommon, &Common),
    input: &mut Input,
    fields: Fields,
) -> Result<Behind, Failure> {
    let sketcher = Sketcher::new(params);
    let reading = Reading::new(sketcher.clone(), fields);
    let (unit, total) = input.size();
    let progress = Progress::start("looking up their texts", unit, total);
    let counts: HashMap<u64, u64> =
        learned.shingles.iter().map(|one| (one.hash, one.documents)).collect();
    let work = |raw| {
        let (_, text) = reading.text(raw).ok()?;
        let shingles = sketcher.text_shingles(&text).ok()?;
        let runs = runs(&shingles, list);
        (!runs.is_empty()).then_some((shingles, runs))
    };
    let mut behind = Behind::default();
    pipeline::run(input, Pace::Full, &progress, work, |chunk| {
        for (shingles, runs) in chunk.into_iter().flatten() {
            for (first, count) in runs {
                behind.add(&shingles, (first, count), &counts);
            }
        }
        Ok(())
    })?;
    behind.texts.sort_by_key(|one| std::cmp::Reverse((one.documents, one.shingles)));
    Ok(behind)
}

/// The longest runs of common shingles: the first shingle and the number of each.
fn runs(shingles: &TextShingles, list: &Common) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, hash) in shingles.hashes.iter().enumerate() {
        if list.hashes().binary_search(hash).is_err() {
            continue;
        }
        match runs.last_mut() {
            Some((first, count)) if *first + *count == at => *count += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

impl Behind {
    /// Adds a run, unless all its shingles are known.
    fn add(
        &mut self,
        shingles: &TextShingles,
        (first, count): (usize, usize),
        counts: &HashMap<u64, u64>,
    ) {
        let hashes = shingles.hashes.get(first..first + count).unwrap_or_default();
        if hashes.iter().all(|hash| self.words.contains_key(hash)) {
            return;
        }
        for (at, hash) in hashes.iter().enumerate() {
            self.words.entry(*hash).or_insert_with(|| shingles.text(first + at, 1));
        }
        let documents = hashes.iter().filter_map(|hash| counts.get(hash)).min();
        self.texts.push(CommonText {
            documents: documents.copied().unwrap_or_default(),
            shingles: count,
            text: shingles.text(first, count),
        });
    }
}

fn show(behind: &Behind, learned: &LearnedCommon, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return behind.texts.iter().try_for_each(|text| output.object(text));
    }
    let all = counted(learned.documents, "different text");
    if !behind.texts.is_empty() {
        output.line(format_args!("left out, with the number of texts, of {all}, that have it:"))?;
    }
    for CommonText { documents, text, .. } in behind.texts.iter().take(SHOWN_MAX) {
        output.line(format_args!("{:>9}  {}", grouped(*documents), one_line(text, SHOWN_CHARS)))?;
    }
    if let Some(more @ 1..) = behind.texts.len().checked_sub(SHOWN_MAX) {
        output.line(format_args!("{:>9}  and {} more", "", grouped(more as u64)))?;
    }
    output.line("")
}

/// A text without line ends, cut to this number of characters.
fn one_line(text: &str, chars: usize) -> String {
    let plain = |c: char| if c.is_control() || c.is_whitespace() { ' ' } else { c };
    let mut line: String = text.chars().take(chars).map(plain).collect();
    if text.chars().nth(chars).is_some() {
        line.push_str("...");
    }
    line
}

/// Writes the list, the most frequent shingles first, with their words as comments.
fn write(
    path: &Path,
    list: &Common,
    learned: &LearnedCommon,
    behind: &Behind,
) -> Result<(), Failure> {
    let head = list.to_string();
    let mut text = head.lines().next().unwrap_or_default().to_owned();
    let all = counted(learned.documents, "different text");
    // Writing into memory cannot fail.
    let _ = write!(text, "\n# shingle, and how many of {all} have it\n");
    for one in &learned.shingles {
        let words = behind.words.get(&one.hash).map_or("", String::as_str);
        let words = one_line(words, COMMENT_CHARS);
        let _ = writeln!(text, "{:016x} # {} {words}", one.hash, one.documents);
    }
    let mut target = Target::create(path)?;
    target.write_all(text.as_bytes()).map_err(|error| Failure::writing(path, &error))?;
    target.finish()
}
