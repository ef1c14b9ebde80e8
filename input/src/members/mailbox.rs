//! The messages of an mbox, each behind a line `From ...`.
//!
//! `mail_parser::mailbox` is not used: it takes every line of a text that begins with `From ` for
//! the begin of a message, and holds messages of any size.

use super::ahead::Ahead;
use super::member::{HEAD_BYTES, MemberDocument, numbered};
use crate::formats::{begins_mailbox, is_header};
use crate::raw::{DOCUMENT_BYTES_MAX, Reason};

/// The next message. The only one of a file has the name of the file, unless that is `is_named` as
/// a mailbox: `git mailsplit` leaves the line `From ...` in the file of each message.
pub(super) fn next(ahead: &mut Ahead, before: u64, is_named: bool) -> Option<MemberDocument> {
    while before == 0 && ahead.at_least(1).first()?.is_ascii_whitespace() {
        ahead.take(1);
    }
    take_line(ahead, &mut Vec::new())?;
    let mut message = Vec::new();
    let mut is_too_large = false;
    // Whether a line begins, and whether the line before it is blank.
    let (mut is_line, mut is_behind_blank) = (true, false);
    while !(is_line && begins_message(ahead.at_least(HEAD_BYTES), is_behind_blank)) {
        let quoted = is_line && is_quoted(ahead.at_least(HEAD_BYTES));
        ahead.take(usize::from(quoted));
        let begin = message.len();
        if take_line(ahead, &mut message).is_none() {
            break;
        }
        is_behind_blank = is_line && message[begin..].trim_ascii().is_empty();
        is_line = message.ends_with(b"\n");
        is_too_large |= message.len() > DOCUMENT_BYTES_MAX;
        if is_too_large {
            message.clear();
        }
    }
    let is_last = ahead.at_least(1).is_empty();
    let is_only = is_last && before == 0 && !is_named;
    let body = match ahead.failed().filter(|_| is_last) {
        Some(_) => Err(ahead.cut_off()),
        None if is_too_large => Err(Reason::TooLarge),
        None => Ok(message.into()),
    };
    Some(MemberDocument { name: if is_only { Vec::new() } else { numbered(before + 1) }, body })
}

/// Takes the next line, or the next part of a long one; `None` at the end.
fn take_line(ahead: &mut Ahead, to: &mut Vec<u8>) -> Option<()> {
    let bytes = ahead.at_least(HEAD_BYTES);
    let count = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1);
    to.extend_from_slice(&bytes[..count]);
    ahead.take(count);
    (count > 0).then_some(())
}

/// Whether a message begins here, and not a line of a text such as `From here on`: header fields
/// follow, and a blank line comes before, or the fields are those of messages.
fn begins_message(bytes: &[u8], is_behind_blank: bool) -> bool {
    let Some(end) = bytes.starts_with(b"From ").then(|| memchr::memchr(b'\n', bytes)) else {
        return false;
    };
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    end.is_some_and(|end| is_behind_blank && end < head.len() && is_header(&head[end + 1..]))
        || begins_mailbox(head)
}

/// Whether a line is one of the text that begins with `From `, behind signs that say so.
fn is_quoted(bytes: &[u8]) -> bool {
    let signs = bytes.iter().take_while(|byte| **byte == b'>').count();
    signs > 0 && bytes[signs..].starts_with(b"From ")
}
