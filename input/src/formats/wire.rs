//! The protocol spoken over pipes between the tool and its parser processes.

use std::io::{self, BufRead, Read, Write};

use encoding_rs::Encoding;

use super::decode::{Decoded, Evidence, How};
use super::format::Format;
use crate::raw::Reason;

/// First argument of a parser process. Not meant for users.
pub(super) const WORD: &str = "read-formats-for-another-process";

/// Third argument of a parser process that keeps quotations in messages.
pub(super) const QUOTED_KEPT: &str = "keep";

/// Begins every reply. Whatever a parser has printed before it is skipped.
const MARK: &[u8] = b"\0\xffnearkin reply\xff\0";

/// Maximum size of a message.
const BYTES_MAX: u64 = 1 << 30;

/// A file to parse.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParseRequest {
    pub(super) format: Format,
    /// Memory limit for the parser, in bytes.
    pub(super) memory: u64,
    /// Limit of processor time, in seconds.
    pub(super) seconds: u64,
    pub(super) bytes: Vec<u8>,
}

impl ParseRequest {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let format = Format::ALL.iter().position(|one| *one == self.format).unwrap_or_default();
        let length = self.bytes.len() as u64;
        for number in [format as u64, self.memory, self.seconds, length] {
            to.write_all(&number.to_le_bytes())?;
        }
        to.write_all(&self.bytes)?;
        to.flush()
    }

    /// Reads a request; returns `None` at the end of the pipe. Calls `limit` with memory, seconds
    /// and file length before it reads the file, because reading also takes memory.
    pub(super) fn read(
        from: &mut impl Read,
        limit: impl FnOnce(u64, u64, u64),
    ) -> io::Result<Option<Self>> {
        let mut number = [0; 8];
        match from.read_exact(&mut number) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let format = usize::try_from(u64::from_le_bytes(number)).unwrap_or(usize::MAX);
        let format = *Format::ALL.get(format).ok_or_else(|| damaged("the format"))?;
        let (memory, seconds) = (read_number(from)?, read_number(from)?);
        let length = read_number(from)?;
        limit(memory, seconds, length);
        // Allocated at once, because a buffer that grows takes twice as much. The length can be
        // trusted: it comes from the tool itself, not from a parser.
        let bytes = Vec::with_capacity(usize::try_from(length.min(BYTES_MAX)).unwrap_or(0));
        Ok(Some(Self { format, memory, seconds, bytes: read_bytes(from, length, bytes)? }))
    }
}

/// Writes the result of parsing a file.
pub(super) fn write_reply(to: &mut impl Write, reply: &Result<Decoded, Reason>) -> io::Result<()> {
    let (kind, text) = match reply {
        Ok(decoded) => (0_u64, decoded.text.as_str()),
        Err(Reason::Binary(why)) => (1, why.as_str()),
        Err(Reason::Format(why)) => (2, why.as_str()),
        Err(Reason::Failed(why)) => (3, why.as_str()),
        Err(Reason::TooLarge) => (4, ""),
        Err(Reason::Refused(why)) => (6, why.as_str()),
        Err(Reason::NoTextLayer) => (7, ""),
        Err(_) => (5, ""),
    };
    to.write_all(MARK)?;
    to.write_all(&kind.to_le_bytes())?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(text.as_bytes())?;
    if let Ok(Decoded { how, .. }) = reply {
        let evidence = Evidence::ALL.iter().position(|one| *one == how.evidence);
        for number in [evidence.unwrap_or_default(), how.replaced, how.first] {
            to.write_all(&(number as u64).to_le_bytes())?;
        }
        let name = how.encoding.name();
        to.write_all(&(name.len() as u64).to_le_bytes())?;
        to.write_all(name.as_bytes())?;
    }
    to.flush()
}

/// Reads how a text was decoded.
fn read_how(from: &mut impl Read) -> io::Result<How> {
    let evidence = usize::try_from(read_number(from)?).unwrap_or(usize::MAX);
    let evidence = *Evidence::ALL.get(evidence).ok_or_else(|| damaged("the evidence"))?;
    let mut number = || read_number(from).map(|number| usize::try_from(number).unwrap_or(0));
    let (replaced, first) = (number()?, number()?);
    let length = read_number(from)?;
    let name = read_bytes(from, length, Vec::new())?;
    let encoding = Encoding::for_label(&name).ok_or_else(|| damaged("the encoding"))?;
    Ok(How { encoding, evidence, replaced, first })
}

/// Reads the result of parsing a file.
pub(super) fn read_reply(from: &mut impl BufRead) -> io::Result<Result<Decoded, Reason>> {
    pass_over_to_mark(from)?;
    let kind = read_number(from)?;
    let length = read_number(from)?;
    let text = String::from_utf8(read_bytes(from, length, Vec::new())?)
        .map_err(|_| damaged("the text"))?;
    Ok(match kind {
        0 => Ok(Decoded { text, how: read_how(from)? }),
        1 => Err(Reason::Binary(text)),
        2 => Err(Reason::Format(text)),
        3 => Err(Reason::Failed(text)),
        4 => Err(Reason::TooLarge),
        5 => Err(Reason::Empty),
        6 => Err(Reason::Refused(text)),
        7 => Err(Reason::NoTextLayer),
        _ => return Err(damaged("the kind")),
    })
}

fn pass_over_to_mark(from: &mut impl BufRead) -> io::Result<()> {
    let mut last: Vec<u8> = Vec::new();
    loop {
        let mut piece = Vec::new();
        // Each piece ends at a NUL byte, as the mark does. Pieces before the mark are skipped.
        if from.take(BYTES_MAX).read_until(0, &mut piece)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        last.extend(piece);
        if last.ends_with(MARK) {
            return Ok(());
        }
        last.drain(..last.len().saturating_sub(MARK.len()));
    }
}

fn read_number(from: &mut impl Read) -> io::Result<u64> {
    let mut number = [0; 8];
    from.read_exact(&mut number)?;
    Ok(u64::from_le_bytes(number))
}

fn read_bytes(from: &mut impl Read, length: u64, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if length > BYTES_MAX {
        return Err(damaged("a length"));
    }
    let read = from.take(length).read_to_end(&mut bytes)?;
    if read as u64 == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("a message between processes of the tool is damaged: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_through_whatever_a_parser_prints() {
        let replies = [
            Ok(Decoded {
                text: "a text\0with \u{e9}".to_owned(),
                how: How {
                    encoding: encoding_rs::X_MAC_CYRILLIC,
                    evidence: Evidence::Guessed,
                    replaced: 3,
                    first: 70_000,
                },
            }),
            Err(Reason::Binary("b".to_owned())),
            Err(Reason::Format("f".to_owned())),
            Err(Reason::Failed("p".to_owned())),
            Err(Reason::TooLarge),
            Err(Reason::Empty),
            Err(Reason::NoTextLayer),
        ];
        let noise = [&b""[..], b"unknown glyph\n", &MARK[..9], b"\0\0\xff\0", MARK.split_at(1).1];
        for (reply, noise) in replies.iter().zip(noise.iter().cycle()) {
            let mut bytes = noise.to_vec();
            write_reply(&mut bytes, reply).unwrap();
            assert_eq!(&read_reply(&mut bytes.as_slice()).unwrap(), reply, "{noise:?}");
            for end in 0..bytes.len() {
                read_reply(&mut &bytes[..end]).unwrap_err();
            }
        }
    }

    #[test]
    fn requests_come_through_and_torn_ones_do_not() {
        let request =
            ParseRequest { format: Format::Rtf, memory: 5, seconds: 6, bytes: b"bytes".to_vec() };
        let read = |mut bytes: &[u8]| ParseRequest::read(&mut bytes, |_, _, _| ());
        let mut bytes = Vec::new();
        request.write(&mut bytes).unwrap();
        assert_eq!(read(&bytes).unwrap(), Some(request));
        assert_eq!(read(b"").unwrap(), None);
        for end in 8..bytes.len() {
            read(&bytes[..end]).unwrap_err();
        }
        bytes[0] = 200;
        read(&bytes).unwrap_err();
    }
}
