//! Recognises formats without readable text by the first bytes of a file, and names them.

use std::path::Path;

use crate::raw::Reason;

/// For each format: its first bytes; whether its files can contain text; its name. A file that can
/// contain text is reported as an unread format, any other as binary.
const KNOWN: [(&[u8], bool, &str); 37] = [
    (b"\x89PNG\r\n\x1a\n", false, "a PNG picture"),
    (b"\xff\xd8\xff", false, "a JPEG picture"),
    (b"GIF8", false, "a GIF picture"),
    (b"II*\0", false, "a TIFF picture"),
    (b"MM\0*", false, "a TIFF picture"),
    (b"\0\0\x01\0", false, "an icon"),
    (b"8BPS", false, "a Photoshop picture"),
    (b"ID3", false, "an MP3 recording"),
    (b"OggS", false, "an Ogg recording or film"),
    (b"fLaC", false, "a FLAC recording"),
    (b"\x1aE\xdf\xa3", false, "a Matroska or WebM film"),
    (b"\0\0\x01\xba", false, "an MPEG film"),
    (b"\x7fELF", false, "a program or library (ELF)"),
    (b"MZ", false, "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", false, "a macOS program or library"),
    (b"\xca\xfe\xba\xbe", false, "a Java class or macOS program"),
    (b"\0asm", false, "a WebAssembly module"),
    (b"SQLite format 3\0", true, "an SQLite database"),
    (b"wOFF", false, "a font"),
    (b"wOF2", false, "a font"),
    (b"OTTO", false, "a font"),
    (b"\0\x01\0\0\0", false, "a font"),
    (b"7z\xbc\xaf\x27\x1c", true, "a 7-Zip archive: unpack it"),
    (b"Rar!\x1a\x07", true, "a RAR archive: unpack it"),
    (b"\xfd7zXZ\0", true, "packed by xz: unpack it"),
    (b"BZh", true, "packed by bzip2: unpack it"),
    (b"\x28\xb5\x2f\xfd", true, "packed by Zstandard: unpack it"),
    (b"PK\x03\x04", true, "a ZIP archive, or a document that is one"),
    (b"!<arch>\n", false, "a library or a Debian package"),
    (b"\xed\xab\xee\xdb", false, "an RPM package"),
    (b"PAR1", true, "a Parquet file: give it as --jsonl FILE"),
    (b"ARROW1", true, "an Arrow file"),
    (b"Obj\x01", true, "an Avro file"),
    (b"\x89HDF", false, "an HDF5 file"),
    (b"\x93NUMPY", false, "a NumPy array"),
    (b"\xde\x12\x04\x95", false, "a catalogue of translations (.mo)"),
    (b"redb\x1a\x0a\xa9\x0d\x0a", false, "a redb database"),
];

/// Number of bytes needed to recognise a format.
pub(super) const HEAD_BYTES: usize = 512;

/// Offset of the magic number in a tar archive.
const TAR_AT: usize = 257;

/// First bytes of files of Office versions before 2007.
const OFFICE_97: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// The reason for skipping a file that is a program for a printer. It would be read as a text, but
/// its text is that of the program, which is much the same for all pages.
pub(super) fn source_of_pages(bytes: &[u8]) -> Option<Reason> {
    const BEGINS: [&[u8]; 4] = [b"%!PS", b"\x04%!PS", b"\xc5\xd0\xd3\xc6", b"\x1b%-12345X"];
    BEGINS.iter().any(|begin| bytes.starts_with(begin)).then(|| {
        Reason::Format("PostScript, or a job for a printer: convert it to PDF (ps2pdf)".to_owned())
    })
}

/// The reason for skipping a file, if its format is recognised.
pub(super) fn reason(path: &Path, bytes: &[u8]) -> Option<Reason> {
    let ending = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    let ending = ending.as_ref().and_then(|ending| ending.to_str()).unwrap_or_default();
    if bytes.starts_with(OFFICE_97) {
        return Some(Reason::Format(match ending {
            "doc" | "dot" => "a Word 97 document (.doc) is not read: save it as .docx".to_owned(),
            "xls" => "a spreadsheet (.xls): save its sheets as CSV".to_owned(),
            "ppt" | "pps" => {
                "PowerPoint 97 slides (.ppt) are not read: save them as .pptx".to_owned()
            }
            "msg" => "an Outlook message (.msg) is not read: save it as .eml".to_owned(),
            _ => "an Office file of before 2007 is not read".to_owned(),
        }));
    }
    if bytes.get(TAR_AT..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        return Some(Reason::Format(
            "a tar archive: unpack it; `add --archives` reads it if it is in no other".to_owned(),
        ));
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return Some(Reason::Binary("an MPEG-4 film, recording or picture".to_owned()));
    }
    if bytes.starts_with(b"RIFF") {
        return Some(Reason::Binary(match bytes.get(8..12) {
            Some(b"WEBP") => "a WebP picture".to_owned(),
            Some(b"WAVE") => "a WAVE recording".to_owned(),
            Some(b"AVI ") => "an AVI film".to_owned(),
            _ => "a RIFF file".to_owned(),
        }));
    }
    let found = KNOWN.iter().find(|(begin, ..)| bytes.starts_with(begin));
    found.map(|(_, has_text, what)| match has_text {
        true => Reason::Format((*what).to_owned()),
        false => Reason::Binary((*what).to_owned()),
    })
}
