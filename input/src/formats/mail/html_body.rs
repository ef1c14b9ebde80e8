//! The text of an HTML part, with marks around what mail programs declare to be a quotation or a
//! signature.

use mail_parser::decoders::html::html_to_text;

use super::quoted::{QUOTE, QUOTE_END, SIGNATURE, SIGNATURE_END};
use crate::formats::inline::INLINE;

/// Elements that can be a quotation or a signature.
const REGIONS: [&str; 8] = ["div", "blockquote", "span", "p", "pre", "table", "section", "font"];

/// Elements whose content is not text.
const UNSEEN: [&str; 4] = ["script", "style", "title", "template"];

/// Maximum number of open elements that are remembered.
const OPEN_MAX: usize = 1_000;

/// What an element is to a mail program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Quote,
    /// Everything from here to the end is a quotation.
    Rest,
    /// A quotation if there is none in it: an answer may be written between those.
    QuoteOrMixed,
    Signature,
}

/// The text of an HTML part. Marks stand in lines of their own.
pub(super) fn text(html: &str) -> String {
    let mut body = Body::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        body.push_text(&rest[..at]);
        rest = &rest[at..];
        let skipped = body.tag(rest);
        rest = &rest[skipped..];
    }
    body.push_text(rest);
    html_to_text(&body.finished())
}

/// HTML with the tag `<br>` only, and the places of marks in it.
#[derive(Default)]
struct Body {
    html: String,
    /// Whether nothing stands in the last line.
    is_line_empty: bool,
    marks: Vec<(usize, char)>,
    open: Vec<Open>,
    /// The number of open elements beyond [`OPEN_MAX`].
    deeper: usize,
    /// The number of quotations that began so far.
    quotes: usize,
    has_rest: bool,
    /// The number of `pre` elements that are open: line ends count in them.
    verbatim: usize,
}

/// An open element.
struct Open {
    /// Its index in [`REGIONS`].
    name: usize,
    region: Option<Region>,
    begin: usize,
    quotes_before: usize,
}

impl Body {
    fn push_text(&mut self, text: &str) {
        self.is_line_empty &= text.trim_ascii().is_empty();
        if self.verbatim == 0 {
            self.html.push_str(text);
            return;
        }
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.html.push_str("<br>");
            }
            self.html.push_str(line);
        }
    }

    /// Reads a tag, or a comment, at the beginning of `rest`. Returns its length.
    fn tag(&mut self, rest: &str) -> usize {
        if rest.starts_with("<!--") {
            return rest.find("-->").map_or(rest.len(), |end| end + 3);
        }
        let is_end = rest.starts_with("</");
        let name = &rest[if is_end { 2 } else { 1 }..];
        let is_tag = name.starts_with(|first: char| first.is_ascii_alphabetic())
            || name.starts_with(['!', '?']);
        if !is_tag {
            self.html.push_str("&lt;");
            return 1;
        }
        let length = tag_length(rest);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        if name[end..].starts_with(['@', '.']) {
            // An address that is not escaped.
            self.html.push_str("&lt;");
            return 1;
        }
        let name = name[..end].to_ascii_lowercase();
        match name.as_str() {
            "td" | "th" => self.html.push(' '),
            "br" => self.html.push_str("<br>"),
            name if INLINE.contains(&name) => {}
            _ if self.is_line_empty => {}
            _ => self.html.push_str("<br>"),
        }
        self.is_line_empty |= self.html.ends_with("<br>");
        if is_end {
            self.close(&name);
            return length;
        }
        let tag = &rest[..length];
        if UNSEEN.contains(&name.as_str()) {
            return length + content_length(&rest[length..], &name);
        }
        self.open(&name, tag);
        length
    }

    fn open(&mut self, name: &str, tag: &str) {
        let region = region(name, tag);
        let begin = self.html.len();
        match region {
            Some(Region::Rest) => {
                if !self.has_rest {
                    self.marks.push((begin, QUOTE));
                }
                self.has_rest = true;
                self.quotes += 1;
            }
            Some(Region::Quote) => self.quotes += 1,
            _ => {}
        }
        if name == "pre" {
            self.verbatim += 1;
        }
        let quotes_before = self.quotes;
        let Some(name) = REGIONS.iter().position(|one| *one == name) else { return };
        if self.open.len() >= OPEN_MAX {
            self.deeper += 1;
        } else if !tag.ends_with("/>") {
            self.open.push(Open { name, region, begin, quotes_before });
        }
    }

    fn close(&mut self, name: &str) {
        if name == "pre" {
            self.verbatim = self.verbatim.saturating_sub(1);
        }
        let Some(name) = REGIONS.iter().position(|one| *one == name) else { return };
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else { return };
        for open in self.open.split_off(at).into_iter().rev() {
            self.mark(&open);
        }
    }

    fn mark(&mut self, open: &Open) {
        let (begin, end) = match open.region {
            Some(Region::Quote) => (QUOTE, QUOTE_END),
            Some(Region::QuoteOrMixed) if open.quotes_before == self.quotes => (QUOTE, QUOTE_END),
            Some(Region::Signature) => (SIGNATURE, SIGNATURE_END),
            _ => return,
        };
        if open.begin == self.html.len() {
            return;
        }
        self.marks.push((open.begin, begin));
        self.marks.push((self.html.len(), end));
    }

    /// The HTML with all marks.
    fn finished(mut self) -> String {
        while let Some(open) = self.open.pop() {
            self.mark(&open);
        }
        // At one place, regions end before others begin. Inner regions were found first.
        let mut marks: Vec<_> = self.marks.into_iter().enumerate().collect();
        marks.sort_unstable_by_key(|(found, (at, mark))| {
            let is_begin = matches!(*mark, QUOTE | SIGNATURE);
            (*at, is_begin, if is_begin { usize::MAX - found } else { *found })
        });
        let mut html = String::with_capacity(self.html.len() + marks.len() * 12);
        let mut last = 0;
        for (_, (at, mark)) in marks {
            html.push_str(&self.html[last..at]);
            html.push_str("<br>");
            html.push(mark);
            html.push_str("<br>");
            last = at;
        }
        html.push_str(&self.html[last..]);
        html
    }
}

/// The length of a tag. A `>` in a quoted value does not end it.
fn tag_length(tag: &str) -> usize {
    let mut quote = None;
    let mut last = b'<';
    for (at, byte) in tag.bytes().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            None if byte == b'>' => return at + 1,
            // A quotation mark elsewhere, as in `<p don't>`, begins no value.
            None if matches!(byte, b'"' | b'\'') && last == b'=' => quote = Some(byte),
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            last = byte;
        }
    }
    // A value that is not ended: the tag ends with the first `>`.
    tag.find('>').map_or(tag.len(), |at| at + 1)
}

/// The length of the content of an element, up to its end tag.
fn content_length(content: &str, name: &str) -> usize {
    let is_end = |at: &usize| {
        let tag = content.as_bytes().get(at + 2..at + 2 + name.len());
        tag.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    };
    let ends = content.match_indices("</").map(|(at, _)| at);
    ends.into_iter().find(is_end).unwrap_or(content.len())
}

/// What an element is, by the attributes that mail programs give it.
fn region(name: &str, tag: &str) -> Option<Region> {
    let (mut class, mut id, mut style) = (String::new(), String::new(), String::new());
    let (mut is_cite, mut is_divider) = (false, false);
    for (attribute, value) in attributes(tag) {
        match attribute.to_ascii_lowercase().as_str() {
            "class" => class = value.to_ascii_lowercase(),
            "id" => id = value.to_ascii_lowercase(),
            "style" => style = value.to_ascii_lowercase().replace(' ', ""),
            "type" => is_cite |= value.eq_ignore_ascii_case("cite"),
            "cite" => is_cite = true,
            "data-marker" => is_divider = value == "__DIVIDER__",
            _ => {}
        }
    }
    let has = |given: &[&str]| class.split_ascii_whitespace().any(|one| given.contains(&one));
    // Outlook on the web and for the desktop.
    let is_outlook_line = ["#e1e1e1", "#b5c4df"]
        .iter()
        .any(|color| style.contains(&format!("border:none;border-top:solid{color}")));
    let is_rest = ["divrplyfwdmsg", "appendonsend", "stopspelling"].contains(&id.as_str())
        || is_divider
        || is_outlook_line;
    if is_rest {
        return Some(Region::Rest);
    }
    if name == "blockquote" {
        let is_quote = is_cite
            || has(&["gmail_quote", "protonmail_quote", "tutanota_quote", "cite", "zmail_extra"])
            // Zimbra, Outlook for mobiles.
            || style.contains("border-left:");
        return is_quote.then_some(Region::Quote);
    }
    let is_mixed = has(&["gmail_quote", "gmail_quote_container", "protonmail_quote"])
        // Yahoo puts other letters before and behind it.
        || id.contains("yahoo_quoted")
        || class.contains("yahoo_quoted");
    if is_mixed {
        return Some(Region::QuoteOrMixed);
    }
    let is_quote = has(&["moz-forward-container", "zmail_extra"])
        || ["olk_src_body_section", "mail-editor-reference-message-container"]
            .contains(&id.as_str());
    if is_quote {
        return Some(Region::Quote);
    }
    let is_signature =
        has(&[
            "applemailsignature",
            "gmail_signature",
            "moz-signature",
            "protonmail_signature_block",
        ]) || ["applemailsignature", "signature", "_rc_sig", "ms-outlook-mobile-signature"]
            .contains(&id.as_str());
    is_signature.then_some(Region::Signature)
}

/// The attributes of a tag, with their values.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/');
    let mut rest = tag.trim_start_matches('<').trim_start_matches(|c| !is_end(c));
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(is_end);
        let (name, after) = rest.split_at(rest.find(is_end)?);
        let after = after.trim_ascii_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_ascii_start) else {
            rest = after;
            return Some((name, ""));
        };
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let value = &value[1..];
                value.split_once(quote).unwrap_or((value, ""))
            }
            _ => {
                let end = value.find(|c: char| c.is_ascii_whitespace() || c == '>');
                value.split_at(end.unwrap_or(value.len()))
            }
        };
        rest = after;
        Some((name, value))
    })
}
