//! Normal forms D and C: Unicode Standard Annex #15.

use super::{Properties, combining_class, decomposed, flag};

/// The pairs of characters that compose, and their composites: nine bytes each, three per
/// character, in order of the second character, then of the first.
static COMPOSED: &[[u8; 9]] = include_bytes!("composed.bin").as_chunks().0;

/// Hangul syllables are composed and decomposed by arithmetic.
const SYLLABLES: u32 = 0xac00;
const LEADS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
/// The character before the first trailing consonant.
const TRAILS: u32 = 0x11a7;
const VOWEL_COUNT: u32 = 21;
const TRAIL_COUNT: u32 = 28;
const SYLLABLE_COUNT: u32 = 19 * VOWEL_COUNT * TRAIL_COUNT;

/// The composite of two characters, if they compose.
pub(crate) fn compose(first: char, second: char) -> Option<char> {
    if !Properties::of(second).has(flag::SECOND) {
        return None;
    }
    let character = |[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]);
    let key = |[a, b, c, d, e, f, ..]: &[u8; 9]| (character([*a, *b, *c]), character([*d, *e, *f]));
    match COMPOSED.binary_search_by_key(&(second.into(), first.into()), key) {
        Ok(at) => COMPOSED.get(at)?.last_chunk().copied().map(character).and_then(char::from_u32),
        Err(_) => compose_hangul(first.into(), second.into()),
    }
}

fn compose_hangul(first: u32, second: u32) -> Option<char> {
    let (lead, vowel) = (first.wrapping_sub(LEADS), second.wrapping_sub(VOWELS));
    if lead < 19 && vowel < VOWEL_COUNT {
        return char::from_u32(SYLLABLES + (lead * VOWEL_COUNT + vowel) * TRAIL_COUNT);
    }
    let (syllable, trail) = (first.wrapping_sub(SYLLABLES), second.wrapping_sub(TRAILS));
    let open = syllable < SYLLABLE_COUNT && syllable.is_multiple_of(TRAIL_COUNT);
    if open && (1..TRAIL_COUNT).contains(&trail) { char::from_u32(first + trail) } else { None }
}

/// Calls `found` with each character of the canonical decomposition, and its combining class.
#[inline]
fn decompose(c: char, mut found: impl FnMut(char, u8)) {
    let syllable = u32::from(c).wrapping_sub(SYLLABLES);
    if let Some(parts) = decomposed(c) {
        for part in parts.chars() {
            found(part, combining_class(part));
        }
    } else if syllable < SYLLABLE_COUNT {
        let (lead_vowel, trail) = (syllable / TRAIL_COUNT, syllable % TRAIL_COUNT);
        let (lead, vowel) = (lead_vowel / VOWEL_COUNT, lead_vowel % VOWEL_COUNT);
        let trail = if trail == 0 { None } else { Some(TRAILS + trail) };
        let parts = [Some(LEADS + lead), Some(VOWELS + vowel), trail];
        parts.into_iter().flatten().filter_map(char::from_u32).for_each(|part| found(part, 0));
    } else {
        found(c, combining_class(c));
    }
}

/// Form D: calls `found` with each character, and its combining class.
#[inline]
pub(crate) fn ordered(text: impl Iterator<Item = char>, mut found: impl FnMut(char, u8)) {
    let mut marks: Vec<(char, u8)> = Vec::new();
    let mut settle = |marks: &mut Vec<(char, u8)>| {
        marks.sort_by_key(|(_, class)| *class);
        marks.drain(..).for_each(|(mark, class)| found(mark, class));
    };
    for c in text {
        decompose(c, |part, class| {
            if class == 0 {
                settle(&mut marks);
            }
            marks.push((part, class));
        });
    }
    settle(&mut marks);
}

/// Appends form C.
pub(crate) fn nfc(text: impl Iterator<Item = char>, out: &mut String) {
    let mut composer = Composer { out, starter: None, marks: Vec::new(), last: 0 };
    ordered(text, |c, class| composer.push(c, class));
    composer.flush();
}

/// Composes characters in canonical order.
#[derive(Debug)]
struct Composer<'a> {
    out: &'a mut String,
    /// The last character of class 0, and the marks behind it that did not compose with it.
    starter: Option<char>,
    marks: Vec<char>,
    /// The combining class of the last of `marks`.
    last: u8,
}

impl Composer<'_> {
    fn push(&mut self, c: char, class: u8) {
        if let Some(starter) = self.starter
            && (self.marks.is_empty() || self.last < class)
            && let Some(whole) = compose(starter, c)
        {
            self.starter = Some(whole);
        } else if class == 0 {
            self.flush();
            self.starter = Some(c);
        } else if self.starter.is_some() {
            self.marks.push(c);
            self.last = class;
        } else {
            self.out.push(c);
        }
    }

    fn flush(&mut self) {
        self.out.extend(self.starter.take());
        self.out.extend(self.marks.drain(..));
    }
}

/// Whether a text certainly is in form C: no character composes, or may be in wrong order.
pub(crate) fn is_composed(text: &str) -> bool {
    let mut last = 0;
    text.chars().all(|c| {
        let properties = Properties::of(c);
        let class = properties.combining;
        let ordered = class == 0 || class >= last;
        last = class;
        ordered && !properties.has(flag::NOT_COMPOSED | flag::SECOND)
    })
}
