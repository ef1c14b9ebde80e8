//! Lists of common shingles: which texts they may be used for, and how they are written.
//!
//! `sketch` leaves these shingles out; `learn` finds them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use super::Params;
use crate::{Error, ErrorKind, Result, Sketcher};

/// First word of a list as text.
const MAGIC: &str = "nearkin-common-1";
/// What stands for the settings of a list that may be used with any.
const ANY: &str = "any";

/// Shingles that many documents share, such as those of a licence header, a notice or a menu. With
/// them in [`Params`](crate::Params), texts are compared by their other shingles: boilerplate
/// neither finds a document nor counts as similarity. A text that has no others is compared by all
/// its shingles.
///
/// The list is part of the parameters and of the id of a signature, so it never changes in an
/// index. [`CommonLearner`](crate::CommonLearner) makes one from documents.
///
/// As text (`Display`, [`FromStr`]): `nearkin-common-1`, the id of the settings that it was made
/// for, then the hashes, each of 16 hexadecimal digits, all separated by white space. What follows
/// `#` on a line is a comment.
#[derive(Clone, PartialEq, Eq)]
pub struct Common {
    /// The shingle id of the parameters, `None` for any.
    made_for: Option<u64>,
    /// In ascending order, each once.
    hashes: Arc<[u64]>,
}

impl Common {
    /// Maximum number of shingles of a list: 64 KiB. It is part of the catalog's row, which every
    /// commit writes as a whole.
    pub const HASHES_MAX: usize = 8_192;

    /// A list of these shingle hashes, for any parameters: see
    /// [`Original::shingle_hashes`](crate::Original::shingle_hashes). Hashes of other shingles,
    /// another normalisation or seed have no effect. Without `bag`, as documents of a set have
    /// them.
    ///
    /// # Errors
    ///
    /// `Invalid` if there is no hash, or if there are more than [`Common::HASHES_MAX`].
    pub fn from_hashes(hashes: impl IntoIterator<Item = u64>) -> Result<Self> {
        let mut hashes: Vec<u64> = hashes.into_iter().collect();
        hashes.sort_unstable();
        hashes.dedup();
        let most = Self::HASHES_MAX;
        match hashes.len() {
            0 => Err(Error::invalid("a list of common shingles has at least one hash")),
            count if count > most => Err(Error::invalid(format!(
                "a list of common shingles has at most {most} hashes, not {count}"
            ))),
            _ => Ok(Self { made_for: None, hashes: hashes.into() }),
        }
    }

    /// The list of all shingles of these texts, such as a form that all documents have filled in,
    /// together with the list that the parameters have. Blank texts have none.
    ///
    /// # Errors
    ///
    /// `Invalid` if there is no shingle, if there are more than [`Common::HASHES_MAX`], or if the
    /// parameters take no list.
    ///
    /// ```
    /// # use nearkin_sketch as nearkin;
    /// # fn main() -> nearkin::Result<()> {
    /// use nearkin::{Common, Params, Preset};
    ///
    /// let params = Params::preset(Preset::Quotes).build()?;
    /// let form = Common::of_texts(&params, ["answer all of these questions in full sentences"])?;
    /// assert_eq!(form.hashes().len(), 5);
    /// let params = params.to_builder().common(form).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn of_texts<T: AsRef<str>>(
        params: &Params,
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Self> {
        params.to_builder().common(Self::from_hashes([0])?).build()?;
        let sketcher = Sketcher::new(&params.of_shingles()?);
        let mut hashes: Vec<u64> = params.common().map_or(&[][..], Self::hashes).to_vec();
        for text in texts {
            match sketcher.original_text(text.as_ref()) {
                Ok(original) => hashes.extend_from_slice(original.shingle_hashes()),
                Err(error) if error.kind() == ErrorKind::Empty => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self::from_hashes(hashes)?.made_for(params.shingle_id()))
    }

    /// Binds the list to the settings that shingle hashes depend on.
    pub(crate) fn made_for(self, shingle_id: u64) -> Self {
        Self { made_for: Some(shingle_id), ..self }
    }

    /// The hashes of the shingles, ascending.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// The list, bound to the settings of its parameters. An error if it was made for others.
    pub(super) fn bound(&self, shingle_id: u64) -> Result<Self> {
        match self.made_for {
            Some(other) if other != shingle_id => Err(Error::invalid(
                "the list of common shingles was made for other shingles, another normalisation, \
                 stop list or seed; make one with these settings",
            )),
            _ => Ok(self.clone().made_for(shingle_id)),
        }
    }

    /// The list as it appears in the text whose hash is the id of the parameters.
    pub(super) fn id_text(common: Option<&Self>) -> String {
        match common {
            Some(common) => format!(";common={:016x}", xxh3_64(&common.to_bytes())),
            None => String::new(),
        }
    }

    /// The hashes, little-endian.
    fn to_bytes(&self) -> Vec<u8> {
        self.hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (hashes, rest) = bytes.as_chunks();
        if !rest.is_empty() || hashes.len() > Self::HASHES_MAX {
            return Err(Error::invalid("a stored list of common shingles has a wrong length"));
        }
        let hashes: Vec<u64> = hashes.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
        if hashes.is_empty() || !hashes.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid("a stored list of common shingles is not sorted"));
        }
        Ok(Self { made_for: None, hashes: hashes.into() })
    }
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Common({} shingles)", self.hashes.len())
    }
}

impl fmt::Display for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.made_for {
            Some(id) => write!(f, "{MAGIC} {id:016x}")?,
            None => write!(f, "{MAGIC} {ANY}")?,
        }
        self.hashes.iter().try_for_each(|hash| write!(f, "\n{hash:016x}"))
    }
}

impl FromStr for Common {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut words = lines.flat_map(str::split_whitespace);
        if words.next() != Some(MAGIC) {
            return Err(Error::invalid(format!(
                "this is no list of common shingles: it does not begin with {MAGIC}; \
                 `nearkin tune --common` makes one"
            )));
        }
        let number = |word: &str| {
            let is_hash = word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
            let digits = Some(word).filter(|_| is_hash);
            digits.and_then(|word| u64::from_str_radix(word, 16).ok()).ok_or_else(|| {
                Error::invalid(format!("{word:?} is not a hash of 16 hexadecimal digits"))
            })
        };
        let made_for = match words.next() {
            None => return Err(Error::invalid("the list of common shingles is cut off")),
            Some(ANY) => None,
            Some(id) => Some(number(id)?),
        };
        // One more than allowed is enough to be refused.
        let hashes = words.take(Self::HASHES_MAX + 1).map(number);
        let list = Self::from_hashes(hashes.collect::<Result<Vec<u64>>>()?)?;
        Ok(Self { made_for, ..list })
    }
}

/// The hashes as bytes; in readable formats as text.
impl Serialize for Common {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for Common {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_str(CommonVisitor);
        }
        deserializer.deserialize_byte_buf(CommonVisitor)
    }
}

/// Deserialises either form.
struct CommonVisitor;

impl de::Visitor<'_> for CommonVisitor {
    type Value = Common;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of common shingles")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Common, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> std::result::Result<Common, E> {
        Common::from_bytes(bytes).map_err(E::custom)
    }
}
