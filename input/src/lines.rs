//! JSON lines: reads them in bounded memory. (`fields.rs` extracts key and content.)

use std::io::{BufRead as _, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;

use super::source::Source;
use crate::Error;
use crate::raw::{DOCUMENT_BYTES_MAX, Origin, Raw, Reason, has_line};

/// A byte order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A line that is returned keeps its whole block in memory. If the bytes read since the previous
/// returned line exceed this multiple of the line's length, the line is copied instead.
const SKIPPED_MAX: u64 = 8;

/// From this size on, a line gets memory for the longest line at once: what it does not use is
/// never touched, while a buffer that grows takes up to three times the size of the line.
const LARGE_BYTES: usize = 4 << 20;

/// Reads lines one at a time. A line that is too long is reported as [`Reason::TooLarge`], and its
/// bytes are not held in memory.
pub struct Lines {
    reader: BufReader<Box<dyn Read>>,
    /// The unread rest of the current block.
    block: Bytes,
    /// For messages: the file name, or "stdin".
    name: Arc<str>,
    /// Index of the file in the input.
    file: u32,
    bytes_max: usize,
    number: u64,
    bytes_read: u64,
    /// The values of `number` and `bytes_read` when [`Lines::next`] was last called.
    before: (u64, u64),
    /// The value of `bytes_read` after the last line that was returned with its content.
    bytes_returned: u64,
    /// Whether a line can be read again from where it begins.
    is_plain: bool,
    /// For a file that may be compressed: stored bytes read so far.
    taken: Option<Arc<AtomicU64>>,
    /// For stdin: above 0 while a line end beyond the current block has been read ahead.
    ends_ahead: Option<Arc<AtomicUsize>>,
}

impl Lines {
    /// Lines that a reader gives. `name` is for messages.
    pub fn new(name: &str, reader: Box<dyn Read>) -> Self {
        Self::with_bytes_max(name, reader, DOCUMENT_BYTES_MAX)
    }

    fn with_bytes_max(name: &str, reader: Box<dyn Read>, bytes_max: usize) -> Self {
        let reader = BufReader::with_capacity(256 << 10, reader);
        let (name, block) = (name.into(), Bytes::new());
        Self {
            reader,
            block,
            name,
            file: 0,
            bytes_max,
            number: 0,
            bytes_read: 0,
            before: (0, 0),
            bytes_returned: 0,
            is_plain: false,
            taken: None,
            ends_ahead: None,
        }
    }

    /// The lines of a source that is open at line `number` and byte `at`, both counted from 0 in
    /// the uncompressed lines.
    pub fn from_source(source: Source, (number, at): (u64, u64)) -> Self {
        let mut lines = Self::new(&source.name, source.reader);
        (lines.number, lines.bytes_read, lines.bytes_returned) = (number, at, at);
        lines.before = (number, at);
        lines.is_plain = source.plain;
        lines.taken = Some(source.taken);
        lines.ends_ahead = source.ends_ahead;
        lines
    }

    /// Changes the name used in messages.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    /// The name used in messages.
    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// Sets the index of the file in the input.
    pub(crate) fn of_file(self, file: u32) -> Self {
        Self { file, ..self }
    }

    /// Uncompressed bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Lines and uncompressed bytes read so far, including blank lines.
    pub(crate) fn position(&self) -> (u64, u64) {
        (self.number, self.bytes_read)
    }

    /// The position before the last call of [`Lines::next`].
    pub(crate) fn before(&self) -> (u64, u64) {
        self.before
    }

    /// Stored (possibly compressed) bytes read so far.
    pub(crate) fn bytes_taken(&self) -> u64 {
        self.taken.as_ref().map_or(self.bytes_read, |taken| taken.load(Ordering::Relaxed))
    }

    /// Whether no complete line is buffered, so that reading the next one may block.
    pub(crate) fn would_wait(&self) -> bool {
        let none_ahead = |ahead: &Arc<AtomicUsize>| ahead.load(Ordering::Relaxed) == 0;
        !has_line(&self.block) && self.ends_ahead.as_ref().is_none_or(none_ahead)
    }

    /// The next line that is not blank, without its line end.
    pub fn next(&mut self) -> Result<Option<Raw>, Error> {
        self.before = self.position();
        loop {
            let mut at = self.bytes_read;
            let Some(mut body) = self.line()? else { return Ok(None) };
            self.number += 1;
            if body.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
                continue;
            }
            if let Ok(line) = &mut body {
                // Some programs begin a file with a byte order mark, and files are concatenated.
                // The mark is no part of the line.
                if line.starts_with(MARK) {
                    *line = line.slice(MARK.len()..);
                    at += MARK.len() as u64;
                }
                // A line keeps its block in memory. If most of the block was skipped, a copy of the
                // line takes less.
                if self.bytes_read - self.bytes_returned > SKIPPED_MAX * line.len() as u64 {
                    *line = Bytes::copy_from_slice(line);
                }
                self.bytes_returned = self.bytes_read;
            }
            let (file, number) = (self.name.clone(), self.number);
            let at = self.is_plain.then_some(at);
            let origin = Origin::Line { file, file_number: self.file, number, at };
            return Ok(Some(Raw { origin, body }));
        }
    }

    /// The next line. It is a slice of its block, or a copy if it extends over several blocks.
    fn line(&mut self) -> Result<Option<Result<Bytes, Reason>>, Error> {
        let mut begun = Vec::new();
        let mut length = 0;
        loop {
            if self.block.is_empty() {
                self.block = self.next_block()?;
            }
            let end = memchr::memchr(b'\n', &self.block);
            let used = end.map_or(self.block.len(), |end| end + 1);
            let mut part = self.block.split_to(used);
            self.bytes_read += used as u64;
            part.truncate(end.unwrap_or(used));
            length += part.len();
            let fits = length <= self.bytes_max;
            if end.is_some() || used == 0 {
                if used == 0 && length == 0 {
                    return Ok(None);
                }
                if !begun.is_empty() {
                    begun.extend_from_slice(&part);
                    begun.shrink_to_fit();
                    part = begun.into();
                }
                return Ok(Some(if fits { Ok(part) } else { Err(Reason::TooLarge) }));
            }
            if fits {
                if begun.len() < LARGE_BYTES && length >= LARGE_BYTES {
                    begun.reserve_exact(self.bytes_max - begun.len());
                }
                begun.extend_from_slice(&part);
            } else {
                begun = Vec::new();
            }
        }
    }

    /// The next block of bytes, usually of several lines; empty at the end.
    fn next_block(&mut self) -> Result<Bytes, Error> {
        loop {
            match self.reader.fill_buf() {
                Ok(buffer) => {
                    let (block, count) = (Bytes::copy_from_slice(buffer), buffer.len());
                    self.reader.consume(count);
                    return Ok(block);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::damaged(&self.name, Some(self.number), error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn lines(text: &str, bytes_max: usize) -> Vec<(u64, Result<String, Reason>)> {
        let reader = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let mut lines = Lines::with_bytes_max("test", reader, bytes_max);
        let mut found = Vec::new();
        while let Some(raw) = lines.next().unwrap() {
            let Origin::Line { number, .. } = raw.origin else { panic!("not a line") };
            found.push((number, raw.body.map(|line| String::from_utf8(line.to_vec()).unwrap())));
        }
        assert_eq!(lines.bytes_read(), text.len() as u64);
        found
    }

    #[test]
    fn a_line_that_was_read_ahead_needs_no_wait() {
        let text = "{\"id\":1}\n{\"id\"";
        let mut lines = Lines::new("test", Box::new(Cursor::new(text)));
        let ends_ahead = Arc::new(AtomicUsize::new(1));
        lines.ends_ahead = Some(Arc::clone(&ends_ahead));
        assert!(lines.next().unwrap().is_some());
        assert!(!lines.would_wait());
        ends_ahead.store(0, Ordering::Relaxed);
        assert!(lines.would_wait(), "what is at hand is no whole line");
    }

    #[test]
    fn a_blank_line_at_hand_is_no_line() {
        for (text, is_line) in [("\n", false), (" \r\n\n", false), ("\na\n", true), ("a", false)] {
            assert_eq!(has_line(text.as_bytes()), is_line, "{text:?}");
            let mut lines = Lines::new("test", Box::new(Cursor::new(format!("first\n{text}"))));
            assert!(lines.next().unwrap().is_some());
            assert_eq!(lines.would_wait(), !is_line, "{text:?}");
        }
    }

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let found = lines("a\n\n \r\nb", 10);
        assert_eq!(found, [(1, Ok("a".to_owned())), (4, Ok("b".to_owned()))]);
        assert!(lines("", 10).is_empty());
    }

    #[test]
    fn a_line_too_long_is_named_and_the_next_one_read() {
        let long = "x".repeat(600_000);
        let found = lines(&format!("12345\n{long}\n123456\nb\n{long}"), 5);
        assert_eq!(found[0], (1, Ok("12345".to_owned())));
        assert_eq!(found[1], (2, Err(Reason::TooLarge)));
        assert_eq!(found[2], (3, Err(Reason::TooLarge)));
        assert_eq!(found[3], (4, Ok("b".to_owned())));
        assert_eq!(found[4], (5, Err(Reason::TooLarge)));
    }

    #[test]
    fn a_line_that_goes_over_blocks_is_whole() {
        let (one, other) = ("x".repeat(300_000), "y".repeat(600_000));
        let found = lines(&format!("{one}\nb\n{other}\n{one}"), 1 << 20);
        let bodies: Vec<_> = found.into_iter().map(|(_, body)| body.unwrap()).collect();
        assert!(bodies == [&one, "b", &other, &one]);
    }

    /// Found in a code review: 7 MB of compressed blank lines took 1 GiB of memory.
    #[test]
    fn a_short_line_among_skipped_ones_does_not_keep_their_block() {
        let (blank, long) = (" ".repeat(2_000), "x".repeat(2_000));
        let text = format!("first\nsecond\n{blank}\nb\n{long}\nc\nd\n");
        let mut lines = Lines::with_bytes_max("test", Box::new(Cursor::new(text)), 1_000);
        let mut kept = Vec::new();
        while let Some(raw) = lines.next().unwrap() {
            kept.extend(raw.body.ok().map(|line| (line.is_unique(), line)));
        }
        let unique: Vec<_> = kept.iter().map(|(is_unique, line)| (*is_unique, &line[..])).collect();
        let expected =
            [(false, "first"), (false, "second"), (true, "b"), (true, "c"), (false, "d")];
        assert_eq!(unique, expected.map(|(is_unique, line)| (is_unique, line.as_bytes())));
    }
}
