//! Reads e-mail messages: their subject and what their author has written, without attachments.

#[cfg(feature = "mail")]
mod html_body;
#[cfg(feature = "mail")]
mod lines;
#[cfg(feature = "mail")]
mod parts;
#[cfg(feature = "mail")]
mod phrases;
#[cfg(feature = "mail")]
mod quoted;
#[cfg(feature = "mail")]
mod transfer;

use std::sync::OnceLock;

#[cfg(not(feature = "mail"))]
use crate::raw::Reason;

/// Number of bytes inspected to recognise a message.
const HEAD_BYTES: usize = 4 << 10;

/// Header fields that occur only in messages. A message must have at least one of them.
const OF_MAIL: [&str; 5] =
    ["message-id", "received", "return-path", "delivered-to", "mime-version"];

/// Header fields that other files may have, too. A message must have at least one of them, or a
/// second one of [`OF_MAIL`].
const OF_LETTERS: [&str; 5] = ["from", "to", "date", "subject", "cc"];

/// Whether quotations and signatures are a part of the text of messages.
static QUOTED_KEPT: OnceLock<()> = OnceLock::new();

/// Keeps quotations, signatures and the footers of mailing lists in the text of messages.
pub fn keep_quoted() {
    // This is called once per process, before any file is read.
    let _ = QUOTED_KEPT.set(());
}

/// Whether the user keeps quotations.
pub(crate) fn is_quoted_kept() -> bool {
    QUOTED_KEPT.get().is_some()
}

/// Whether the bytes start like a message: with header lines, of which at least two are typical of
/// messages.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    let (mut of_mail, mut of_letters) = (0, 0);
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || (of_mail > 0 && of_mail + of_letters > 1) {
            break;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            continue;
        }
        let Some(end) = line.iter().position(|byte| *byte == b':') else { return false };
        let name = &line[..end];
        if name.is_empty() || !name.iter().all(u8::is_ascii_graphic) {
            return false;
        }
        let is = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
        of_mail += usize::from(OF_MAIL.iter().any(&is));
        of_letters += usize::from(OF_LETTERS.iter().any(&is));
    }
    of_mail > 0 && of_mail + of_letters > 1
}

/// Whether the bytes start with at least two header fields of whatever names, and nothing else up
/// to a blank line.
pub(crate) fn is_header(bytes: &[u8]) -> bool {
    let mut fields = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
        match line {
            b"\n" | b"\r\n" => break,
            [b' ' | b'\t', ..] if fields > 0 => {}
            // The last line may be cut.
            _ if !line.ends_with(b"\n") => break,
            _ if name.len() == line.len() || !name.iter().all(u8::is_ascii_graphic) => {
                return false;
            }
            _ => fields += 1,
        }
    }
    fields > 1
}

/// Whether the bytes are a mailbox of several messages: each stands behind a line `From ...`.
pub(crate) fn is_mailbox(bytes: &[u8]) -> bool {
    let mut others = memchr::memmem::find_iter(bytes, b"\nFrom ");
    begins_mailbox(bytes) && others.any(|at| begins_mailbox(&bytes[at + 1..]))
}

/// Whether the bytes start like a mailbox: with a line `From ...`, then a message. `git mailsplit`
/// leaves that line in the file of each message.
pub(crate) fn begins_mailbox(bytes: &[u8]) -> bool {
    postmark(bytes).is_some_and(|end| is_one(&bytes[end..]))
}

/// The size of the line `From ...` at the beginning, if there is one.
fn postmark(bytes: &[u8]) -> Option<usize> {
    let head = bytes.starts_with(b"From ").then(|| bytes.get(..HEAD_BYTES).unwrap_or(bytes))?;
    Some(memchr::memchr(b'\n', head)? + 1)
}

/// A message without the line `From ...` before it.
pub(super) fn without_postmark(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = postmark(&bytes).unwrap_or(0);
    bytes.drain(..end);
    bytes
}

/// The subject and text of a message.
#[cfg(feature = "mail")]
pub(crate) fn text(bytes: &[u8]) -> Result<super::decode::Decoded, crate::raw::Reason> {
    parts::text(bytes, is_quoted_kept())
}

/// Not supported in this build.
#[cfg(not(feature = "mail"))]
pub(crate) fn text(_: &[u8]) -> Result<super::decode::Decoded, Reason> {
    Err(super::not_built::not_built("e-mail"))
}

#[cfg(all(test, feature = "mail"))]
mod tests;
