//! The format of OUT. It is chosen by the name of OUT, and must be able to hold everything in the
//! inputs.

use std::path::{Path, PathBuf};

use nearkin_input::Error;
use nearkin_input::raw::STDIN;
use nearkin_input::source;
use nearkin_input::source::{RowOptions, SourceKind};
use nearkin_kit::failure::Failure;

/// The format of OUT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputFormat {
    /// JSON lines: copied from the input, or converted from rows.
    Lines,
    /// A table: rows of input tables, byte for byte.
    Table,
    /// Parquet: rows of Parquet files with any column types.
    Parquet,
}

/// File name endings of JSON lines. An unknown ending also means JSON lines if all inputs are JSON
/// lines.
const OF_LINES: [&str; 5] = ["jsonl", "ndjson", "ldjson", "json", "txt"];

/// Endings of formats and compressions that cannot be written.
const OF_OTHERS: [&str; 24] = [
    "arrow", "feather", "orc", "avro", "xlsx", "xls", "ods", "psv", "html", "xml", "yaml",
    "sqlite", "db", "pdf", "tar", "xz", "bz2", "lz4", "lzma", "br", "sz", "zip", "7z", "z",
];

/// Chooses the format of OUT; fails if it cannot hold the inputs.
pub(super) fn choose(
    out: &Path,
    files: &[PathBuf],
    rows: &RowOptions,
) -> Result<OutputFormat, Failure> {
    let kinds = files.iter().map(|path| source::kind(path, rows)).collect::<Result<Vec<_>, _>>()?;
    let other =
        |kind: SourceKind| kinds.iter().position(|found| *found != kind).map(|at| &files[at]);
    let (ending, is_packed) = ending(out);
    let name = out.display();
    match ending.as_str() {
        "parquet" | "pq" => {
            if is_packed {
                return Err(Failure::new(
                    format!("{name}: Parquet is compressed internally"),
                    "give a name that ends in .parquet",
                ));
            }
            if let Some(other) = other(SourceKind::Parquet) {
                return Err(cannot_hold(out, other, "Parquet"));
            }
            source::check_same_columns(files, rows.lenient)?;
            Ok(OutputFormat::Parquet)
        }
        "csv" | "tsv" | "tab" => {
            if let Some(other) = other(SourceKind::Table) {
                return Err(cannot_hold(out, other, "a table"));
            }
            check_same_header(files, rows)?;
            if ending != "csv" {
                check_tabs(out, files, rows)?;
            }
            Ok(OutputFormat::Table)
        }
        "" if out.as_os_str() == STDIN && other(SourceKind::Table).is_none() => {
            check_same_header(files, rows)?;
            Ok(OutputFormat::Table)
        }
        ending => {
            let is_of_lines = OF_LINES.contains(&ending) || out.as_os_str() == STDIN;
            if OF_OTHERS.contains(&ending) || (!is_of_lines && other(SourceKind::Lines).is_some()) {
                return Err(Failure::new(
                    format!("{name}: .{ending} is not written"),
                    "use the ending .jsonl, or that of the input: .csv, .tsv, .parquet; \
                     compressed: .gz, .zst",
                ));
            }
            for (path, _) in
                files.iter().zip(&kinds).filter(|(_, kind)| **kind == SourceKind::Parquet)
            {
                check_as_json(path, out, rows.lenient)?;
            }
            Ok(OutputFormat::Lines)
        }
    }
}

/// Fails if the name of DROPPED, which is JSON lines, says another format.
pub(super) fn check_dropped(dropped: &Path) -> Result<(), Failure> {
    let (ending, _) = ending(dropped);
    let of_rows = ["csv", "tsv", "tab", "parquet", "pq"];
    if OF_OTHERS.contains(&&*ending) || of_rows.contains(&&*ending) {
        return Err(Failure::new(
            format!("{}: the dropped lines are written as JSON lines", dropped.display()),
            "use the ending .jsonl, compressed .jsonl.gz or .jsonl.zst",
        ));
    }
    Ok(())
}

fn check_as_json(path: &Path, out: &Path, lenient: bool) -> Result<(), Failure> {
    let lost = Error::sound(source::not_for_json(path), lenient)?.unwrap_or_default();
    if lost.is_empty() {
        return Ok(());
    }
    let lost = lost.join(", ");
    Err(Failure::new(
        format!(
            "{} as lines of JSON cannot hold all columns of {}: {lost}",
            out.display(),
            path.display()
        ),
        "use --out OUT.parquet, which copies rows unchanged",
    ))
}

fn cannot_hold(out: &Path, input: &Path, what: &str) -> Failure {
    Failure::new(
        format!("{} would be {what}, but {} is not", out.display(), input.display()),
        "give OUT the same extension as the input, or .jsonl",
    )
}

fn check_same_header(files: &[PathBuf], rows: &RowOptions) -> Result<(), Failure> {
    let mut first = None;
    // Stdin can be read only once; its rows are compared with the header when they are read.
    for path in files.iter().filter(|path| path.as_os_str() != STDIN) {
        let Some(table) = Error::sound(source::open_table(path, rows), rows.lenient)? else {
            continue;
        };
        let header = table.names().to_vec();
        let (first, of) = first.get_or_insert_with(|| (header.clone(), path));
        if *first != header {
            return Err(Failure::new(
                format!("{} and {} have different columns", of.display(), path.display()),
                "write lines of JSON instead (--out OUT.jsonl), or deduplicate in two runs",
            ));
        }
    }
    Ok(())
}

/// Rows are copied unchanged. So if the name of OUT promises tabs, all inputs must be separated by
/// tabs.
fn check_tabs(out: &Path, files: &[PathBuf], rows: &RowOptions) -> Result<(), Failure> {
    for path in files.iter().filter(|path| path.as_os_str() != STDIN) {
        let table = Error::sound(source::open_table(path, rows), rows.lenient)?;
        if table.is_some_and(|table| table.delimiter() != b'\t') {
            return Err(Failure::new(
                format!(
                    "{} would not be separated by tabs: {} is not",
                    out.display(),
                    path.display()
                ),
                "give OUT the ending .csv, or .jsonl",
            ));
        }
    }
    Ok(())
}

/// The ending of a file name without its compression suffix, and whether it has such a suffix.
fn ending(path: &Path) -> (String, bool) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".zst", ".zstd"].iter().find_map(|packed| name.strip_suffix(packed));
    let ending = |name: &str| name.rsplit_once('.').map_or("", |(_, end)| end).to_owned();
    (ending(plain.unwrap_or(&name)), plain.is_some())
}
