//! "You already have this": reports near-duplicates in a folder of text files, as a desktop program
//! would.
//!
//! `cargo run --release --example already_have -- FOLDER [INDEX]`. Indexes the files that are new
//! or changed since the last run, reports those that are nearly equal to another file, and removes
//! deleted files from the index. INDEX is FOLDER.nearkin by default.
//!
//! Ctrl-C needs no handler: every insert is durable when it returns, so the index is intact at any
//! moment, and the next run continues where this run stopped.

use nearkin::{Batch, Edit, ErrorKind, Index, Options, Params};
use std::collections::HashSet;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::UNIX_EPOCH;
use std::{env, fs};

/// Minimum similarity of two files that count as the same.
const SAME: f64 = 0.8;

/// Larger files are skipped.
const FILE_BYTES_MAX: u64 = 16 << 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(Path::new("already_have"), &*error);
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: already_have FOLDER [INDEX]")?);
    let dir = arguments.next().map_or_else(|| folder.with_extension("nearkin"), PathBuf::from);

    // Scan the folder before creating the index: if the folder is missing, for example because its
    // drive is not mounted, this fails and nothing is created.
    let mut files = Vec::new();
    let complete = collect(&folder, &dir, &mut files)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;

    // The index is built for a lower similarity than `SAME`, so that it finds nearly all pairs that
    // reach `SAME`.
    let params = Params::for_threshold(SAME - 0.1).build()?;
    let index = Index::open_or_create(&dir, &params, Options::default())?;
    let mut out = io::stdout().lock();
    let mut documents = HashSet::new();
    let mut indexed = 0;
    for path in &files {
        let key = path.to_string_lossy();
        match look_at(&index, path, &key) {
            Ok(File::Indexed { like }) => {
                indexed += 1;
                for (other, similarity) in like {
                    writeln!(out, "{key}: you already have this: {other} ({similarity:.2})")?;
                }
            }
            Ok(File::Known) => {}
            Ok(File::NoText) => continue,
            // If a file cannot be read, its old version stays in the index.
            Err(error) => complain(path, &*error),
        }
        documents.insert(key.into_owned());
    }
    // Remove nothing if a folder could not be read: its files may still exist.
    let forgotten = if complete { forget(&index, &documents)? } else { 0 };
    writeln!(out, "{} files, {indexed} new or changed, {forgotten} gone", files.len())?;
    index.close()?;
    Ok(())
}

/// Collects the regular files below a folder, in a fixed order and without following links. Returns
/// whether all subfolders could be read.
fn collect(folder: &Path, index: &Path, files: &mut Vec<PathBuf>) -> io::Result<bool> {
    let mut complete = true;
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_file() {
            files.push(path);
        } else if kind.is_dir() && path != index {
            complete &= collect(&path, index, files).unwrap_or_else(|error| {
                complain(&path, &error);
                false
            });
        }
    }
    Ok(complete)
}

/// Result of examining a file.
enum File {
    /// Indexed before and unchanged.
    Known,
    /// Indexed now. `like`: up to three other files that are nearly equal.
    Indexed { like: Vec<(String, f64)> },
    /// Not UTF-8, too large, or without words.
    NoText,
}

/// Indexes a file if it is new or has changed.
fn look_at(index: &Index, path: &Path, key: &str) -> Result<File, Box<dyn Error>> {
    let metadata = fs::metadata(path)?;
    if metadata.len() > FILE_BYTES_MAX {
        return Ok(File::NoText);
    }
    // The payload (bytes for the caller's own use) stores which version of the file was indexed.
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH)?;
    let version = format!("{} {}", metadata.len(), modified.as_nanos());
    if index.get(key)?.is_some_and(|document| document.payload == version.as_bytes()) {
        return Ok(File::Known);
    }
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(File::NoText),
        text => text?,
    };
    let signature = match index.sketcher().text(&text) {
        Err(error) if error.kind() == ErrorKind::Empty => return Ok(File::NoText),
        signature => signature?,
    };
    // This query runs before the insert, so the old version of this file may be among the matches:
    // filter it out.
    let answer = index.query(&signature).threshold(SAME).limit(4).run()?;
    index.insert_with_payload(key, &signature, version)?;
    let others = answer.matches.into_iter().filter(|found| found.key != key.as_bytes()).take(3);
    let like = others
        .map(|found| (String::from_utf8_lossy(&found.key).into_owned(), found.similarity))
        .collect();
    Ok(File::Indexed { like })
}

/// Removes the documents of deleted files, in one atomic batch.
fn forget(index: &Index, documents: &HashSet<String>) -> nearkin::Result<usize> {
    let mut gone = Batch::new();
    for key in index.snapshot().keys()? {
        let key = key?;
        if !documents.contains(&*String::from_utf8_lossy(key.as_bytes())) {
            gone.push(Edit::remove(key));
        }
    }
    let count = gone.len();
    if count > 0 {
        index.write(gone)?;
    }
    Ok(count)
}

#[expect(clippy::print_stderr, reason = "a program says on stderr what it leaves out")]
fn complain(path: &Path, error: &(impl std::fmt::Display + ?Sized)) {
    eprintln!("{}: {error}", path.display());
}
