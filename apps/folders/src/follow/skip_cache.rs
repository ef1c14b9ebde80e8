//! A cache of the files that were skipped, stored in the index folder.
//!
//! A file that contains no text is not read again until it changes. If a parser failed on a file,
//! the time of the next attempt is stored instead. A missing or damaged cache, or one of another
//! version, is treated as empty: the files are read once more.

#![expect(
    clippy::disallowed_methods,
    reason = "a cache of the tool's: the engine does not know of it, and nothing depends on it"
)]

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::memo::Stat;
use nearkin_input::formats;
use nearkin_input::raw::Reason;
use nearkin_kit::checkpoint::NoteFolder;
use nearkin_kit::scratch;

/// Name of the cache file.
const NAME: &str = "mirror.skipped";

/// Magic number and version.
const MAGIC: [u8; 8] = *b"NKSKIP\0\x03";

/// The kinds of reasons that can be stored. An entry holds the position in this list.
const KINDS: [&str; 9] = [
    "binary",
    "unread format",
    "empty",
    "too large",
    "not a file",
    "bad key",
    FAILED,
    "unparsable",
    "no text layer",
];

/// The kind of [`nearkin_input::raw::Reason::Failed`]: the file is read again after a while.
const FAILED: &str = "parser failed";

/// Back-off after failures. The first retry is made by the next run, without waiting. Then the wait
/// is this many seconds, and four times as long after each further failure.
const WAIT_FIRST: u64 = 60;

/// Maximum wait, in seconds.
const WAIT_MAX: u64 = 24 * 60 * 60;

/// The stored result of reading a file in a certain state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SkipEntry {
    /// Index into [`KINDS`].
    kind: u8,
    /// Number of failed attempts; 0 if the result is final.
    failures: u8,
    /// Time of the next attempt, in seconds since 1970; 0 if the result is final.
    again: u64,
    /// What the user may do about it, or empty.
    detail: String,
}

/// Why an unchanged file was skipped before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// Final: the bytes of the file have no text. Holds the kind of reason and the detail.
    Answer(&'static str, String),
    /// Reading has failed, and the next attempt is not due. Holds the same.
    Waits(&'static str, String),
    /// Reading has failed, and the next attempt is due. Holds the number of failures.
    TryAgain(u8),
}

/// The cache: skipped files, each in the state in which it was skipped.
#[derive(Debug, Default)]
pub(crate) struct SkipCache {
    index: NoteFolder,
    folder: u64,
    /// Entries of this folder that the last run has stored.
    before: HashMap<u128, SkipEntry>,
    /// Entries of this folder that this run has confirmed or added.
    now: HashMap<u128, SkipEntry>,
    /// Entries of other folders, which are kept unchanged.
    others: Vec<(u64, u128, SkipEntry)>,
}

impl SkipCache {
    /// Reads the cache of an index. `folder` is the key of the folder that this run follows.
    pub(crate) fn read(index: &Path, folder: &[u8]) -> Self {
        let folder = xxh3_64(folder);
        let mut skipped = Self { index: NoteFolder::identify(index), folder, ..Self::default() };
        let bytes = fs::read(skipped.index.file(NAME)).unwrap_or_default();
        for (of, mark, entry) in decode(&bytes).unwrap_or_default() {
            if of == folder {
                skipped.before.insert(mark, entry);
            } else {
                skipped.others.push((of, mark, entry));
            }
        }
        skipped
    }

    /// Looks up why an unchanged file was skipped in an earlier run. Unless a retry is due, keeps
    /// the entry for the next run.
    pub(crate) fn before(&mut self, mark: u128, now: u64) -> Option<Before> {
        let entry = self.before.get(&mark).or_else(|| self.now.get(&mark))?.clone();
        let detail = entry.detail.clone();
        let kind = *KINDS.get(usize::from(entry.kind))?;
        if kind == FAILED && entry.again <= now {
            return Some(Before::TryAgain(entry.failures));
        }
        self.now.insert(mark, entry);
        Some(if kind == FAILED {
            Before::Waits(kind, detail)
        } else {
            Before::Answer(kind, detail)
        })
    }

    /// Records that a file was skipped for this reason. If reading has failed, computes the
    /// time of the next attempt.
    pub(crate) fn record(&mut self, mark: u128, reason: &Reason, failures_before: u8, now: u64) {
        let kind = reason.kind();
        let Some(at) = KINDS.iter().position(|known| *known == kind) else { return };
        let kind_of = u8::try_from(at).unwrap_or(u8::MAX);
        let (failures, again) = if kind == FAILED {
            (failures_before.saturating_add(1), now.saturating_add(wait(failures_before)))
        } else {
            (0, 0)
        };
        let detail = reason.advice();
        self.now.insert(mark, SkipEntry { kind: kind_of, failures, again, detail });
    }

    /// Whether a retry of any failed file is due.
    #[cfg_attr(not(any(feature = "watch", test)), expect(dead_code, reason = "of --watch"))]
    pub(crate) fn is_time_to_try_again(&self, now: u64) -> bool {
        self.before.values().any(|entry| entry.failures > 0 && entry.again <= now)
    }

    /// Writes the cache. With `all`, every file of the folder was visited, so entries of the last
    /// run that were not confirmed are dropped.
    pub(crate) fn write(&mut self, all: bool) -> io::Result<()> {
        let known = std::mem::take(&mut self.before);
        let mut next = if all { HashMap::new() } else { known.clone() };
        next.extend(std::mem::take(&mut self.now));
        let changed = next != known;
        self.before = next;
        if !changed || !self.index.is_there() {
            return Ok(());
        }
        let ours = self.before.iter().map(|(mark, entry)| (self.folder, *mark, entry.clone()));
        let mut entries: Vec<_> = ours.chain(self.others.iter().cloned()).collect();
        entries.sort_unstable_by_key(|(folder, mark, _)| (*folder, *mark));
        // The file is not synced. If power loss tears it, the checksum detects this.
        let path = self.index.file(NAME);
        let tmp = path.with_extension("skipped.tmp");
        scratch::create(&tmp).and_then(|mut file| file.write_all(&encode(&entries)))?;
        scratch::rename(&tmp, &path)
    }
}

/// A hash that identifies a file in a certain state: its key, size, times and place, and the
/// version of the text extraction.
pub(crate) fn mark(key: &[u8], place: u64, stat: &Stat) -> u128 {
    let maker = formats::maker().to_le_bytes();
    let parts = [&place.to_le_bytes()[..], &maker[..], &stat.encode(), key];
    xxh3_128(&parts.concat())
}

/// The number of seconds to wait after a failure. `failures_before` is the number of earlier
/// failures.
fn wait(failures_before: u8) -> u64 {
    match failures_before {
        0 => 0,
        more => WAIT_FIRST.saturating_mul(4_u64.saturating_pow(u32::from(more) - 1)).min(WAIT_MAX),
    }
}

fn encode(entries: &[(u64, u128, SkipEntry)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (folder, mark, SkipEntry { kind, failures, again, detail }) in entries {
        bytes.extend(folder.to_le_bytes());
        bytes.extend(mark.to_le_bytes());
        bytes.extend([*kind, *failures]);
        bytes.extend(again.to_le_bytes());
        let length = u16::try_from(detail.len()).unwrap_or(0);
        bytes.extend(length.to_le_bytes());
        bytes.extend(detail.bytes().take(usize::from(length)));
    }
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// Returns `None` unless the data is complete and valid.
fn decode(bytes: &[u8]) -> Option<Vec<(u64, u128, SkipEntry)>> {
    let (content, sum) = bytes.split_last_chunk()?;
    let mut rest = content.strip_prefix(&MAGIC)?;
    if xxh3_64(content) != u64::from_le_bytes(*sum) {
        return None;
    }
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let (folder, mark, again, length);
        (folder, rest) = rest.split_first_chunk()?;
        (mark, rest) = rest.split_first_chunk()?;
        let (&[kind, failures], after) = rest.split_first_chunk()?;
        (again, rest) = after.split_first_chunk()?;
        (length, rest) = rest.split_first_chunk()?;
        let detail;
        (detail, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        let detail = str::from_utf8(detail).ok()?.to_owned();
        let entry = SkipEntry { kind, failures, again: u64::from_le_bytes(*again), detail };
        entries.push((u64::from_le_bytes(*folder), u128::from_le_bytes(*mark), entry));
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    #[test]
    fn every_damaged_bit_and_every_cut_is_noticed() {
        let entries = [
            (1, 2, SkipEntry { kind: 3, failures: 0, again: 0, detail: String::new() }),
            (
                4,
                u128::MAX,
                SkipEntry { kind: 6, failures: 7, again: u64::MAX - 1, detail: "why".to_owned() },
            ),
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

    fn answer(skipped: &mut SkipCache, mark: u128) -> Option<Before> {
        skipped.before(mark, NOW)
    }

    #[test]
    fn other_folders_are_kept_and_what_is_gone_is_not() {
        const BINARY: Option<Before> = Some(Before::Answer("binary", String::new()));
        const EMPTY: Option<Before> = Some(Before::Answer("empty", String::new()));
        let dir = tempfile::tempdir().unwrap();
        let read = |folder: &[u8]| SkipCache::read(dir.path(), folder);
        let mut a = read(b"a");
        a.record(1, &Reason::Binary("a NUL".to_owned()), 0, NOW);
        a.record(2, &Reason::Empty, 0, NOW);
        a.record(3, &Reason::Unreadable("?".to_owned()), 0, NOW);
        a.write(true).unwrap();
        let mut b = read(b"b");
        assert_eq!(answer(&mut b, 1), None);
        b.record(9, &Reason::Binary("a NUL".to_owned()), 0, NOW);
        b.write(true).unwrap();
        let mut a = read(b"a");
        assert_eq!([1, 2, 3].map(|mark| answer(&mut a, mark)), [BINARY, EMPTY, None]);
        a.record(4, &Reason::Empty, 0, NOW);
        a.write(false).unwrap();
        let mut a = read(b"a");
        assert_eq!([1, 4].map(|mark| answer(&mut a, mark)), [BINARY, EMPTY]);
        let mut a = read(b"a");
        a.record(1, &Reason::Binary("a NUL".to_owned()), 0, NOW);
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
            let mut skipped = SkipCache::read(dir.path(), b"a");
            let before = skipped.before(1, now);
            assert_eq!(before, (failures > 0).then_some(Before::TryAgain(failures)));
            skipped.record(1, &Reason::Failed("slow".to_owned()), failures, now);
            // Alternates between passes over the whole folder and passes over a part of it.
            skipped.write(failures % 2 == 0).unwrap();
            let mut skipped = SkipCache::read(dir.path(), b"a");
            let began = now;
            while skipped.before(1, now) == Some(Before::Waits(FAILED, "slow".to_owned())) {
                assert!(!skipped.is_time_to_try_again(now));
                now += 1;
            }
            assert!(skipped.is_time_to_try_again(now));
            waited.push(now - began);
        }
        assert_eq!(waited, [0, 60, 240, 960, 3_840, 15_360, 61_440, 86_400]);
    }
}
