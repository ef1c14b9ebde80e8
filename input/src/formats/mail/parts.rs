//! The subject and the text of a message. The parser finds the parts; their bytes are decoded here,
//! because what a part declares is often wrong.

use encoding_rs::Encoding;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{
    Encoding as Transfer, Header, HeaderName, Message, MessageParser, MessagePart,
    MimeHeaders as _, PartType,
};

use super::{html_body, quoted, transfer};
use crate::formats::decode;
use crate::formats::decode::{Decoded, How};
use crate::raw::Reason;

/// Charsets that say nothing about bytes beyond ASCII.
const SAYING_NOTHING: [&str; 6] =
    ["us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "default"];

/// Maximum number of words in a message of which the identifier is a part of its text.
const SHORT_WORDS: usize = 15;

/// The subject and text of a message, with quotations and signatures or without.
pub(super) fn text(bytes: &[u8], keeps_quoted: bool) -> Result<Decoded, Reason> {
    let message = MessageParser::default()
        .parse(bytes)
        .ok_or_else(|| crate::formats::format::refused("e-mail", "no message"))?;
    if is_cut_wrongly(&message) {
        return Err(crate::formats::format::refused("e-mail", "its parts are not found"));
    }
    let mut whole = subject(&message)?;
    let mut parts = Vec::new();
    for part in texts(&message) {
        let Decoded { text, how } = part_text(part, &message.raw_message)?;
        parts.push(text);
        whole.how = whole.how.and(how);
    }
    let body = if keeps_quoted {
        quoted::without_marks(quoted::join(parts))
    } else {
        quoted::own_text(parts)
    };
    whole.text.push('\n');
    whole.text.push_str(&body);
    if !keeps_quoted && body.split_whitespace().nth(SHORT_WORDS).is_none() {
        // "OK, thanks" is the whole text of many messages. Copies of one have the same identifier.
        whole.text.push('\n');
        whole.text.push_str(message.message_id().unwrap_or_default());
    }
    Ok(whole)
}

/// The parts that are the text. The parser takes a text that is nested deeply for an attachment.
fn texts<'m>(message: &'m Message<'m>) -> Vec<&'m MessagePart<'m>> {
    if !message.text_body.is_empty() {
        let parts = message.text_body.iter();
        return parts.filter_map(|part| message.parts.get(*part as usize)).collect();
    }
    let is_text = |part: &&MessagePart<'_>| {
        let is_attached =
            part.content_disposition().is_some_and(mail_parser::ContentType::is_attachment);
        matches!(part.body, PartType::Text(_) | PartType::Html(_)) && !is_attached
    };
    message.parts.iter().filter(is_text).collect()
}

/// Whether parts of a message were not found, because their boundary is not declared. What was
/// found would pass for the whole text.
fn is_cut_wrongly(message: &Message<'_>) -> bool {
    let is_cut = |part: &MessagePart<'_>| matches!(part.body, PartType::Multipart(_));
    let is_declared = |part: &MessagePart<'_>| {
        part.content_type().is_some_and(|content| content.c_type.eq_ignore_ascii_case("multipart"))
    };
    let body = message.parts.first().map_or(0, |root| root.offset_body as usize);
    let body = message.raw_message.get(body..).unwrap_or_default();
    let is_whole = message.parts.iter().all(|part| is_cut(part) || !is_declared(part));
    !body.trim_ascii().is_empty() && (!is_whole || message.parts.iter().all(is_cut))
}

/// The subject. Bytes beyond ASCII in it have no declared charset.
fn subject(message: &Message<'_>) -> Result<Decoded, Reason> {
    let subject = message.subject().unwrap_or_default();
    let raw = |header: &Header<'_>| {
        let (begin, end) = (header.offset_start as usize, header.offset_end as usize);
        message.raw_message.get(begin..end).map(<[u8]>::to_vec)
    };
    let is_subject = |header: &&Header<'_>| header.name == HeaderName::Subject;
    let raw = message.headers().iter().rev().find(is_subject).and_then(raw);
    match raw.filter(|raw| !raw.is_ascii()) {
        Some(raw) => decode::decode(raw.trim_ascii().to_vec(), None, decode::forced()),
        None => Ok(Decoded::exact(subject.to_owned())),
    }
}

/// The text of a part.
fn part_text(part: &MessagePart<'_>, message: &[u8]) -> Result<Decoded, Reason> {
    if !matches!(part.body, PartType::Text(_) | PartType::Html(_)) {
        return Ok(Decoded::exact(String::new()));
    }
    let (begin, end) = (part.offset_body as usize, part.offset_end as usize);
    let body = message.get(begin..end).unwrap_or_default();
    let bytes = match transfer_encoding(part) {
        Transfer::Base64 => transfer::base64(body),
        Transfer::QuotedPrintable => transfer::quoted_printable(body),
        Transfer::None => body.to_vec(),
    };
    let charset = part.content_type().and_then(|content| content.attribute("charset"));
    let Decoded { text, how } = decoded(bytes, charset)?;
    let is_html = matches!(part.body, PartType::Html(_));
    Ok(Decoded { text: if is_html { html_body::text(&text) } else { text }, how })
}

/// How the bytes of a part are written. The parser forgets it if the part is damaged.
fn transfer_encoding(part: &MessagePart<'_>) -> Transfer {
    let said = part.content_transfer_encoding().unwrap_or_default().trim();
    match said {
        said if said.eq_ignore_ascii_case("base64") => Transfer::Base64,
        said if said.eq_ignore_ascii_case("quoted-printable") => Transfer::QuotedPrintable,
        _ => part.encoding,
    }
}

/// Decodes a part of this charset.
fn decoded(bytes: Vec<u8>, charset: Option<&str>) -> Result<Decoded, Reason> {
    let forced = decode::forced();
    let label = charset.unwrap_or_default().trim().to_ascii_lowercase();
    if forced.is_none() && label.contains("utf-7") {
        // Its bytes are ASCII, so it must be declared.
        return match charset_decoder(b"utf-7") {
            Some(decoder) => Ok(Decoded { text: decoder(&bytes), how: How::DECLARED }),
            None => Err(Reason::Format("a message in UTF-7 is not read".to_owned())),
        };
    }
    let declared = Encoding::for_label(label.as_bytes());
    let is_known = declared.is_some() || bytes.is_ascii();
    if forced.is_none()
        && !is_known
        && std::str::from_utf8(&bytes).is_err()
        && let Some(decoder) = charset_decoder(label.as_bytes())
    {
        // A few charsets that web pages never have, such as IBM850.
        return Ok(Decoded { text: decoder(&bytes), how: How::DECLARED });
    }
    let declared = declared.filter(|_| !SAYING_NOTHING.contains(&label.as_str()));
    decode::decode(bytes, declared, forced)
}
