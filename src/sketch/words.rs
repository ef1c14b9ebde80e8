//! The words of a text as Unicode's UAX #29 finds them, fast where the text is ASCII.
//!
//! Knows text only. The definition is the crate `unicode-segmentation`; the fast path is tested
//! against it on every short string of its special characters and on random ones.

use unicode_segmentation::UnicodeSegmentation;

/// Calls `found` with every word of `text`, in order.
pub(crate) fn for_each(text: &str, mut found: impl FnMut(&[u8])) {
    if text.is_ascii() {
        return ascii_words(text.as_bytes(), &mut found);
    }
    for stretch in stretches(text) {
        if stretch.is_ascii() {
            ascii_words(stretch.as_bytes(), &mut found);
        } else {
            stretch.unicode_words().for_each(|word| found(word.as_bytes()));
        }
    }
}

/// Cuts a text before each ASCII space that an ASCII character follows, where no rule of UAX #29
/// sees both sides: a space ends whatever is before it (WB999), and only a combining mark could
/// attach to it (WB4). So each stretch has the words it has within the text.
fn stretches(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let bytes = rest.as_bytes();
        let cut = |at: &usize| bytes[*at] == b' ' && bytes.get(at + 1).is_some_and(u8::is_ascii);
        let end = (1..bytes.len()).find(cut).unwrap_or(bytes.len());
        let (stretch, after) = rest.split_at(end);
        rest = after;
        (!stretch.is_empty()).then_some(stretch)
    })
}

/// The words of ASCII bytes: runs of letters, digits and underscores, joined across one dot,
/// apostrophe or colon between letters (WB6, WB7) and one dot, apostrophe, comma or semicolon
/// between digits (WB11, WB12); of these, the runs that hold a letter or digit. Classifies 64
/// bytes at a time into a mask with a bit for each.
fn ascii_words(text: &[u8], found: &mut impl FnMut(&[u8])) {
    let mut start = 0;
    let mut inside = 0_u64;
    let mut padded = [0_u8; 64];
    for base in (0..text.len()).step_by(64) {
        let block = text.get(base..base + 64).and_then(|block| block.try_into().ok());
        let block = block.unwrap_or_else(|| {
            padded[..text.len() - base].copy_from_slice(&text[base..]);
            &padded
        });
        let (word, mut joint) = masks(block);
        let mut mask = word;
        joint &= (word << 1 | inside) & (word >> 1 | 1 << 63);
        while joint != 0 {
            let at = joint.trailing_zeros();
            joint &= joint - 1;
            mask |= u64::from(joins(text, base + at as usize)) << at;
        }
        let mut edges = mask ^ (mask << 1 | inside);
        while edges != 0 {
            let at = base + edges.trailing_zeros() as usize;
            edges &= edges - 1;
            if inside == 0 {
                start = at;
            } else {
                emit(&text[start..at], found);
            }
            inside ^= 1;
        }
    }
    if inside == 1 {
        emit(&text[start..], found);
    }
}

#[inline]
fn emit(word: &[u8], found: &mut impl FnMut(&[u8])) {
    if word[0] != b'_' || word.iter().any(u8::is_ascii_alphanumeric) {
        found(word);
    }
}

/// Whether the byte at `at` joins its neighbours into one word.
fn joins(text: &[u8], at: usize) -> bool {
    let (Some(&before), Some(&after)) = (text.get(at.wrapping_sub(1)), text.get(at + 1)) else {
        return false;
    };
    match text[at] {
        b'.' | b'\'' => {
            before.is_ascii_alphabetic() && after.is_ascii_alphabetic()
                || before.is_ascii_digit() && after.is_ascii_digit()
        }
        b':' => before.is_ascii_alphabetic() && after.is_ascii_alphabetic(),
        b',' | b';' => before.is_ascii_digit() && after.is_ascii_digit(),
        _ => false,
    }
}

/// What a byte is: bit 0 for letters, digits and underscores; bit 1 for a range around the
/// punctuation that may join two words (`joins` decides).
#[inline]
fn class(byte: u8) -> u8 {
    let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
    let digit = byte.wrapping_sub(b'0') < 10;
    let joint = byte.wrapping_sub(b'\'') <= b';' - b'\'';
    // Sums and products of bits, not `||` and `&&`: without branches 16 bytes are done at once.
    let word = u8::from(letter) | u8::from(digit) | u8::from(byte == b'_');
    word | (u8::from(joint) & !u8::from(digit)) << 1
}

/// For 64 ASCII bytes, the two bits of `class` as two masks with a bit for each byte.
#[inline]
fn masks(block: &[u8; 64]) -> (u64, u64) {
    let classes = block.map(class);
    let (mut words, mut joints) = (0, 0);
    for (bytes, shift) in classes.as_chunks::<8>().0.iter().zip((0..64).step_by(8)) {
        let bytes = u64::from_le_bytes(*bytes);
        words |= gather(bytes) << shift;
        joints |= gather(bytes >> 1) << shift;
    }
    (words, joints)
}

/// The lowest bits of eight bytes as one byte, the first byte's lowest.
#[inline]
fn gather(bytes: u64) -> u64 {
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
