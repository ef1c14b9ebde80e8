//! Cuts a text into passages: windows of words with their positions, and the stored form of each.
//!
//! Pure: this module defines internal keys and payloads; the index stores them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::prints::Prints;
use super::table::foreign;
use crate::format::bytes::wide;
use crate::{Error, ErrorKind, Key, Params, Result, Signature, Sketcher, Windows};
use nearkin_sketch::engine::{query_stride, text_with_units, words};

/// Maximum length of the caller's key: the internal key appends the passage number.
const KEY_BYTES_MAX: usize = 4_096 - NUMBER_BYTES;
const NUMBER_BYTES: usize = 4;
/// Maximum length of the caller's payload: the internal payload prepends the position and the
/// number of passages.
const PAYLOAD_BYTES_MAX: usize = (64 << 10) - PLACE_BYTES - NUMBER_BYTES;
const PLACE_BYTES: usize = 16;
/// Bytes of a text's table of words per document of the engine.
const TABLE_BYTES: usize = small!(cut::TABLE_BYTES, 32 << 10);

/// Cuts texts into passages and makes their signatures. It holds no state, is cheap to clone, and
/// can be shared by threads.
#[derive(Debug, Clone)]
pub struct PassageCutter {
    windows: Windows,
    sketcher: Sketcher,
    /// For an index of fingerprints.
    prints: Option<Arc<Prints>>,
}

/// A cut and sketched text, for [`PassageIndex::write`](crate::passages::PassageIndex::write).
#[derive(Clone)]
pub struct Prepared {
    pub(super) key: Vec<u8>,
    /// `None` if the stored payload is to stay.
    pub(super) payload: Option<Vec<u8>>,
    pub(super) pieces: Vec<Piece>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut prepared = f.debug_struct("Prepared");
        prepared.field("key", &Key::from(&self.key)).field("passages", &self.passages());
        let payload_bytes = self.payload.as_ref().map(Vec::len);
        prepared.field("payload_bytes", &payload_bytes).finish_non_exhaustive()
    }
}

impl Prepared {
    /// The document's key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Number of passages, or of documents that hold the fingerprints; at least one.
    pub fn passages(&self) -> usize {
        self.pieces.len()
    }

    /// Approximate size of the text in a batch, in bytes.
    pub fn wal_bytes(&self) -> usize {
        let each = |piece: &Piece| {
            64 + self.key.len() + piece.signature.as_bytes().len() + piece.table.len()
        };
        self.payload.as_ref().map_or(0, Vec::len) + self.pieces.iter().map(each).sum::<usize>()
    }
}

/// A passage: its range of words, its range of bytes, and its signature. Of fingerprints: the
/// number of all words, the length of the table, and a part of it.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) words: Range<usize>,
    pub(super) bytes: Range<usize>,
    pub(super) signature: Signature,
    table: Vec<u8>,
}

impl PassageCutter {
    /// A cutter for passage indexes with these parameters.
    ///
    /// # Errors
    ///
    /// `Invalid` if the parameters are not those of a passage index.
    pub fn new(params: &Params) -> Result<Self> {
        let windows = params.passages().ok_or_else(|| {
            Error::invalid("this index is for documents; a passage index is created with windows")
        })?;
        Ok(Self {
            windows,
            sketcher: Sketcher::new(params),
            prints: Prints::new(params)?.map(Arc::new),
        })
    }

    /// Cuts and sketches a text that is to be stored. The key has 1 to 4,092 bytes, the payload at
    /// most 64 KiB less 20 bytes (of fingerprints: 32 KiB less 20). Without a payload, the stored
    /// one stays. Costs window / stride times as much as sketching the text; of fingerprints, a few
    /// times.
    ///
    /// # Errors
    ///
    /// `Invalid`: the key or the payload is too long. `Empty`: the text is blank.
    pub fn prepare<'k>(
        &self,
        key: impl Into<Key<'k>>,
        text: &str,
        payload: Option<&[u8]>,
    ) -> Result<Prepared> {
        let key = key.into();
        let key = key.as_bytes();
        check_key(key)?;
        payload.map_or(Ok(()), |payload| self.check_payload(payload))?;
        let pieces = match &self.prints {
            Some(prints) => pieces_of_prints(prints, text),
            None => self.pieces(text, self.windows.stride())?.1,
        };
        if pieces.is_empty() {
            return Err(Error::new(ErrorKind::Empty, "nothing to compare: the text is blank"));
        }
        if u32::try_from(pieces.len()).is_err() {
            return Err(Error::invalid("a text of more than 2^32 passages"));
        }
        Ok(Prepared { key: key.to_vec(), payload: payload.map(<[u8]>::to_vec), pieces })
    }

    /// Cuts a query text into words and windows. The stride of the windows is a quarter of the
    /// stored stride. So for any stored window there is a query window at a distance of at most an
    /// eighth of the stored stride.
    pub(super) fn of_query(&self, text: &str) -> Result<(Words, Vec<Piece>)> {
        self.pieces(text, query_stride(self.windows))
    }

    pub(super) fn prints(&self) -> Option<&Prints> {
        self.prints.as_deref()
    }

    /// Checks the length of the caller's payload.
    pub(super) fn check_payload(&self, payload: &[u8]) -> Result<()> {
        let most = PAYLOAD_BYTES_MAX - self.prints.as_ref().map_or(0, |_| TABLE_BYTES);
        if payload.len() > most {
            return Err(Error::invalid(format!(
                "the payload of a text in passages has at most {most} bytes, not {}",
                payload.len()
            )));
        }
        Ok(())
    }

    /// The stored payload of a piece: its position in the text, and for piece 0 also the number
    /// of pieces and the caller's payload. Of fingerprints: a part of the table, and for piece 0
    /// the numbers of words and of bytes of the table, as a position.
    pub(super) fn payload(&self, piece: &Piece, first: Option<(u32, &[u8])>) -> Vec<u8> {
        let mut out = Vec::with_capacity(PLACE_BYTES + piece.table.len());
        if self.prints.is_none() || first.is_some() {
            let place = if self.prints.is_some() {
                [piece.words.end, piece.bytes.end]
            } else {
                [piece.bytes.start, piece.bytes.end]
            };
            out.extend(place.iter().flat_map(|one| wide(*one).to_le_bytes()));
        }
        let (count, payload) = first.unzip();
        out.extend(count.iter().flat_map(|count| count.to_le_bytes()));
        out.extend_from_slice(&piece.table);
        out.extend_from_slice(payload.unwrap_or_default());
        out
    }

    /// The number of pieces and the caller's payload, from the payload of piece 0.
    pub(super) fn split_first<'a>(&self, payload: &'a [u8]) -> Result<(u32, &'a [u8])> {
        let (place, rest) = split_place(payload)?;
        let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(foreign)?;
        let table = if self.prints.is_some() { part_bytes(place.end) } else { 0 };
        Ok((u32::from_le_bytes(*count), rest.get(table..).ok_or_else(foreign)?))
    }

    pub(super) fn windows(&self) -> Windows {
        self.windows
    }

    pub(super) fn sketcher(&self) -> &Sketcher {
        &self.sketcher
    }

    /// Cuts a text into words and windows, and sketches the windows. Skips windows of stop words
    /// only. If there is no other window, the whole text is the only word and window, unless it is
    /// blank.
    fn pieces(&self, text: &str, stride: usize) -> Result<(Words, Vec<Piece>)> {
        let places = words_of(text);
        let mut pieces = Vec::new();
        for words in windows(places.len(), self.windows.window(), stride) {
            let (Some(first), Some(last)) = (places.get(words.start), places.get(words.end - 1))
            else {
                continue;
            };
            let bytes = first.0..last.1;
            let part = text.get(bytes.clone()).unwrap_or_default();
            if let Some(signature) = text_with_units(&self.sketcher, part)? {
                pieces.push(Piece { words, bytes, signature, table: Vec::new() });
            }
        }
        if pieces.is_empty()
            && let Some(signature) = whole(&self.sketcher, text)?
        {
            let bytes = 0..text.len();
            pieces.push(Piece { words: 0..1, bytes, signature, table: Vec::new() });
            return Ok((vec![(0, text.len())], pieces));
        }
        Ok((places, pieces))
    }
}

/// Byte range of each word of a text.
pub(super) type Words = Vec<(usize, usize)>;

fn words_of(text: &str) -> Words {
    let place = |(begin, word): (usize, &str)| (begin, begin.saturating_add(word.len()));
    words(text).map(place).collect()
}

/// The signature of a whole text, `None` if it is blank.
pub(super) fn whole(sketcher: &Sketcher, text: &str) -> Result<Option<Signature>> {
    match sketcher.text(text) {
        Ok(signature) => Ok(Some(signature)),
        Err(error) if error.kind() == ErrorKind::Empty => Ok(None),
        Err(error) => Err(error),
    }
}

/// Windows over `count` words, one every `stride` words. The last window is moved back so that it
/// ends with the text and is as long as the others. A text shorter than a window is one window.
fn windows(count: usize, window: usize, stride: usize) -> impl Iterator<Item = Range<usize>> {
    let last = count.saturating_sub(window);
    // The starts of all windows before the last one, then the start of the last one.
    let whole = (0..last).step_by(stride).chain((count > 0).then_some(last));
    whole.map(move |begin| begin..begin.saturating_add(window).min(count))
}

/// Checks the length of the caller's key.
pub(super) fn check_key(key: &[u8]) -> Result<()> {
    if (1..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a key in an index of passages has 1 to {KEY_BYTES_MAX} bytes, not {}",
        key.len()
    )))
}

/// The internal key: the caller's key followed by the passage number in four bytes. Because the
/// number has a fixed length, any internal key can be split again.
pub(super) fn inner_key(key: &[u8], number: u32) -> Vec<u8> {
    [key, &number.to_le_bytes()].concat()
}

/// Splits an internal key into the caller's key and the passage number.
pub(super) fn split_key(inner: &[u8]) -> Result<(&[u8], u32)> {
    match inner.split_last_chunk() {
        Some((key, number)) if !key.is_empty() => Ok((key, u32::from_le_bytes(*number))),
        _ => Err(foreign()),
    }
}

/// Splits an internal payload into the byte range of the passage and the rest.
pub(super) fn split_place(payload: &[u8]) -> Result<(Range<u64>, &[u8])> {
    let parts = payload.split_first_chunk::<8>().and_then(|(begin, rest)| {
        let (end, rest) = rest.split_first_chunk::<8>()?;
        Some((u64::from_le_bytes(*begin)..u64::from_le_bytes(*end), rest))
    });
    parts.ok_or_else(foreign)
}

/// Bytes of the table of words that piece 0 has; the next pieces have the rest.
fn part_bytes(table: u64) -> usize {
    usize::try_from(table).unwrap_or(usize::MAX).min(TABLE_BYTES)
}

/// What piece 0 says about the table of words: its first part, the number of the other pieces that
/// have parts, and the numbers of words and of bytes.
pub(super) fn table_of(payload: &[u8]) -> Result<(&[u8], u32, Range<u64>)> {
    let (place, rest) = split_place(payload)?;
    let part = rest.get(NUMBER_BYTES..).and_then(|rest| rest.get(..part_bytes(place.end)));
    let more = place.end.div_ceil(wide(TABLE_BYTES)).saturating_sub(1);
    Ok((part.ok_or_else(foreign)?, u32::try_from(more).map_err(|_| foreign())?, place))
}

/// The documents of a text's fingerprints; none if it is blank.
fn pieces_of_prints(prints: &Prints, text: &str) -> Vec<Piece> {
    let cut = prints.cut(text);
    if cut.words.is_empty() {
        return Vec::new();
    }
    let (signatures, table) = prints.stored(&cut);
    let (words, bytes) = (0..cut.words.len(), 0..table.bytes().len());
    let mut parts = table.bytes().chunks(TABLE_BYTES);
    // A text of many repetitions has more words than fingerprints.
    let count = signatures.len().max(parts.len());
    let empty = prints.empty(words.end);
    let piece = |number: usize| Piece {
        words: words.clone(),
        bytes: bytes.clone(),
        signature: signatures.get(number).unwrap_or(&empty).clone(),
        table: parts.next().unwrap_or_default().to_vec(),
    };
    (0..count).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(count: usize, window: usize, stride: usize) -> Vec<(usize, usize)> {
        windows(count, window, stride).map(|words| (words.start, words.end)).collect()
    }

    #[test]
    fn windows_cover_all_words_and_the_last_ends_with_the_text() {
        assert_eq!(cut(0, 4, 2), []);
        assert_eq!(cut(1, 4, 2), [(0, 1)]);
        assert_eq!(cut(4, 4, 2), [(0, 4)]);
        assert_eq!(cut(5, 4, 2), [(0, 4), (1, 5)]);
        assert_eq!(cut(6, 4, 2), [(0, 4), (2, 6)]);
        assert_eq!(cut(7, 4, 2), [(0, 4), (2, 6), (3, 7)]);
        assert_eq!(cut(9, 3, 3), [(0, 3), (3, 6), (6, 9)]);
    }

    #[test]
    fn keys_of_any_bytes_are_told_again() {
        for key in [&b"a"[..], b"a\0\0\0\0", b"\xff\xff\xff\xff\xff", b"\0", b"a\0\0\0\x01"] {
            for number in [0, 1, 255, 256, u32::MAX] {
                assert_eq!(split_key(&inner_key(key, number)).unwrap(), (key, number));
            }
        }
        assert!(split_key(b"abcd").is_err());
        assert!(check_key(&[7; KEY_BYTES_MAX]).is_ok() && check_key(&[7; 4_093]).is_err());
    }

    #[test]
    fn places_and_payloads_are_told_again() {
        let windows = Params::builder().passages(Windows::new(8, 4).unwrap());
        for builder in [windows, Params::preset(crate::Preset::Quotes)] {
            let cutter = PassageCutter::new(&builder.build().unwrap()).unwrap();
            let words: String =
                (0..300).map(|word| format!("w{word} ")).collect::<Vec<_>>().concat();
            let text = cutter.prepare("k", &words, None).unwrap();
            let first = cutter.payload(&text.pieces[0], Some((5, b"mine")));
            assert_eq!(cutter.split_first(&first).unwrap(), (5, &b"mine"[..]));
            assert!(
                cutter.split_first(&first[..19]).is_err() && split_place(&first[..15]).is_err()
            );
            let next = cutter.payload(&text.pieces[1], None);
            assert!(cutter.prints().is_none() || next == text.pieces[1].table);
        }
    }

    #[test]
    fn places_are_those_of_the_text_as_it_was_given() {
        let params = Params::builder().passages(Windows::new(3, 2).unwrap()).build().unwrap();
        let text = "  Caf\u{e9}, au   LAIT! (noir) deux. ";
        let (words, pieces) = PassageCutter::new(&params).unwrap().pieces(text, 2).unwrap();
        let cut: Vec<_> = pieces.iter().map(|piece| &text[piece.bytes.clone()]).collect();
        assert_eq!((words.len(), cut), (5, vec!["Caf\u{e9}, au   LAIT", "LAIT! (noir) deux"]));
    }
}
