//! An export as JSON lines: the header, then one object per document.
//!
//! Bytes that are not UTF-8 are stored as hexadecimal digits in a second field.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use nearkin::{Document, Params, Signature};
use serde::{Deserialize, Serialize};

use super::header::Header;
use nearkin_input::files;
use nearkin_input::lines::Lines;
use nearkin_input::raw::Origin;
use nearkin_kit::failure::Failure;
use nearkin_kit::target::Target;

/// A document as stored on a line.
#[derive(Serialize, Deserialize)]
struct Line {
    /// Exactly one of `key` and `key_hex` is present: `key_hex` if the key is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    /// Time of insertion or last replacement, in milliseconds since 1970 in UTC.
    time: u64,
    shingle_count: u32,
    /// The stored rows, in hexadecimal digits.
    signature: String,
    /// At most one of `payload` and `payload_hex` is present; neither if there is no payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_hex: Option<String>,
}

/// The bytes as text if they are UTF-8, otherwise as hexadecimal digits.
fn text_or_hex(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(hex(error.as_bytes()))),
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    // `try_into` would be ambiguous: on Windows a dependency can collect another type into bytes.
    let digit = |letter: char| u8::try_from(letter.to_digit(16)?).ok();
    let digits: Option<Vec<u8>> = text.chars().map(digit).collect();
    let digits = digits?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

impl Line {
    fn new(document: &Document) -> Self {
        let (key, key_hex) = text_or_hex(document.key.clone());
        let (payload, payload_hex) = if document.payload.is_empty() {
            (None, None)
        } else {
            text_or_hex(document.payload.clone())
        };
        Self {
            key,
            key_hex,
            time: document.time,
            shingle_count: document.signature.shingle_count(),
            signature: hex(document.signature.as_bytes()),
            payload,
            payload_hex,
        }
    }

    fn document(self, params: &Params) -> Result<Document, String> {
        let key = match (self.key, self.key_hex) {
            (Some(key), None) => key.into_bytes(),
            (None, Some(digits)) => unhex(&digits).ok_or("\"key_hex\" is not hexadecimal")?,
            _ => return Err("there must be either \"key\" or \"key_hex\"".to_owned()),
        };
        let payload = match (self.payload, self.payload_hex) {
            (None, None) => Vec::new(),
            (Some(payload), None) => payload.into_bytes(),
            (None, Some(digits)) => unhex(&digits).ok_or("\"payload_hex\" is not hexadecimal")?,
            _ => return Err("give \"payload\" or \"payload_hex\", not both".to_owned()),
        };
        let bytes = unhex(&self.signature).ok_or("\"signature\" is not hexadecimal")?;
        let signature = Signature::from_bytes(params, &bytes, self.shingle_count)
            .map_err(|error| error.full_message())?;
        Ok(Document::new(key, signature).with_payload(payload).with_time(self.time))
    }
}

/// Writes an export as lines.
pub(crate) struct LinesWriter {
    out: BufWriter<Out>,
}

enum Out {
    File(Target),
    Stdout(io::Stdout),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

impl Out {
    fn failed(&self, error: &io::Error) -> Failure {
        match self {
            Self::File(file) => Failure::writing(file.path(), error),
            Self::Stdout(_) => Failure::printing(error),
        }
    }
}

impl LinesWriter {
    pub(crate) fn create(path: &Path, header: &Header) -> Result<Self, Failure> {
        let out = if path.as_os_str() == "-" {
            Out::Stdout(io::stdout())
        } else {
            Out::File(Target::create(path)?)
        };
        let mut writer = Self { out: BufWriter::with_capacity(256 << 10, out) };
        let header = header.to_json()?;
        writer.try_to(|out| writeln!(out, "{header}"))?;
        Ok(writer)
    }

    pub(crate) fn write(&mut self, document: &Document) -> Result<(), Failure> {
        let line = Line::new(document);
        self.try_to(|out| {
            serde_json::to_writer(&mut *out, &line)?;
            out.write_all(b"\n")
        })
    }

    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.try_to(Write::flush)?;
        match self.out.into_inner() {
            Ok(Out::File(target)) => target.finish(),
            Ok(Out::Stdout(_)) => Ok(()),
            // The buffer was flushed before, so no data is lost with the error.
            Err(error) => Err(Failure::printing(error.error())),
        }
    }

    fn try_to(
        &mut self,
        write: impl FnOnce(&mut BufWriter<Out>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        write(&mut self.out).map_err(|error| self.out.get_ref().failed(&error))
    }
}

/// Reads an export from lines.
pub(crate) struct LinesReader {
    lines: Lines,
}

impl LinesReader {
    pub(crate) fn open(path: &Path) -> Result<(Header, Self), Failure> {
        files::length(path)?;
        let (name, reader) = files::open(path)?;
        let mut lines = Lines::new(&name, reader);
        let first = lines.next()?.and_then(|raw| raw.body.ok()).unwrap_or_default();
        Ok((Header::parse(&first, &name)?, Self { lines }))
    }

    pub(crate) fn next(&mut self, params: &Params) -> Result<Option<Document>, Failure> {
        let Some(raw) = self.lines.next()? else { return Ok(None) };
        let document = raw
            .body
            .map_err(|reason| format!("the line is {}", reason.kind()))
            .and_then(|body| serde_json::from_slice::<Line>(&body).map_err(|e| e.to_string()))
            .and_then(|line| line.document(params));
        match (document, raw.origin) {
            (Ok(document), _) => Ok(Some(document)),
            (Err(wrong), Origin::Line { file, number, .. }) => {
                Err(Failure::new(format!("{file} line {number}: {wrong}"), ""))
            }
            (Err(wrong), _) => Err(Failure::new(wrong, "")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_comes_back_from_its_line() {
        let params = Params::builder().hashes(16).bands(4, 4).build().unwrap();
        let bytes: Vec<u8> = (240..=255).collect();
        let signature = Signature::from_bytes(&params, &bytes, 9).unwrap();
        let texts: [&[u8]; 4] = [b"a", b"\xff\x00", "caf\u{e9}\n\u{0}".as_bytes(), b"\x80"];
        for key in texts {
            for payload in texts.into_iter().chain([&b""[..]]) {
                let document = Document::new(key, signature.clone());
                let document = document.with_payload(payload).with_time(u64::MAX);
                let line = serde_json::to_string(&Line::new(&document)).unwrap();
                let back: Line = serde_json::from_str(&line).unwrap();
                assert_eq!(back.document(&params), Ok(document), "{line}");
            }
        }
    }

    #[test]
    fn a_line_that_could_mean_two_things_is_refused() {
        let params = Params::builder().hashes(16).bands(4, 4).build().unwrap();
        let rest = format!("\"time\":1,\"shingle_count\":1,\"signature\":\"{}\"", "0".repeat(32));
        let wrong = |fields: &str| {
            let line: Line = serde_json::from_str(&format!("{{{fields},{rest}}}")).unwrap();
            line.document(&params).unwrap_err()
        };
        assert!(wrong("\"key\":\"a\",\"key_hex\":\"61\"").contains("either"));
        assert!(wrong("\"x\":1").contains("either"));
        assert!(wrong("\"key_hex\":\"6\"").contains("not hexadecimal"));
        assert!(wrong("\"key_hex\":\"+1\"").contains("not hexadecimal"));
        assert!(wrong("\"key\":\"a\",\"payload\":\"\",\"payload_hex\":\"\"").contains("both"));
        let line = "{\"key\":\"a\",\"time\":1,\"shingle_count\":1,\"signature\":\"00\"}";
        let line: Line = serde_json::from_str(line).unwrap();
        assert!(line.document(&params).unwrap_err().contains("16 bytes, not 1"));
    }
}
