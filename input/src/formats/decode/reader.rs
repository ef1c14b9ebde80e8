//! Turns a stream of bytes into UTF-8, for rows of JSON lines and of tables.
//!
//! A row becomes a document, so nothing is guessed here: bytes that are neither UTF-8 nor UTF-16,
//! nor marked, are an error that names the place and the likely encoding.

use std::fmt;
use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};

use super::guess::guess;
use super::signs::{is_odd_control, mark_of};
use super::utf8;
use super::utf16;

/// Size of the buffers.
const BUFFER_BYTES: usize = 64 << 10;

/// Number of bytes needed to recognise a byte order mark.
const MARK_BYTES: usize = 4;

/// Bytes that are not valid in the encoding of a stream; the payload of the [`io::Error`] that
/// [`Utf8Reader`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotUtf8 {
    /// The line, counted from 1.
    pub line: u64,
    /// Offset of the byte in the data, as it is stored.
    pub byte: u64,
    /// The encoding of which the bytes are not valid.
    pub encoding: &'static Encoding,
    /// The encoding that the bytes most likely have; the same if it is unknown.
    pub likely: &'static Encoding,
}

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, byte, encoding, likely } = self;
        write!(f, "not {} at line {line} (byte {byte})", encoding.name())?;
        if likely == encoding {
            return Ok(());
        }
        let name = likely.name();
        write!(f, ": {name}? If so, give --encoding {}", name.to_ascii_lowercase())
    }
}

impl std::error::Error for NotUtf8 {}

/// Reads a stream as UTF-8. Removes a byte order mark; decodes UTF-16, with a mark or without, and
/// the encoding that the user names.
pub(crate) struct Utf8Reader<R> {
    inner: R,
    /// Bytes read ahead, to recognise the encoding. The first `given` were returned.
    head: Vec<u8>,
    given: usize,
    state: DecodeState,
    /// The place in the stream up to which bytes were returned.
    place: TextPosition,
    is_unchanged: bool,
    has_mark: bool,
    is_lenient: bool,
    failed: Option<NotUtf8>,
}

#[derive(Clone, Copy)]
struct TextPosition {
    line: u64,
    byte: u64,
}

enum DecodeState {
    /// UTF-8. Holds the beginning of a character that the last read has cut.
    Utf8(Vec<u8>),
    Decoding(Box<Decoding>),
}

struct Decoding {
    decoder: Decoder,
    raw: Vec<u8>,
    /// Decoded text. The first `given` bytes were returned.
    text: String,
    given: usize,
    is_done: bool,
}

impl<R: Read> Utf8Reader<R> {
    /// Reads the beginning of a stream, and recognises its encoding. `forced` is the encoding that
    /// the user names.
    pub(crate) fn open(mut inner: R, forced: Option<&'static Encoding>) -> io::Result<Self> {
        let mut head = vec![0; BUFFER_BYTES];
        let mut filled = 0;
        // One read is enough for all but the mark: more could block on a pipe.
        while filled < MARK_BYTES {
            match inner.read(&mut head[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        head.truncate(filled);
        let mark = mark_of(&head);
        let has_controls = head.iter().any(|byte| is_odd_control(*byte));
        let unmarked = || utf16::detect(&head).filter(|_| has_controls);
        let encoding = forced.or(mark.map(|(marked, _)| marked)).or_else(unmarked);
        let encoding = encoding.unwrap_or(UTF_8);
        let given = mark.filter(|(marked, _)| *marked == encoding).map_or(0, |(_, bytes)| bytes);
        let state = if encoding == UTF_8 {
            DecodeState::Utf8(Vec::new())
        } else {
            DecodeState::Decoding(Box::new(Decoding {
                decoder: encoding.new_decoder_without_bom_handling(),
                raw: vec![0; BUFFER_BYTES],
                text: String::new(),
                given: 0,
                is_done: false,
            }))
        };
        let place = TextPosition { line: 1, byte: given as u64 };
        let is_unchanged = encoding == UTF_8 && given == 0;
        let has_mark = encoding == UTF_8 && given > 0;
        let (is_lenient, failed) = (false, None);
        Ok(Self { inner, head, given, state, place, is_unchanged, has_mark, is_lenient, failed })
    }

    /// Whether a byte order mark of UTF-8 was removed.
    pub(crate) fn has_mark(&self) -> bool {
        self.has_mark
    }

    /// Passes invalid UTF-8 on unchanged, for a parser that names the row with it. Invalid bytes of
    /// other encodings stay errors.
    pub(crate) fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Whether the stream is UTF-8 without a mark, so that offsets in what is read are offsets in
    /// the stream.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }

    fn read_utf8(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let DecodeState::Utf8(cut) = &mut self.state else { return Ok(0) };
        let count = read_raw(&mut self.inner, (&mut self.head, &mut self.given), buffer)?;
        let read = &buffer[..count];
        if self.is_lenient {
            return Ok(count);
        }
        // What the last read has cut was returned, but not counted.
        let (before, place) = (cut.len(), self.place);
        let Some(end) = first_invalid(cut, read) else {
            self.place.line += memchr::memchr_iter(b'\n', read).count() as u64;
            self.place.byte += (before + count - cut.len()) as u64;
            return Ok(count);
        };
        let likely = if utf8::Utf8Counts::count(read).is_likely() { UTF_8 } else { guess(read) };
        let end = end.saturating_sub(before);
        let line = place.line + memchr::memchr_iter(b'\n', &read[..end]).count() as u64;
        let byte = place.byte + (if end == 0 { 0 } else { end + before }) as u64;
        self.failed = Some(NotUtf8 { line, byte, encoding: UTF_8, likely });
        if end == 0 { self.failure() } else { Ok(end) }
    }

    fn read_decoded(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let DecodeState::Decoding(decoding) = &mut self.state else { return Ok(0) };
        while decoding.given == decoding.text.len() && !decoding.is_done && self.failed.is_none() {
            let ahead = (&mut self.head, &mut self.given);
            let count = read_raw(&mut self.inner, ahead, &mut decoding.raw)?;
            self.failed = decoding.decode(count, &mut self.place).err();
        }
        let rest = &decoding.text.as_bytes()[decoding.given..];
        if rest.is_empty() && self.failed.is_some() {
            return self.failure();
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        decoding.given += count;
        Ok(count)
    }

    fn failure<T>(&self) -> io::Result<T> {
        self.failed.map_or(Err(io::ErrorKind::InvalidData.into()), |failed| {
            Err(io::Error::new(io::ErrorKind::InvalidData, failed))
        })
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        match &self.state {
            DecodeState::Utf8(_) if self.failed.is_some() => self.failure(),
            DecodeState::Utf8(_) => self.read_utf8(buffer),
            DecodeState::Decoding(_) => self.read_decoded(buffer),
        }
    }
}

impl Decoding {
    /// Decodes the first bytes of `raw`; none of them means that the stream has ended.
    fn decode(&mut self, count: usize, place: &mut TextPosition) -> Result<(), NotUtf8> {
        self.text.clear();
        (self.given, self.is_done) = (0, count == 0);
        let most = self.decoder.max_utf8_buffer_length_without_replacement(count);
        self.text.reserve(most.unwrap_or(count * 4));
        let raw = &self.raw[..count];
        let (result, read) =
            self.decoder.decode_to_string_without_replacement(raw, &mut self.text, self.is_done);
        let lines = memchr::memchr_iter(b'\n', self.text.as_bytes()).count() as u64;
        place.line += lines;
        place.byte += read as u64;
        match result {
            DecoderResult::Malformed(length, after) => {
                let encoding = self.decoder.encoding();
                let before = u64::from(length) + u64::from(after);
                let byte = place.byte.saturating_sub(before);
                Err(NotUtf8 { line: place.line, byte, encoding, likely: encoding })
            }
            // The output has room for all of the input.
            DecoderResult::InputEmpty | DecoderResult::OutputFull => Ok(()),
        }
    }
}

/// Reads from the bytes read ahead, then from the stream.
fn read_raw(
    inner: &mut impl Read,
    (head, given): (&mut Vec<u8>, &mut usize),
    buffer: &mut [u8],
) -> io::Result<usize> {
    let ahead = &head[*given..];
    if ahead.is_empty() {
        return inner.read(buffer);
    }
    let count = ahead.len().min(buffer.len());
    buffer[..count].copy_from_slice(&ahead[..count]);
    *given += count;
    if *given == head.len() {
        (*head, *given) = (Vec::new(), 0);
    }
    Ok(count)
}

/// The offset of the first invalid byte in `cut` and `read`. If there is none, `cut` becomes
/// the beginning of a character that `read` cuts off. An empty `read` is the end.
fn first_invalid(cut: &mut Vec<u8>, read: &[u8]) -> Option<usize> {
    if read.is_empty() {
        return (!cut.is_empty()).then_some(0);
    }
    let before = cut.len();
    let mut at = 0;
    if before > 0 {
        // A character has at most four bytes.
        let more = read.len().min(4 - before);
        cut.extend_from_slice(&read[..more]);
        let length = match std::str::from_utf8(cut) {
            Ok(text) => text.chars().next().map_or(0, char::len_utf8),
            Err(error) if error.valid_up_to() > 0 => {
                let valid = std::str::from_utf8(&cut[..error.valid_up_to()]).unwrap_or_default();
                valid.chars().next().map_or(0, char::len_utf8)
            }
            Err(error) if error.error_len().is_some() => return Some(0),
            // Still only the beginning of a character, and `read` has ended.
            Err(_) => return None,
        };
        at = length - before;
    }
    cut.clear();
    match std::str::from_utf8(&read[at..]) {
        Ok(_) => None,
        Err(error) if error.error_len().is_some() => Some(before + at + error.valid_up_to()),
        Err(error) => {
            cut.extend_from_slice(&read[at + error.valid_up_to()..]);
            None
        }
    }
}
