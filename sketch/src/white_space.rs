//! White space, as normalisation and tokens mean it.

/// The pieces of a text between white space.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_white_space).filter(|token| !token.is_empty())
}

/// Unicode's property White_Space. It has not changed since 2013. It is written out here, so that a
/// later Unicode version cannot change signatures.
pub(crate) fn is_white_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r'
            | ' '
            | '\u{85}'
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
    )
}
