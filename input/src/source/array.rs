//! The elements of a JSON array as lines, one after the other, in little memory.
//!
//! Knows brackets and strings, not what the elements mean: whoever reads the lines checks them.

use std::io::{self, Read};

use crate::handed_out::hand_out;

/// Size of the reads.
const READ_BYTES: usize = 64 << 10;

/// Whether a text begins like an array of objects. An array of anything else is no collection of
/// documents, and a line of JSON lines may be one.
pub(crate) fn is_one(head: &[u8]) -> bool {
    let behind = head.trim_ascii_start().strip_prefix(b"[");
    behind.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{"))
}

/// The elements of a text that is a JSON array of objects, or begins like one, as lines.
pub(crate) fn lines_of_array(text: &[u8]) -> Option<Vec<u8>> {
    let mut lines = Vec::new();
    // The end of the text may be cut.
    let _ = is_one(text).then(|| ArrayLines::new(text).read_to_end(&mut lines))?;
    let end = memchr::memrchr(b'\n', &lines)?;
    lines.truncate(end + 1);
    Some(lines)
}

/// Reads the elements of an array as lines.
pub(crate) struct ArrayLines<R> {
    inner: R,
    state: ArrayState,
    /// Brackets that are open within the element.
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
    /// Lines. The first `given` bytes were returned.
    text: Vec<u8>,
    given: usize,
    failed: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    Before,
    Between,
    Element,
    Behind,
}

impl<R: Read> ArrayLines<R> {
    pub(crate) fn new(inner: R) -> Self {
        let (state, depth, is_in_string, is_escaped) = (ArrayState::Before, 0, false, false);
        let (text, given, failed) = (Vec::new(), 0, None);
        Self { inner, state, depth, is_in_string, is_escaped, text, given, failed }
    }

    /// Takes the next bytes of the array.
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.is_in_string {
                bytes = self.string(bytes);
                continue;
            }
            bytes = rest;
            match (self.state, byte) {
                (ArrayState::Before, b'[') => self.state = ArrayState::Between,
                (ArrayState::Between, b']') => self.state = ArrayState::Behind,
                (ArrayState::Between, b',') => {}
                (ArrayState::Element, b',') if self.depth == 0 => self.end(ArrayState::Between),
                (ArrayState::Element, b']') if self.depth == 0 => self.end(ArrayState::Behind),
                (ArrayState::Element, b'\n' | b'\r') => self.text.push(b' '),
                (state, byte) if state != ArrayState::Element && byte.is_ascii_whitespace() => {}
                (ArrayState::Behind, _) => {
                    self.failed = Some("more follows the JSON array; lines of arrays are not read");
                    return;
                }
                (_, byte) => self.element(byte),
            }
        }
    }

    /// Takes a byte of an element, outside of strings.
    fn element(&mut self, byte: u8) {
        self.state = ArrayState::Element;
        self.text.push(byte);
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end(ArrayState::Between);
                }
            }
            _ => {}
        }
    }

    /// Takes the bytes of a string, up to its end. Returns those behind it.
    fn string<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.is_escaped {
            self.is_escaped = false;
            self.text.push(if bytes[0] == b'\n' { b'\r' } else { bytes[0] });
            return &bytes[1..];
        }
        let end = memchr::memchr3(b'"', b'\\', b'\n', bytes).unwrap_or(bytes.len());
        self.text.extend_from_slice(&bytes[..end]);
        let Some(byte) = bytes.get(end) else { return &[] };
        match byte {
            b'"' => self.is_in_string = false,
            b'\\' => self.is_escaped = true,
            _ => {}
        }
        // A string of JSON holds no line end. Nor does it hold this, so that the line is refused
        // as a whole.
        self.text.push(if *byte == b'\n' { b'\r' } else { *byte });
        &bytes[end + 1..]
    }

    fn end(&mut self, next: ArrayState) {
        self.text.push(b'\n');
        self.state = next;
    }
}

impl<R: Read> Read for ArrayLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !buffer.is_empty() {
            if let Some(why) = self.failed {
                return Err(io::Error::other(why));
            }
            self.text.clear();
            self.given = 0;
            let mut bytes = vec![0; READ_BYTES];
            let count = self.inner.read(&mut bytes)?;
            if count == 0 {
                if self.state == ArrayState::Behind {
                    return Ok(0);
                }
                self.failed = Some("the JSON array is cut off");
            }
            self.take(&bytes[..count]);
        }
        Ok(hand_out(&self.text, &mut self.given, buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns bytes one by one.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn lines(array: &str) -> (String, Option<String>) {
        let read = |mut reader: Box<dyn Read + '_>| {
            let (mut text, mut buffer) = (Vec::new(), [0; 7]);
            let error = loop {
                match reader.read(&mut buffer) {
                    Ok(0) => break None,
                    Ok(count) => text.extend_from_slice(&buffer[..count]),
                    Err(error) => break Some(error.to_string()),
                }
            };
            (String::from_utf8(text).unwrap(), error)
        };
        let found = read(Box::new(ArrayLines::new(array.as_bytes())));
        assert_eq!(read(Box::new(ArrayLines::new(Slowly(array.as_bytes())))), found, "{array}");
        found
    }

    #[test]
    fn elements_are_lines() {
        for (array, expected) in [
            ("[]", ""),
            (" [ {} ] \n", "{}\n"),
            (r#"[{"a":1},{"a":[1,{"b":2}]}]"#, "{\"a\":1}\n{\"a\":[1,{\"b\":2}]}\n"),
            ("[\n  {\n    \"a\": \"x\"\n  },\n  {}\n]\n", "{     \"a\": \"x\"   }\n{}\n"),
            (r#"[{"a":"]},\"\\"},{"b":"["}]"#, "{\"a\":\"]},\\\"\\\\\"}\n{\"b\":\"[\"}\n"),
            (r#"[1,"two",null]"#, "1\n\"two\"\nnull\n"),
            ("[{\"a\":\"x\ny\"}]", "{\"a\":\"x\ry\"}\n"),
        ] {
            assert_eq!(lines(array), (expected.to_owned(), None), "{array}");
        }
    }

    #[test]
    fn an_array_that_is_cut_off_or_followed_by_more_is_an_error_behind_its_elements() {
        let (text, error) = lines(r#"[{"a":1},{"a":"#);
        assert_eq!(
            (text.as_str(), error.as_deref()),
            ("{\"a\":1}\n{\"a\":", Some("the JSON array is cut off"))
        );
        let (text, error) = lines("[{\"a\":1}]\n[{\"a\":2}]\n");
        assert_eq!(text, "{\"a\":1}\n");
        assert!(error.unwrap().contains("lines of arrays are not read"));
    }

    #[test]
    fn only_arrays_of_objects_are_collections() {
        assert!(is_one(b"[{") && is_one(b" \n[\n {\"a\""));
        for other in ["", "[", "[1", "{\"a\":[{}]}", "[[{", "text [{"] {
            assert!(!is_one(other.as_bytes()), "{other}");
        }
    }
}
