//! Rows that contain a question (`--without`): training data without test questions.
//!
//! The library finds them. This module reads the questions, and says which one a row contains.

use std::path::PathBuf;

use nearkin::{
    ContainsQuestion, Params, QuestionFound, Questions, QuestionsBuilder, Shingles, Sketcher,
};
use serde::{Deserialize, Serialize};

use crate::args::{Dedup, WithoutGiven};
use nearkin_input::fields::Fields;
use nearkin_input::raw::{Origin, Reason, STDIN};
use nearkin_kit::checkpoint::InputFile;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::Reading;
use nearkin_kit::input::documents::LineFiles;
use nearkin_kit::input::shards;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, JsonBytes, counted};

/// Number of words below which a question is never found.
const WORDS_MIN: usize = 3;
/// Maximum number of bytes of a row that are shown as evidence.
const PASSAGE_BYTES_MAX: usize = 400;

/// The questions that rows must not contain.
pub(super) struct Without {
    questions: Questions,
    names: Vec<QuestionName>,
    files: Vec<String>,
}

/// The key of a question, and where it is.
struct QuestionName {
    key: Box<[u8]>,
    file: u32,
    line: u64,
}

/// What the rows of a run depend on.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WithoutPlan {
    files: Option<Vec<InputFile>>,
    fields: Fields,
    rule: String,
}

/// The question that a row contains, for DROPPED.
#[derive(Serialize)]
struct QuestionEvidence<'a> {
    question: Option<JsonBytes<'a>>,
    question_file: &'a str,
    question_line: u64,
    question_words: usize,
    words_shared: usize,
    longest_run: usize,
    at_word: usize,
    at_byte: usize,
    passage: &'a str,
    questions: usize,
}

impl WithoutPlan {
    pub(super) fn new(args: &Dedup) -> Result<Option<Self>, Failure> {
        let given = &args.without;
        if given.without.is_empty() {
            return Ok(None);
        }
        let files = InputFile::all(&shards::expand(&given.without)?)?;
        let rule = format!("{:?}", rule(given));
        Ok(Some(Self { files, fields: fields(args)?, rule }))
    }
}

fn rule(given: &WithoutGiven) -> ContainsQuestion {
    let rule = ContainsQuestion::default();
    let rule = given.without_share.map_or(rule, |share| rule.share(share));
    given.without_words.map_or(rule, |words| rule.run(words as usize))
}

/// The fields of a question. Without a name, those of the rows.
fn fields(args: &Dedup) -> Result<Fields, Failure> {
    let given = &args.without;
    let texts =
        if given.without_field.is_empty() { &args.text_field } else { &given.without_field };
    let key = given.without_key_field.as_ref().or(args.key_field.as_ref());
    let fields = Fields::texts(key.map_or("id", String::as_str), texts);
    let fields = fields.map_err(|why| Failure::new(why, "give fewer times --without-field NAME"));
    Ok(fields?.with_key_optional())
}

impl Without {
    /// Reads the questions; `None` if there are no files of them.
    pub(super) fn new(args: &Dedup, params: &Params) -> Result<Option<Self>, Failure> {
        let paths = shards::expand(&args.without.without)?;
        if paths.is_empty() {
            return Ok(None);
        }
        if params.shingles() == Shingles::Items {
            return Err(Failure::new(
                "--without finds questions in texts, and these rows are sets",
                "give a --text-field, or drop --without",
            ));
        }
        if paths.iter().any(|path| path.as_os_str() == STDIN) {
            return Err(Failure::new(
                "--without reads files, not stdin",
                "save the questions first",
            ));
        }
        let (sketcher, fields) = (Sketcher::new(params), fields(args)?);
        let mut questions = QuestionsBuilder::new(&sketcher, rule(&args.without))?;
        let rows = args.rows.options(args.lenient);
        let mut lines = LineFiles::new(&paths, rows)?.with_columns(fields.wanted());
        let reading = Reading::new(sketcher, fields);
        let progress = Progress::start("reading questions", Unit::Bytes, lines.bytes());
        let (mut names, mut short, mut skipped) = (Vec::new(), 0, 0);
        while let Some(raw) = lines.next()? {
            interrupt::check()?;
            let Origin::Line { file_number: file, number: line, .. } = raw.origin else { continue };
            let (key, text) = match reading.text(raw) {
                Ok(question) => question,
                Err(one) if args.lenient && !matches!(one.reason, Reason::Damaged(_)) => {
                    skipped += 1;
                    continue;
                }
                Err(one) => return Err(unreadable(&one.to_string())),
            };
            short += u64::from(questions.add(&text)? < WORDS_MIN);
            names.push(QuestionName { key: key.into(), file, line });
            if names.len().is_multiple_of(1_024) {
                progress.reached(lines.bytes_taken());
            }
        }
        drop(progress);
        let questions = questions.build();
        note(&questions, short, skipped);
        let files = paths.iter().map(|path| path.display().to_string()).collect();
        Ok(Some(Self { questions, names, files }))
    }

    /// What is known about the question that a row contains, as JSON; `None` if it contains none.
    pub(super) fn find(&self, text: &str) -> Option<Vec<u8>> {
        let QuestionFound { question, words, shared, longest, word, bytes, questions, .. } =
            self.questions.find(text)?;
        let name = self.names.get(question)?;
        let mut end = bytes.end.min(bytes.start + PASSAGE_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let file = self.files.get(name.file as usize).map_or("", String::as_str);
        let evidence = QuestionEvidence {
            question: (!name.key.is_empty()).then_some(JsonBytes(&name.key)),
            question_file: file,
            question_line: name.line,
            question_words: words,
            words_shared: shared,
            longest_run: longest,
            at_word: word,
            at_byte: bytes.start,
            passage: text.get(bytes.start..end).unwrap_or_default(),
            questions,
        };
        serde_json::to_vec(&evidence).ok()
    }
}

fn unreadable(what: &str) -> Failure {
    Failure::new(
        format!("a question cannot be read: {what}"),
        "check --without-field NAME, or fix the line; --lenient leaves such questions out",
    )
}

fn note(questions: &Questions, short: u64, skipped: u64) {
    let mut what = vec![format!(
        "{}, {} of memory",
        counted(questions.len() as u64, "question"),
        output::bytes(questions.bytes() as u64)
    )];
    if short > 0 {
        what.push(format!("{short} of fewer than {WORDS_MIN} words are not looked for"));
    }
    if skipped > 0 {
        what.push(format!("{} cannot be read: left out", counted(skipped, "line")));
    }
    output::note(what.join("; "));
}

/// The files of questions.
pub(super) fn files(args: &Dedup) -> Result<Vec<PathBuf>, Failure> {
    shards::expand(&args.without.without)
}
