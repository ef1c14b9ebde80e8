//! Recognises what a file is by its first bytes and by its name, to name what is not read.

use std::path::Path;

/// The first bytes of formats that are not read, what they are, and what to do.
const OTHERS: [(&[u8], &str); 23] = [
    (b"\xfd7zXZ\0", "xz data: unpack it with `xz -d`"),
    (b"BZh1", BZIP2),
    (b"BZh2", BZIP2),
    (b"BZh3", BZIP2),
    (b"BZh4", BZIP2),
    (b"BZh5", BZIP2),
    (b"BZh6", BZIP2),
    (b"BZh7", BZIP2),
    (b"BZh8", BZIP2),
    (b"BZh9", BZIP2),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"),
    (b"\x04\x22\x4d\x18", "lz4 data: unpack it with `lz4 -d`"),
    (b"\xff\x06\0\0sNaPpY", "Snappy data: unpack it"),
    (b"ARROW1", ARROW),
    (b"\xff\xff\xff\xff", ARROW),
    (b"FEA1", ARROW),
    (b"Obj\x01", "an Avro file: convert it to JSON lines or Parquet"),
    (b"\xd0\xcf\x11\xe0", EXCEL),
    (b"SQLite format 3\0", "a SQLite database: export the table as CSV"),
    (b"%PDF-", "a PDF file, not rows"),
    (b"\x89HDF", "an HDF5 file: convert it to Parquet or CSV"),
];

const BZIP2: &str = "bzip2 data: unpack it with `bzip2 -d`";
const ZIP: &str =
    "a zip archive (as .xlsx and .ods files are): unpack it, or save the sheet as CSV";
const ARROW: &str = "an Arrow or Feather file: convert it to Parquet";
const EXCEL: &str = "an old Excel file: save the sheet as CSV";

/// What a file is whose format is not read, by its first bytes.
pub(super) fn other(head: &[u8]) -> Option<&'static str> {
    OTHERS.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what)
}

/// Whether these bytes may be the beginning of the first bytes of such a format.
pub(super) fn may_be_other(head: &[u8]) -> bool {
    OTHERS.iter().any(|(magic, _)| magic.len() > head.len() && magic.starts_with(head))
}

/// What a file is whose format is not read, by its name: its first bytes do not say it.
pub(super) fn other_by_name(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_ascii_lowercase();
    Some(match ending.to_str()? {
        "orc" => "an ORC file: convert it to Parquet",
        "br" => "Brotli data: unpack it with `brotli -d`",
        "tar" | "tgz" => "a tar archive: unpack it, and give the files",
        _ => return None,
    })
}
