//! The catalog's row and its encoding: version, checksum, then the row in bincode.
//!
//! Pure: encodes a row and checks that a decoded row is consistent. `crate::catalog` stores the
//! bytes in redb.

use serde::{Deserialize, Serialize};

use super::DecodeError;
use super::bytes::{ByteReader, NUMBER_MAX, wide};
use crate::Params;
use nearkin_sketch::engine::validate;

/// Version of the encoding.
const VERSION: u8 = 1;
/// Length of the prefix: version (1 byte) and CRC (4 bytes).
const PREFIX_BYTES: u64 = 5;
/// Upper bound of a row's length, and thus of what decoding may allocate. A segment takes at most
/// 90 bytes.
const ROW_BYTES_MAX: usize = 4 << 20;

/// The content of the catalog. Fields are encoded in the order of declaration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Identifies the index. The header of every file repeats it.
    pub(crate) uuid: [u8; 16],
    pub(crate) params: Params,
    /// Unicode versions that were used for the first signatures. Informative only.
    pub(crate) unicode: String,
    /// The floor: segments and dead files contain all changes up to this number.
    pub(crate) floor: u64,
    /// The file with the changes above the floor.
    pub(crate) wal: Option<WalEntry>,
    /// Number of the next file. All smaller numbers are taken, even if no listed file has them.
    pub(crate) file_next: u64,
    /// Segments, oldest first.
    pub(crate) segments: Vec<SegmentEntry>,
}

/// The WAL, with the length that it was published with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalEntry {
    pub(crate) number: u64,
    pub(crate) salt: u64,
    /// Length of the file in bytes.
    pub(crate) length: u64,
}

/// A segment, with the counts that the compaction policy needs without opening the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    /// Length of the file in bytes.
    pub(crate) length: u64,
    pub(crate) tail_hash: u64,
    pub(crate) docs: u32,
    /// Number of dead documents at the floor, equal to the count in `dead_file`.
    pub(crate) dead: u32,
    pub(crate) time_min: u64,
    pub(crate) time_max: u64,
    /// The file that lists the dead documents.
    pub(crate) dead_file: Option<Listed>,
}

/// The catalog's values for a block file. Opening must find them in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed {
    pub(crate) number: u64,
    /// Length of the file in bytes.
    pub(crate) length: u64,
    pub(crate) tail_hash: u64,
}

impl Row {
    /// The row of an index without changes.
    pub(crate) fn new(uuid: [u8; 16], params: Params, unicode: String) -> Self {
        let (floor, wal, file_next, segments) = (0, None, 1, Vec::new());
        Self { uuid, params, unicode, floor, wal, file_next, segments }
    }

    /// Encodes the row. Panics on a row that [`Row::decode`] would refuse: such a row is a bug, and
    /// writing it would lose the index.
    pub(crate) fn encode(&self) -> Vec<u8> {
        assert_eq!(self.problem(), None, "the catalog row is invalid");
        let config = bincode::config::standard().with_limit::<ROW_BYTES_MAX>();
        let body = bincode::serde::encode_to_vec(self, config).unwrap_or_default();
        // Encoding into memory fails only for types that bincode does not support.
        assert!(
            !body.is_empty() && body.len() <= ROW_BYTES_MAX,
            "the catalog row has {} bytes",
            body.len()
        );
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }

    /// Reads and checks a row.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let version = reader.u8("catalog row is cut short")?;
        let crc = reader.u32("catalog row is cut short")?;
        let body = reader.take(reader.remaining(), "catalog row is cut short")?;
        // The checksum is checked before the version: if it is valid, an unknown version means a
        // newer writer, not damage.
        if crc32fast::hash(body) != crc {
            return Err(DecodeError::damaged("checksum of the catalog row does not match", 1));
        }
        if version != VERSION {
            return Err(DecodeError::unsupported("version of the catalog row is unknown", 0));
        }
        let config = bincode::config::standard().with_limit::<ROW_BYTES_MAX>();
        let (row, used): (Self, usize) = bincode::serde::decode_from_slice(body, config)
            .map_err(|_| DecodeError::damaged("catalog row is malformed", PREFIX_BYTES))?;
        if used != body.len() {
            let end = PREFIX_BYTES.saturating_add(wide(used));
            return Err(DecodeError::damaged("bytes after the catalog row", end));
        }
        match row.problem() {
            Some(what) => Err(DecodeError::damaged(what, PREFIX_BYTES)),
            None => Ok(row),
        }
    }

    /// Returns the first inconsistency of the row.
    fn problem(&self) -> Option<&'static str> {
        if validate(&self.params).is_err() {
            return Some("parameters of the catalog row are out of range");
        }
        if self.floor > NUMBER_MAX || self.file_next > NUMBER_MAX {
            return Some("floor or next file number of the catalog is out of range");
        }
        if let Some(what) = self.segments.iter().find_map(SegmentEntry::problem) {
            return Some(what);
        }
        let mut numbers: Vec<u64> = self.numbers().collect();
        if numbers.iter().any(|number| *number >= self.file_next) {
            return Some("a file number in the catalog is not below the next one");
        }
        numbers.sort_unstable();
        let listed = numbers.len();
        numbers.dedup();
        (numbers.len() != listed).then_some("a file number stands in the catalog twice")
    }

    /// Numbers of all files that the row lists.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let segments = self.segments.iter();
        let dead = self.segments.iter().filter_map(|segment| segment.dead_file);
        let wal = self.wal.iter().map(|wal| wal.number);
        wal.chain(segments.map(|segment| segment.number)).chain(dead.map(|dead| dead.number))
    }
}

impl SegmentEntry {
    /// A segment without dead documents.
    pub(crate) fn new(file: Listed, docs: u32, (time_min, time_max): (u64, u64)) -> Self {
        let Listed { number, length, tail_hash } = file;
        let (dead, dead_file) = (0, None);
        Self { number, length, tail_hash, docs, dead, time_min, time_max, dead_file }
    }

    /// The file of the segment.
    pub(crate) fn listed(&self) -> Listed {
        let Self { number, length, tail_hash, .. } = *self;
        Listed { number, length, tail_hash }
    }

    fn problem(&self) -> Option<&'static str> {
        if self.docs == 0 || self.docs == u32::MAX {
            return Some("document count of a segment is out of range");
        }
        if self.dead > self.docs {
            return Some("more documents of a segment are dead than it has");
        }
        if (self.dead > 0) != self.dead_file.is_some() {
            return Some("dead count and dead file of a segment disagree");
        }
        (self.time_min > self.time_max).then_some("times of a segment are out of order")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Common, FoldOptions, Normalise, ParamsBuilder, Scheme, Shingles};

    fn case() -> ParamsBuilder {
        Params::builder().normalise(Normalise::Case)
    }

    fn segment(number: u64) -> SegmentEntry {
        let after = number.saturating_add(1);
        let dead_file = Some(Listed { number: after, length: 16_384, tail_hash: 5 });
        let (time_min, time_max) = (1_700_000_000_000, u64::MAX);
        let (length, tail_hash) = (u64::MAX, u64::MAX);
        SegmentEntry { number, length, tail_hash, docs: 9, dead: 9, time_min, time_max, dead_file }
    }

    fn common() -> Common {
        Common::from_hashes([0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210]).expect("a list")
    }

    fn row() -> Row {
        Row {
            uuid: *b"0123456789abcdef",
            params: case().build().expect("valid"),
            unicode: "16".to_owned(),
            floor: 300,
            wal: Some(WalEntry { number: 1, salt: 0x0123_4567_89AB_CDEF, length: 1 << 20 }),
            file_next: 8,
            segments: vec![segment(2), SegmentEntry { dead: 0, dead_file: None, ..segment(7) }],
        }
    }

    /// Adds a valid checksum to any body.
    fn seal(body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn a_row_comes_back_and_a_segment_takes_at_most_90_bytes() {
        let empty = Row { wal: None, segments: Vec::new(), ..row() };
        for row in [row(), empty.clone()] {
            assert_eq!(Row::decode(&row.encode()).expect("decodes"), row);
        }
        let largest = SegmentEntry { number: NUMBER_MAX - 2, docs: u32::MAX - 1, ..segment(1) };
        let full = Row { file_next: NUMBER_MAX, segments: vec![largest], ..empty.clone() };
        assert!(full.encode().len() - empty.encode().len() <= 90);
    }

    #[test]
    fn a_row_of_any_parameters_comes_back_and_has_version_1() {
        let scheme = Scheme::external("datasketch-seed1").expect("a name");
        let mut builders = vec![
            case().scheme(scheme),
            case().stop_words(["a", "the"]),
            case().passages("200:100".parse().expect("windows")),
            case().common(common()),
            case().stop_words(["a", "the"]).common(common()).bag(true),
            case().shingles(Shingles::Items).common(common()),
        ];
        builders.extend([32, 64].map(|bits| case().scheme(scheme).lane_bits(bits)));
        for bits in 0..32 {
            let set = |bit: u8| bits & bit != 0;
            let options = FoldOptions::default().diacritics(set(1));
            let options = options.dehyphenate(set(2)).turkish(set(4)).digits(set(8));
            let options = options.lookalikes(set(16));
            builders.push(case().normalise(Normalise::Fold(options)));
        }
        for builder in builders {
            let row = Row { params: builder.build().expect("valid"), ..row() };
            let bytes = row.encode();
            assert_eq!(bytes[0], VERSION);
            assert_eq!(Row::decode(&bytes).expect("decodes"), row);
            let newer = Row::decode(&[&[2], &bytes[1..]].concat()).expect_err("another version");
            assert!(newer.unsupported);
        }
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_refused() {
        let bytes = row().encode();
        for length in 0..bytes.len() {
            Row::decode(&bytes[..length]).expect_err("cut short");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = Row::decode(&damaged).expect_err("damaged");
            // If only the version byte has changed, the checksum is still valid: then the row looks
            // like one of a newer version.
            assert_eq!(error.unsupported, bit < 8, "bit {bit}");
        }
    }

    #[test]
    fn impossible_records_are_refused() {
        let with = |change: &dyn Fn(&mut Row)| {
            let mut row = row();
            change(&mut row);
            row
        };
        let cases: [(&str, Row); 12] = [
            ("out of range", with(&|row| row.floor = NUMBER_MAX + 1)),
            ("out of range", with(&|row| row.file_next = u64::MAX)),
            ("next", with(&|row| row.file_next = 7)),
            ("twice", with(&|row| row.segments[1].number = 2)),
            ("twice", with(&|row| row.segments[1].number = 3)),
            ("twice", with(&|row| row.wal = Some(WalEntry { number: 7, salt: 0, length: 0 }))),
            ("document count", with(&|row| row.segments[1].docs = 0)),
            ("document count", with(&|row| row.segments[1].docs = u32::MAX)),
            ("more documents", with(&|row| row.segments[0].dead = 10)),
            ("disagree", with(&|row| row.segments[0].dead = 0)),
            ("disagree", with(&|row| row.segments[0].dead_file = None)),
            ("times", with(&|row| row.segments[1].time_max = 0)),
        ];
        let config = bincode::config::standard();
        for (what, row) in cases {
            let body = bincode::serde::encode_to_vec(&row, config).expect("encodes");
            let error = Row::decode(&seal(&body)).expect_err(what);
            assert!(error.what.contains(what), "{what}: {error}");
        }
        let mut longer = row().encode().split_off(5);
        longer.push(0);
        assert!(Row::decode(&seal(&longer)).expect_err("longer").what.contains("after"));
    }

    #[test]
    #[should_panic(expected = "the catalog row is invalid")]
    fn a_row_that_would_be_refused_is_not_written() {
        let _ = Row { file_next: 0, ..row() }.encode();
    }

    /// 200,000 times, changes up to four bytes and corrects the checksum. This also produces wrong
    /// lengths.
    #[test]
    fn hostile_rows_never_panic() {
        let body = row().encode().split_off(5);
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).expect("31 bits") % below
        };
        let mut accepted = 0;
        for _ in 0..200_000 {
            let mut hostile = body.clone();
            for _ in 0..=random(4) {
                let at = random(hostile.len());
                hostile[at] = u8::try_from(random(256)).expect("a byte");
            }
            if let Ok(row) = Row::decode(&seal(&hostile)) {
                accepted += 1;
                assert_eq!(Row::decode(&row.encode()).expect("decodes"), row);
            }
        }
        assert!(accepted > 0, "no mutation got past the first checks");
        let empty = Row { segments: Vec::new(), ..row() }.encode().split_off(5);
        let lengths: [&[u8]; 6] = [
            &[250],
            &[251, 255, 255],
            &[252, 255, 255, 255, 255],
            &[253, 255, 255, 255, 255, 255, 255, 255, 255],
            &[253, 0, 0, 0, 0, 0, 0, 0, 128],
            &[254, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
        ];
        for length in lengths {
            // In a row without segments the segment count is the last field.
            let hostile = [&empty[..empty.len() - 1], length, &[0; 64][..]].concat();
            Row::decode(&seal(&hostile)).expect_err("a length that lies");
        }
    }

    /// The example rows of FILE_FORMAT.md as Rust values.
    #[test]
    fn the_rows_in_the_format_document_are_those_we_write() {
        let scheme = Scheme::external("maker").expect("a name");
        let external = case().scheme(scheme).build().expect("valid");
        let stop = case().stop_words(["the", "a"]).build().expect("valid");
        let options = FoldOptions::default().diacritics(true);
        let fold = case().normalise(Normalise::Fold(options)).build().expect("valid");
        let windows = "200:100".parse().expect("windows");
        let passages = case().passages(windows).build().expect("valid");
        let whole = case().scheme(scheme).lane_bits(32).build().expect("valid");
        let common = case().common(common()).build().expect("valid");
        let empty = || Row { wal: None, segments: Vec::new(), ..row() };
        let rows = [
            ("", Row { wal: row().wal, segments: vec![segment(2)], ..row() }),
            (" of an external scheme", Row { params: external, ..empty() }),
            (" with a stop list", Row { params: stop, ..empty() }),
            (" of passages", Row { params: passages, ..empty() }),
            (" of fold", Row { params: fold, ..empty() }),
            (" of whole rows", Row { params: whole, ..empty() }),
            (" with common shingles", Row { params: common, ..empty() }),
        ];
        let document = include_str!("../../docs/reference/FILE_FORMAT.md");
        for (name, row) in rows {
            let hex: Vec<String> = row.encode().iter().map(|byte| format!("{byte:02X}")).collect();
            let lines: Vec<String> = hex.chunks(16).map(|line| line.join(" ")).collect();
            let example = format!("```hex catalog row{name}\n{}\n```\n", lines.join("\n"));
            assert!(
                document.contains(&example),
                "docs/reference/FILE_FORMAT.md should print\n{example}"
            );
        }
    }
}
