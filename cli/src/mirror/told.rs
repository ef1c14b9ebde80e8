//! What is remembered of files that gave no text: a cache in the index's folder.
//!
//! What a file's bytes decide is an answer, and stays one until the file changes. A failure is
//! none: it is only remembered when to try again. Lost, damaged or of another version the cache is
//! empty, and those files are read once more.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a cache of the tool's: the engine does not know of it, and nothing depends on it"
)]

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::memo::Stat;
use crate::checkpoint::NoteFolder;
use crate::texts;

/// The name of the file.
const NAME: &str = "mirror.skipped";

/// What it begins with: magic and version.
const MAGIC: [u8; 8] = *b"NKSKIP\0\x02";

/// The reasons that are remembered, by their kinds; a number is its place here.
const KINDS: [&str; 7] =
    ["binary", "unread format", "empty", "too large", "not a file", "bad key", FAILED];

/// The kind of [`crate::raw::Reason::Failed`], which is tried again.
const FAILED: &str = "parser failed";

const ENTRY_BYTES: usize = 8 + 16 + 1 + 1 + 8;

/// After a first failure the next run tries again; after further ones it waits, first for so many
/// seconds, then four times as long each time.
const WAIT_FIRST: u64 = 60;

/// It never waits longer.
const WAIT_MAX: u64 = 24 * 60 * 60;

/// What is known of a file in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// A place in [`KINDS`].
    kind: u8,
    /// How often reading failed; 0 of an answer.
    failures: u8,
    /// When it is tried again, in seconds since 1970; 0 of an answer.
    again: u64,
}

/// What a file was skipped for before, if it is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    /// Its bytes have no text, for this kind of reason.
    Answer(&'static str),
    /// Reading it failed, and it is not time yet to try again.
    Waits(&'static str),
    /// Reading it failed so often, and it is time to try again.
    TryAgain(u8),
}

/// The files without a document, each as it was when that was found.
#[derive(Debug, Default)]
pub(crate) struct Told {
    index: NoteFolder,
    folder: u64,
    /// Entries of this folder from the last run.
    before: HashMap<u128, Entry>,
    /// Entries of this folder from this run.
    now: HashMap<u128, Entry>,
    /// Entries of other folders, kept.
    others: Vec<(u64, u128, Entry)>,
}

impl Told {
    /// Reads the cache of an index, for a folder by its key.
    pub(crate) fn read(index: &Path, folder: &[u8]) -> Self {
        let folder = xxh3_64(folder);
        let mut told = Self { index: NoteFolder::of(index), folder, ..Self::default() };
        let bytes = fs::read(told.index.file(NAME)).unwrap_or_default();
        for (of, mark, entry) in decode(&bytes).unwrap_or_default() {
            if of == folder {
                told.before.insert(mark, entry);
            } else {
                told.others.push((of, mark, entry));
            }
        }
        told
    }

    /// What a file was skipped for before, if it is as it was; that is then still so.
    pub(crate) fn before(&mut self, mark: u128, now: u64) -> Option<Before> {
        let entry = *self.before.get(&mark).or_else(|| self.now.get(&mark))?;
        let kind = *KINDS.get(usize::from(entry.kind))?;
        if kind == FAILED && entry.again <= now {
            return Some(Before::TryAgain(entry.failures));
        }
        self.now.insert(mark, entry);
        Some(if kind == FAILED { Before::Waits(kind) } else { Before::Answer(kind) })
    }

    /// The file is skipped, for this kind of reason; nothing else is remembered of a failure than
    /// when to try again.
    pub(crate) fn tell(&mut self, mark: u128, kind: &str, failures_before: u8, now: u64) {
        let Some(at) = KINDS.iter().position(|known| *known == kind) else { return };
        let kind_of = u8::try_from(at).unwrap_or(u8::MAX);
        let (failures, again) = if kind == FAILED {
            (failures_before.saturating_add(1), now.saturating_add(wait(failures_before)))
        } else {
            (0, 0)
        };
        self.now.insert(mark, Entry { kind: kind_of, failures, again });
    }

    /// Whether it is time to try a file again that could not be read.
    #[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "of --watch"))]
    pub(crate) fn is_time_to_try_again(&self, now: u64) -> bool {
        self.before.values().any(|entry| entry.failures > 0 && entry.again <= now)
    }

    /// Writes what is so now; `all` if every file of the folder was looked at, so that what was
    /// known before and is not any more can go.
    pub(crate) fn write(&mut self, all: bool) -> io::Result<()> {
        let known = std::mem::take(&mut self.before);
        let mut next = if all { HashMap::new() } else { known.clone() };
        next.extend(std::mem::take(&mut self.now));
        let changed = next != known;
        self.before = next;
        if !changed || !self.index.is_there() {
            return Ok(());
        }
        let ours = self.before.iter().map(|(mark, entry)| (self.folder, *mark, *entry));
        let mut entries: Vec<_> = ours.chain(self.others.iter().copied()).collect();
        entries.sort_unstable_by_key(|(folder, mark, _)| (*folder, *mark));
        // Without a sync: after a power cut a torn file is told by its checksum.
        let path = self.index.file(NAME);
        let tmp = path.with_extension("skipped.tmp");
        File::create(&tmp).and_then(|mut file| file.write_all(&encode(&entries)))?;
        fs::rename(&tmp, &path)
    }
}

/// A name for a file in a state: another size or time, or another way to read it, is another.
pub(crate) fn mark(key: &[u8], place: u64, stat: &Stat) -> u128 {
    let maker = texts::maker().to_le_bytes();
    let parts = [&place.to_le_bytes()[..], &maker[..], &stat.encode(), key];
    xxh3_128(&parts.concat())
}

/// How many seconds pass after so many earlier failures and another one.
fn wait(failures_before: u8) -> u64 {
    match failures_before {
        0 => 0,
        more => WAIT_FIRST.saturating_mul(4_u64.saturating_pow(u32::from(more) - 1)).min(WAIT_MAX),
    }
}

fn encode(entries: &[(u64, u128, Entry)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (folder, mark, Entry { kind, failures, again }) in entries {
        bytes.extend(folder.to_le_bytes());
        bytes.extend(mark.to_le_bytes());
        bytes.extend([*kind, *failures]);
        bytes.extend(again.to_le_bytes());
    }
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// None unless it is whole.
fn decode(bytes: &[u8]) -> Option<Vec<(u64, u128, Entry)>> {
    let (content, sum) = bytes.split_last_chunk()?;
    let entries = content.strip_prefix(&MAGIC)?;
    if xxh3_64(content) != u64::from_le_bytes(*sum) || entries.len() % ENTRY_BYTES != 0 {
        return None;
    }
    let entry = |bytes: &[u8]| {
        let (folder, rest) = bytes.split_first_chunk()?;
        let (mark, rest) = rest.split_first_chunk()?;
        let ([kind, failures], again) = rest.split_first_chunk()?;
        let again = u64::from_le_bytes(again.try_into().ok()?);
        let entry = Entry { kind: *kind, failures: *failures, again };
        Some((u64::from_le_bytes(*folder), u128::from_le_bytes(*mark), entry))
    };
    entries.chunks_exact(ENTRY_BYTES).map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    #[test]
    fn every_damaged_bit_and_every_cut_is_noticed() {
        let entries = [
            (1, 2, Entry { kind: 3, failures: 0, again: 0 }),
            (4, u128::MAX, Entry { kind: 6, failures: 7, again: u64::MAX - 1 }),
        ];
        let bytes = encode(&entries);
        assert_eq!(decode(&bytes).unwrap(), entries);
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None);
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged), None, "bit {bit}");
        }
    }

    fn answer(told: &mut Told, mark: u128) -> Option<Before> {
        told.before(mark, NOW)
    }

    #[test]
    fn other_folders_are_kept_and_what_is_gone_is_not() {
        const BINARY: Option<Before> = Some(Before::Answer("binary"));
        const EMPTY: Option<Before> = Some(Before::Answer("empty"));
        let dir = tempfile::tempdir().unwrap();
        let read = |folder: &[u8]| Told::read(dir.path(), folder);
        let mut a = read(b"a");
        a.tell(1, "binary", 0, NOW);
        a.tell(2, "empty", 0, NOW);
        a.tell(3, "unreadable", 0, NOW);
        a.write(true).unwrap();
        let mut b = read(b"b");
        assert_eq!(answer(&mut b, 1), None);
        b.tell(9, "binary", 0, NOW);
        b.write(true).unwrap();
        let mut a = read(b"a");
        assert_eq!([1, 2, 3].map(|mark| answer(&mut a, mark)), [BINARY, EMPTY, None]);
        a.tell(4, "empty", 0, NOW);
        a.write(false).unwrap();
        let mut a = read(b"a");
        assert_eq!([1, 4].map(|mark| answer(&mut a, mark)), [BINARY, EMPTY]);
        let mut a = read(b"a");
        a.tell(1, "binary", 0, NOW);
        a.write(true).unwrap();
        let mut a = read(b"a");
        assert_eq!([1, 2, 4].map(|mark| answer(&mut a, mark)), [BINARY, None, None]);
        assert_eq!(answer(&mut read(b"b"), 9), BINARY);
    }

    #[test]
    fn a_failure_is_no_answer_and_is_tried_again_ever_more_rarely() {
        let dir = tempfile::tempdir().unwrap();
        let (mut now, mut waited) = (NOW, Vec::new());
        for failures in 0..8 {
            let mut told = Told::read(dir.path(), b"a");
            let before = told.before(1, now);
            assert_eq!(before, (failures > 0).then_some(Before::TryAgain(failures)));
            told.tell(1, FAILED, failures, now);
            // Also where only a part of the folder was looked at.
            told.write(failures % 2 == 0).unwrap();
            let mut told = Told::read(dir.path(), b"a");
            let began = now;
            while told.before(1, now) == Some(Before::Waits(FAILED)) {
                assert!(!told.is_time_to_try_again(now));
                now += 1;
            }
            assert!(told.is_time_to_try_again(now));
            waited.push(now - began);
        }
        assert_eq!(waited, [0, 60, 240, 960, 3_840, 15_360, 61_440, 86_400]);
    }
}
