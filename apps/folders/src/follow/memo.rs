//! The state of a file at the time its document was made. It is stored as the document's payload.
//!
//! Pure: works on bytes and numbers, and on metadata that was already read.

use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

use nearkin::Signature;
use xxhash_rust::xxh3::xxh3_64;

/// Magic numbers of payloads: `MAGIC` of the current version, `MAGIC_BEFORE` of an earlier version
/// that stored no hash of the signature.
const MAGIC: [u8; 4] = *b"NKM2";
const MAGIC_BEFORE: [u8; 4] = *b"NKM1";

/// If a file is modified again within this time, its modification time may stay the same: some file
/// systems have a resolution of 2 s, and clocks of network drives differ.
const MODIFIED_STEP_NS: i64 = 2_000_000_000;

/// Like [`MODIFIED_STEP_NS`], but for the time of the last change of the inode (ctime). This limit
/// is shorter, because no program can set that time, and its resolution is that of the system
/// clock.
const CHANGED_STEP_NS: i64 = 100_000_000;

/// Metadata of a file, which can be read without opening the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub bytes: u64,
    /// Nanoseconds since 1970.
    modified_ns: i64,
    /// Time of the last change of the inode; 0 on systems without it.
    changed_ns: i64,
}

impl Stat {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        let modified_ns = metadata.modified().map_or(0, nanoseconds);
        Self { bytes: metadata.len(), modified_ns, changed_ns: changed_ns(metadata) }
    }

    /// Whether every change to the file after `now_ns` would show in its metadata.
    pub(crate) fn is_settled(&self, now_ns: i64) -> bool {
        self.modified_ns < now_ns.saturating_sub(MODIFIED_STEP_NS)
            && self.changed_ns < now_ns.saturating_sub(CHANGED_STEP_NS)
    }

    /// Encodes the metadata in 24 bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.bytes.to_le_bytes().to_vec();
        bytes.extend(self.modified_ns.to_le_bytes());
        bytes.extend(self.changed_ns.to_le_bytes());
        bytes
    }
}

/// The current time in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    nanoseconds(SystemTime::now())
}

/// The current time in seconds since 1970.
pub(crate) fn now_s() -> u64 {
    u64::try_from(now_ns() / 1_000_000_000).unwrap_or(0)
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}

#[cfg(unix)]
fn changed_ns(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn changed_ns(_: &Metadata) -> i64 {
    0
}

/// The state of a file at the time its document was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memo {
    pub(crate) stat: Stat,
    /// Whether every later change to the file would show in `stat`. If not, the next run reads the
    /// file again.
    pub(crate) settled: bool,
    /// Version of the text extraction: see [`nearkin_input::formats::maker`].
    pub maker: u16,
    /// Hash of the file's resolved path: see [`super::folder::Folder::place`].
    pub place: u64,
    /// XXH3-128 of the file's bytes.
    pub content: u128,
    /// Hash of the document's signature. If another program inserts another text under the same
    /// key, the document keeps our payload; the hash then reveals that the text is not ours.
    pub signature: Option<u64>,
}

/// The hash of a signature, as stored in a memo.
pub(crate) fn hash(signature: &Signature) -> u64 {
    xxh3_64(signature.as_bytes())
}

impl Memo {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.maker.to_le_bytes());
        bytes.extend([u8::from(self.settled), 0]);
        bytes.extend(self.place.to_le_bytes());
        bytes.extend(self.content.to_le_bytes());
        bytes.extend(self.stat.encode());
        bytes.extend(self.signature.unwrap_or_default().to_le_bytes());
        bytes
    }

    /// Whether a document with this payload and signature was stored by `mirror`. A payload of the
    /// earlier version is always accepted, because it has no hash to compare.
    pub(crate) fn is_of(&self, signature: &Signature) -> bool {
        self.signature.is_none_or(|own| own == hash(signature))
    }

    /// Decodes a payload. Returns `None` if `mirror` did not write it.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let (rest, signature) = match payload.strip_prefix(&MAGIC) {
            Some(rest) => {
                let (rest, signature) = rest.split_last_chunk()?;
                (rest, Some(u64::from_le_bytes(*signature)))
            }
            None => (payload.strip_prefix(&MAGIC_BEFORE)?, None),
        };
        let (maker, rest) = rest.split_first_chunk()?;
        let ([settled, 0], rest) = rest.split_first_chunk()? else { return None };
        let (place, rest) = rest.split_first_chunk()?;
        let (content, rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        let (modified, rest) = rest.split_first_chunk()?;
        let (changed, rest) = rest.split_first_chunk()?;
        let stat = Stat {
            bytes: u64::from_le_bytes(*bytes),
            modified_ns: i64::from_le_bytes(*modified),
            changed_ns: i64::from_le_bytes(*changed),
        };
        rest.is_empty().then_some(Self {
            stat,
            // If the payload has no hash of the signature, the file is read again, and its payload
            // is rewritten.
            settled: *settled == 1 && signature.is_some(),
            maker: u16::from_le_bytes(*maker),
            place: u64::from_le_bytes(*place),
            content: u128::from_le_bytes(*content),
            signature,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memo_is_read_as_it_was_written_and_nothing_else_is() {
        let stat = Stat { bytes: 1 << 40, modified_ns: -5, changed_ns: i64::MAX };
        let (content, signature) = (1 << 100, Some(9));
        let memo = Memo { stat, settled: true, maker: 0x1234, place: 7, content, signature };
        let payload = memo.encode();
        assert_eq!(payload.len(), 64);
        assert_eq!(Memo::decode(&payload), Some(memo));
        for end in 0..payload.len() {
            assert_eq!(Memo::decode(&payload[..end]), None);
        }
        assert_eq!(Memo::decode(&[&payload[..], b"x"].concat()), None);
        // A memo of the earlier version is accepted, but its file is read again.
        let before = [&b"NKM1"[..], &payload[4..56]].concat();
        let read_again = Memo { settled: false, signature: None, ..memo };
        assert_eq!(Memo::decode(&before), Some(read_again));
        assert_eq!(Memo::decode(b"somebody's own payload of at least fifty-six bytes, see?"), None);
    }

    #[test]
    fn recently_modified_files_are_not_settled() {
        let now = now_ns();
        let stat = |modified_ns, changed_ns| Stat { bytes: 1, modified_ns, changed_ns };
        let second = 1_000_000_000;
        assert!(stat(now - 3 * second, now - second).is_settled(now));
        assert!(!stat(now - second, now - second).is_settled(now));
        assert!(!stat(now - 3 * second, now).is_settled(now));
        assert!(!stat(now + 9 * second, 0).is_settled(now), "from the future");
        assert!(stat(-1, 0).is_settled(now), "before 1970");
    }
}
