//! One value of a line: as text, or as bytes whose order is that of the values.

use super::object::{FieldPaths, Object};
use super::relaxed;
use super::value::{ContentKind, Value};

/// What lines without a value have. It comes last.
const NONE: u8 = 0xff;

/// Maximum number of bytes of a text that are compared.
const TEXT_BYTES_MAX: usize = 1_024;

/// Bytes for the field `name` of a line, by which the lines with the greatest values come first, or
/// with `least` those with the least values. Numbers are compared as numbers, also those in
/// strings, other strings byte by byte; texts are greater than numbers. Lines without a string,
/// number or truth value come last.
pub fn order_of(line: &[u8], name: &str, least: bool) -> Vec<u8> {
    let bytes = match value(line, name) {
        Some(Value::Text(text)) => number(text.trim()).unwrap_or_else(|| string(&text)),
        Some(Value::Integer(digits)) => number(&digits).unwrap_or_default(),
        Some(Value::Other(what)) => match &*what {
            "true" => number("1").unwrap_or_default(),
            "false" => number("0").unwrap_or_default(),
            digits => number(digits).unwrap_or_default(),
        },
        _ => Vec::new(),
    };
    match bytes.is_empty() {
        true => vec![NONE],
        false if least => bytes,
        false => bytes.into_iter().map(|byte| !byte).collect(),
    }
}

/// The field `name` of a line; nothing if the line is no object.
fn object(line: &[u8], name: &str) -> Object {
    let paths = FieldPaths { key: name, contents: &[], kind: ContentKind::Text };
    let read = Object::read(paths, line)
        .or_else(|error| relaxed(line).map_or(Err(error), |line| Object::read(paths, &line.line)));
    read.unwrap_or_default()
}

fn value(line: &[u8], name: &str) -> Option<Value> {
    object(line, name).key
}

/// The string or the integer in the field `name` as text; `None` if there is none, or a null.
pub(super) fn plain(line: &[u8], name: &str) -> Result<Option<String>, String> {
    let object = object(line, name);
    match object.key {
        _ if object.twice.is_some() => Err(format!("there are two fields {name:?}")),
        Some(Value::Text(text) | Value::Integer(text)) => Ok(Some(text)),
        None | Some(Value::Null) => Ok(None),
        Some(_) => Err(format!("{name:?} is neither a string nor an integer")),
    }
}

/// Whether a line has a field of this name, which may be a path.
pub fn has_field(line: &[u8], name: &str) -> bool {
    memchr::memmem::find(line, name.as_bytes()).is_some() && value(line, name).is_some()
}

/// A number: the nearest floating point number, then what exactly the integer is.
#[expect(clippy::big_endian_bytes, reason = "the order of the bytes is that of the numbers")]
#[expect(clippy::cast_possible_truncation, reason = "what is beyond is ordered by `near`")]
fn number(digits: &str) -> Option<Vec<u8>> {
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let near = digits.parse::<f64>().ok().filter(|near| is_number && near.is_finite())? + 0.0;
    let exact = digits.parse().unwrap_or(near.floor() as i128);
    let bits = near.to_bits();
    let ordered = if near.is_sign_negative() { !bits } else { bits | 1 << 63 };
    let exact = exact.cast_unsigned() ^ 1 << 127;
    Some([&[1][..], &ordered.to_be_bytes(), &exact.to_be_bytes()].concat())
}

/// A string, with an end that is no part of a longer string.
fn string(text: &str) -> Vec<u8> {
    let text = text.as_bytes().get(..TEXT_BYTES_MAX).unwrap_or(text.as_bytes());
    let mut bytes = vec![2];
    for byte in text {
        bytes.extend_from_slice(if *byte == 0 { &[0, 1] } else { std::slice::from_ref(byte) });
    }
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_ordered_as_people_read_them() {
        let rising = [
            "-1e10",
            "-5",
            "-4.5",
            "0",
            "0.25",
            "false",
            "\"9\"",
            "10",
            "\"10.5\"",
            "11",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551615",
            "\"\"",
            "\"2024-05-01\"",
            "\"2024-05-01T00:00:01\"",
            "\"2024-06-01\"",
            "\"a\"",
            "\"a\\u0000\"",
            "\"ab\"",
            "\"b\"",
            "\"inf\"",
        ];
        let line = |value: &str| format!("{{\"x\":{{\"v\":{value}}},\"n\":NaN}}");
        let of = |value: &str, least| order_of(line(value).as_bytes(), "x.v", least);
        let position = |value: &str| rising.iter().position(|one| *one == value).unwrap();
        for one in rising.iter().filter(|one| **one != "false") {
            for other in rising.iter().filter(|one| **one != "false") {
                let expected = position(one).cmp(&position(other));
                assert_eq!(of(one, true).cmp(&of(other, true)), expected, "{one} {other}");
                assert_eq!(of(other, false).cmp(&of(one, false)), expected, "{one} {other}");
            }
        }
        assert_eq!((of("false", true), of("true", true)), (of("0", true), of("1.0", true)));
        for missing in ["null", "[1]", "{}"] {
            assert_eq!(of(missing, false), [NONE]);
            assert!(
                rising.iter().all(|one| of(one, false) < vec![NONE] && of(one, true) < vec![NONE])
            );
        }
        assert_eq!(order_of(b"not JSON", "x", true), [NONE]);
    }
}
