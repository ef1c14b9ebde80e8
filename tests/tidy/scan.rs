//! A small scanner for Rust source: finds code without comments and strings, and paths.

/// The text with comments, strings and characters replaced by spaces. Line breaks are kept.
pub(crate) fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = at + literal_or_comment(&bytes[at..], at > 0 && is_word(bytes[at - 1]));
        if end == at {
            code.push(if bytes[at].is_ascii() { char::from(bytes[at]) } else { ' ' });
            at += 1;
        }
        for byte in &bytes[at..end.max(at)] {
            code.push(if *byte == b'\n' { '\n' } else { ' ' });
        }
        at = end.max(at);
    }
    code
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of the comment, string or character literal that starts here. 0 if none starts here.
fn literal_or_comment(bytes: &[u8], in_word: bool) -> usize {
    match bytes {
        [b'/', b'/', ..] => bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len()),
        [b'/', b'*', ..] => block_comment(bytes),
        [b'"', ..] => quoted(bytes),
        [b'r', b'"' | b'#', ..] if !in_word => raw(bytes),
        [b'b', b'r', b'"' | b'#', ..] if !in_word => 1 + raw(&bytes[1..]),
        // A character literal, as opposed to a lifetime: 'a', '\n', '\u{e9}'.
        [b'\'', b'\\', ..] => bytes.iter().skip(3).position(|b| *b == b'\'').map_or(0, |at| at + 4),
        [b'\'', first, ..] => {
            let width = match first {
                0xF0.. => 4,
                0xE0.. => 3,
                0xC0.. => 2,
                _ => 1,
            };
            if bytes.get(1 + width) == Some(&b'\'') { width + 2 } else { 0 }
        }
        _ => 0,
    }
}

fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The length of a raw string. 0 for a raw identifier.
fn raw(bytes: &[u8]) -> usize {
    let hashes = bytes[1..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end = [&b"\""[..], &b"#".repeat(hashes)].concat();
    let body = &bytes[2 + hashes..];
    let length = body.windows(end.len()).position(|window| window == end);
    length.map_or(bytes.len(), |length| 2 + hashes + length + end.len())
}

/// The paths in `code` that begin with `root` (such as `crate::a::b`). Groups in braces are
/// expanded, the root is removed, and each path is truncated to two names.
pub(crate) fn paths(code: &str, root: &str) -> Vec<String> {
    paths_to(code, root, 2)
}

/// The same paths, truncated to `names_max` names.
pub(crate) fn paths_to(code: &str, root: &str, names_max: usize) -> Vec<String> {
    let mut found = Vec::new();
    let begin = format!("{root}::");
    for (at, _) in code.match_indices(&begin) {
        let before = code[..at].bytes().next_back();
        if !before.is_some_and(|byte| is_word(byte) || byte == b':') {
            tree(&code[at + begin.len()..], &mut Vec::new(), &mut found, names_max);
        }
    }
    found
}

/// Parses a use tree. Returns the text after it.
fn tree<'a>(
    text: &'a str,
    prefix: &mut Vec<&'a str>,
    found: &mut Vec<String>,
    names_max: usize,
) -> &'a str {
    let mut text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        text = group;
        loop {
            text = text.trim_start().trim_start_matches(',').trim_start();
            if let Some(rest) = text.strip_prefix('}') {
                return rest;
            }
            let rest = tree(text, prefix, found, names_max);
            if rest.len() == text.len() {
                return rest; // no path after all
            }
            text = rest;
        }
    }
    let length = text.bytes().take_while(|byte| is_word(*byte) || *byte == b'*').count();
    let (name, rest) = text.split_at(length.min(text.len()));
    prefix.push(name);
    let rest = match rest.strip_prefix("::") {
        Some(deeper) if !deeper.starts_with('<') => tree(deeper, prefix, found, names_max),
        _ => {
            if !name.is_empty() {
                found.push(prefix[..prefix.len().min(names_max)].join("::"));
            }
            rest
        }
    };
    prefix.pop();
    rest
}

#[test]
fn comments_and_literals_are_blanked() {
    let text = "a /* { /* } */ \" */ b // \"\n\"}\\\"{\" c '{' '\\'' 'x d r#\"}\"{\"# e\nb\"{\"";
    let code = code_of(text);
    assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c", "'x", "d", "e", "b"]);
    assert_eq!(code.matches('\n').count(), text.matches('\n').count());
}

#[test]
fn groups_of_paths_are_told_apart() {
    let code = "use crate::{Error, format::{bytes::wide, wal}, catalog};\ncrate::a::b::c(x)";
    assert_eq!(paths(code, "crate"), ["Error", "format::bytes", "format::wal", "catalog", "a::b"]);
    assert_eq!(paths("mycrate::a; ::crate::b; crate::*", "crate"), ["*"]);
}
