//! A map from characters to texts.

/// Layout: the number of entries in two bytes; the entries in order of their characters, each the
/// character in three bytes, the length of its text in one and the start in two; then all texts,
/// which may overlap. Numbers are little-endian.
#[derive(Debug)]
pub(super) struct CharMap {
    entries: &'static [[u8; 6]],
    texts: &'static str,
}

impl CharMap {
    pub(super) const fn new(bytes: &'static [u8]) -> Self {
        let Some((count, rest)) = bytes.split_first_chunk() else { panic!("a number comes first") };
        let (entries, texts) = rest.split_at(u16::from_le_bytes(*count) as usize * 6);
        match str::from_utf8(texts) {
            Ok(texts) => Self { entries: entries.as_chunks().0, texts },
            Err(_) => panic!("the texts are UTF-8"),
        }
    }

    pub(super) fn get(&self, c: char) -> Option<&'static str> {
        let key = |entry: &[u8; 6]| u32::from_le_bytes([entry[0], entry[1], entry[2], 0]);
        let at = self.entries.binary_search_by_key(&u32::from(c), key).ok()?;
        let [_, _, _, bytes, start @ ..] = *self.entries.get(at)?;
        let start = usize::from(u16::from_le_bytes(start));
        self.texts.get(start..start + usize::from(bytes))
    }
}
