//! Writes marks, and other characters that attach to the one before them.

use super::super::{CharRecord, class, composite, is_joint, last_char};
use super::{Last, Pass};
use crate::unicode::nfc;

impl<const WORDS: bool> Pass<'_, WORDS> {
    /// Writes a character that extends the one before it. Returns false if it needs the slow path.
    #[inline(always)]
    pub(super) fn extend(&mut self, number: u32, record: CharRecord, out: &mut [u8]) -> bool {
        if self.last == Last::Ascii {
            match self.previous(out) {
                byte if byte.is_ascii_alphabetic() => self.last = Last::Letter,
                byte if byte.is_ascii_digit() => self.last = Last::Number,
                byte if is_joint(byte) => return false,
                // No letter or digit precedes the mark. `EXTEND`: no word begins, so the mark is
                // dropped. `EXTEND_ALPHABETIC`: the mark begins a word, which needs the slow path.
                _ => return record.class() == class::EXTEND,
            }
        }
        let combining = record.combining();
        if combining != 0 && combining < self.combining {
            return false;
        }
        self.combining = combining;
        self.write(out, number);
        true
    }

    /// Writes a character that may compose with the one before it. Returns false if it needs the
    /// slow path.
    #[inline(never)]
    pub(super) fn composed(&mut self, number: u32, record: CharRecord, out: &mut [u8]) -> bool {
        let written = out.get(..self.len).unwrap_or_default();
        let Some(second) = char::from_u32(number) else { return false };
        let extends = matches!(record.class(), class::EXTEND | class::EXTEND_ALPHABETIC);
        if WORDS && !extends && record.class() != class::LETTER {
            return false;
        }
        let first = match self.combining {
            0 => last_char(written),
            // A mark of class 0 composes with nothing across a mark of another class.
            _ if record.combining() == 0 => None,
            _ => return false,
        };
        let alone = WORDS && self.last == Last::Ascii;
        if let Some(first) = first.filter(|first| !alone || first.is_ascii_alphabetic()) {
            let before = self.table.get(first.into());
            if record.combining() != 0 && before.decomposes() {
                return self.composed_anew(first, second, before, out);
            }
            let Ok(whole) = composite(self.table, first, second) else { return false };
            if let Some((whole, after)) = whole {
                if WORDS && !first.is_ascii() && after.class() != before.class() {
                    return false;
                }
                if WORDS && first.is_ascii() && after.class() != class::LETTER {
                    return false;
                }
                self.len -= first.len_utf8();
                self.write(out, whole.into());
                self.last = self.last.max(Last::Letter);
                return true;
            }
        }
        if WORDS && extends {
            return self.extend(number, record, out);
        }
        if WORDS && self.last >= Last::Alone {
            self.boundary(out);
        }
        self.write(out, number);
        (self.last, self.combining) = (Last::Letter, record.combining());
        true
    }

    /// Composes a mark with a character that already has marks, which may change the order of the
    /// marks. Returns false if the result needs the slow path.
    #[inline(never)]
    fn composed_anew(
        &mut self,
        first: char,
        mark: char,
        before: CharRecord,
        out: &mut [u8],
    ) -> bool {
        let mut composed = String::new();
        nfc([first, mark].into_iter(), &mut composed);
        let mut composed = composed.chars();
        let (Some(whole), rest, None) = (composed.next(), composed.next(), composed.next()) else {
            return false;
        };
        let record = self.table.get(whole.into());
        let kept = record.is_moved() && record.value() == 0 && record.class() == before.class();
        let rest = rest.map(|rest| (rest, self.table.get(rest.into())));
        if !kept || rest.is_some_and(|(_, record)| record.class() != class::EXTEND) {
            return false;
        }
        self.len -= first.len_utf8();
        self.write(out, whole.into());
        if let Some((rest, record)) = rest {
            self.write(out, rest.into());
            self.combining = record.combining();
        }
        true
    }
}
