//! `nearkin remove`: removes documents by key, key prefix or age.
//!
//! This module reads the keys and reports missing ones.

use std::collections::HashSet;
use std::path::Path;

use nearkin::passages::PassageIndex;
use nearkin::{Batch, Index, Outcome};
use serde::Serialize;

use crate::args::Remove;
use nearkin_input::files;
use nearkin_input::lines::Lines;
use nearkin_input::raw::{KEY_BYTES_MAX, PASSAGE_KEY_BYTES_MAX, Raw, key_of};
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{Output, counted, grouped, visible};

/// Keys per batch; with keys of maximum length a batch is about 4 MiB.
const BATCH_KEYS: usize = 1_000;

pub(crate) fn run(args: Remove, output: &mut Output) -> Result<Ended, Failure> {
    if let Some(prefix) = args.prefix {
        if prefix.is_empty() {
            // Most likely the prefix came from an unset shell variable.
            return Err(Failure::new(
                "an empty --prefix would remove every document",
                "give a prefix; to start over, delete the folder of the index",
            ));
        }
        let remove = |index: &Index| index.remove_prefix(prefix.as_encoded_bytes());
        return remove_at_once(&args.index, "remove --prefix", remove, output);
    }
    if let Some(time) = args.before {
        let remove = |index: &Index| index.remove_before(time);
        return remove_at_once(&args.index, "remove --before", remove, output);
    }
    interrupt::listen();
    // The file is opened before the index, so that nothing changes if the file is missing.
    let bytes = args.from.as_deref().map(files::length).transpose()?.flatten();
    let from = args.from.as_deref().map(files::open).transpose()?;
    let mut lines = from.map(|(name, reader)| Lines::new(&name, reader));
    let mut first = Vec::new();
    if let Some(lines) = lines.as_mut().filter(|_| args.if_similar.is_some()) {
        // Nobody else writes while the index is open alone: all keys are read before that.
        while let Some(raw) = lines.next()? {
            interrupt::check()?;
            first.push(raw);
        }
    }
    let open = if args.if_similar.is_some() { opened::to_change_alone } else { opened::to_change };
    let index = open(&args.index)?;
    if let Some(threshold) = args.if_similar {
        opened::check_of_documents(index.params(), "remove --if-similar")?;
        opened::note_if_equality_is_estimated(threshold);
    }
    let target = RemovalTarget::new(index)?;
    let progress = Progress::start("removing", Unit::Bytes, bytes);
    let mut removing = Removing {
        index: &target,
        progress: &progress,
        keys: Vec::new(),
        waiting: args.if_similar.map(|_| HashSet::new()),
        counts: RemoveCounts::default(),
    };
    let ended = args
        .keys
        .into_iter()
        .try_for_each(|key| removing.key(key.into_encoded_bytes()))
        .and_then(|()| first.into_iter().try_for_each(|raw| removing.line(raw)))
        .and_then(|()| match lines {
            Some(lines) => removing.lines(lines),
            None => Ok(()),
        })
        .and_then(|()| removing.write())
        .and_then(|()| match args.if_similar {
            Some(threshold) => removing.replaceable(threshold),
            None => Ok(()),
        });
    let counts = removing.counts;
    drop(progress);
    opened::close(ended, || target.close()).map_err(|failure| {
        failure.after(&format!("before that: {} removed", counted(counts.removed, "document")))
    })?;
    if output.json() {
        output.object(&counts)?;
    } else {
        let removed = counted(counts.removed, "document");
        let kept = counts.kept.map(|kept| format!(", {} kept", grouped(kept))).unwrap_or_default();
        output
            .line(format_args!("{removed} removed, {} missing{kept}", grouped(counts.missing)))?;
    }
    let all = counts.missing == 0 && counts.kept.unwrap_or(0) == 0;
    Ok(if all { Ended::Well } else { Ended::Amiss })
}

/// Removes by prefix or age; the library finds the documents.
fn remove_at_once(
    dir: &Path,
    command: &str,
    remove: impl FnOnce(&Index) -> nearkin::Result<u64>,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let advice = "removals so far are stored; run the same command again for the rest";
    interrupt::end_at_once(advice.to_owned());
    let index = opened::to_change(dir)?;
    opened::check_of_documents(index.params(), command)?;
    let counts = RemoveCounts { removed: remove(&index)?, ..RemoveCounts::default() };
    opened::flush_and_close(index)?;
    if output.json() {
        output.object(&counts)?;
    } else {
        output.line(format_args!("{} removed", counted(counts.removed, "document")))?;
    }
    Ok(Ended::Well)
}

/// Counts of a run: removed and missing keys, and with `--if-similar` those kept.
#[derive(Debug, Default, Serialize)]
struct RemoveCounts {
    removed: u64,
    missing: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<u64>,
}

/// The kind of index that keys are removed from.
enum RemovalTarget {
    Documents(Index),
    Passages(PassageIndex),
}

impl RemovalTarget {
    fn new(index: Index) -> Result<Self, Failure> {
        Ok(match index.params().passages() {
            None => Self::Documents(index),
            Some(_) => Self::Passages(PassageIndex::new(index)?),
        })
    }

    fn remove(&self, keys: &[Vec<u8>]) -> nearkin::Result<Vec<Outcome>> {
        match self {
            Self::Documents(index) => {
                let batch = keys.iter().fold(Batch::new(), Batch::remove);
                Ok(index.write(batch)?.outcomes)
            }
            // Removing a text is a change of its own: there is no batch.
            Self::Passages(index) => {
                let remove = |key: &Vec<u8>| match key.len() {
                    // No stored text has a longer key.
                    0..=PASSAGE_KEY_BYTES_MAX => index.remove(key),
                    _ => Ok(Outcome::Missing),
                };
                keys.iter().map(remove).collect()
            }
        }
    }

    /// Whether a document of this similarity would stay if all the named ones were removed. True
    /// for a missing key, which is reported later.
    fn has_other(&self, key: &[u8], named: &HashSet<Vec<u8>>, least: f64) -> nearkin::Result<bool> {
        let Self::Documents(index) = self else { return Ok(false) };
        let Some(signature) = index.signature(key)? else { return Ok(true) };
        let stays = |other: &[u8], _: &[u8]| !named.contains(other);
        let found = index.query(&signature).threshold(least).filter(stays).limit(1).run()?;
        Ok(!found.matches.is_empty())
    }

    fn contains(&self, key: &[u8]) -> nearkin::Result<bool> {
        match self {
            Self::Documents(index) => index.contains(key),
            Self::Passages(index) => index.view().contains(key),
        }
    }

    fn close(self) -> nearkin::Result<()> {
        match self {
            Self::Documents(index) => opened::flush_and_close(index),
            Self::Passages(index) => index.close(),
        }
    }
}

/// Removes keys in batches.
struct Removing<'a> {
    index: &'a RemovalTarget,
    progress: &'a Progress,
    keys: Vec<Vec<u8>>,
    /// With `--if-similar`: all named keys. Nothing is removed before the last one is read.
    waiting: Option<HashSet<Vec<u8>>>,
    counts: RemoveCounts,
}

impl Removing<'_> {
    fn lines(&mut self, mut lines: Lines) -> Result<(), Failure> {
        while let Some(raw) = lines.next()? {
            interrupt::check()?;
            self.progress.reached(lines.bytes_read());
            self.line(raw)?;
        }
        Ok(())
    }

    fn line(&mut self, raw: Raw) -> Result<(), Failure> {
        match raw.body {
            // A line may end in CR LF, so a CR is dropped. A key that itself ends in CR can be
            // given as an argument.
            Ok(line) => self.key(line.strip_suffix(b"\r").unwrap_or(&line).to_vec()),
            Err(reason) => {
                self.missing(format!("a line is {}", reason.kind()));
                Ok(())
            }
        }
    }

    fn key(&mut self, key: Vec<u8>) -> Result<(), Failure> {
        if (1..=KEY_BYTES_MAX).contains(&key.len()) {
            self.keys.push(key);
        } else {
            // No document can have a key of this length, and the library would refuse the whole
            // batch.
            self.missing(format!("no key has {}", counted(key.len() as u64, "byte")));
        }
        if self.keys.len() < BATCH_KEYS {
            return Ok(());
        }
        self.write()?;
        interrupt::check()
    }

    fn write(&mut self) -> Result<(), Failure> {
        let keys = std::mem::take(&mut self.keys);
        if keys.is_empty() {
            return Ok(());
        }
        if let Some(waiting) = &mut self.waiting {
            for key in keys {
                if let Some(twice) = waiting.replace(key) {
                    self.counts.missing += 1;
                    self.progress.note(format!("{} is named twice", visible(&twice)));
                }
            }
            return Ok(());
        }
        for (key, outcome) in keys.iter().zip(self.index.remove(&keys)?) {
            match outcome {
                Outcome::Removed => self.counts.removed += 1,
                // If a batch holds a key several times, one occurrence removes the document and the
                // others count as missing, just as in separate batches. So the counts do not depend
                // on the batch size.
                Outcome::Superseded => self.missing(format!("{} is named twice", visible(key))),
                _ => {
                    let advice = self.advice(key)?;
                    self.missing(format!("no document has the key {}{advice}", visible(key)));
                }
            }
        }
        Ok(())
    }

    /// Removes those of the waiting documents that have a similar one among the documents that are
    /// not named. Documents that are named do not count even if they are kept, so the result does
    /// not depend on the order of the keys. The index was opened alone, so what was found is still
    /// there when the document is removed.
    fn replaceable(&mut self, threshold: f64) -> Result<(), Failure> {
        let named = self.waiting.take().unwrap_or_default();
        let mut kept = 0;
        let mut sorted: Vec<_> = named.iter().collect();
        sorted.sort_unstable();
        for key in sorted {
            interrupt::check()?;
            if self.index.has_other(key, &named, threshold)? {
                self.key(key.clone())?;
            } else {
                kept += 1;
                self.progress.note(format!(
                    "{} stays: no document that stays is {threshold} or more similar to it",
                    visible(key)
                ));
            }
        }
        self.counts.kept = Some(kept);
        self.write()
    }

    /// Suggests the key under which a path was stored, if the argument looks like a path.
    fn advice(&self, key: &[u8]) -> Result<String, Failure> {
        let Ok(path) = std::str::from_utf8(key) else { return Ok(String::new()) };
        let cleaned = key_of(Path::new(path));
        let other = !cleaned.is_empty() && cleaned != key && self.index.contains(&cleaned)?;
        Ok(if other { format!("; did you mean {}?", visible(&cleaned)) } else { String::new() })
    }

    fn missing(&mut self, what: String) {
        self.counts.missing += 1;
        self.progress.note(what);
    }
}
