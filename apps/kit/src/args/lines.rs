//! Options for JSON lines: as input, and for reading documents again.

use std::path::PathBuf;

use nearkin::{Params, Scheme, Shingles, Sketcher};

use super::rows::RowsGiven;
use crate::ended;
use crate::failure::Failure;
use crate::input::content::Reading;
use crate::input::originals::Originals;
use nearkin_input::fields::Fields;
use nearkin_input::source::RowOptions;

/// Where the lines of `--from` have key and content
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FromFields {
    /// Field of these lines that holds the key [default: id]
    #[arg(long, value_name = "NAME", requires = "from")]
    pub from_key_field: Option<String>,

    /// The keys of these lines are FILE:LINE, as `--line-keys` makes them
    #[arg(long, requires = "from", conflicts_with = "from_key_field")]
    pub from_line_keys: bool,

    /// Take what can be read of damaged files of --from: name them, and end with status 3
    #[arg(long, requires = "from")]
    pub from_lenient: bool,

    /// Field of these lines that holds the text or the items [default: text, items]; may be
    /// repeated for texts, which are joined as with `--text-field`
    #[arg(long, value_name = "NAME", requires = "from")]
    pub from_field: Vec<String>,
}

/// Options for exact similarity
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Exact similarity")]
pub struct ExactGiven {
    /// Read the matched documents again and print their exact similarity; `stale` if a document has
    /// changed since it was added, `missing` if it cannot be read
    ///
    /// Compares shingles: an index of words:N does not see punctuation (C++ and C#, -5 and 5), one
    /// of tokens:N, chars:N or --for code does.
    #[arg(long, group = "read_again")]
    pub exact: bool,

    /// Read documents again from this file of JSON lines (also compressed, or Parquet), by key; may
    /// be repeated [default: from files, whose keys are paths]
    #[arg(long, value_name = "FILE", requires = "read_again")]
    pub from: Vec<PathBuf>,

    /// Where these lines have key and content.
    #[command(flatten)]
    pub from_fields: FromFields,

    /// Minimum exact similarity to print, 0 to 1 or in percent; the index is searched from three
    /// standard errors below it, or from --threshold. Stale and missing documents are always
    /// printed
    #[arg(long, value_name = "T", value_parser = super::values::similarity, requires = "exact")]
    pub at_least: Option<f64>,
}

/// Documents as lines of JSON
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Documents as lines")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub struct LinesGiven {
    /// Read documents from JSON objects in FILE, one per line; `-` is stdin; may be repeated
    ///
    /// FILE may be compressed by gzip or Zstandard, or be a Parquet file, whose rows are then the
    /// lines and whose columns are the fields. The format is recognised by the first bytes of FILE.
    /// Unusable lines are skipped, counted and named.
    #[arg(long, value_name = "FILE", visible_alias = "parquet")]
    pub jsonl: Vec<PathBuf>,

    /// Field that holds the key, a string or an integer [default: id]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    pub key_field: Option<String>,

    /// Take FILE:LINE as key of each line, for lines without a field to name them by
    #[arg(long, requires = "jsonl", conflicts_with = "key_field")]
    pub line_keys: bool,

    /// Field that holds the text [default: text]; may be repeated: the texts are joined
    ///
    /// A name with dots is a path: `data.text` is the field `text` of the object `data`. A path may
    /// lead through a list, and a list of strings is a text: `messages.content` joins the `content`
    /// of all `messages`.
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    pub text_field: Vec<String>,

    /// Field that holds the items of a set, an array of strings and integers; a new index then has
    /// `--shingles items`, and `items` is the default field for such an index
    #[arg(long, value_name = "NAME", requires = "jsonl", conflicts_with = "text_field")]
    pub items_field: Option<String>,

    /// Field that holds the rows of a signature made by another program, an array of integers from
    /// 0 to 2^64 - 1, for an index with `--scheme external:NAME` [default for such an index: rows]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    #[arg(conflicts_with_all = ["text_field", "items_field"])]
    pub rows_field: Option<String>,

    /// Stop with an error at the first line or file that would be skipped; documents before it are
    /// stored
    #[arg(long)]
    pub strict: bool,

    /// Skip any number of lines and rows that cannot be read, and end with status 0; without it,
    /// lines that were skipped end the command with status 3, more than half of them with an error.
    /// If a file is damaged (cut off, overwritten), the command reads its rows before the damage,
    /// names the file, goes on with the next one, and ends with status 3
    #[arg(long, conflicts_with = "strict")]
    pub lenient: bool,

    /// How the rows of tables are read.
    #[command(flatten)]
    pub rows: RowsGiven,

    /// Read the files in ZIP and tar archives, too: each is a document with the key ARCHIVE!NAME.
    /// An archive in an archive is named, not read
    #[arg(long, conflicts_with = "jsonl")]
    pub archives: bool,

    /// Index a file as one text even if it holds JSON lines, a table or Parquet
    #[arg(long, conflicts_with = "jsonl")]
    pub as_text: bool,
}

/// What lines bring along
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Documents as lines")]
pub struct StoredGiven {
    /// Field whose string or integer is stored as the payload of the document, at most 64 KiB; a
    /// line without it keeps the stored one
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    pub payload_field: Option<String>,

    /// Field with the time of the document: a day or a second in UTC (2024-12-31T23:59:59Z), or
    /// milliseconds since 1970 [default, also for a line without it: the time of the run]
    #[arg(long, value_name = "NAME", requires = "jsonl")]
    pub time_field: Option<String>,
}

impl StoredGiven {
    /// The fields to read in each line, with these.
    pub fn with(&self, fields: Fields, lines: &LinesGiven) -> Result<Fields, Failure> {
        let (payload, time) = (self.payload_field.clone(), self.time_field.clone());
        if lines.jsonl.is_empty() && (payload.is_some() || time.is_some()) {
            return Err(no_lines());
        }
        Ok(fields.with_stored(payload, time))
    }
}

/// clap cannot reject this: `--jsonl` conflicts with PATH, and clap does not check `requires` for
/// an option that conflicts.
fn no_lines() -> Failure {
    Failure::new("options for fields apply to --jsonl only; add --jsonl FILE or drop them", "")
}

impl LinesGiven {
    /// How rows are read.
    pub fn row_options(&self) -> RowOptions {
        self.rows.options(self.lenient)
    }

    /// The fields to read in each line for an index with these parameters. Fails if the index holds
    /// a different kind of content than the input, because the index would refuse every document.
    pub fn fields(&self, params: &Params) -> Result<Fields, Failure> {
        let named = [&self.key_field, &self.items_field, &self.rows_field];
        let is_named = named.into_iter().any(Option::is_some) || !self.text_field.is_empty();
        if self.jsonl.is_empty() && (is_named || self.line_keys) {
            return Err(no_lines());
        }
        let key = self.key_field.as_deref().unwrap_or("id");
        if let Scheme::External(_) = params.scheme() {
            if self.jsonl.is_empty() || !self.text_field.is_empty() || self.items_field.is_some() {
                return Err(Failure::new(
                    format!(
                        "the index holds signatures from another program ({}) and accepts no texts \
                         or items",
                        params.scheme()
                    ),
                    "give signature rows with --jsonl FILE --rows-field NAME, or use another index",
                ));
            }
            let rows = self.rows_field.as_deref().unwrap_or("rows");
            return Ok(by_line(Fields::rows(key, rows), self.line_keys));
        }
        if self.rows_field.is_some() {
            return Err(Failure::new(
                format!(
                    "the index computes its signatures itself (scheme {}) and accepts no rows",
                    params.scheme()
                ),
                "create an index for rows with `--scheme external:NAME --hashes K`",
            ));
        }
        let shingles = params.shingles();
        let items = shingles == Shingles::Items;
        if self.items_field.is_some() && !items {
            return Err(Failure::new(
                format!("--items-field gives sets, but the index compares texts by {shingles}"),
                "use --text-field, or another index with `--shingles items`",
            ));
        }
        if items && (self.jsonl.is_empty() || !self.text_field.is_empty()) {
            return Err(Failure::new(
                "the index compares sets of items, not texts",
                "give sets with --jsonl FILE --items-field NAME, or use another index",
            ));
        }
        let fields = if items {
            Fields::items(key, self.items_field.as_deref().unwrap_or("items"))
        } else {
            texts(key, &self.text_field, "--text-field")?
        };
        Ok(by_line(fields, self.line_keys))
    }
}

/// The fields of a key and of texts that are joined.
fn texts(key: &str, names: &[String], option: &str) -> Result<Fields, Failure> {
    Fields::texts(key, names)
        .map_err(|why| Failure::new(why, format!("give fewer times {option} NAME")))
}

fn by_line(fields: Fields, is_by_line: bool) -> Fields {
    if is_by_line { fields.with_line_keys() } else { fields }
}

impl ExactGiven {
    /// Texts that are read again, from lines if there are any, by the same code as for `--exact`.
    pub fn of_texts(from: &[PathBuf], from_fields: &FromFields) -> Self {
        let (from, from_fields) = (from.to_vec(), from_fields.clone());
        Self { exact: true, from, from_fields, at_least: None }
    }

    /// Where the documents of an index can be read again.
    pub fn originals(
        &self,
        params: &Params,
        sketcher: Sketcher,
        rows: &RowsGiven,
    ) -> Result<Originals, Failure> {
        let reading = Reading::new(sketcher, self.fields(params)?);
        let rows = rows.options(self.from_fields.from_lenient);
        let originals = Originals::new(reading, &self.from, &rows)?;
        originals.damaged().iter().for_each(ended::note_damaged);
        Ok(originals)
    }

    /// The names of the key and content fields in the lines that are read again
    /// (`--from-key-field`, `--from-field`).
    fn fields(&self, params: &Params) -> Result<Fields, Failure> {
        if let Scheme::External(_) = params.scheme() {
            return Err(Failure::new(
                format!("{} signatures come from another program", params.scheme()),
                "drop --exact: only the program that made the signatures can compare the documents",
            ));
        }
        let given = &self.from_fields;
        let key = given.from_key_field.as_deref().unwrap_or("id");
        if params.shingles() != Shingles::Items {
            let fields = texts(key, &given.from_field, "--from-field")?;
            return Ok(by_line(fields, given.from_line_keys));
        }
        if self.from.is_empty() {
            return Err(Failure::new(
                "the index holds sets of items, which cannot be read from files",
                "give the lines that they were added from: --from FILE.jsonl",
            ));
        }
        let [items] = &given.from_field[..] else {
            return match given.from_field.len() {
                0 => Ok(by_line(Fields::items(key, "items"), given.from_line_keys)),
                _ => Err(Failure::new("a set has one field", "give --from-field once")),
            };
        };
        Ok(by_line(Fields::items(key, items), given.from_line_keys))
    }
}
