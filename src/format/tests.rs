//! Decodes the examples printed in `docs/reference/FILE_FORMAT.md` and encodes them again.
//!
//! The document and the code must change together.

use super::DecodeError;
use super::blocks::{
    DeadProperties, Footer, Section, SectionKind, SegmentLayout, SegmentProperties, Tail,
};
use super::bytes::ByteReader;
use super::header::{FileHeader, FileKind};

pub(super) const DOCUMENT: &str = include_str!("../../docs/reference/FILE_FORMAT.md");

/// The bytes of the fenced block that starts with the line "```hex <name>". In each line,
/// everything after a semicolon is a comment.
pub(super) fn example(name: &str) -> Vec<u8> {
    let fence = format!("```hex {name}\n");
    let (_, rest) = DOCUMENT.split_once(&fence).expect("the document has this example");
    let (block, _) = rest.split_once("```").expect("the block is closed");
    let mut bytes = Vec::new();
    for line in block.lines() {
        let digits = line.split(';').next().expect("a first part");
        for byte in digits.split_whitespace() {
            assert_eq!(byte.len(), 2, "two digits a byte: {byte}");
            bytes.push(u8::from_str_radix(byte, 16).expect("hex digits"));
        }
    }
    bytes
}

#[test]
fn the_example_of_a_file_header() {
    let bytes = example("file header");
    let header = FileHeader::decode(&bytes, true).expect("decodes");
    let expected = FileHeader {
        kind: FileKind::Segment,
        uuid: *b"0123456789abcdef",
        number: 7,
        params_id: 0x0102_0304_0506_0708,
    };
    assert_eq!(header, expected);
    assert_eq!(header.encode()[..], bytes);
}

#[test]
fn the_example_of_a_footer() {
    let bytes = example("footer");
    let footer = Footer::decode(&bytes, 8484).expect("decodes");
    assert_eq!((footer.number, footer.sections, footer.kind), (7, 8, FileKind::Segment));
    assert_eq!(footer.encode()[..], bytes);
    let tail = [example("section table"), example("segment properties")].concat();
    // The CRC table of this file is one block, so there is one root CRC, at the start of the tail.
    let tail = [example("root table"), tail].concat();
    let decoded = Tail::decode(&tail, &footer).expect("decodes");
    assert_eq!(decoded.encode(), tail);
}

#[test]
fn the_example_of_a_section_table() {
    let bytes = example("section table");
    let mut reader = ByteReader::new(&bytes);
    let mut encoded = Vec::new();
    let mut sections = Vec::new();
    while reader.remaining() > 0 {
        let section = Section::decode(&mut reader).expect("decodes");
        section.encode(&mut encoded);
        sections.push(section);
    }
    assert_eq!(encoded, bytes);
    let properties = example("segment properties").try_into().expect("32 bytes");
    let properties = SegmentProperties::decode(&properties).expect("decodes");
    assert_eq!(properties.encode()[..], example("segment properties"));
    SegmentLayout::decode(&properties, &sections, 4096).expect("where they must be");
}

#[test]
fn the_example_of_dead_properties() {
    let bytes = example("dead file properties");
    let properties = DeadProperties::decode(&bytes.clone().try_into().expect("32 bytes"));
    let properties = properties.expect("decodes");
    assert_eq!(properties, DeadProperties { segment: 7, docs: 100, dead: 3 });
    assert_eq!(properties.encode()[..], bytes);
    let (section, body_bytes) = properties.layout().expect("small");
    assert_eq!(section, Section { kind: SectionKind::Dead, offset: 64, bytes: 16 });
    assert_eq!(body_bytes, 4096);
}

#[test]
fn a_cut_or_changed_example_is_an_error() {
    let header = example("file header");
    let footer = example("footer");
    for at in 0..64 {
        FileHeader::decode(&header[..at], true).expect_err("cut");
        Footer::decode(&footer[..at], 8484).expect_err("cut");
        for bit in 0..8 {
            let mut changed = header.clone();
            changed[at] ^= 1 << bit;
            FileHeader::decode(&changed, true).expect_err("changed");
            let mut changed = footer.clone();
            changed[at] ^= 1 << bit;
            Footer::decode(&changed, 8484).expect_err("changed");
        }
    }
    Footer::decode(&footer, 8485).expect_err("of another length");
}

#[test]
fn impossible_numbers_are_errors() {
    let good =
        SegmentProperties { docs: 200, tables: 3, signature_bytes: 16, time_min: 1, time_max: 2 };
    let decode = |properties: &SegmentProperties| SegmentProperties::decode(&properties.encode());
    assert_eq!((good.groups(), decode(&good)), (3, Ok(good)));
    for bad in [
        SegmentProperties { docs: 0, ..good },
        SegmentProperties { docs: u32::MAX, ..good },
        SegmentProperties { time_min: 3, ..good },
    ] {
        decode(&bad).expect_err("impossible");
    }
    let mut other_groups = good.encode();
    other_groups[4] += 1;
    SegmentProperties::decode(&other_groups).expect_err("impossible");
    let huge = SegmentProperties { docs: u32::MAX - 1, tables: u32::MAX, ..good };
    assert_eq!(SegmentLayout::for_segment(&huge, 0), None);
    assert_eq!(SegmentLayout::for_segment(&good, u64::MAX), None);
    let dead = DeadProperties { segment: 1, docs: 2, dead: 3 };
    DeadProperties::decode(&dead.encode()).expect_err("more dead than documents");
}

#[test]
fn a_codec_of_tomorrow_is_not_guessed() {
    for kind in [7_u32, 8, 9] {
        for codec in 0..4_u32 {
            let mut bytes = [kind.to_le_bytes(), codec.to_le_bytes()].concat();
            bytes.extend([0; 16]);
            let decoded = Section::decode(&mut ByteReader::new(&bytes));
            assert_eq!(decoded.is_ok(), codec == 0, "kind {kind}, codec {codec}");
            if let Err(error) = decoded {
                assert_eq!(error, DecodeError::unsupported("unknown section codec", 0));
            }
        }
    }
}

#[test]
fn random_bytes_are_errors() {
    // The output of a random number generator is not a valid file.
    let mut state = 1_u64;
    for round in 0..2000_usize {
        let bytes: Vec<u8> = (0..round % 300)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_le_bytes()[6]
            })
            .collect();
        FileHeader::decode(&bytes, true).expect_err("random");
        Footer::decode(&bytes, 8484).expect_err("random");
        let footer = Footer::decode(&example("footer"), 8484).expect("decodes");
        Tail::decode(&bytes, &footer).expect_err("random");
    }
}
