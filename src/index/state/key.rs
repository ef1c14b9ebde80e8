//! Document keys in the API: strings, bytes and integers.
//!
//! The engine knows keys only as bytes; the encoding of integers is defined here.

use std::cmp::Ordering;
use std::fmt;

/// Keys up to this length are stored inline, without an allocation.
const INLINE_MAX: usize = 30;

/// A document's key. It is made from `&str`, `String`, `&[u8]`, `Vec<u8>`, other references to
/// bytes, `u64` or `u128`.
///
/// Functions that take `impl Into<Key>` accept all of these directly. An integer is stored as its 8
/// or 16 bytes in big-endian order, so that keys sort in the order of the integers; [`Key::as_u64`]
/// and [`Key::as_u128`] convert back. (A `u64` and a `u128` of the same value are different keys,
/// and the text `"7"` is a third one.)
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("posts.nearkin");
/// use nearkin::{Index, Key, Options, Params, Shingles};
///
/// let params = Params::for_threshold(0.5).shingles(Shingles::Words(1)).build()?;
/// let index = Index::create(&dir, &params, Options::default())?;
/// let sketch = index.sketcher();
/// index.insert(1_000_u64, &sketch.text("a post about foxes and dogs")?)?;
/// index.insert(7_u64, &sketch.text("a post about dogs and foxes")?)?;
/// let answer = index.query_key(7_u64).run()?;
/// assert_eq!(Key::from(&answer.matches[0].key).as_u64(), Some(1_000));
/// assert!(index.contains(7_u64)? && !index.contains("7")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Key<'a>(Bytes<'a>);

#[derive(Clone)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
    /// A short key: its length and its bytes, without an allocation.
    Inline(u8, [u8; INLINE_MAX]),
}

impl Key<'_> {
    /// Copies the bytes into a key that owns them.
    #[inline]
    pub(crate) fn owned(bytes: &[u8]) -> Self {
        match u8::try_from(bytes.len()) {
            Ok(count) if bytes.len() <= INLINE_MAX => {
                let mut inline = [0; INLINE_MAX];
                inline[..bytes.len()].copy_from_slice(bytes);
                Self(Bytes::Inline(count, inline))
            }
            _ => Self(Bytes::Owned(bytes.to_vec())),
        }
    }

    /// The bytes, owned.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Bytes::Owned(bytes) => bytes,
            _ => self.as_bytes().to_vec(),
        }
    }

    /// The stored bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
            Bytes::Inline(count, bytes) => bytes.get(..usize::from(*count)).unwrap_or_default(),
        }
    }

    /// The integer from which the key was made, if the key has 8 bytes.
    #[expect(clippy::big_endian_bytes, reason = "integers are in order where their bytes are")]
    pub fn as_u64(&self) -> Option<u64> {
        Some(u64::from_be_bytes(self.as_bytes().try_into().ok()?))
    }

    /// The integer from which the key was made, if the key has 16 bytes.
    #[expect(clippy::big_endian_bytes, reason = "integers are in order where their bytes are")]
    pub fn as_u128(&self) -> Option<u128> {
        Some(u128::from_be_bytes(self.as_bytes().try_into().ok()?))
    }
}

impl From<u64> for Key<'_> {
    #[expect(clippy::big_endian_bytes, reason = "integers are in order where their bytes are")]
    fn from(key: u64) -> Self {
        Self::owned(&key.to_be_bytes())
    }
}

impl From<u128> for Key<'_> {
    #[expect(clippy::big_endian_bytes, reason = "integers are in order where their bytes are")]
    fn from(key: u128) -> Self {
        Self::owned(&key.to_be_bytes())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for Key<'a> {
    #[inline]
    fn from(key: &'a T) -> Self {
        Self(Bytes::Borrowed(key.as_ref()))
    }
}

impl From<String> for Key<'_> {
    fn from(key: String) -> Self {
        Self(Bytes::Owned(key.into_bytes()))
    }
}

impl From<Vec<u8>> for Key<'_> {
    fn from(key: Vec<u8>) -> Self {
        Self(Bytes::Owned(key))
    }
}

impl<const N: usize> From<[u8; N]> for Key<'_> {
    fn from(key: [u8; N]) -> Self {
        Self::owned(&key)
    }
}

impl AsRef<[u8]> for Key<'_> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Key<'_> {}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", nearkin_sketch::engine::Excerpt(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<'a, K: Into<Key<'a>>>(key: K) -> Vec<u8> {
        key.into().as_bytes().to_vec()
    }

    #[test]
    fn whatever_stands_for_a_key_is_the_same_bytes() {
        let owned = "key".to_owned();
        let (text, vector, key) = ("key", b"key".to_vec(), Key::from("key"));
        let all = [
            bytes("key"),
            bytes(&owned),
            bytes::<&&str>(&text),
            bytes(b"key"),
            bytes(*b"key"),
            bytes(&b"key"[..]),
            bytes(b"key".to_vec()),
            bytes::<&Vec<u8>>(&vector),
            bytes::<&Key<'_>>(&key),
            bytes(Key::from("key")),
            bytes(owned),
        ];
        assert!(all.iter().all(|one| one == b"key"));
    }

    #[test]
    fn a_copy_of_any_length_has_the_bytes() {
        let long: Vec<u8> = (0..=255).cycle().take(5_000).collect();
        for count in (0..70).chain([255, 256, 257, 4_096]) {
            let key = Key::owned(&long[..count]);
            assert_eq!(key.as_bytes(), &long[..count]);
            assert_eq!(key.into_vec(), &long[..count]);
        }
        assert_eq!(size_of::<Key<'_>>(), 32);
    }

    #[test]
    fn integers_are_in_order_where_their_keys_are_and_come_back() {
        let integers = [0, 1, 255, 256, 65_535, 65_536, 1 << 40, u64::MAX - 1, u64::MAX];
        let keys: Vec<_> = integers.iter().map(|integer| bytes(*integer)).collect();
        assert!(keys.is_sorted() && keys.iter().all(|key| key.len() == 8));
        let wide: Vec<_> =
            integers.iter().map(|integer| bytes(u128::from(*integer) << 60)).collect();
        assert!(wide.is_sorted() && wide.iter().all(|key| key.len() == 16));
        for ((integer, key), wide) in integers.iter().zip(&keys).zip(&wide) {
            assert_eq!(Key::from(key).as_u64(), Some(*integer));
            assert_eq!(Key::from(wide).as_u128(), Some(u128::from(*integer) << 60));
            assert_eq!((Key::from(key).as_u128(), Key::from(wide).as_u64()), (None, None));
        }
        assert_eq!(bytes(0x0102_0304_0506_0708_u64), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
