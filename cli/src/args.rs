//! The command line: all commands, options and help texts.
//!
//! This module knows spelling and ranges of options, not what commands do. Each command's help ends
//! with examples; `cli/tests/cli.rs` runs all of them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgGroup, Parser, Subcommand};
use nearkin::{Alike, Conditions};

use nearkin_folders::args::apply::Apply;
use nearkin_folders::args::dups::Dups;
use nearkin_folders::args::mirror::Mirror;
use nearkin_kit::args::conditions::ConditionsGiven;
use nearkin_kit::args::lines::{ExactGiven, LinesGiven, StoredGiven};
use nearkin_kit::args::machine::MachineGiven;
use nearkin_kit::args::params::Given;
use nearkin_kit::args::rows::RowsGiven;
use nearkin_kit::args::table::TableGiven;
use nearkin_kit::args::ttl::TtlGiven;
use nearkin_kit::args::values::{self, ClusterOrder, PairColumn, column, order};
use nearkin_server::args::audit::Audit;
use nearkin_server::args::mcp::Mcp;
use nearkin_server::args::report::Report;
use nearkin_server::args::serve::Serve;

mod admit;
mod dedup;
mod list;
mod manual;
mod remove;
mod transfer;
mod tune;
mod variables;
mod version;
mod without;

pub(crate) use admit::Admit;
pub(crate) use dedup::Dedup;
pub(crate) use list::{Get, List};
pub(crate) use manual::{Completions, Man};
pub(crate) use remove::Remove;
pub(crate) use transfer::{Export, Import, Rebuild};
pub(crate) use tune::Tune;
pub(crate) use without::WithoutGiven;

/// Heading of the options of all commands; they follow those of the command.
const EVERYWHERE: &str = "Options of every command";

/// Finds near-duplicates with an on-disk index of MinHash signatures
///
/// INDEX is a folder that nearkin creates and manages. Results go to stdout, everything else to
/// stderr. Exit status: 0 success (also if nothing matched), 1 `verify` or `salvage` found damage,
/// or a key that was named is missing, 2 error, 3 lines that could not be read were skipped, or
/// every file was, or `apply` left files of a plan, 130 stopped by Ctrl-C or SIGTERM: run the same
/// command again to continue.
/// `serve` and `mirror --watch` run until they are stopped and then exit with 0. With --json an
/// error is an object on stderr, too.
#[derive(Debug, Parser)]
#[command(name = "nearkin", version, long_version = version::long(), max_term_width = 100)]
#[command(after_help = "Start with:\n  nearkin dups docs\n  nearkin add my.nearkin docs\n  \
    nearkin pairs my.nearkin --sort\n  nearkin report my.nearkin --out report.html\n\n\
    `nearkin COMMAND --help` has examples of each.")]
pub(crate) struct Args {
    /// Print one JSON object per line instead of text
    ///
    /// A key or payload that is not UTF-8 is `{"base64": "..."}` in JSON, in place of a string.
    /// Tables print invalid UTF-8 as U+FFFD.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,

    /// Print only results and errors, and warn if a query missed matches
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = EVERYWHERE)]
    pub(crate) quiet: bool,

    /// Name every file and line that is skipped, added or removed
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    pub(crate) verbose: bool,

    /// Threads that sketch and compare, half as many besides that decide in dedup [default: one per
    /// processor] [env: NEARKIN_THREADS]
    #[arg(long, global = true, value_name = "N", help_heading = EVERYWHERE)]
    #[arg(value_parser = values::threads)]
    pub(crate) threads: Option<usize>,

    /// Read PDF with this program, which gets the file on stdin and prints the text, such as
    /// pdftotext; use the same program in every run, or all PDF files are read again [env:
    /// NEARKIN_PDF_COMMAND]
    #[arg(long, global = true, value_name = "COMMAND", help_heading = "Formats")]
    pub(crate) pdf_command: Option<OsString>,

    /// Read all text files, pages, messages and rows in this encoding, such as windows-1251,
    /// whatever they declare [default: detected for each file] [env: NEARKIN_ENCODING]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Formats")]
    #[arg(value_parser = values::encoding)]
    pub(crate) encoding: Option<&'static encoding_rs::Encoding>,

    /// Read Zstandard files whose window is as large as this, such as 2G for files of `zstd
    /// --long=31`: so much memory is taken for each [default: 128M]
    #[arg(long, global = true, value_name = "SIZE", help_heading = "Formats")]
    #[arg(value_parser = values::bytes)]
    pub(crate) zstd_window: Option<u64>,

    /// Quotations, signatures and the footers of mailing lists in e-mail: drop, or keep them in the
    /// text; use the same in every run, or all files are read again [default: drop] [env:
    /// NEARKIN_QUOTED]
    #[arg(long, global = true, value_name = "drop|keep", help_heading = "Formats")]
    #[arg(value_parser = values::quoted)]
    pub(crate) quoted: Option<values::Quoted>,

    #[command(flatten)]
    pub(crate) machine: MachineGiven,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Ordered as in the help: commands that add, that query, that manage an index.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Add(Add),
    Mirror(Mirror),
    Admit(Admit),
    Dedup(Dedup),
    Audit(Audit),
    Dups(Dups),
    Apply(Apply),
    Query(Query),
    List(List),
    Get(Get),
    Pairs(Pairs),
    Clusters(Clusters),
    Report(Report),
    Serve(Serve),
    Mcp(Mcp),
    Create(Create),
    Remove(Remove),
    Stats(Stats),
    Verify(Verify),
    Compact(Compact),
    Backup(Backup),
    Salvage(Salvage),
    Export(Export),
    Import(Import),
    Rebuild(Rebuild),
    Tune(Tune),
    Completions(Completions),
    Man(Man),
}

/// Create an empty index
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  nearkin create code.nearkin --threshold 0.8 --shingles tokens:5"
)]
pub(crate) struct Create {
    /// Folder of the index; must be new or empty
    pub(crate) index: PathBuf,

    #[command(flatten)]
    pub(crate) given: Given,
}

/// Add documents: files, folders, JSON lines, or sets from table rows
///
/// Creates the index if there is none. Each file is one document. Its key is its path as given,
/// without `./`, `//` and `..`, and with `/` between folders. A folder stands for all files in it,
/// except names that begin with a dot; symbolic links in it are not followed. Text is extracted
/// from HTML, PDF and e-mail, and old encodings are detected (docs/guide/MIRROR.md). Some files are
/// skipped, counted and named: binary files (a NUL byte in the first 8 KiB), empty or unreadable
/// files, and files above 64 MiB. Lines are skipped in the same way if they are not a JSON object,
/// lack a field, or are nested more than 127 levels deep. Integers from -2^63 to 2^64 - 1 are read;
/// write larger ones as strings. Adding a key again replaces its document.
///
/// Documents are written in batches; each batch is durable before the next one. After an
/// interruption run the same command again: it skips what is already stored.
#[derive(Debug, clap::Args)]
#[command(override_usage = "nearkin add [OPTIONS] <INDEX> <PATH>...\n       \
    nearkin add [OPTIONS] <INDEX> --jsonl <FILE>\n       \
    nearkin add [OPTIONS] <INDEX> --transactions <FILE> --columns <KEY,ITEM>")]
#[command(after_help = "Examples:\n  nearkin add my.nearkin docs\n  \
    nearkin add papers.nearkin --jsonl papers.jsonl --shingles chars:5\n  \
    nearkin add carts.nearkin --jsonl carts.jsonl --items-field items --threshold 0.5\n  \
    nearkin add users.nearkin --transactions seen.csv --columns user,film --threshold 0.3\n  \
    nearkin add news.nearkin --jsonl papers.jsonl --ttl 30d")]
pub(crate) struct Add {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Files and folders to add
    #[arg(value_name = "PATH", required_unless_present_any = ["jsonl", "transactions"])]
    #[arg(conflicts_with_all = ["jsonl", "transactions"])]
    pub(crate) paths: Vec<PathBuf>,

    /// Include files and folders in a folder whose names begin with a dot (never .git)
    #[arg(long)]
    pub(crate) hidden: bool,

    #[command(flatten)]
    pub(crate) lines: LinesGiven,

    #[command(flatten)]
    pub(crate) stored: StoredGiven,

    #[command(flatten)]
    pub(crate) table: TableGiven,

    #[command(flatten)]
    pub(crate) ttl: TtlGiven,

    #[command(flatten)]
    pub(crate) given: Given,
}

/// Find documents similar to a file, a text, stored documents, or each line of a file
///
/// A query by content also finds a document that is stored under the same name. A query by key
/// never returns the key itself. A query by several keys gives one answer, in which each match
/// counts with its highest similarity. Matches are ordered by similarity, equal ones by key.
/// `--threshold 0` lists the most similar candidates, however low their similarity.
///
/// `--jsonl` queries by each line, on all cores, and answers in the order of the lines: use it to
/// compare new documents with an archive before or without adding them.
#[derive(Debug, clap::Args)]
#[command(mut_arg("threshold", |arg| arg.help(
    "Minimum similarity of a match, 0 to 1 or in percent [default: the index's own]"
)))]
#[command(group = ArgGroup::new("what").required(true).args([
    "files", "text", "key", "keys", "jsonl",
]))]
#[command(override_usage = "nearkin query [OPTIONS] <INDEX> <FILE>...\n       \
    nearkin query [OPTIONS] <INDEX> --text <TEXT> | --key <KEY> | --keys <KEY,KEY...> | \
    --jsonl <FILE>")]
#[command(after_help = "Examples:\n  nearkin query my.nearkin docs/mit.txt\n  \
    nearkin query my.nearkin --key docs/mit.txt --threshold 0.5 --limit 3\n  \
    nearkin query my.nearkin --text \"permission is hereby granted\"\n  \
    nearkin query my.nearkin --keys docs/mit.txt,docs/isc.txt --threshold 0 --limit 5\n  \
    nearkin query my.nearkin docs/mit.txt --exact\n  \
    nearkin query my.nearkin docs/mit.txt --prefix docs/ --after 2024-12-31 --deadline 2s\n  \
    nearkin query papers.nearkin --jsonl papers.jsonl --json")]
pub(crate) struct Query {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Files to compare with the index, or folders of them; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Find documents similar to this text
    #[arg(long)]
    pub(crate) text: Option<String>,

    /// Find documents similar to the one with this key
    #[arg(long)]
    pub(crate) key: Option<OsString>,

    /// Find documents similar to any of these keys, without these keys themselves; separate keys by
    /// commas, or repeat the option
    #[arg(long, value_name = "KEY,KEY...", value_delimiter = ',')]
    pub(crate) keys: Vec<OsString>,

    #[command(flatten)]
    pub(crate) lines: LinesGiven,

    #[command(flatten)]
    pub(crate) exact: ExactGiven,

    /// Print the quoted words of the query and of the stored text (passage indexes only). The
    /// stored text is printed only if it can be read again: a file by its path, a line with --from
    #[arg(long, group = "read_again")]
    pub(crate) show: bool,

    #[command(flatten)]
    pub(crate) conditions: ConditionsGiven,

    /// Maximum candidates to compare per query: bounds the time where very many documents are
    /// similar; warns if matches may be missing [default: all]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) max_candidates: Option<usize>,

    /// Maximum matches to print per query
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: usize,
}

impl Query {
    /// The note on an answer that is not complete.
    pub(crate) fn note_on_incomplete(&self) -> &'static str {
        self.conditions.note_on_incomplete(self.max_candidates.is_some())
    }

    /// The conditions of a search that begins now.
    pub(crate) fn conditions(&self, alike: Alike) -> Conditions<'static> {
        let candidates = self.max_candidates.unwrap_or(usize::MAX);
        self.conditions.conditions(alike).max_candidates(candidates)
    }
}

/// Print all pairs of similar documents
#[derive(Debug, clap::Args)]
#[command(mut_arg("threshold", |arg| arg.help(
    "Minimum similarity of a pair, 0 to 1 or in percent [default: the index's own]"
)))]
#[command(after_help = "Examples:\n  nearkin pairs my.nearkin --threshold 0.8 --sort\n  \
    nearkin pairs my.nearkin --exact --at-least 0.7 --sort=exact\n  \
    nearkin pairs my.nearkin --prefix docs/\n  \
    nearkin pairs my.nearkin --collapse")]
pub(crate) struct Pairs {
    /// Folder of the index
    pub(crate) index: PathBuf,

    #[command(flatten)]
    pub(crate) conditions: ConditionsGiven,

    /// Print the most similar pairs first, equal ones by key; `--sort=exact` and `--sort=contained`
    /// sort by these columns
    ///
    /// Holds all pairs in memory, about 100 bytes plus two keys each. Without this option pairs are
    /// printed as they are found, in no particular order, and memory stays small.
    #[arg(long, value_name = "BY", value_parser = column(), num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "similarity")]
    #[arg(requires_if("exact", "exact"), requires_if("contained", "contained"))]
    pub(crate) sort: Option<PairColumn>,

    /// Maximum pairs to print; with --sort the most similar ones [default: all]
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "collapse")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,

    /// Treat all documents with equal signatures as one crowd, printed as its smallest key and its
    /// number of documents; pairs are then pairs of crowds
    ///
    /// Without it, n copies make n (n - 1) / 2 pairs. Takes 4 bytes of memory per document.
    #[arg(long, conflicts_with = "exact")]
    pub(crate) collapse: bool,

    #[command(flatten)]
    pub(crate) exact: ExactGiven,

    #[command(flatten)]
    pub(crate) rows: RowsGiven,
}

/// Print clusters: groups of documents connected by similar pairs
///
/// Each group starts with its representative (the document with the smallest key), its size, and
/// the days on which documents were added or last replaced; `--json` has the time of each document
/// in milliseconds UTC. The other documents follow, each with its similarity to the representative.
/// Two documents of a group need not be similar to each other: a chain of similar documents may
/// connect them.
#[derive(Debug, clap::Args)]
#[command(mut_arg("threshold", |arg| arg.help(
    "Minimum similarity that connects two documents, 0 to 1 or in percent [default: the \
     index's own]"
)))]
#[command(after_help = "Examples:\n  nearkin clusters my.nearkin --threshold 0.9\n  \
    nearkin clusters my.nearkin --sort size --limit 10")]
pub(crate) struct Clusters {
    /// Folder of the index
    pub(crate) index: PathBuf,

    #[command(flatten)]
    pub(crate) conditions: ConditionsGiven,

    #[command(flatten)]
    pub(crate) exact: ExactGiven,

    #[command(flatten)]
    pub(crate) rows: RowsGiven,

    /// List only documents that are similar to the first of their group, not those that only a
    /// chain of others joins with it
    #[arg(long)]
    pub(crate) direct: bool,

    /// Sort groups by size or by mean similarity, highest first; without it groups are printed as
    /// they are found. Holds all keys of groups in memory
    #[arg(long, value_name = "BY", value_parser = order())]
    pub(crate) sort: Option<ClusterOrder>,

    /// Maximum groups to print [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) limit: Option<usize>,
}

/// Print size, state and parameters of an index
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin stats my.nearkin")]
pub(crate) struct Stats {
    /// Folder of the index
    pub(crate) index: PathBuf,
}

/// Check a whole index for damage
///
/// Prints each damaged place. Exit status 1 if there is damage.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin verify my.nearkin")]
pub(crate) struct Verify {
    /// Folder of the index
    pub(crate) index: PathBuf,
}

/// Merge the files of an index into one, and free the space of dead documents
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin compact my.nearkin\n  \
    nearkin compact my.nearkin --ttl 90d")]
pub(crate) struct Compact {
    /// Folder of the index
    pub(crate) index: PathBuf,

    #[command(flatten)]
    pub(crate) ttl: TtlGiven,
}

/// Copy an index to a new folder
///
/// Copies the current state, even while others write. Index files never change, so they are
/// hard-linked where possible and copied elsewhere. Damage to a hard-linked file affects both
/// folders: let a backup program copy the new folder to another disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin backup my.nearkin monday.nearkin")]
pub(crate) struct Backup {
    /// Folder of the index
    pub(crate) index: PathBuf,

    /// Folder of the copy; must be new or empty
    pub(crate) folder: PathBuf,
}

/// Copy everything readable from a damaged index to a new one
///
/// The damaged index is not changed. Losses are counted and named. If removals were lost, removed
/// documents may return; these are counted too. Parameters are needed only if the index has lost
/// its catalog and the copy of its parameters. Exit status 1 if anything was damaged.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearkin salvage my.nearkin saved.nearkin")]
pub(crate) struct Salvage {
    /// Folder of the damaged index
    pub(crate) index: PathBuf,

    /// Folder of the new index; must be new or empty
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) given: Given,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    fn refused(line: &str) -> String {
        Args::try_parse_from(line.split(' ')).unwrap_err().to_string()
    }

    #[test]
    fn add_wants_either_paths_or_lines() {
        assert!(refused("nearkin add i").contains("PATH"));
        assert!(refused("nearkin add i a --jsonl b").contains("cannot be used with"));
        let args = Args::try_parse_from("nearkin add i --jsonl - --key-field k".split(' '));
        let Command::Add(add) = args.unwrap().command else { panic!("not add") };
        assert_eq!(add.lines.jsonl, [PathBuf::from("-")]);
    }

    #[test]
    fn query_wants_exactly_one_thing() {
        assert!(refused("nearkin query i").contains("--text"));
        assert!(refused("nearkin query i --text a --key b").contains("cannot be used with"));
        assert!(refused("nearkin query i a --text b").contains("cannot be used with"));
        assert!(Args::try_parse_from("nearkin query i a b c --json".split(' ')).is_ok());
    }

    #[test]
    fn minus_zero_is_zero() {
        assert_eq!(values::similarity("-0").unwrap().to_string(), "0");
        assert_eq!(values::similarity("-0.0").unwrap().to_string(), "0");
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for threshold in ["-0.1", "1.01", "NaN", "x"] {
            let line = format!("nearkin pairs i --threshold={threshold}");
            assert!(refused(&line).contains("from 0 to 1"), "{threshold}");
        }
        assert!(refused("nearkin query i a --limit 0").contains("limit"));
        assert!(refused("nearkin add i a --bands 4").contains("--rows-per-band"));
    }
}
