//! Splits a text into units (words, tokens, characters or lines) and hashes them.
//!
//! Windows of units are made elsewhere (`windows`).

use super::fold::{FoldTable, Pass, PassStop};
use super::masks::{Cut, UnitKind};
use super::normalise::Rules;
use super::simd::Processor;
use super::split::Split;
use super::unicode;
use super::unit::UnitHash;
use super::white_space::{is_white_space, tokens};
use super::words;
use crate::Shingles;

/// Size in bytes of the buffer for folded text. For words, the buffer grows up to
/// `FOLDED_BYTES_MAX` while it holds no position where the text can be cut.
const FOLDED_BYTES: usize = 12 << 10;
const FOLDED_BYTES_MAX: usize = 256 << 20;

/// Hashes the units of texts. Contains a table of the hashes of all ASCII characters, 1 KiB.
#[derive(Debug)]
pub(crate) struct Units {
    rules: Rules,
    hash: UnitHash,
    ascii: [u64; 128],
}

impl Units {
    pub(crate) fn new(rules: Rules, hash: UnitHash) -> Self {
        let mut ascii = [0; 128];
        for (byte, unit) in (0_u8..).zip(&mut ascii) {
            *unit = hash.hash_bytes(&[byte]);
        }
        Self { rules, hash, ascii }
    }

    /// Appends the unit hashes of `text`, in order. Needs eight bytes of memory per unit.
    #[inline(always)]
    pub(crate) fn of_text(
        &self,
        text: &str,
        shingles: Shingles,
        split: &mut Split,
        processor: Option<Processor>,
        units: &mut Vec<u64>,
    ) {
        let text = &*self.rules.options(text);
        let kind = match shingles {
            Shingles::Words(_) => Some(UnitKind::Words),
            Shingles::Tokens(_) => Some(UnitKind::Tokens),
            _ => None,
        };
        if let Some(kind) = kind
            && is_ascii(text.as_bytes())
        {
            // ASCII white space ends words like a space does, so it need not be replaced.
            let cut = Cut { kind, lower: self.rules.lower() };
            split.hash(text.as_bytes(), cut, self.hash, processor, units);
            return;
        }
        // The buffer is taken out of `split`, because `split` itself is borrowed while the folded
        // text is divided.
        let mut folded = std::mem::take(&mut split.folded);
        match (self.rules.table(), kind) {
            (Some(table), Some(UnitKind::Words)) => {
                self.words(text, table, &mut folded, split, processor, units);
            }
            (Some(table), Some(UnitKind::Tokens)) => {
                let cut = Cut { kind: UnitKind::Tokens, lower: false };
                let letters = self.letters(text, table, processor, &mut folded);
                split.hash(letters, cut, self.hash, processor, units);
            }
            (Some(table), None) if self.rules.space() => {
                let letters = str::from_utf8(self.letters(text, table, processor, &mut folded));
                // The buffer contains valid UTF-8.
                self.of_letters(letters.unwrap_or_default(), shingles, split, units);
            }
            _ => self.of_any(text, shingles, split, units),
        }
        split.folded = folded;
    }

    /// Appends the hashes of the words of a text with non-ASCII characters.
    #[inline(always)]
    fn words(
        &self,
        text: &str,
        table: &'static FoldTable,
        folded: &mut Vec<u8>,
        split: &mut Split,
        processor: Option<Processor>,
        units: &mut Vec<u64>,
    ) {
        let cut = Cut { kind: UnitKind::Words, lower: false };
        let mut pass = Pass::<true>::new(table, text);
        if folded.len() < FOLDED_BYTES {
            folded.resize(FOLDED_BYTES, 0);
        }
        loop {
            let stop = pass.run(processor, folded);
            let (at, end) = match stop {
                PassStop::End => (text.len(), pass.written()),
                PassStop::Full | PassStop::Slow => pass.cut(folded),
            };
            if stop == PassStop::Full && end == 0 && folded.len() < FOLDED_BYTES_MAX {
                folded.resize(2 * folded.len(), 0);
                continue;
            }
            split.hash(&folded[..end], cut, self.hash, processor, units);
            match stop {
                PassStop::End => return,
                PassStop::Full if end > 0 => {
                    folded.copy_within(end..pass.written(), 0);
                    pass.keep(at, pass.written() - end, 0);
                }
                PassStop::Full | PassStop::Slow => {
                    self.of_any(pass.slow_part(at), Shingles::Words(1), split, units);
                    pass.keep(pass.read(), 0, 0);
                }
            }
        }
    }

    /// Normalises the text. Replaces non-ASCII white space by tabs, because the later steps treat
    /// all white space alike.
    #[inline(always)]
    fn letters<'a>(
        &self,
        text: &str,
        table: &'static FoldTable,
        processor: Option<Processor>,
        out: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        let mut pass = Pass::<false>::new(table, text);
        let bytes = FOLDED_BYTES.max(text.len() + text.len() / 8);
        if out.len() < bytes {
            out.resize(bytes, 0);
        }
        loop {
            match pass.run(processor, out) {
                PassStop::End => return &out[..pass.written()],
                PassStop::Full => out.resize(2 * out.len(), 0),
                PassStop::Slow => {
                    let (at, end) = pass.cut(out);
                    let blank = |c: char| is_white_space(c) && !c.is_ascii();
                    let slow = self.rules.letters(pass.slow_part(at)).replace(blank, "\t");
                    let written = end + slow.len();
                    if out.len() < written + FOLDED_BYTES {
                        out.resize(2 * (written + FOLDED_BYTES), 0);
                    }
                    out[end..written].copy_from_slice(slow.as_bytes());
                    pass.keep(pass.read(), written, written);
                }
            }
        }
    }

    /// The hash of the whole normalised text, `None` if it is blank: white space at most.
    #[cold]
    pub(crate) fn whole(&self, text: &str) -> Option<u64> {
        let text = self.rules.options(text);
        let letters = self.rules.letters(&text);
        tokens(&letters).next()?;
        Some(self.hash.hash_bytes(self.rules.blanks(&letters).as_bytes()))
    }

    /// How letters are normalised.
    pub(crate) fn rules(&self) -> Rules {
        self.rules
    }

    /// The hash of a space as a unit of characters.
    pub(crate) fn blank(&self) -> u64 {
        self.ascii[usize::from(b' ')]
    }

    /// Whether items are normalised.
    #[inline]
    pub(crate) fn folds_items(&self) -> bool {
        self.rules.folds()
    }

    /// The hash of an item, which is folded if it is UTF-8.
    pub(crate) fn item(&self, item: &[u8]) -> u64 {
        let Ok(item) = str::from_utf8(item) else { return self.hash.hash_bytes(item) };
        let item = self.rules.options(item);
        self.hash.hash_bytes(self.rules.blanks(&self.rules.letters(&item)).as_bytes())
    }

    /// The general path: any text and kind of unit.
    #[inline(never)]
    fn of_any(&self, text: &str, shingles: Shingles, split: &mut Split, units: &mut Vec<u64>) {
        self.of_letters(&self.rules.letters(text), shingles, split, units);
    }

    /// The remaining steps once characters are normalised: white space and units.
    fn of_letters(&self, text: &str, shingles: Shingles, split: &mut Split, units: &mut Vec<u64>) {
        let mut add = |unit: &[u8]| units.push(self.hash.hash_bytes(unit));
        match shingles {
            // White space is normalised first, because a combining mark forms a word with the white
            // space before it.
            Shingles::Words(_) => {
                let cut = Cut { kind: UnitKind::Words, lower: false };
                for stretch in words::stretches(&self.rules.blanks(text)) {
                    if stretch.is_ascii() {
                        split.hash(stretch.as_bytes(), cut, self.hash, None, units);
                    } else {
                        let words = unicode::words::words(stretch);
                        units.extend(words.map(|(_, word)| self.hash.hash_bytes(word.as_bytes())));
                    }
                }
            }
            Shingles::Tokens(_) => tokens(text).for_each(|token| add(token.as_bytes())),
            Shingles::Lines(_) => {
                let lines = text.split('\n').map(|line| self.rules.blanks(line));
                lines.filter(|line| !line.is_empty()).for_each(|line| add(line.as_bytes()));
            }
            Shingles::Chars(_) => self.chars(&self.rules.blanks(text), units),
            Shingles::Items => {}
        }
    }

    /// Calls `found` with each unit of a text, step by step as defined.
    pub(crate) fn each(&self, text: &str, shingles: Shingles, mut found: impl FnMut(&str)) {
        let letters = self.rules.letters(&self.rules.options(text)).into_owned();
        let blanks = |text| self.rules.blanks(text).into_owned();
        match shingles {
            Shingles::Words(_) => {
                unicode::words::words(&blanks(&letters)).for_each(|(_, word)| found(word));
            }
            Shingles::Tokens(_) => tokens(&letters).for_each(found),
            Shingles::Lines(_) => {
                let lines = letters.split('\n').map(blanks);
                lines.filter(|line| !line.is_empty()).for_each(|line| found(&line));
            }
            Shingles::Chars(_) => {
                let mut buffer = [0; 4];
                blanks(&letters).chars().for_each(|c| found(c.encode_utf8(&mut buffer)));
            }
            Shingles::Items => {}
        }
    }

    fn chars(&self, text: &str, units: &mut Vec<u64>) {
        if text.is_ascii() {
            units.extend(text.bytes().map(|byte| self.ascii[usize::from(byte & 127)]));
            return;
        }
        let mut buffer = [0; 4];
        units.extend(text.chars().map(|c| match self.ascii.get(c as usize) {
            Some(&hash) => hash,
            None => self.hash.hash_bytes(c.encode_utf8(&mut buffer).as_bytes()),
        }));
    }
}

/// `<[u8]>::is_ascii`, inlined so that it is compiled for the caller's target features.
#[inline(always)]
fn is_ascii(text: &[u8]) -> bool {
    text.chunks(1024).all(|bytes| bytes.iter().fold(0, |all, byte| all | byte) < 128)
}
