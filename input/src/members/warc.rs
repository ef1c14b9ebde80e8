//! The records of a WARC or WET file that hold a page: its text, or the answer of its server.

use bytes::Bytes;

use super::ahead::Ahead;
use super::member::{MemberDocument, numbered};
use crate::raw::Reason;

/// Maximum size of the header of a record or of an answer.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// The next page. `number` counts all records of the file.
pub(super) fn next(ahead: &mut Ahead, number: &mut u64) -> Option<MemberDocument> {
    loop {
        while ahead.at_least(1).first().is_some_and(u8::is_ascii_whitespace) {
            ahead.take(1);
        }
        let bytes = ahead.at_least(HEADER_BYTES_MAX);
        let name = numbered(*number + 1);
        if bytes.is_empty() {
            ahead.failed()?;
            return Some(MemberDocument { name, body: Err(ahead.cut_off()) });
        }
        let header = header(bytes).filter(|header| header.starts_with(b"WARC/"));
        let length = header.and_then(|header| {
            std::str::from_utf8(field(header, "content-length")?).ok()?.parse().ok()
        });
        let (Some(header), Some(length)) = (header, length) else {
            let why = ahead.failed().unwrap_or_else(|| "no WARC record where one begins".into());
            return Some(MemberDocument { name, body: Err(Reason::Damaged(why)) });
        };
        let kind = field(header, "warc-type").unwrap_or_default().to_ascii_lowercase();
        let count = header.len();
        ahead.take(count);
        let body = ahead.document(length);
        let body = match (&*kind, body) {
            (b"response", body) => body.map(page),
            (b"conversion" | b"resource", body) | (_, body @ Err(Reason::Damaged(_))) => body,
            // Requests, notes of the crawler, and answers that are stored elsewhere.
            _ => {
                *number += 1;
                continue;
            }
        };
        return Some(MemberDocument { name, body });
    }
}

/// A header, with the blank line behind it.
fn header(bytes: &[u8]) -> Option<&[u8]> {
    let end = |line: &[u8]| memchr::memmem::find(bytes, line).map(|at| at + line.len());
    let end = [end(b"\r\n\r\n"), end(b"\n\n")].into_iter().flatten().min()?;
    Some(&bytes[..end])
}

/// The value of a field of a header.
fn field<'a>(header: &'a [u8], name: &str) -> Option<&'a [u8]> {
    header.split(|byte| *byte == b'\n').find_map(|line| {
        let (found, value) = line.split_at_checked(name.len())?;
        let value = value.strip_prefix(b":")?;
        found.eq_ignore_ascii_case(name.as_bytes()).then_some(value.trim_ascii())
    })
}

/// The page in an answer of HTTP.
fn page(answer: Bytes) -> Bytes {
    let head = answer.get(..HEADER_BYTES_MAX).unwrap_or(&answer);
    let Some(header) = header(head).filter(|header| header.starts_with(b"HTTP/")) else {
        return answer;
    };
    let (body, is_chunked) = (
        answer.slice(header.len()..),
        field(header, "transfer-encoding").is_some_and(|how| how.ends_with(b"chunked")),
    );
    // Some crawlers store the page whole, but the header as it was sent.
    if is_chunked { joined(&body).unwrap_or(body) } else { body }
}

/// The chunks of a body, joined; `None` if it has none.
fn joined(mut body: &[u8]) -> Option<Bytes> {
    let mut whole = Vec::new();
    loop {
        let end = memchr::memchr(b'\n', body)?;
        let size = body[..end].split(|byte| *byte == b';').next()?.trim_ascii();
        let size = usize::from_str_radix(std::str::from_utf8(size).ok()?, 16).ok()?;
        if size == 0 {
            return Some(whole.into());
        }
        let chunk;
        (chunk, body) = body[end + 1..].split_at_checked(size)?;
        whole.extend_from_slice(chunk);
        body = body.strip_prefix(b"\r\n").or_else(|| body.strip_prefix(b"\n"))?;
    }
}
