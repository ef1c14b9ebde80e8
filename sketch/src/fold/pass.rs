//! The normalisation pass: its read and write positions, and how each kind of character is written.
//!
//! For words, the output is not the normalised text. It is a text with the same words, in which
//! `split` finds all boundaries if it treats every non-ASCII byte as a letter.

use self::ascii::few_ascii;
use super::composites::COMPOSITES;
use super::scripts::{BOUNDARY, HEBREW, MARKS, NUKTA, NUKTA_CLASS, Stretch, VIRAMA, VIRAMA_CLASS};
use super::{CharRecord, FoldTable, MOVED, class, decode, encode, four, is_joint};
use crate::simd::Processor;

mod ascii;
mod cut;
mod marks;

/// Free space in bytes that the output buffer must have before a step: a step may write up to this
/// many bytes.
const ROOM: usize = 80;

/// Why the pass stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassStop {
    End,
    /// The buffer is full.
    Full,
    /// The character at `at` needs the slow path.
    Slow,
}

/// The kind of the last character written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Last {
    /// ASCII, or nothing was written yet.
    Ascii,
    Letter,
    Number,
    Hebrew,
    Alone,
    Katakana,
}

impl Last {
    /// What the first byte of the last character written says of it.
    #[inline(always)]
    fn from_first_byte(first: u8) -> Self {
        match first {
            b' ' => Self::Ascii,
            HEBREW => Self::Hebrew,
            _ => Self::Letter,
        }
    }
}

/// Replaces the letter that ends at `len` by its composite with a mark, by the table. Returns where
/// the composite ends, and its first byte.
#[inline(always)]
fn compose(out: &mut [u8], len: usize, second: u8) -> Option<(usize, u8)> {
    let (composite, from) = COMPOSITES.get(out, len, second)?;
    let place = out.get_mut(from..).and_then(<[u8]>::first_chunk_mut)?;
    let (bytes, count) = encode(composite.into());
    *place = bytes;
    Some((from + count, bytes[0]))
}

/// The state of the pass over a text. With `WORDS`, the text will be cut into words.
#[derive(Debug)]
pub(crate) struct Pass<'a, const WORDS: bool> {
    table: &'static FoldTable,
    text: &'a str,
    /// The read position in the text, and the number of bytes written.
    at: usize,
    len: usize,
    /// The pass never goes back before these positions in the text and in the output.
    base: (usize, usize),
    last: Last,
    /// The canonical combining class of the last character.
    combining: u8,
}

impl<'a, const WORDS: bool> Pass<'a, WORDS> {
    pub(crate) fn new(table: &'static FoldTable, text: &'a str) -> Self {
        Self { table, text, at: 0, len: 0, base: (0, 0), last: Last::Ascii, combining: 0 }
    }

    /// The number of bytes written.
    pub(crate) fn written(&self) -> usize {
        self.len
    }

    /// Continues until the text ends, `out` is full or the slow path is needed.
    #[inline(always)]
    pub(crate) fn run(&mut self, processor: Option<Processor>, out: &mut [u8]) -> PassStop {
        let text = self.text.as_bytes();
        let limit = out.len().saturating_sub(ROOM);
        while let Some(&first) = text.get(self.at) {
            if self.len > limit {
                return PassStop::Full;
            }
            if let Some(processor) = processor
                && self.begins_plainly(text, first)
                && self.stretch(processor, text, out, limit)
            {
                continue;
            }
            let done = if first < 0x80 {
                self.ascii(text, first, out, limit)
            } else if self.single_letter(text, first, out) {
                true
            } else {
                let (number, bytes) = decode(four(text, self.at));
                let record = self.table.get(number);
                let marked = first == MARKS && self.combining == 0 && self.composes(text, out);
                if marked || record.is_plain_letter(number) {
                    if WORDS && self.last >= Last::Alone {
                        self.boundary(out);
                    }
                    self.letters(text, out, limit);
                    true
                } else {
                    let done = self.other(number, bytes, record, out);
                    self.at += if done { bytes } else { 0 };
                    done
                }
            };
            if !done {
                return PassStop::Slow;
            }
        }
        PassStop::End
    }

    /// Whether a run for `Processor::letters` starts here.
    #[inline(always)]
    fn begins_plainly(&self, text: &[u8], first: u8) -> bool {
        let [_, second, third, _] = four(text, self.at);
        match first {
            0..0x80 => !WORDS || self.last <= Last::Letter,
            _ if WORDS && self.last > Last::Hebrew => false,
            0x80..0xe0 => self.table.letter(first, second) != 0,
            0xe0..=0xe2 => self.table.scripts.flags(first, second, third) != 0,
            0xea..=0xed => self.table.stays(first, second),
            _ => false,
        }
    }

    /// Folds a run of ASCII and plain letters by `Processor::letters`. Returns false if no such run
    /// starts here.
    #[inline(always)]
    fn stretch(&mut self, processor: Processor, text: &[u8], out: &mut [u8], limit: usize) -> bool {
        let open = self.last == Last::Letter && self.combining <= VIRAMA_CLASS;
        let from = Stretch { at: self.at, len: self.len, open };
        let to = processor.letters::<WORDS>(self.table.scripts, text, out, limit, from);
        if to.at == self.at {
            return false;
        }
        (self.at, self.len, self.last, self.combining) = (to.at, to.len, Last::Ascii, 0);
        if let Some([one, two, last]) = out.get(..to.len).and_then(<[u8]>::last_chunk)
            && *last >= 0x80
        {
            self.last = if *two == HEBREW { Last::Hebrew } else { Last::Letter };
            if matches!(*one, 0xe0..=0xe2) {
                self.combining = match self.table.scripts.flags(*one, *two, *last) {
                    flags if flags & VIRAMA != 0 => VIRAMA_CLASS,
                    flags if flags & NUKTA != 0 => NUKTA_CLASS,
                    _ => 0,
                };
            }
        } else if to.open {
            // Fewer than three bytes were written: one letter of two bytes.
            self.last = if out.first() == Some(&HEBREW) { Last::Hebrew } else { Last::Letter };
        }
        true
    }

    /// Writes a two-byte letter between two ASCII characters, as in most languages with Latin
    /// letters. Returns false if there is none.
    #[inline(always)]
    fn single_letter(&mut self, text: &[u8], first: u8, out: &mut [u8]) -> bool {
        if let Some([_, second, 0..0x80]) = text.get(self.at..).and_then(<[u8]>::first_chunk::<3>)
            && first < 0xe0
            && self.last == Last::Ascii
            && let letter = self.table.letter(first, *second)
            && letter != 0
            && first != HEBREW
            && let Some(place) = out.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut)
        {
            *place = letter.to_le_bytes();
            (self.at, self.len) = (self.at + 2, self.len + 2);
            (self.last, self.combining) = (Last::Letter, 0);
            return true;
        }
        false
    }

    /// Whether the next character is a mark that composes with the last one written, by the table.
    #[inline(always)]
    fn composes(&self, text: &[u8], out: &[u8]) -> bool {
        let [_, second, ..] = four(text, self.at);
        COMPOSITES.get(out, self.len, second).is_some()
    }

    /// Folds a run of letters and their marks, with single blanks or short ASCII between them.
    /// Folds at least the first character, which must be a letter, or a mark that `composes`.
    #[inline(always)]
    fn letters(&mut self, text: &[u8], out: &mut [u8], limit: usize) {
        let (mut at, mut len) = (self.at, self.len);
        let (mut last, mut combining) = (u16::from(b' '), 0);
        while len <= limit {
            let bytes = four(text, at);
            let [first, second, ..] = bytes;
            if first < 0xe0 {
                let letter = self.table.letter(first, second);
                let blank = first == b' ' && second >= 0x80 && last != u16::from(b' ');
                if blank || first >= 0x80 && letter != 0 {
                    let written = if blank { u16::from(b' ') } else { letter };
                    let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut) else {
                        break;
                    };
                    *place = written.to_le_bytes();
                    let count = if blank { 1 } else { 2 };
                    (at, len, last, combining) = (at + count, len + count, written, 0);
                    if text.get(at).is_some_and(|next| (0xc2..0xe0).contains(next)) {
                        (at, len, last) = self.words_of_two(text, at, out, len, limit, last);
                    }
                    continue;
                }
                if first < 0x80 {
                    let hebrew = last & 0xff == u16::from(HEBREW);
                    let Some(count) = few_ascii(text, at, out, len).filter(|_| !hebrew) else {
                        break;
                    };
                    (at, len, last, combining) = (at + count, len + count, u16::from(b' '), 0);
                    continue;
                }
                if first == MARKS
                    && combining == 0
                    && let Some((end, written)) = compose(out, len, second)
                {
                    (at, len, last) = (at + 2, end, u16::from(written));
                    continue;
                }
            } else if self.table.stays(first, second) {
                let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut) else {
                    break;
                };
                *place = bytes;
                (at, len, last, combining) = (at + 3, len + 3, u16::from(first), 0);
                continue;
            }
            let (number, count) = decode(bytes);
            let record = self.table.get(number);
            let is_letter = record.is_plain_letter(number);
            if is_letter {
                combining = 0;
            } else if record.extends_plainly()
                && last != u16::from(b' ')
                && (record.combining() == 0 || record.combining() >= combining)
            {
                combining = record.combining();
            } else {
                break;
            }
            let (bytes, written) = encode(number.wrapping_add(record.value()));
            let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut) else { break };
            *place = bytes;
            // A mark after a Hebrew letter leaves it a Hebrew letter, which quotes may follow.
            if is_letter || last & 0xff != u16::from(HEBREW) {
                last = u16::from(bytes[0]);
            }
            (at, len) = (at + count, len + written);
        }
        self.last = Last::from_first_byte(last.to_le_bytes()[0]);
        (self.at, self.len, self.combining) = (at, len, combining);
    }

    /// Folds words of two-byte letters, separated by single blanks. Returns the read and write
    /// positions, and the last character written.
    #[inline(always)]
    fn words_of_two(
        &self,
        text: &[u8],
        mut at: usize,
        out: &mut [u8],
        mut len: usize,
        limit: usize,
        mut last: u16,
    ) -> (usize, usize, u16) {
        while let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk::<16>)
            && let Some(place) = out.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<18>)
            && len <= limit
        {
            let (letters, count) = self.table.eight_letters(bytes);
            if count == 0 {
                break;
            }
            place[..16].copy_from_slice(&letters);
            last =
                letters.as_chunks::<2>().0.get(count - 1).map_or(last, |l| u16::from_le_bytes(*l));
            (at, len) = (at + 2 * count, len + 2 * count);
            if count < 8 {
                let Some([b' ', 0x80..=0xff]) = text.get(at..).and_then(<[u8]>::first_chunk::<2>)
                else {
                    break;
                };
                place[2 * count] = b' ';
                (at, len, last) = (at + 1, len + 1, u16::from(b' '));
            }
        }
        (at, len, last)
    }

    /// Writes a character that is not a plain letter. Returns false if it needs the slow path.
    #[inline(always)]
    fn other(&mut self, number: u32, bytes: usize, record: CharRecord, out: &mut [u8]) -> bool {
        let number = number.wrapping_add(record.value());
        if let Some(pair) = record.pair() {
            return self.both(pair, bytes, out);
        }
        match record.bytes() {
            MOVED => {}
            count @ 0..=4 => return self.string(record.ascii(), usize::from(count), out),
            _ => return false,
        }
        if record.may_compose() {
            return self.composed(number, record, out);
        }
        let class = record.class();
        if !WORDS {
            let combining = record.combining();
            if combining != 0 && combining < self.combining {
                return false;
            }
            self.write(out, if class == class::WHITE { '\t'.into() } else { number });
            (self.last, self.combining) = (Last::Letter, combining);
            return true;
        }
        match class {
            class::EXTEND | class::EXTEND_ALPHABETIC => return self.extend(number, record, out),
            // A mark for normal forms but not for word boundaries, whose table is of an older
            // Unicode version. The slow path handles it.
            _ if record.combining() != 0 => return false,
            class::ALONE => {
                self.boundary(out);
                self.write(out, number);
                self.last = Last::Alone;
            }
            class::WHITE | class::BREAK => {
                self.boundary(out);
                self.last = Last::Ascii;
            }
            class::LETTER => {
                if self.last >= Last::Alone {
                    self.boundary(out);
                }
                self.write(out, number);
                self.last = Last::Letter;
            }
            _ => return self.rare(number, bytes, class, out),
        }
        self.combining = 0;
        true
    }

    /// Writes a character that becomes two. If the second needs the slow path, the first is
    /// discarded, together with its word.
    #[inline(never)]
    fn both(&mut self, pair: [u32; 2], bytes: usize, out: &mut [u8]) -> bool {
        pair.into_iter().all(|number| {
            if number < 0x80 {
                return false;
            }
            let record = self.table.get(number);
            record.is_moved() && record.value() == 0 && self.other(number, bytes, record, out)
        })
    }

    /// Writes a character that becomes ASCII, or nothing. Returns false if it needs the slow path.
    #[inline(always)]
    fn string(&mut self, ascii: [u8; 4], count: usize, out: &mut [u8]) -> bool {
        if count == 0 {
            return true;
        }
        // The next character is not known here. Assume a non-ASCII one, so that a joint takes
        // the slow path.
        let next = Some(0x80);
        if WORDS && self.last >= Last::Number && !self.before_ascii(ascii[0], next, out) {
            return false;
        }
        if let Some(place) = out.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            *place = ascii;
            self.len += count;
        }
        (self.last, self.combining) = (Last::Ascii, 0);
        true
    }

    /// Writes a character of a class that is rare in most texts. Returns false if it needs the slow
    /// path.
    #[inline(never)]
    fn rare(&mut self, number: u32, bytes: usize, class: u8, out: &mut [u8]) -> bool {
        let before = self.previous(out);
        match class {
            class::NUMBER if is_joint(before) => return false,
            class::KATAKANA if before == b'_' => return false,
            class::NUMBER | class::HEBREW => {
                if self.last >= Last::Alone {
                    self.boundary(out);
                }
                self.write(out, number);
                self.last = if class == class::HEBREW { Last::Hebrew } else { Last::Number };
            }
            class::KATAKANA => {
                if self.last != Last::Katakana {
                    self.boundary(out);
                }
                self.write(out, number);
                self.last = Last::Katakana;
            }
            class::MID_LETTER | class::MID_NUMBER | class::MID_BOTH => {
                let next = self.text.as_bytes().get(self.at + bytes).copied().unwrap_or(b' ');
                let ascii = self.last == Last::Ascii;
                let letter = matches!(self.last, Last::Letter | Last::Hebrew)
                    || ascii && before.is_ascii_alphabetic();
                let digit = self.last == Last::Number || ascii && before.is_ascii_digit();
                if (letter || digit) && !next.is_ascii() {
                    return false;
                }
                let joins = letter && class != class::MID_NUMBER && next.is_ascii_alphabetic()
                    || digit && class != class::MID_LETTER && next.is_ascii_digit();
                if joins {
                    self.write(out, number);
                    self.last = Last::Letter;
                } else {
                    self.boundary(out);
                    self.last = Last::Ascii;
                }
            }
            _ => return false,
        }
        self.combining = 0;
        true
    }

    /// The last byte written, or a blank if there is none.
    #[inline(always)]
    fn previous(&self, out: &[u8]) -> u8 {
        out.get(self.len.wrapping_sub(1)).copied().unwrap_or(b' ')
    }

    #[inline(always)]
    fn boundary(&mut self, out: &mut [u8]) {
        if let Some(place) = out.get_mut(self.len) {
            *place = BOUNDARY;
            self.len += 1;
        }
    }

    #[inline(always)]
    fn write(&mut self, out: &mut [u8], number: u32) {
        if let Some(place) = out.get_mut(self.len..).and_then(<[u8]>::first_chunk_mut) {
            let (bytes, count) = encode(number);
            *place = bytes;
            self.len += count;
        }
    }

    /// The read position in the text.
    pub(crate) fn read(&self) -> usize {
        self.at
    }
}
