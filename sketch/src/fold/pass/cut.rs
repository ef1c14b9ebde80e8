//! Finds the places where a text may be cut, so that a part of it can take the slow path.

use super::super::{decode, four};
use super::{Last, Pass};

impl<'a, const WORDS: bool> Pass<'a, WORDS> {
    /// The last ASCII blank before which both the text and the output may be cut: its position in
    /// the text, and its position in the output. Returns `base` if no such blank follows `base`.
    /// The pass writes each ASCII blank of the text as a blank, and nothing else as a blank, so the
    /// blanks of both correspond.
    pub(crate) fn cut(&self, out: &[u8]) -> (usize, usize) {
        let (mut at, mut len) = (self.at, self.len);
        let last = |bytes: &[u8], (from, to): (usize, usize)| {
            let blank = bytes.get(from..to)?.iter().rposition(|byte| *byte == b' ')?;
            Some(from + blank).filter(|blank| *blank > from)
        };
        loop {
            let text = self.text.as_bytes();
            let found = (last(text, (self.base.0, at)), last(out, (self.base.1, len)));
            let (Some(blank), Some(place)) = found else { return self.base };
            (at, len) = (blank, place);
            if self.begins_after(blank) {
                return (at, len);
            }
        }
    }

    /// Whether a word boundary and a normalisation boundary precede the character after this blank:
    /// see `CharRecord::begins`.
    fn begins_after(&self, blank: usize) -> bool {
        match self.text.as_bytes().get(blank + 1) {
            None => false,
            Some(byte) if byte.is_ascii() => *byte > b' ',
            Some(_) => self.table.get(decode(four(self.text.as_bytes(), blank + 1)).0).begins(),
        }
    }

    /// The part of the text that needs the slow path, after the pass stopped for it: from the cut
    /// at `from` to the next place where the text may be cut. The pass continues there, once `keep`
    /// has set the number of bytes written.
    pub(crate) fn slow_part(&mut self, from: usize) -> &'a str {
        let text = self.text.as_bytes();
        let blank = |at: &usize| text[*at] == b' ' && self.begins_after(*at);
        let end = (self.at..text.len()).find(blank).unwrap_or(text.len());
        let part = self.text.get(from..end).unwrap_or_default();
        (self.at, self.last, self.combining) = (end, Last::Ascii, 0);
        part
    }

    /// Sets the number of bytes written to `len`. From now on the pass never goes back before `at`
    /// in the text, nor before `taken` in the output.
    pub(crate) fn keep(&mut self, at: usize, len: usize, taken: usize) {
        self.base = (at, taken);
        self.len = len;
    }
}
