//! Protects existing files: OUT and DROPPED are replaced only if a run of this command made them.
//!
//! A run gives both of its files the same modification time. DROPPED is recognised by its first
//! line; OUT, which holds the user's lines, by having the time of its DROPPED.

#![expect(clippy::disallowed_types, reason = "marks the user's files, never the index's")]

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::packed::{self, OutputFile};
use super::request::Request;
use nearkin_input::files;
use nearkin_input::source;
use nearkin_kit::failure::Failure;
use nearkin_kit::scratch;

/// Maximum length of the first line of DROPPED to inspect.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Fails if OUT or DROPPED is a file that no run of this command made, unless `--force` is given.
/// Even then, DROPPED is not replaced unless the user named it.
pub(super) fn check(request: &Request<'_>) -> Result<(), Failure> {
    let (args, dropped) = (request.args, &request.dropped);
    let is_own_dropped = !has_content(dropped) || is_dropped(dropped);
    if !is_own_dropped && args.dropped.is_none() {
        return Err(Failure::new(
            format!("{} exists, and no run of this command made it", dropped.display()),
            "give another name for the reasons: --dropped FILE",
        ));
    }
    if args.force {
        return Ok(());
    }
    let is_own_apart = |apart: &&PathBuf| !has_content(apart) || is_apart(apart);
    if let Some(apart) = args.apart.as_ref().filter(|apart| !is_own_apart(apart)) {
        return Err(exists(apart));
    }
    if !is_own_dropped {
        return Err(exists(dropped));
    }
    let is_own = || is_dropped(dropped) && modified(&request.out) == modified(dropped);
    if has_content(&request.out) && !is_own() { Err(exists(&request.out)) } else { Ok(()) }
}

fn exists(path: &Path) -> Failure {
    Failure::new(
        format!("{} exists, and no run of this command made it", path.display()),
        "give another name, or --force to replace it",
    )
}

/// Whether there is a file that is not empty.
fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.len() > 0)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// Whether a file is empty or has the form of DROPPED.
fn is_dropped(path: &Path) -> bool {
    has_form(path, |has| {
        has(&["file", "line", "skipped", "reason"])
            || has(&["key", "file", "line", "of_key", "similarity", "in_index"])
            || has(&["key", "file", "line", "question", "question_words", "words_shared"])
            || has(&["key", "file", "line", "cut", "cut_words", "of_line"])
    })
}

/// Whether a file is empty or has the form of the list of `--apart`.
fn is_apart(path: &Path) -> bool {
    has_form(path, |has| has(&["key", "file", "line", "of_key", "similarity", "apart"]))
}

/// Whether a file is empty, or its first line is an object with certain fields.
fn has_form(path: &Path, is_form: impl Fn(&dyn Fn(&[&str]) -> bool) -> bool) -> bool {
    let Ok(source) = source::open(path, None) else { return false };
    let mut head = Vec::new();
    if source.reader.take(LINE_BYTES_MAX).read_to_end(&mut head).is_err() {
        return false;
    }
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.is_empty() {
        return head.is_empty();
    }
    // The line of a skipped row may be longer than what was read, and its last field is the row.
    let begin = line.windows(7).position(|bytes| bytes == b",\"row\":" as &[u8]);
    let begin = begin.filter(|_| line.len() as u64 == LINE_BYTES_MAX);
    let line = begin.map_or_else(|| line.to_vec(), |at| [&line[..at], b"}"].concat());
    let Ok(object) = serde_json::from_slice::<Map<String, Value>>(&line) else { return false };
    is_form(&|names: &[&str]| names.iter().all(|name| object.contains_key(*name)))
}

/// The complete files, before they get their names.
pub(super) fn finished(request: &Request<'_>) -> Vec<Option<OutputFile>> {
    request.outputs().iter().map(|path| OutputFile::unfinished(path)).collect()
}

/// Gives the complete files the same modification time, and then their names. Some of them may have
/// got their names already, before an interruption.
pub(super) fn publish(
    request: &Request<'_>,
    finished: &[Option<OutputFile>],
) -> Result<(), Failure> {
    let (now, outputs) = (SystemTime::now(), request.outputs());
    let found = outputs.iter().zip(finished).map(|(path, file)| {
        packed::finished(path, *file).ok_or_else(|| {
            let (tmp, work) = (files::unfinished(path), packed::work_folder(&request.out));
            Failure::new(
                format!("{} is gone: something else removed or renamed it", tmp.display()),
                format!("remove {} and run the command again", work.display()),
            )
        })
    });
    let found = found.collect::<Result<Vec<PathBuf>, Failure>>()?;
    for there in &found {
        let failed = |error: io::Error| Failure::writing(there, &error);
        let file = scratch::no_follow(File::options().write(true)).open(there).map_err(failed)?;
        file.set_modified(now).map_err(failed)?;
    }
    outputs.iter().zip(&found).try_for_each(|(path, there)| packed::publish(path, there))
}

/// Whether no complete file has got its name yet.
pub(super) fn is_unpublished(request: &Request<'_>) -> bool {
    request.outputs().iter().all(|path| files::unfinished(path).exists())
}
