//! Carries out a plan: removes, reads, writes, and prints the results.
//!
//! Works in batches. The changes of a chunk of files are printed once they are durable.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use nearkin::{Batch, Document, Match, Params, Signature};
use xxhash_rust::xxh3::xxh3_128;

use super::folder::mark;
use super::memo::{self, Memo, Stat};
use super::near::{Depth, NearDuplicates};
use super::plan::{Gone, Known, Plan, Planned};
use super::report::{self, FileCounts};
use super::skip_cache::{self, SkipCache};
use super::store::Store;
use nearkin_input::fields::Fields;
use nearkin_input::files;
use nearkin_input::formats;
use nearkin_input::raw::{self, Names, Origin, Raw, Reason, Skipped};
use nearkin_kit::args::machine;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::pipeline;
use nearkin_kit::input::pipeline::Pace;
use nearkin_kit::input::skips::Skips;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, Output, grouped, visible};

/// Maximum size of a batch, well below the library's default maximum of 16 MiB.
const BATCH_BYTES_MAX: usize = 8 << 20;

/// Upper bound of a batch entry's size without its key and signature.
const ENTRY_BYTES: usize = 128;

/// Maximum number of changes of one kind to name without `--verbose`.
const NAMED_MAX: u64 = 20;

/// The kind of documents that were added or replaced and are near-duplicates.
const NEAR: &str = "near-duplicates";

/// Number of removals per batch.
const BATCH_KEYS: usize = 1_000;

/// Maximum number of files per batch if near-duplicates are searched. Files of the same batch are
/// candidates of each other, but only the earlier ones may be named, so a large batch of similar
/// files would make every search compare many documents in vain.
const SEARCHED_TOGETHER: usize = 64;

/// A file after reading.
struct Read {
    sketched: Result<Sketched, Skipped>,
    /// XXH3-128 of the file's bytes; `None` if it could not be read.
    content: Option<u128>,
    /// The file's metadata after reading it.
    after: io::Result<Stat>,
}

/// What happened to the document of a file.
enum FileOutcome {
    Put {
        change: &'static str,
        key: Vec<u8>,
        signature: Signature,
    },
    Removed {
        key: Vec<u8>,
        why: String,
    },
    /// Not reported, but from now on the document may be named as a near-duplicate of others.
    Kept {
        key: Vec<u8>,
    },
}

/// A change to count and to print once it is durable.
struct Change {
    kind: &'static str,
    key: Vec<u8>,
    why: String,
    near_duplicates: Vec<Match>,
    is_named: bool,
}

/// State of a run.
pub(crate) struct Run<'a> {
    pub store: &'a Store,
    pub(crate) skip_cache: &'a mut SkipCache,
    pub counts: &'a mut FileCounts,
    pub output: &'a mut Output,
    pub near: NearDuplicates,
    /// Whether to print nothing about single files, except with `--verbose` why a file was skipped.
    pub(crate) silent: bool,
}

impl Run<'_> {
    /// Carries out the whole plan. After a signal, finishes only the work in progress.
    pub(crate) fn carry_out(&mut self, plan: Plan, params: &Params) -> Result<(), Failure> {
        self.counts.left_out += plan.left_out;
        self.counts.kept += plan.kept + plan.absent;
        let Plan { to_read, gone, unchanged, skipped_before, skipped, waiting, .. } = plan;
        let names = plan.names_before;
        self.counts.unchanged += unchanged;
        self.counts.waiting += waiting;
        for (reason, files) in skipped_before {
            self.counts.skip_all(reason, files);
        }
        for one in &skipped {
            self.counts.skip(one);
        }
        let mut skips = Skips::default();
        let progress = Progress::unless_results_are_on_the_terminal(
            "reading",
            Unit::Documents,
            Some(to_read.len() as u64),
        );
        if !self.silent || output::is_verbose() {
            skips.note(&skipped, &progress);
        }
        self.name_before(names, &progress);
        self.remove(&gone)?;
        if to_read.is_empty() {
            skips.finish();
            return self.tell_more();
        }
        let reading = Reading::new(nearkin::Sketcher::new(params), Fields::text("id", "text"));
        let mut pending: HashSet<u128> = to_read.iter().map(|file| mark(&file.key)).collect();
        let to_read = Arc::new(to_read);
        let mut planned = to_read.iter();
        let ended = pipeline::run(
            &mut input(&to_read),
            Pace::Full,
            &progress,
            |raw| read(&reading, raw),
            |chunk| {
                // `chunk` must be the first iterator: `zip` takes an item from the first before it
                // notices that the second has ended, so a planned file would be lost at the end of
                // each chunk.
                let files = chunk.into_iter().zip(planned.by_ref());
                self.chunk(files, &mut pending, (&mut skips, &progress))
            },
        );
        drop(progress);
        skips.finish();
        self.tell_more().and(ended)
    }

    /// Removes the documents of deleted or ignored files. This comes first, so that other documents
    /// are not compared with them.
    fn remove(&mut self, gone: &[(Vec<u8>, Gone)]) -> Result<(), Failure> {
        for keys in gone.chunks(BATCH_KEYS) {
            let batch = keys.iter().fold(Batch::new(), |batch, (key, _)| batch.remove(key));
            self.store.write(&batch)?;
            self.store.sync()?;
            for (key, why) in keys {
                self.counts.removed += 1;
                self.counts.ignored += u64::from(*why == Gone::Ignored);
                if self.is_named("removed") {
                    report::removed(key, why.why(), self.output)?;
                }
            }
            self.output.flush()?;
            interrupt::check()?;
        }
        Ok(())
    }

    /// Writes the documents of some files, makes them durable, and prints the changes. After a
    /// signal, leaves out the rest of the files.
    fn chunk<'f>(
        &mut self,
        files: impl Iterator<Item = (Read, &'f Planned)>,
        pending: &mut HashSet<u128>,
        (skips, progress): (&mut Skips, &Progress),
    ) -> Result<(), Failure> {
        let together = if self.near.are_searched() { SEARCHED_TOGETHER } else { usize::MAX };
        let (mut files, mut changes, mut skipped) = (files.peekable(), Vec::new(), Vec::new());
        while files.peek().is_some() && !interrupt::came() {
            let outcomes = self.write(files.by_ref().take(together), &mut skipped)?;
            self.search(outcomes, pending, &mut changes)?;
        }
        if !self.silent || output::is_verbose() {
            skips.note(&skipped, progress);
        }
        self.store.sync()?;
        self.report_changes(changes)?;
        interrupt::check()
    }

    /// Writes the documents of some files as one batch, or as several if signatures are large.
    fn write<'f>(
        &mut self,
        files: impl Iterator<Item = (Read, &'f Planned)>,
        skipped: &mut Vec<Skipped>,
    ) -> Result<Vec<FileOutcome>, Failure> {
        let (mut batch, mut bytes) = (Batch::new(), 0);
        let mut outcomes = Vec::new();
        for (read, file) in files {
            bytes += ENTRY_BYTES + file.key.len();
            if bytes > machine::memory_part(32, BATCH_BYTES_MAX) {
                self.store.write(&std::mem::take(&mut batch))?;
                bytes = ENTRY_BYTES + file.key.len();
            }
            let Read { sketched, content, after } = read;
            self.counts.read += u64::from(content.is_some());
            match (sketched, content) {
                (Ok(sketched), Some(content)) => {
                    bytes += sketched.signature.as_bytes().len();
                    batch = self.put(batch, file, sketched, (content, after), &mut outcomes)?;
                }
                (Err(one), _) => {
                    batch = self.without_text(batch, file, &one, &after, &mut outcomes);
                    if !is_gone(&after) {
                        self.counts.skip(&one);
                        skipped.push(one);
                    }
                }
                // This cannot happen: a file that was not read has no text.
                (Ok(_), None) => {}
            }
        }
        self.store.write(&batch)?;
        Ok(outcomes)
    }

    /// Handles a file with a text.
    fn put(
        &mut self,
        batch: Batch,
        file: &Planned,
        sketched: Sketched,
        (content, after): (u128, io::Result<Stat>),
        outcomes: &mut Vec<FileOutcome>,
    ) -> Result<Batch, Failure> {
        let Sketched { name: key, signature, .. } = sketched;
        let steady = after.as_ref().is_ok_and(|after| *after == file.stat);
        let stat = after.unwrap_or(file.stat);
        let settled = steady && file.settled;
        let own = Some(memo::hash(&signature));
        let (maker, place) = (formats::maker(), file.place);
        let memo = Memo { stat, settled, maker, place, content, signature: own };
        // Whether the text is unchanged, and the time of the stored document. If the text is
        // unchanged, the document keeps this time.
        let (same, time) = match file.known {
            Known::Nothing => (false, 0),
            Known::Ours { memo: old, time } if old.content != content => (false, time),
            Known::Ours { memo: old, time } if old.maker == memo.maker => (true, time),
            Known::Ours { time, .. } | Known::Others { time } => {
                let documents = self.store.documents();
                let old = documents.map(|documents| documents.signature(&key)).transpose()?;
                (old.flatten().is_some_and(|old| old == signature), time)
            }
        };
        if same {
            self.counts.unchanged += 1;
            outcomes.push(FileOutcome::Kept { key: key.clone() });
            let payload = memo.encode();
            return Ok(batch.insert_document(
                &Document::new(key, signature).with_payload(payload).with_time(time),
            ));
        }
        let batch = batch.insert_with_payload(&key, &signature, memo.encode());
        let change = if matches!(file.known, Known::Nothing) { "added" } else { "replaced" };
        outcomes.push(FileOutcome::Put { change, key, signature });
        Ok(batch)
    }

    /// Names unchanged files that an earlier run has skipped, or keeps the names of some.
    fn name_before(&mut self, before: Names, progress: &Progress) {
        for (kind, names) in before {
            for name in names {
                if output::is_verbose() {
                    progress.note(format!("skipped {}: {kind} (as before)", visible(&name)));
                } else {
                    raw::add_name(&mut self.counts.names, kind, &name, output::is_verbose());
                }
            }
        }
    }

    /// Handles a file without a text. Its document is removed only if the file is empty, has been
    /// deleted, or is no longer a regular file; other reasons may be temporary.
    fn without_text(
        &mut self,
        batch: Batch,
        file: &Planned,
        skipped: &Skipped,
        after: &io::Result<Stat>,
        outcomes: &mut Vec<FileOutcome>,
    ) -> Batch {
        let ours = matches!(file.known, Known::Ours { .. });
        let steady = after.as_ref().is_ok_and(|after| *after == file.stat);
        if steady && file.settled {
            let mark = skip_cache::mark(&file.key, file.place, &file.stat);
            self.skip_cache.record(mark, &skipped.reason, file.failures, memo::now_s());
        }
        let gone = is_gone(after) || matches!(skipped.reason, Reason::NotAFile(_));
        self.counts.waiting += u64::from(!gone && matches!(skipped.reason, Reason::Failed(_)));
        let key = file.key.clone();
        if !ours || !(gone || (steady && skipped.reason.is_empty())) {
            self.counts.kept += u64::from(ours);
            outcomes.push(FileOutcome::Kept { key });
            return batch;
        }
        let why = if gone { Gone::NoFile.why() } else { skipped.reason.kind() };
        let batch = batch.remove(&key);
        outcomes.push(FileOutcome::Removed { key, why: why.to_owned() });
        batch
    }

    /// Searches the near-duplicates of the documents of a batch. A pair of near-duplicates is named
    /// only once, with the later document.
    fn search(
        &mut self,
        outcomes: Vec<FileOutcome>,
        pending: &mut HashSet<u128>,
        changes: &mut Vec<Change>,
    ) -> Result<(), Failure> {
        for outcome in outcomes {
            let (kind, key, why, near_duplicates, is_named) = match outcome {
                FileOutcome::Kept { key } => {
                    pending.remove(&mark(&key));
                    continue;
                }
                FileOutcome::Removed { key, why } => {
                    ("removed", key, why, Vec::new(), self.is_named("removed"))
                }
                FileOutcome::Put { change, key, signature } => {
                    let named = self.counts.changes.get(NEAR).copied().unwrap_or(0);
                    let wanted =
                        if self.names(named + 1) { Depth::Names } else { Depth::Existence };
                    let may_name = |other: &[u8]| !pending.contains(&mark(other));
                    let found = self.near.find(self.store, (&key, &signature), wanted, may_name)?;
                    self.counts.undecided += u64::from(found.is_undecided);
                    let is_near = !found.matches.is_empty();
                    let is_named = self.is_named(if is_near { NEAR } else { change });
                    (change, key, String::new(), found.matches, is_named)
                }
            };
            pending.remove(&mark(&key));
            changes.push(Change { kind, key, why, near_duplicates, is_named });
        }
        Ok(())
    }

    /// Counts changes that are durable now, and prints those that are named.
    fn report_changes(&mut self, changes: Vec<Change>) -> Result<(), Failure> {
        for Change { kind, key, why, near_duplicates, is_named } in changes {
            let count = match kind {
                "added" => &mut self.counts.added,
                "removed" => &mut self.counts.removed,
                _ => &mut self.counts.replaced,
            };
            *count += 1;
            self.counts.near_duplicates += u64::from(!near_duplicates.is_empty());
            match kind {
                _ if !is_named => {}
                "added" | "replaced" if near_duplicates.is_empty() && !self.names_all() => {
                    self.counts.later.push((kind, key));
                }
                "removed" => report::removed(&key, &why, self.output)?,
                _ => report::put(kind, &key, &near_duplicates, self.output)?,
            }
        }
        self.output.flush()
    }
}

impl Run<'_> {
    /// Whether to name another change of this kind. In text output, only the first changes of each
    /// kind are named.
    fn is_named(&mut self, change: &'static str) -> bool {
        let named = self.counts.changes.entry(change).or_default();
        *named += u64::from(!self.silent);
        let named = *named;
        self.names(named)
    }

    /// Whether the change with this number is named.
    fn names(&self, number: u64) -> bool {
        !self.silent && (number <= NAMED_MAX || self.names_all())
    }

    fn names_all(&self) -> bool {
        self.output.json() || output::is_verbose()
    }

    /// Names the changes without near-duplicates, and prints how many changes were not named.
    fn tell_more(&mut self) -> Result<(), Failure> {
        for (kind, key) in std::mem::take(&mut self.counts.later) {
            report::put(kind, &key, &[], self.output)?;
        }
        self.output.flush()?;
        if self.names_all() {
            return Ok(());
        }
        for (change, all) in &self.counts.changes {
            if let Some(more @ 1..) = all.checked_sub(NAMED_MAX) {
                output::note(format!("{} more {change} (--verbose names them)", grouped(more)));
            }
        }
        Ok(())
    }
}

/// The files to read, as input of the pipeline.
fn input(to_read: &Arc<Vec<Planned>>) -> Input {
    let (files, total) = (Arc::clone(to_read), to_read.len() as u64);
    let raws = (0..files.len()).map(move |at| {
        let file = &files[at];
        Raw { origin: file.origin(), body: read_file(file).map(Bytes::from) }
    });
    Input::Listed { raws: Box::new(raws), total, read: 0 }
}

/// Reads a file. Checks first that it is still a regular file: a pipe in its place would block
/// forever.
fn read_file(file: &Planned) -> Result<Vec<u8>, Reason> {
    match fs::symlink_metadata(&file.path) {
        Ok(metadata) if metadata.is_file() => files::read(&file.path),
        Ok(_) => Err(Reason::NotAFile("no longer a file")),
        Err(error) => Err(Reason::Unreadable(error.to_string())),
    }
}

fn read(reading: &Reading, raw: Raw) -> Read {
    let content = raw.body.as_ref().ok().map(|bytes| xxh3_128(bytes));
    let after = match &raw.origin {
        Origin::File { path, .. } => {
            fs::symlink_metadata(path).map(|found| Stat::from_metadata(&found))
        }
        _ => Err(io::Error::from(io::ErrorKind::Unsupported)),
    };
    Read { sketched: reading.sketch(raw), content, after }
}

fn is_gone(after: &io::Result<Stat>) -> bool {
    after.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
