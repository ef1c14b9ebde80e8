//! Words as people count them: runs of letters and digits, in any script.

/// The words of a text: runs of letters and digits. A point or comma between two digits belongs to
/// the number. In scripts without spaces each character is a word.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || next_word(&mut rest))
}

/// For each byte, whether it is a letter or digit of ASCII (1), of another script (2), or neither.
const KINDS: [u8; 256] = {
    let mut kinds = [2; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        kinds[byte as usize] = byte.is_ascii_alphanumeric() as u8;
        byte += 1;
    }
    kinds
};

fn kind(byte: u8) -> u8 {
    KINDS[usize::from(byte)]
}

/// The next word, which is taken from the rest of a text.
#[inline]
pub(crate) fn next_word<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let found = &rest[rest.bytes().position(|byte| kind(byte) != 0)?..];
    let found = match found.as_bytes().first() {
        Some(byte) if byte.is_ascii() => found,
        _ => &found[found.find(char::is_alphanumeric)?..],
    };
    let (word, behind) = found.split_at(end_of_word(found));
    *rest = behind;
    Some(word)
}

/// The length of the word at the start of a text.
fn end_of_word(text: &str) -> usize {
    end_in_ascii(text.as_bytes()).unwrap_or_else(|| end_in_any_script(text))
}

/// The length of a word of ASCII; `None` if other characters decide it.
fn end_in_ascii(text: &[u8]) -> Option<usize> {
    let mut end = 0;
    loop {
        end += text[end..].iter().take_while(|byte| kind(**byte) == 1).count();
        let (before, behind) = (text[..end].last()?, text.get(end + 1));
        match text.get(end) {
            Some(b'.' | b',') if before.is_ascii_digit() => match behind {
                Some(digit) if digit.is_ascii_digit() => end += 1,
                Some(other) if !other.is_ascii() => return None,
                _ => return Some(end),
            },
            Some(other) if !other.is_ascii() => return None,
            _ => return Some(end),
        }
    }
}

fn end_in_any_script(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut before = None;
    while let Some((at, char)) = chars.next() {
        let joins = matches!(char, '.' | ',')
            && before.is_some_and(char::is_numeric)
            && chars.peek().is_some_and(|(_, next)| next.is_numeric());
        if !(char.is_alphanumeric() || is_mark(char) || joins) {
            return at;
        }
        if stands_alone(char) {
            return if at == 0 { char.len_utf8() } else { at };
        }
        before = Some(char);
    }
    text.len()
}

/// Whether a character is a mark on the letter before it.
fn is_mark(char: char) -> bool {
    matches!(char, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{93a}'..='\u{94f}')
}

/// Whether a character is of a script without spaces between words: Thai to Khmer, kana, Han.
fn stands_alone(char: char) -> bool {
    let is_letter = matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    is_letter && !char.is_numeric()
}

/// Whether a word has a digit.
pub(crate) fn is_number(word: &str) -> bool {
    word.chars().any(char::is_numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_and_characters_of_han() {
        let all = |text| words(text).collect::<Vec<_>>();
        assert_eq!(all("It's 1,234.50 EUR, no. 7."), ["It", "s", "1,234.50", "EUR", "no", "7"]);
        assert_eq!(all("\u{5024}\u{3092} 12 \u{500b}"), ["\u{5024}", "\u{3092}", "12", "\u{500b}"]);
        assert_eq!(all("a\u{5024}b"), ["a", "\u{5024}", "b"]);
        assert_eq!(all("  - . "), [""; 0]);
    }

    #[test]
    fn words_of_ascii_end_where_those_of_any_script_do() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b"ab12.,, -\x80\x81\x82\x83"[usize::try_from(state >> 33).unwrap() % 13]
        };
        for _ in 0..20_000 {
            let char = |byte: u8| match byte {
                0x80 => '\u{e9}',
                0x81 => '\u{301}',
                0x82 => '\u{664}',
                0x83 => '\u{5024}',
                other => char::from(other),
            };
            let text: String = (0..7).map(|_| char(next())).collect();
            let Some(begin) = text.find(char::is_alphanumeric) else {
                assert_eq!(words(&text).next(), None, "{text:?}");
                continue;
            };
            let text = &text[begin..];
            assert_eq!(end_of_word(text), end_in_any_script(text), "{text:?}");
            assert_eq!(words(text).next(), Some(&text[..end_in_any_script(text)]));
        }
    }
}
