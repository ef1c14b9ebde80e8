//! Cuts parts out of a text in a line of JSON, and leaves all other bytes as they are.
//!
//! The line has been read before, so it is an object, if perhaps with what JSON lacks (NaN).

use std::ops::Range;

/// The line without these parts of the text in the field `name`, which may be a path. `cuts`: bytes
/// of the text, in order, at borders of characters. `None` if the field holds no string.
pub fn cut_text(line: &[u8], name: &str, cuts: &[Range<usize>]) -> Option<Vec<u8>> {
    let text = text_in(line, skip_space(line, 0), name)?;
    let mut out = line.get(..text.start)?.to_vec();
    let (mut at, mut place, mut cuts) = (text.start, 0, cuts.iter().peekable());
    while at < text.end {
        let (bytes, decoded) = unit(line.get(at..text.end)?);
        while cuts.next_if(|cut| cut.end <= place).is_some() {}
        if cuts.peek().is_none_or(|cut| place < cut.start) {
            out.extend_from_slice(line.get(at..at + bytes)?);
        }
        at += bytes;
        place += decoded;
    }
    out.extend_from_slice(line.get(text.end..)?);
    Some(out)
}

/// The bytes of the string in the field `name` of the object at `at`, without quotation marks.
fn text_in(line: &[u8], at: usize, name: &str) -> Option<Range<usize>> {
    let mut at = at;
    if line.get(at) != Some(&b'{') {
        return None;
    }
    loop {
        at = skip_space(line, at + 1);
        if line.get(at) != Some(&b'"') {
            return None;
        }
        let end = string_end(line, at)?;
        let field = line.get(at + 1..end - 1)?;
        at = skip_space(line, skip_space(line, end) + 1);
        if field == name.as_bytes() {
            let is_string = line.get(at) == Some(&b'"');
            return is_string.then(|| string_end(line, at)).flatten().map(|end| at + 1..end - 1);
        }
        let inner = name.as_bytes().strip_prefix(field).and_then(|rest| rest.strip_prefix(b"."));
        let inner = inner.and_then(|inner| std::str::from_utf8(inner).ok());
        if let Some(found) = inner.and_then(|inner| text_in(line, at, inner)) {
            return Some(found);
        }
        at = skip_space(line, value_end(line, at)?);
        if line.get(at) != Some(&b',') {
            return None;
        }
    }
}

fn skip_space(line: &[u8], at: usize) -> usize {
    let rest = line.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| b" \t\r\n".contains(byte)).count()
}

/// Behind the string that begins at `at`.
fn string_end(line: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', line.get(at..)?)?;
        if line.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Behind the value that begins at `at`.
fn value_end(line: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0_usize);
    loop {
        match line.get(at)? {
            b'"' => at = string_end(line, at)?,
            b'{' | b'[' => (at, depth) = (at + 1, depth + 1),
            b'}' | b']' if depth > 0 => (at, depth) = (at + 1, depth - 1),
            b',' | b'}' if depth == 0 => return Some(at),
            _ => at += 1,
        }
    }
}

/// Number of bytes of the first character of a string as it stands there, and as text.
fn unit(rest: &[u8]) -> (usize, usize) {
    match rest {
        [b'\\', b'u', digits @ ..] => {
            let (first, second) = (code_unit(digits), digits.get(4..).and_then(escaped));
            match first {
                0..0x80 => (6, 1),
                0x80..0x800 => (6, 2),
                0xd800..0xdc00 if second.is_some_and(|unit| (0xdc00..0xe000).contains(&unit)) => {
                    (12, 4)
                }
                // Half of a surrogate pair is read as U+FFFD.
                _ => (6, 3),
            }
        }
        [b'\\', ..] => (2, 1),
        [first, ..] => {
            let bytes = match first {
                0..0xc0 => 1,
                0xc0..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            (bytes, bytes)
        }
        [] => (1, 1),
    }
}

fn escaped(rest: &[u8]) -> Option<u32> {
    rest.strip_prefix(b"\\u").map(code_unit)
}

fn code_unit(digits: &[u8]) -> u32 {
    let digits = digits.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn cut(line: &str, name: &str, cuts: &[Range<usize>]) -> Option<String> {
        cut_text(line.as_bytes(), name, cuts).map(|line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn all_other_bytes_stay_as_they_are() {
        let line =
            r#" { "a" : [1, {"text": "}"}, "\""], "text" : "one \u0041\n\"two\" 3", "n": NaN }"#;
        let expected = r#" { "a" : [1, {"text": "}"}, "\""], "text" : "one \"two\"", "n": NaN }"#;
        assert_eq!(cut(line, "text", &[4..6, 11..13]).unwrap(), expected);
        assert_eq!(cut(line, "text", &[]).unwrap(), line);
        assert_eq!(cut(line, "none", &[]), None);
        assert_eq!(cut(r#"{"a.b":"xy"}"#, "a.b", from_ref(&(0..1))).unwrap(), r#"{"a.b":"y"}"#);
        assert_eq!(
            cut(r#"{"a":{"c":1,"b":"xy"}}"#, "a.b", from_ref(&(1..2))).unwrap(),
            r#"{"a":{"c":1,"b":"x"}}"#
        );
        assert_eq!(cut(r#"{"text":["x"]}"#, "text", &[]), None);
        assert_eq!(cut("[1]", "text", &[]), None);
    }

    #[test]
    fn places_are_those_of_the_text_that_is_read() {
        for (escaped, text) in [
            (r"\ud83d\ude00b", "\u{1f600}b"),
            (r"\u00e9b", "\u{e9}b"),
            (r"\u4e2db", "\u{4e2d}b"),
            (r"\ud83db", "\u{fffd}b"),
            (r"\tb", "\tb"),
            ("\u{e9}b", "\u{e9}b"),
            ("\u{1f600}b", "\u{1f600}b"),
        ] {
            let line = format!(r#"{{"t":"{escaped}"}}"#);
            assert_eq!(
                cut(&line, "t", from_ref(&(0..text.len() - 1))).unwrap(),
                r#"{"t":"b"}"#,
                "{escaped}"
            );
        }
    }
}
