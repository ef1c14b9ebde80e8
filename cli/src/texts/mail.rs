//! Reads e-mail messages: their subject and text. Attachments are not read.

use crate::raw::Reason;

/// Number of bytes inspected to recognise a message.
const HEAD_BYTES: usize = 4 << 10;

/// Header fields that occur only in messages. A message must have at least one of them.
const OF_MAIL: [&str; 5] =
    ["message-id", "received", "return-path", "delivered-to", "mime-version"];

/// Header fields that other files may have, too. A message must have at least one of them, or a
/// second one of [`OF_MAIL`].
const OF_LETTERS: [&str; 5] = ["from", "to", "date", "subject", "cc"];

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

/// The subject and text of a message.
#[cfg(feature = "mail")]
pub(crate) fn text(bytes: &[u8]) -> Result<String, Reason> {
    let message = mail_parser::MessageParser::default()
        .parse(bytes)
        .ok_or_else(|| super::format::failed("e-mail", "no message"))?;
    let mut text = message.subject().unwrap_or_default().to_owned();
    for part in 0..message.text_body_count() {
        text.push('\n');
        text.push_str(&message.body_text(part).unwrap_or_default());
    }
    Ok(text)
}

/// Not supported in this build.
#[cfg(not(feature = "mail"))]
pub(crate) fn text(_: &[u8]) -> Result<String, Reason> {
    Err(super::not_built::not_built("e-mail", "mail"))
}
