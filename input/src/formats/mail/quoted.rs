//! Finds what the author of a message wrote: without quotations, signatures and the footers of
//! mailing lists.

use super::lines::{self, Certainty};

/// Line that begins a quotation in the text of an HTML part. Unicode has no character of this code.
pub(super) const QUOTE: char = '\u{fdd0}';
/// Line that ends it.
pub(super) const QUOTE_END: char = '\u{fdd1}';
/// Line that begins a signature in the text of an HTML part.
pub(super) const SIGNATURE: char = '\u{fdd2}';
/// Line that ends it.
pub(super) const SIGNATURE_END: char = '\u{fdd3}';

/// Maximum number of quotations in each other that are looked into.
const LEVELS: usize = 32;

/// The text of a message, from those of its parts: what its author has written. If that is nothing,
/// as in a message that is only forwarded, the text is that of the quoted message; if that is
/// nothing, either, it is all that there is.
pub(super) fn own_text(mut parts: Vec<String>) -> String {
    let is_quoted = |belongs: &Belongs| matches!(belongs, Belongs::Quoted(_));
    for _ in 0..LEVELS {
        let belongs: Vec<_> = parts.iter().map(|part| classified(part)).collect();
        let has = |is: fn(&Belongs) -> bool| {
            parts.iter().zip(&belongs).any(|(part, belongs)| has_words(part, belongs, is))
        };
        let is_own = has(|one| *one == Belongs::Own);
        if !is_own && !has(is_quoted) {
            break;
        }
        let chosen: fn(&Belongs) -> bool =
            if is_own { |one| *one == Belongs::Own } else { is_quoted };
        let split = parts.into_iter().zip(belongs);
        parts = split.map(|(part, belongs)| chosen_lines(part, &belongs, chosen)).collect();
        if is_own {
            return join(parts);
        }
    }
    without_marks(join(parts))
}

/// The parts of a message, one below the other.
pub(super) fn join(mut parts: Vec<String>) -> String {
    // One part may have most of the memory of this process.
    if parts.len() == 1 { parts.swap_remove(0) } else { parts.join("\n") }
}

/// The lines of a text, without their ends.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// Whether there are words in the lines that belong where `is` says.
fn has_words(text: &str, belongs: &[Belongs], is: fn(&Belongs) -> bool) -> bool {
    let lines = lines_of(text).zip(belongs).filter(|(_, belongs)| is(belongs));
    lines.into_iter().any(|(line, _)| line.chars().any(char::is_alphanumeric))
}

/// The lines that belong where `is` says, without the marks of quotations.
fn chosen_lines(text: String, belongs: &[Belongs], is: fn(&Belongs) -> bool) -> String {
    if belongs.iter().all(|one| *one == Belongs::Own) && is(&Belongs::Own) {
        return text;
    }
    let lines = || {
        let lines = lines_of(&text).zip(belongs).filter(|(_, belongs)| is(belongs));
        lines.map(|(line, belongs)| match belongs {
            Belongs::Quoted(mark @ 1..) => {
                let line = &line[usize::from(*mark)..];
                line.strip_prefix(' ').unwrap_or(line)
            }
            _ => line,
        })
    };
    // Memory is limited, and messages may be large: no more than is needed.
    let mut chosen = String::with_capacity(lines().map(|line| line.len() + 1).sum());
    for line in lines() {
        chosen.push_str(line);
        chosen.push('\n');
    }
    chosen
}

/// Whether a line is empty, or only the mark of an HTML part.
fn is_blank(line: &str) -> bool {
    line.chars().all(|c| c.is_whitespace() || matches!(c, QUOTE..=SIGNATURE_END))
}

/// A text without the marks of HTML parts.
pub(super) fn without_marks(text: String) -> String {
    // The first bytes of all marks.
    if memchr::memmem::find(text.as_bytes(), b"\xef\xb7").is_none() {
        return text;
    }
    text.replace([QUOTE, QUOTE_END, SIGNATURE, SIGNATURE_END], "")
}

/// What a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belongs {
    Own,
    /// To a quotation. Its first bytes, so many, are the mark of it.
    Quoted(u8),
    /// To what a program writes around a quotation, to a signature or a footer.
    Around,
}

/// What each line belongs to.
fn classified(text: &str) -> Vec<Belongs> {
    let lines: Vec<&str> = lines_of(text).collect();
    let lines = &lines[..];
    let mut belongs = vec![Belongs::Own; lines.len()];
    mark_regions(lines, &mut belongs);
    mark_quoted_lines(lines, &mut belongs);
    let mut signature = None;
    let mut at = 0;
    while at < lines.len() {
        if belongs[at] != Belongs::Own {
            at += 1;
            continue;
        }
        let (line, after) = (lines[at], &lines[at + 1..]);
        if let Some(around) =
            around_quotation(&lines[begin_of_own(&belongs, at)..=at], &lines[at..])
        {
            let (first, end) = (at + 1 - around.before, at + around.length);
            belongs[first..end].fill(Belongs::Around);
            let next = (end..lines.len()).find(|at| !is_blank(lines[*at]));
            let is_marked = next.is_some_and(|next| matches!(belongs[next], Belongs::Quoted(_)));
            if around.certainty == Certainty::Alone && !is_marked {
                // As it is: what is quoted in it belongs to others than its author.
                belongs[end..].fill(Belongs::Quoted(0));
                break;
            }
            if around.certainty == Certainty::WithQuote && !is_marked {
                belongs[first..end].fill(Belongs::Own);
            }
            at = end;
            continue;
        }
        if lines::begins_footer(line, after) {
            let rest = belongs[at..].iter_mut();
            rest.filter(|one| **one == Belongs::Own).for_each(|one| *one = Belongs::Around);
            break;
        }
        if signature.is_none() && lines::begins_signature(line, after) {
            signature = Some(at);
        }
        at += 1;
    }
    // Only now: a quotation may begin in what follows a signature.
    let rest = belongs[signature.unwrap_or(lines.len())..].iter_mut();
    rest.filter(|one| **one == Belongs::Own).for_each(|one| *one = Belongs::Around);
    belongs
}

/// The first of the lines before a line that are not known to belong to something else. Not more of
/// them than a program wraps "On ... wrote:".
fn begin_of_own(belongs: &[Belongs], at: usize) -> usize {
    let least = (at + 1).saturating_sub(lines::WRAPPED);
    belongs[least..at].iter().rposition(|one| *one != Belongs::Own).map_or(least, |p| least + p + 1)
}

/// Lines around a quotation.
struct Around {
    /// The number of lines up to the current one.
    before: usize,
    /// The number of lines from the current one.
    length: usize,
    certainty: Certainty,
}

/// The lines around a quotation at a line: the last one of `before` and the first one of `after`.
fn around_quotation(before: &[&str], after: &[&str]) -> Option<Around> {
    let line = *before.last()?;
    let alone = |length| Around { before: 1, length, certainty: Certainty::Alone };
    let is_head = lines::is_head(line);
    // Outlook draws a line above the header lines.
    if is_head || lines::is_rule(line) {
        let begin = after.iter().skip(1).position(|line| !line.trim().is_empty());
        let begin = begin.map_or(after.len(), |blanks| blanks + 1);
        return match lines::header_block(&after[begin..]) {
            0 => is_head.then(|| alone(1)),
            length => Some(alone(begin + length)),
        };
    }
    match lines::header_block(after) {
        0 => lines::attribution(before).map(|(before, certainty)| Around {
            before,
            length: 1,
            certainty,
        }),
        length => Some(alone(length)),
    }
}

/// Classifies the lines between the marks of an HTML part. The outermost quotations lose their
/// marks.
fn mark_regions(lines: &[&str], belongs: &mut [Belongs]) {
    let (mut quotes, mut signatures) = (0_usize, 0_usize);
    for (line, belongs) in lines.iter().zip(belongs) {
        let mark = sole_letter(line);
        let is_outer = match mark {
            Some(QUOTE) => {
                quotes += 1;
                quotes == 1
            }
            Some(QUOTE_END) => {
                quotes = quotes.saturating_sub(1);
                quotes == 0
            }
            Some(SIGNATURE) if quotes == 0 => {
                signatures += 1;
                true
            }
            Some(SIGNATURE_END) if quotes == 0 => {
                signatures = signatures.saturating_sub(1);
                true
            }
            _ => false,
        };
        if is_outer {
            *belongs = Belongs::Around;
        } else if quotes > 0 {
            *belongs = Belongs::Quoted(0);
        } else if signatures > 0 {
            *belongs = Belongs::Around;
        }
    }
}

/// The only character of a line.
fn sole_letter(line: &str) -> Option<char> {
    if line.len() > 16 {
        return None;
    }
    let mut letters = line.trim().chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// Marks lines that begin with `>`.
fn mark_quoted_lines(lines: &[&str], belongs: &mut [Belongs]) {
    let is_quoted = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at));
        line.is_some_and(|line| lines::quote_mark(line) > 0 && !line.starts_with(">From "))
    };
    for (at, line) in lines.iter().enumerate() {
        let mark = lines::quote_mark(line);
        if mark == 0 || belongs[at] != Belongs::Own {
            continue;
        }
        // Mailboxes escape a line that begins with "From ".
        let is_escaped =
            line.starts_with(">From ") && !is_quoted(at.checked_sub(1)) && !is_quoted(Some(at + 1));
        if !is_escaped {
            belongs[at] = Belongs::Quoted(u8::try_from(mark).unwrap_or_default());
        }
    }
}
