//! Bodies that are no JSON in UTF-8: the errors name what they are instead.

use axum::http::{HeaderMap, header};

use super::error_response::ErrorResponse;

/// First bytes by which a body is recognised, and what it is then.
const BEGINNINGS: [(&[u8], &str, &str); 5] = [
    (
        b"\xef\xbb\xbf",
        MARK,
        "send JSON in UTF-8 without the mark (in Python: utf-8, not utf-8-sig)",
    ),
    (b"\xff\xfe", MARK, "send JSON in UTF-8, not in UTF-16"),
    (b"\xfe\xff", MARK, "send JSON in UTF-8, not in UTF-16"),
    (b"\x1f\x8b", "is compressed (gzip)", UNCOMPRESSED),
    (b"\x28\xb5\x2f\xfd", "is compressed (zstd)", UNCOMPRESSED),
];

const MARK: &str = "begins with a byte order mark";
const UNCOMPRESSED: &str = "send it uncompressed: this server does not decompress requests";

/// Names of Rust types in serde's messages, and what they are in JSON.
const TYPES: [(&str, &str); 3] =
    [("usize", "an integer from 0"), ("u64", "an integer from 0"), ("f64", "a number")];

/// Refuses a body that its header says is compressed.
pub(super) fn check_encoding(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let mut given = headers.get_all(header::CONTENT_ENCODING).iter();
    match given.find(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        None => Ok(()),
        Some(encoding) => {
            let message = format!("the body is compressed (Content-Encoding: {encoding:?})");
            Err(ErrorResponse::new("content_type", message).advise(UNCOMPRESSED))
        }
    }
}

/// Refuses bytes that cannot be JSON, by how they begin.
pub(super) fn check(bytes: &[u8]) -> Result<(), ErrorResponse> {
    match BEGINNINGS.iter().find(|(beginning, ..)| bytes.starts_with(beginning)) {
        None => Ok(()),
        Some((_, what, advice)) => {
            Err(ErrorResponse::invalid(format!("the body {what}")).advise(advice))
        }
    }
}

/// The error response for JSON, such as a body, that the parser refuses with this message.
pub(crate) fn explained(what: &str, bytes: &[u8], error: &str) -> ErrorResponse {
    if let Err(error) = std::str::from_utf8(bytes) {
        let message = format!("the {what} is not UTF-8 (at byte {})", error.valid_up_to());
        return ErrorResponse::invalid(message)
            .advise("encode it as UTF-8; keys and payloads of other bytes are {\"base64\": ...}");
    }
    let is_half = ["surrogate in hex escape", "unexpected end of hex escape"];
    if is_half.iter().any(|said| error.contains(said)) {
        let place = error.find(" at line").map_or("", |at| &error[at..]);
        let message = format!("the {what}: a string has half of a surrogate pair{place}");
        return ErrorResponse::invalid(message).advise(
            "such a string is no Unicode text; replace the half, as toWellFormed() does in \
             JavaScript, or text.encode(\"utf-8\", \"replace\") in Python",
        );
    }
    let mut message = format!("the {what}: {error}");
    for (of_rust, of_json) in TYPES {
        message = message.replace(&format!("expected {of_rust}"), &format!("expected {of_json}"));
    }
    ErrorResponse::invalid(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_no_json_is_named_for_what_it_is() {
        let refused = |bytes: &[u8]| {
            let parsed = serde_json::from_slice::<String>(bytes).map_err(|error| error.to_string());
            let refused = check(bytes).err();
            let refused =
                refused.or_else(|| parsed.err().map(|error| explained("body", bytes, &error)));
            format!("{refused:?}")
        };
        for (bytes, said) in [
            (&b"\xef\xbb\xbf\"a\""[..], "begins with a byte order mark"),
            (b"\xff\xfe\"\0a\0\"\0", "not in UTF-16"),
            (b"\x1f\x8b\x08\0", "(gzip)"),
            (b"\x28\xb5\x2f\xfd\0", "(zstd)"),
            (br#""\ud83d""#, "half of a surrogate pair at line 1 column"),
            (br#""\ud83d\u0041""#, "half of a surrogate pair at line 1 column"),
            (br#""\ude00""#, "half of a surrogate pair at line 1 column"),
            (b"\"\xff\"", "not UTF-8 (at byte 1)"),
        ] {
            assert!(refused(bytes).contains(said), "{said}: {}", refused(bytes));
        }
        assert_eq!(refused(br#""\ud83d\ude00""#), "None");
    }
}
