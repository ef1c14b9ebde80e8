//! Recognises lines that stand around a quotation: "On ... wrote:", the header lines of a quoted
//! message, the line before a signature.

use super::phrases::{Field, PHRASES};

/// Maximum number of lines over which a program wraps "On ... wrote:".
pub(super) const WRAPPED: usize = 3;

/// Maximum length of these lines, in bytes.
const ATTRIBUTION_BYTES: usize = 400;

/// Minimum number of numbers in a date: a day, a month or year, and a time.
const NUMBERS_OF_DATE: usize = 3;

/// Maximum number of lines from the first to the last header line of a quoted message.
const BLOCK_LINES: usize = 16;

/// Maximum number of lines over which a header line is continued.
const FIELD_LINES: usize = 3;

/// Minimum number of underscores in the line above the footer of a mailing list.
const UNDERSCORES: usize = 20;

/// Maximum number of lines of such a footer, and of a signature below `--` without a blank behind.
const FOOTER_LINES: usize = 12;

/// How sure it is that "On ... wrote:" stands above a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// Only together with quoted lines below.
    WithQuote,
    /// Without quoted lines, too: what follows is the quotation.
    Alone,
}

/// Removes what has no width, such as the marks of right-to-left text, and blanks at both ends.
fn plain(line: &str) -> String {
    let seen: String = line.chars().filter(|c| is_seen(*c)).collect();
    seen.trim().to_lowercase()
}

/// The number of characters `>` and initials (`JD> `) at the beginning of a quoted line, in bytes;
/// 0 if the line is not quoted.
pub(super) fn quote_mark(line: &str) -> usize {
    let trimmed = line.trim_start_matches(' ');
    let indent = line.len() - trimmed.len();
    if indent > 2 {
        return 0;
    }
    let letters = trimmed.bytes().take_while(u8::is_ascii_alphabetic).count();
    let rest = &trimmed[letters..];
    if !rest.starts_with('>') {
        return 0;
    }
    let after = rest[1..].chars().next();
    let is_initials = trimmed.starts_with(|first: char| first.is_ascii_uppercase())
        && (2..=3).contains(&letters)
        && after.is_none_or(|after| after == ' ' || after == '>');
    if letters == 0 || is_initials { indent + letters + 1 } else { 0 }
}

/// Whether a line separates the signature that follows.
pub(super) fn begins_signature(line: &str, after: &[&str]) -> bool {
    match line {
        // The second form is that of a message signed by PGP.
        "-- " | "- -- " | "--\u{a0}" => true,
        // The blank is lost in transport, or by a program.
        "--" | "- --" => filled(after).count() <= FOOTER_LINES,
        _ => false,
    }
}

/// Whether a line of underscores begins the footer of a mailing list.
pub(super) fn begins_footer(line: &str, after: &[&str]) -> bool {
    if !is_rule(line) {
        return false;
    }
    let filled: Vec<_> = filled(after).collect();
    let is_address = |line: &&str| {
        let line = line.to_ascii_lowercase();
        line.contains('@') || line.contains("://") || line.contains("mailing list")
    };
    filled.len() <= FOOTER_LINES
        && filled.iter().any(is_address)
        && filled.iter().all(|line| quote_mark(line) == 0)
}

/// The lines that are not blank; not many more than [`FOOTER_LINES`].
fn filled<'l>(lines: &[&'l str]) -> impl Iterator<Item = &'l str> {
    lines.iter().copied().filter(|line| !line.trim().is_empty()).take(FOOTER_LINES + 1)
}

/// Whether a line has only underscores.
pub(super) fn is_rule(line: &str) -> bool {
    let line = if line.contains('_') { line.trim() } else { return false };
    line.len() >= UNDERSCORES && line.bytes().all(|byte| byte == b'_')
}

/// Whether a line such as `-----Original Message-----` or "Begin forwarded message:" stands above a
/// quoted message.
pub(super) fn is_head(line: &str) -> bool {
    let is_dash = |c: char| matches!(c, '-' | '\u{2010}'..='\u{2015}');
    let may_be = |end: &str| end.ends_with(is_dash) || end.ends_with([':', '\u{ff1a}']);
    if line.len() > ATTRIBUTION_BYTES || !may_be(trimmed_end(line)) {
        return false;
    }
    let line = plain(line);
    let core = line.trim_matches(is_dash);
    let has_dashes = line.starts_with(is_dash) && line.ends_with(is_dash);
    let core = if has_dashes {
        core.trim()
    } else if let Some(core) = line.strip_suffix([':', '\u{ff1a}']) {
        core.trim_end()
    } else {
        return false;
    };
    PHRASES.is_head(core)
}

/// The number of header lines of a quoted message (From, Sent, To, Subject) that the lines begin
/// with; 0 if there are none.
pub(super) fn header_block(lines: &[&str]) -> usize {
    let mut found = [false; 4];
    let (mut end, mut blanks) = (0, 0);
    for (at, line) in lines.iter().enumerate().take(BLOCK_LINES) {
        let field = field(line);
        if at == 0 && !matches!(field, Some(Field::From | Field::Subject | Field::Sent)) {
            return 0;
        }
        if let Some(field) = field {
            found[field as usize] = true;
            (end, blanks) = (at + 1, 0);
        } else if line.trim().is_empty() {
            blanks += 1;
        } else if end == at && is_continued(line) {
            // A field without a meaning here, such as Cc.
            end = at + 1;
        }
        // A long field goes on for some lines, and some programs write blank lines between them.
        if blanks > 1 || (blanks > 0 && end != at + 1 - blanks) || at + 1 - end > FIELD_LINES {
            break;
        }
    }
    let [from, sent, to, subject] = found;
    if from && subject && (sent || to) { end } else { 0 }
}

/// Whether a line below a header line belongs to the header.
fn is_continued(line: &str) -> bool {
    let name = line.split_once([':', '\u{ff1a}']).map(|(name, _)| name.trim());
    line.starts_with([' ', '\t']) || name.is_some_and(|name| !name.is_empty() && name.len() < 20)
}

fn field(line: &str) -> Option<Field> {
    // Names are short, and most lines have no colon in their first characters. 0xef begins U+FF1A.
    let head = &line.as_bytes()[..line.len().min(160)];
    memchr::memchr2(b':', 0xef, head)?;
    let end = line.char_indices().nth(40).map_or(line.len(), |(at, _)| at);
    PHRASES.field(plain(&line[..end]).trim_start_matches(['*', ' ']))
}

/// Whether the last lines are "On ... wrote:": the number of them, and how sure it is.
pub(super) fn attribution(lines: &[&str]) -> Option<(usize, Certainty)> {
    let last = lines.last()?;
    if last.len() > ATTRIBUTION_BYTES || !may_end(last) {
        return None;
    }
    let blank = lines.iter().rposition(|line| line.trim().is_empty()).map_or(0, |at| at + 1);
    let lines = &lines[blank.max(lines.len().saturating_sub(WRAPPED))..];
    let wrapped = (2..=lines.len()).rev().filter(|count| begins(lines[lines.len() - count]));
    wrapped.chain([1]).find_map(|count| {
        let joined = plain(&lines[lines.len() - count..].join(" "));
        certainty(&joined).map(|certainty| (count, certainty))
    })
}

/// Whether "On ... wrote:" may end so: with a colon, or an address.
fn may_end(line: &str) -> bool {
    trimmed_end(line).ends_with([':', '\u{ff1a}', '>'])
}

/// A line without what cannot be seen at its end.
fn trimmed_end(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_whitespace() || !is_seen(c))
}

fn is_seen(c: char) -> bool {
    !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}')
}

/// Whether a line may be the first of those over which "On ... wrote:" is wrapped.
fn begins(line: &str) -> bool {
    let line = plain(line);
    let is_opened = PHRASES.is_opened(&line) && line.chars().any(char::is_numeric);
    is_opened || (has_year(&line) && numbers(&line) >= NUMBERS_OF_DATE)
}

fn certainty(line: &str) -> Option<Certainty> {
    if line.len() > ATTRIBUTION_BYTES {
        return None;
    }
    let has_address = line.contains('@');
    let has_date = numbers(line) >= NUMBERS_OF_DATE;
    let Some(line) = line.strip_suffix([':', '\u{ff1a}']).map(str::trim_end) else {
        // Ends with an address.
        return (has_address && has_date).then_some(Certainty::WithQuote);
    };
    let has_verb = PHRASES.has_verb(line);
    let is_opened = PHRASES.is_opened(line);
    let ends_with_address = has_address && line.ends_with(['>', ')', ']']);
    if has_date && ((has_verb && (is_opened || has_address)) || ends_with_address) {
        return Some(Certainty::Alone);
    }
    (has_verb || has_address || has_date).then_some(Certainty::WithQuote)
}

/// The number of numbers in a line.
fn numbers(line: &str) -> usize {
    let mut count = 0;
    let mut was_numeric = false;
    for c in line.chars() {
        let is_numeric = c.is_numeric();
        count += usize::from(is_numeric && !was_numeric);
        was_numeric = is_numeric;
    }
    count
}

/// Whether a line has a year of four digits.
fn has_year(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_digit())
        .any(|digits| digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20")))
}
